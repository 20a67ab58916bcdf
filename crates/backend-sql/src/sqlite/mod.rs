//! [`SqliteBackend`]: the contract in one file of this machine.
//!
//! Each verb has a file. A write is one `begin immediate` transaction on the one connection
//! that writes; reads go to others and see the last commit. Statements are in `sql/sqlite`.

/// The statement of this name, with nothing bound.
macro_rules! sql {
    ($name:literal) => {
        sqlx::query(text!($name, include_str!(concat!("../../sql/sqlite/", $name, ".sql"))))
    };
}

/// The text of a statement: as it was written.
#[cfg(not(feature = "test-hooks"))]
macro_rules! text {
    ($name:literal, $written:expr) => {
        $written
    };
}

/// The text of a statement: as it was written, unless a test has edited it.
#[cfg(feature = "test-hooks")]
macro_rules! text {
    ($name:literal, $written:expr) => {
        $crate::sqlite::edited::text($name, $written)
    };
}

mod apply;
mod claim;
mod commit;
mod config;
mod configure;
mod connect;
#[cfg(feature = "test-hooks")]
mod edited;
mod enqueue;
mod limits;
mod mend;
mod migrate;
mod purge;
mod read;
mod renew;
mod row;
mod step;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use leasehold_core::request::admit;
use leasehold_core::{
    Backend, Capabilities, Claim, Claimed, Clock, Commit, CommitVerdict, Configure, Count, Counts,
    Durability, Enqueue, EnqueueVerdict, Error, Failover, Features, Found, Get, List, Page, Purge,
    Purged, QueuePage, QueueSettings, Queues, Renew, RenewVerdict, Wake,
};
use sqlx::sqlite::SqlitePool;
use tokio::sync::Notify;

pub use self::config::{SqliteConfig, Synchronous};
#[cfg(feature = "test-hooks")]
pub use self::edited::Edited;
use self::step::Step;
use crate::error::{Fault, told};

/// A store in one SQLite file, which several handles and processes of one machine may share.
///
/// All features. The machine's clock is the store's clock: an instant is read under the file's
/// write lock and decides all of its call (LH-TIME-2). What was confirmed survives the end of
/// the process, and with [`Synchronous::Full`] a loss of power (LH-GEN-3); there is no second
/// node, so it does not survive the loss of the disk.
///
/// # Examples
/// ```
/// use leasehold_core::{Backend, BackendExt, Count, Delivery, NewTask, Status};
/// use leasehold_sql::{SqliteBackend, SqliteConfig};
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("tasks.db");
/// let store = SqliteBackend::connect(SqliteConfig::new(&path)).await?;
/// let new = NewTask::new("send", "to: ada", Delivery::NotAfterLoss);
/// let _enqueued = store.enqueue_one("mail", new).await?;
///
/// let other_process = SqliteBackend::connect(SqliteConfig::new(&path)).await?;
/// assert_eq!(other_process.counts(Count::new("mail")).await?.of(Status::Ready), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteBackend {
    path: PathBuf,
    writer: SqlitePool,
    /// For the file's write lock.
    patience: Duration,
    readers: SqlitePool,
    clock: Clock,
    capabilities: Capabilities,
    mended: mend::Cursors,
    /// Woken by what may have made something claimable, in this process only.
    changed: Notify,
}

impl SqliteBackend {
    /// Opens the file, makes it if it is missing, and brings its schema up to date; of several
    /// processes that do so at once, one migrates it.
    ///
    /// # Errors
    /// Invalid when the path cannot be used: its folder is missing, it or the folder is
    /// read-only, it is no SQLite database or one of another application. Unsupported when a
    /// newer Leasehold has written it, or its file system has no shared memory for the
    /// write-ahead log. Unavailable when others kept it locked.
    ///
    /// # Cancel safety
    /// A dropped future leaves at most an empty file behind, which the next call migrates.
    pub async fn connect(config: SqliteConfig) -> Result<Self, Error> {
        let connect::Pools { path, writer, readers } = connect::open(&config).await?;
        let host_crash = config.synchronous == Synchronous::Full;
        let durability = Durability::new(true, host_crash, Failover::Single);
        let mut capabilities = Capabilities::new("sqlite", Features::all(), durability);
        capabilities.bounds = config.bounds;
        Ok(Self {
            path,
            writer,
            patience: config.busy_timeout,
            readers,
            clock: config.clock,
            capabilities,
            mended: mend::Cursors::default(),
            changed: Notify::new(),
        })
    }

    async fn step(&self) -> Result<Step, Fault> {
        Step::begin(&self.writer, &self.clock, self.patience).await
    }

    async fn enqueue_step(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Fault> {
        let mut step = self.step().await?;
        let verdicts = enqueue::enqueue(&mut step, request).await?;
        step.commit().await?;
        self.changed.notify_waiters();
        Ok(verdicts)
    }

    async fn claim_step(&self, request: &Claim) -> Result<Claimed, Fault> {
        let mut step = self.step().await?;
        let claimed = claim::claim(&mut step, &self.capabilities.bounds, request).await?;
        step.commit().await?;
        Ok(claimed)
    }

    async fn renew_step(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Fault> {
        let mut step = self.step().await?;
        let verdicts = renew::renew(&mut step, &self.capabilities.bounds, request).await?;
        step.commit().await?;
        Ok(verdicts)
    }

    async fn commit_step(
        &self,
        request: Commit,
    ) -> Result<Vec<Result<CommitVerdict, Error>>, Fault> {
        let mut step = self.step().await?;
        let verdicts = commit::commit(&mut step, &self.capabilities, request).await?;
        step.commit().await?;
        self.changed.notify_waiters();
        Ok(verdicts)
    }

    async fn configure_step(&self, request: Configure) -> Result<QueueSettings, Fault> {
        let mut step = self.step().await?;
        let settings = configure::configure(&mut step, request).await?;
        step.commit().await?;
        self.changed.notify_waiters();
        Ok(settings)
    }

    async fn purge_step(&self, request: &Purge) -> Result<Purged, Fault> {
        let mut step = self.step().await?;
        let purged = purge::purge(&mut step, request, &self.mended).await?;
        step.commit().await?;
        Ok(purged)
    }
}

impl fmt::Debug for SqliteBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteBackend").field("path", &self.path).finish_non_exhaustive()
    }
}

#[async_trait]
impl Backend for SqliteBackend {
    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        admit(&self.capabilities, &request)?;
        self.enqueue_step(request).await.map_err(|fault| told("enqueue", fault))
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        admit(&self.capabilities, &request)?;
        self.claim_step(&request).await.map_err(|fault| told("claim", fault))
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        admit(&self.capabilities, &request)?;
        self.renew_step(request).await.map_err(|fault| told("renew", fault))
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        admit(&self.capabilities, &request)?;
        self.commit_step(request).await.map_err(|fault| told("commit", fault))
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        admit(&self.capabilities, &request)?;
        let found = read::get(&self.readers, &request.task, self.clock.now()).await;
        found.map_err(|fault| told("get", fault).with_task(&request.task))
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        admit(&self.capabilities, &request)?;
        let page =
            read::list(&self.readers, &self.capabilities.bounds, request, self.clock.now()).await;
        page.map_err(|fault| told("list", fault))
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        admit(&self.capabilities, &request)?;
        let counts = read::counts(&self.readers, &request.queue, self.clock.now()).await;
        counts.map_err(|fault| told("counts", fault))
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        admit(&self.capabilities, &request)?;
        let page = read::queues(&self.readers, request).await;
        page.map_err(|fault| told("queues", fault))
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        admit(&self.capabilities, &request)?;
        self.configure_step(request).await.map_err(|fault| told("configure", fault))
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        admit(&self.capabilities, &request)?;
        self.purge_step(&request).await.map_err(|fault| told("purge", fault))
    }

    async fn wait(&self, _queue: &str, max: Duration) -> Wake {
        match tokio::time::timeout(max, self.changed.notified()).await {
            Ok(()) => Wake::Woken,
            Err(_) => Wake::Elapsed,
        }
    }
}
