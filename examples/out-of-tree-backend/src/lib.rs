#![doc = include_str!("../README.md")]

mod claim;
mod commit;
mod error;
mod purge;
mod read;
#[doc(hidden)] // Private but for this crate's tests, and may change with each release.
pub mod record;
#[doc(hidden)]
pub mod store;

use std::sync::Arc;

use async_trait::async_trait;
use leasehold_core::*;
use redb::{Database, Error as Fault, ReadTransaction, ReadableDatabase};

use crate::store::{Reads, Step};

/// A store in one redb file, which one process at a time can open; clones share it.
#[derive(Debug, Clone)]
pub struct RedbBackend {
    db: Arc<Database>,
    clock: Clock,
    capabilities: Capabilities,
    /// Writes stand in line here, and not in threads that redb's own lock would hold up.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl RedbBackend {
    /// What it has beyond the contract's core.
    pub const FEATURES: Features = Features::FOLLOW_UPS;

    /// A store in an open database, beside other tables that there may be in it.
    ///
    /// # Errors
    /// Unavailable when the file cannot be written, Corrupt when it is damaged.
    pub fn new(db: Arc<Database>, clock: Clock) -> Result<Self, Error> {
        store::create(&db).map_err(error::told)?;
        // redb syncs the file before a commit returns; there is one file and no second node.
        let durability = Durability::new(true, true, Failover::Single);
        let capabilities = Capabilities::new("redb", Self::FEATURES, durability);
        Ok(Self { db, clock, capabilities, turn: Arc::default() })
    }

    /// One call as one write transaction. Once it has begun it runs to its end in a thread of
    /// its own, so that a future which is dropped leaves none open (LH-GEN-5).
    async fn write<R: Request + Send + 'static, T: Send + 'static>(
        &self,
        request: R,
        verb: fn(&Step, R) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        request::admit(&self.capabilities, &request)?;
        let turn = self.turn.clone().lock_owned().await;
        let Self { db, clock, capabilities, .. } = self.clone();
        let call = move || {
            let _turn = turn;
            let tx = db.begin_write()?;
            let step = Step { tx, now: clock.now(), capabilities };
            let reply = verb(&step, request)?;
            step.tx.commit()?;
            Ok(reply)
        };
        in_a_thread(call).await
    }

    async fn read<R: Request + Send + 'static, T: Send + 'static>(
        &self,
        request: R,
        verb: fn(&ReadTransaction, R, Timestamp) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        request::admit(&self.capabilities, &request)?;
        let (db, now) = (self.db.clone(), self.clock.now());
        in_a_thread(move || verb(&db.begin_read()?, request, now)).await
    }
}

async fn in_a_thread<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(call).await {
        Ok(reply) => reply.map_err(error::told),
        Err(gone) => Err(Error::new(ErrorKind::Internal, "a call panicked").with_source(gone)),
    }
}

#[async_trait]
impl Backend for RedbBackend {
    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        self.write(request, commit::enqueue).await
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        self.write(request, claim::claim).await
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        self.write(request, claim::renew).await
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        self.write(request, commit::commit).await
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        self.read(request, read::get).await
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        self.read(request, read::list).await?
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        self.read(request, read::counts).await
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        self.read(request, read::queues).await
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        let configure = |step: &Step, request: Configure| {
            let mut settings = step.tx.settings(&request.queue)?.unwrap_or_default();
            settings.apply(&request);
            step.configure(&request.queue, &settings)?;
            Ok(settings)
        };
        self.write(request, configure).await
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        self.write(request, purge::purge).await
    }
}
