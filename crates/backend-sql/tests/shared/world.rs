//! A store in a folder of its own, for tests that look into its file.
#![allow(dead_code, reason = "each test binary needs another part of it")]

use std::time::Duration;

use leasehold_core::decide::{self, Outcome};
use leasehold_core::{
    Backend, BackendExt, Bounds, Claim, Claimed, CommitItem, CommitVerdict, Configure, Count,
    Delivery, Enqueue, Lease, LimitKey, ManualClock, NewTask, Purge, Purpose, Status, StoredTask,
    TaskRef,
};
use leasehold_sql::{SqliteBackend, SqliteConfig, Synchronous};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tempfile::TempDir;

use crate::residue;

pub const TTL: Duration = Duration::from_secs(30);

/// A file, the store on it, and a look around the store.
pub struct World {
    pub store: SqliteBackend,
    pub raw: SqliteConnection,
    pub clock: ManualClock,
    config: SqliteConfig,
    _folder: TempDir,
}

impl World {
    pub async fn new(bounds: Bounds) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("tasks.db");
        let clock = ManualClock::default();
        let config = SqliteConfig::new(&path)
            .with_synchronous(Synchronous::Normal)
            .with_bounds(bounds)
            .with_clock(clock.clone());
        let store = SqliteBackend::connect(config.clone()).await.expect("it opens");
        store.configure(Configure::new("q").with_limit("g", 1)).await.expect("configured");
        let raw = SqliteConnectOptions::new().filename(path).connect().await.expect("it opens");
        Self { store, raw, clock, config, _folder: folder }
    }

    /// Opens the file anew, as after a restart.
    pub async fn reopen(&mut self) {
        self.store = SqliteBackend::connect(self.config.clone()).await.expect("it opens");
    }

    pub async fn enqueue(&self, tasks: impl IntoIterator<Item = NewTask>) {
        let tasks: Vec<_> = tasks.into_iter().collect();
        for batch in tasks.chunks(1_000) {
            let request = Enqueue::new("q", batch.to_vec());
            assert!(self.store.enqueue(request).await.is_ok());
        }
    }

    pub async fn claim(&self, max: usize) -> Claimed {
        self.claim_as(Claim::new("q", Purpose::Run, max, TTL, "holder")).await
    }

    pub async fn claim_as(&self, request: Claim) -> Claimed {
        self.store.claim(request).await.expect("claimed")
    }

    pub async fn succeed(&self, lease: &Lease) {
        let done = Outcome::Succeeded { result: None, follow_ups: vec![] };
        let item = CommitItem::new(lease.guard(), decide::run(lease, done, 0));
        let verdict = self.store.commit_one(item).await.expect("committed");
        assert!(matches!(verdict, CommitVerdict::Applied(_)), "{verdict:?}");
    }

    /// Purges, and tells how much that has mended.
    pub async fn mended(&self) -> u64 {
        let repaired =
            async || self.store.counts(Count::new("q")).await.expect("counted").events.repaired;
        let before = repaired().await;
        self.store.purge(Purge::new("q", 10)).await.expect("purged");
        repaired().await - before
    }

    pub async fn counted(&self, status: Status) -> u64 {
        self.store.counts(Count::new("q")).await.expect("counted").of(status)
    }

    pub async fn sql(&mut self, sql: &'static str) {
        let done = sqlx::query(sql).execute(&mut self.raw).await.expect("it is done");
        assert!(done.rows_affected() > 0, "nothing to do for: {sql}");
    }

    pub async fn number(&mut self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.raw).await.expect("a number")
    }

    pub async fn task(&self, id: &str) -> StoredTask {
        let task = self.store.task(&TaskRef::new("q", id)).await.expect("read");
        task.expect("it is there")
    }

    pub async fn check_residue(&mut self) {
        let now = self.clock.now().as_millis();
        assert_eq!(residue::residue(&mut self.raw, now).await, [""; 0]);
    }
}

pub fn task(id: impl Into<String>) -> NewTask {
    NewTask::named(id, "kind", "payload", Delivery::NotAfterLoss)
}

pub fn limited(id: impl Into<String>, key: &str) -> NewTask {
    task(id).with_limit(LimitKey::new("g", key))
}

pub fn ids(claimed: &Claimed) -> Vec<&str> {
    claimed.leases.iter().map(|lease| lease.task_ref.id.as_str()).collect()
}
