//! [`Wired`]: every verb of a store by way of a connection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use leasehold_conformance::async_trait;
use leasehold_core::{
    Backend, Capabilities, Claim, Claimed, Commit, CommitVerdict, Configure, Count, Counts,
    Enqueue, EnqueueVerdict, Error, Found, Get, List, Page, Purge, Purged, QueuePage,
    QueueSettings, Queues, Renew, RenewVerdict, Wake,
};

use crate::backend::Evil;
use crate::network::Connection;

/// A handle that is somewhere else than its store.
pub struct Wired {
    store: Arc<Evil>,
    connection: Connection,
}

impl Wired {
    pub fn new(store: Evil, connection: Connection) -> Self {
        Self { store: Arc::new(store), connection }
    }
}

/// The verb, carried out where the store is.
macro_rules! ask {
    ($self:ident, $verb:ident, $request:expr) => {{
        let (store, request) = ($self.store.clone(), $request);
        $self.connection.ask(move || {
            let (store, request) = (store.clone(), request.clone());
            async move { store.$verb(request).await }
        })
    }};
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Backend for Wired {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        if !self.connection.sends_each_item() {
            return ask!(self, enqueue, request).await;
        }
        let mut told = Vec::new();
        for task in request.tasks {
            let one = Enqueue::new(request.queue.clone(), vec![task]);
            told.extend(ask!(self, enqueue, one).await?);
        }
        Ok(told)
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        ask!(self, claim, request).await
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        ask!(self, renew, request).await
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        ask!(self, commit, request).await
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        ask!(self, get, request).await
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        ask!(self, list, request).await
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        ask!(self, counts, request).await
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        ask!(self, queues, request).await
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        ask!(self, configure, request).await
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        ask!(self, purge, request).await
    }

    async fn wait(&self, _queue: &str, _max: Duration) -> Wake {
        Wake::NoHint
    }
}

impl fmt::Debug for Wired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wired").field("connection", &self.connection).finish_non_exhaustive()
    }
}
