//! [`Found`]: the server that tests of a store play on.

use std::env;

use super::super::ServerError;
use super::{Product, Redis, RedisOptions};

/// A server for cases that do nothing to the server itself: one that somebody has named, or a
/// private one.
#[derive(Debug)]
pub enum Found {
    /// The URL that the variable `LH_REDIS_URL` (for Valkey `LH_VALKEY_URL`) has: a server for
    /// tests only, whose data nobody needs.
    Given(String),
    /// A server of a program of this machine.
    Private(Box<Redis>),
}

impl Found {
    /// The server that was named, else a private one.
    ///
    /// # Errors
    /// As [`Redis::start_new`]; a test without a server fails by it, and is never left out.
    pub async fn find(product: Product) -> Result<Self, ServerError> {
        let variable = match product {
            Product::Redis => "LH_REDIS_URL",
            Product::Valkey => "LH_VALKEY_URL",
        };
        match env::var(variable) {
            Ok(url) => Ok(Self::Given(url)),
            Err(_) => {
                let server = Redis::start_new(RedisOptions::new(product)).await?;
                Ok(Self::Private(Box::new(server)))
            }
        }
    }

    /// Where clients connect.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Given(url) => url.clone(),
            Self::Private(server) => server.url(),
        }
    }
}
