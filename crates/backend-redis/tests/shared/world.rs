//! A store in a name space of its own, for tests that look around it.

use std::time::Duration;

use leasehold_conformance::HarnessError;
use leasehold_core::decide::{self, Intervention, Operator, Outcome};
use leasehold_core::{
    Backend, BackendExt, Bounds, Claim, Claimed, ClaimerId, CommitItem, CommitVerdict, Configure,
    Count, Delivery, Enqueue, Events, Lease, LimitKey, ManualClock, NewTask, Purge, Purpose,
    StoredTask, TaskRef,
};
use leasehold_redis::{RedisBackend, RedisConfig};
use redis::{Cmd, FromRedisValue};

use super::harness::{clear, key};
use super::raw::Raw;
use super::residue::residue;

pub const TTL: Duration = Duration::from_secs(30);

/// The store, and a look around it.
pub struct World {
    pub store: RedisBackend,
    pub raw: Raw,
    pub clock: ManualClock,
    pub namespace: String,
    pub queue: String,
}

impl World {
    /// On the servers at `url`, with the queue `queue` and one slot a key of the group `g`.
    pub async fn new(url: &str, queue: &str, bounds: Bounds) -> Self {
        let clock = ManualClock::default();
        let namespace = format!("t{}", ClaimerId::fresh());
        let config = RedisConfig::from_url(url)
            .and_then(|config| config.with_namespace(&*namespace))
            .expect("a good url")
            .with_bounds(bounds)
            .with_clock(clock.clone());
        let store = RedisBackend::connect(config).await.expect("it opens");
        store.configure(Configure::new(queue).with_limit("g", 1)).await.expect("configured");
        let raw = Raw::open(url).await.expect("the servers answer");
        Self { store, raw, clock, namespace, queue: queue.to_owned() }
    }

    pub async fn enqueue(&self, tasks: impl IntoIterator<Item = NewTask>) {
        let tasks: Vec<_> = tasks.into_iter().collect();
        for batch in tasks.chunks(1_000) {
            let request = Enqueue::new(&*self.queue, batch.to_vec());
            let told = self.store.enqueue(request).await;
            assert!(told.is_ok(), "{told:?}");
        }
    }

    pub async fn claim(&self, max: usize) -> Claimed {
        self.claim_as(Claim::new(&*self.queue, Purpose::Run, max, TTL, "holder")).await
    }

    pub async fn rescue(&self, max: usize) -> Claimed {
        self.claim_as(Claim::new(&*self.queue, Purpose::Rescue, max, TTL, "rescuer")).await
    }

    pub async fn claim_as(&self, request: Claim) -> Claimed {
        self.store.claim(request).await.expect("claimed")
    }

    pub async fn end(&self, lease: &Lease, outcome: Outcome) {
        let item = CommitItem::new(lease.guard(), decide::run(lease, outcome, 0));
        let verdict = self.store.commit_one(item).await;
        assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");
    }

    pub async fn succeed(&self, lease: &Lease) {
        self.end(lease, Outcome::Succeeded { result: None, follow_ups: vec![] }).await;
    }

    pub async fn act(&self, id: &str, act: Intervention) {
        let by = Operator::new("ada", "because");
        let verdict = self.store.intervene(&self.task(id).await, act, &by).await;
        assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");
    }

    pub async fn purge(&self) {
        self.store.purge(Purge::new(&*self.queue, 100)).await.expect("purged");
    }

    /// Purges, and tells how much that has mended.
    pub async fn mended(&self) -> u64 {
        let before = self.events().await.repaired;
        self.purge().await;
        self.events().await.repaired - before
    }

    pub async fn events(&self) -> Events {
        self.store.counts(Count::new(&*self.queue)).await.expect("counted").events
    }

    pub async fn task(&self, id: &str) -> StoredTask {
        let task = self.store.task(&TaskRef::new(&*self.queue, id)).await.expect("read");
        task.expect("it is there")
    }

    /// The key of the queue that ends so.
    pub fn key(&self, suffix: &str) -> String {
        key(&self.namespace, &self.queue, suffix)
    }

    /// Sends a command about the queue's key that ends so.
    pub async fn ask<T: FromRedisValue>(&self, name: &str, suffix: &str, rest: &[&str]) -> T {
        let command: Cmd = redis::cmd(name).arg(self.key(suffix)).arg(rest).clone();
        self.raw.ask(&command).await.expect("answered")
    }

    pub async fn residue(&self) -> Vec<String> {
        let now = self.clock.now().as_millis();
        let found: Result<_, HarnessError> = residue(&self.raw, &self.namespace, now).await;
        found.expect("read")
    }

    /// Removes the name space.
    pub async fn close(self) {
        clear(&self.raw, &self.namespace).await.expect("removed");
    }

    pub async fn check_residue(&self) {
        assert_eq!(self.residue().await, [""; 0]);
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
