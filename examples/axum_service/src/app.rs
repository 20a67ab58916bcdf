//! What requests and handlers share.

use std::path::Path;
use std::sync::Arc;

use leasehold::{Client, Health};

/// The service's state: axum's for requests, the worker's for handlers. Clones are cheap.
#[derive(Debug, Clone)]
pub struct App {
    pub client: Client,
    pub health: Health,
    /// The folder that reports are about.
    pub documents: Arc<Path>,
}
