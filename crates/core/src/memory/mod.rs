//! [`MemoryBackend`]: the contract in its plainest form, the executable specification.
//!
//! `queue` holds what one queue knows and how a task enters and leaves it; `claim`, `renew`
//! and `commit` are the verbs of the same names. Everything happens under one lock, so each
//! call is one atomic step.

mod claim;
mod commit;
pub(crate) mod queue;
mod renew;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;

use self::queue::Queue;
use crate::request::admit;
use crate::{
    Backend, Capabilities, Claim, Claimed, Clock, Commit, CommitVerdict, Configure, Count, Counts,
    Cursor, Durability, Enqueue, EnqueueVerdict, Error, Events, Failover, Features, Fence, Found,
    Get, List, Page, Purge, Purged, QueueInfo, QueuePage, QueueSettings, Queues, Renew,
    RenewVerdict, Timestamp, Wake,
};

/// A store in this process's memory: for documentation, for tests of your own, and as the
/// model that other backends are measured by. Nothing survives the value.
///
/// All features. An unlimited number of handles may share one value behind an `Arc`.
pub struct MemoryBackend {
    capabilities: Capabilities,
    clock: Clock,
    store: Mutex<Store>,
    enqueued: Notify,
}

#[derive(Default)]
pub(crate) struct Store {
    pub(crate) queues: BTreeMap<String, Queue>,
    pub(crate) source: Source,
}

/// What numbers fences and places in a queue: both only grow, whatever leaves (LH-FENCE-1).
#[derive(Default)]
pub(crate) struct Source {
    pub(crate) fence: u64,
    seq: u64,
}

impl Source {
    fn fence(&mut self) -> Fence {
        self.fence += 1;
        Fence::new(self.fence)
    }

    fn seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }
}

impl MemoryBackend {
    /// An empty store on the system's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::on_clock(Clock::System)
    }

    /// An empty store on this clock.
    #[must_use]
    pub fn on_clock(clock: impl Into<Clock>) -> Self {
        let durability = Durability::new(false, false, Failover::Single);
        Self {
            capabilities: Capabilities::new("memory", Features::all(), durability),
            clock: clock.into(),
            store: Mutex::default(),
            enqueued: Notify::new(),
        }
    }

    /// The same store with some features only; the others are refused (LH-GEN-9).
    #[must_use]
    pub fn with_features(mut self, features: Features) -> Self {
        self.capabilities.features = features;
        self
    }

    /// The store and one reading of the clock, taken under its lock (LH-TIME-2).
    pub(crate) fn locked(&self) -> (MutexGuard<'_, Store>, Timestamp) {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        (store, now)
    }
}

impl Default for MemoryBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBackend").field("clock", &self.clock).finish_non_exhaustive()
    }
}

#[async_trait]
impl Backend for MemoryBackend {
    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        admit(&self.capabilities, &request)?;
        let verdicts = {
            let (mut store, now) = self.locked();
            let Store { queues, source } = &mut *store;
            if request.tasks.is_empty() {
                return Ok(Vec::new());
            }
            let unset = QueueSettings::default();
            let settings = queues.get(&request.queue).map_or(&unset, |queue| &queue.settings);
            settings.check_limits(&request.tasks)?;
            let queue = Queue::named(queues, &request.queue);
            let tasks = request.tasks.into_iter();
            tasks.map(|new| queue.enqueue(new, now, &request.queue, source)).collect()
        };
        self.enqueued.notify_waiters();
        Ok(verdicts)
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        admit(&self.capabilities, &request)?;
        let (mut store, now) = self.locked();
        let Store { queues, source } = &mut *store;
        let claimed = queues.get_mut(&request.queue).map(|q| q.claim(&request, now, source));
        Ok(claimed.unwrap_or_default())
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        admit(&self.capabilities, &request)?;
        let (mut store, now) = self.locked();
        let renew_one = |item| {
            let bounds = &self.capabilities.bounds;
            renew::renew(&mut store.queues, item, bounds, now)
        };
        Ok(request.items.into_iter().map(renew_one).collect())
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        admit(&self.capabilities, &request)?;
        let verdicts = {
            let (mut store, now) = self.locked();
            let Store { queues, source } = &mut *store;
            let commit_one = |item| commit::commit(queues, item, &self.capabilities, now, source);
            request.items.into_iter().map(commit_one).collect()
        };
        self.enqueued.notify_waiters();
        Ok(verdicts)
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        admit(&self.capabilities, &request)?;
        let (store, now) = self.locked();
        let queue = store.queues.get(&request.task.queue);
        Ok(queue.map_or(Found::Nothing, |queue| queue.find(&request.task.id, now)))
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        admit(&self.capabilities, &request)?;
        let after = match &request.after {
            None => 0,
            Some(cursor) => cursor.as_str().parse().map_err(|_| bad_cursor())?,
        };
        let (store, now) = self.locked();
        let queue = store.queues.get(&request.queue);
        Ok(queue.map(|queue| queue.list(&request, after, now)).unwrap_or_default())
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        admit(&self.capabilities, &request)?;
        let (store, now) = self.locked();
        let queue = store.queues.get(&request.queue);
        Ok(queue.map_or_else(|| Counts::new(Events::default()), |queue| queue.counts(now)))
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        admit(&self.capabilities, &request)?;
        let (store, _) = self.locked();
        let start = match &request.after {
            None => Bound::Unbounded,
            Some(cursor) => Bound::Excluded(cursor.as_str()),
        };
        let mut rest = store.queues.range::<str, _>((start, Bound::Unbounded));
        let page: Vec<_> = rest
            .by_ref()
            .take(request.max)
            .map(|(name, queue)| QueueInfo::new(name, queue.settings.clone()))
            .collect();
        let last = page.last().map(|info| Cursor::new(info.name.clone()));
        Ok(QueuePage::new(page, last.filter(|_| rest.next().is_some())))
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        admit(&self.capabilities, &request)?;
        let settings = {
            let (mut store, _) = self.locked();
            let queue = Queue::named(&mut store.queues, &request.queue);
            queue.settings.apply(&request);
            queue.settings.clone()
        };
        self.enqueued.notify_waiters();
        Ok(settings)
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        admit(&self.capabilities, &request)?;
        let (mut store, now) = self.locked();
        let queue = store.queues.get_mut(&request.queue);
        Ok(queue.map(|queue| queue.purge(request.max, now)).unwrap_or_default())
    }

    async fn wait(&self, _queue: &str, max: Duration) -> Wake {
        match tokio::time::timeout(max, self.enqueued.notified()).await {
            Ok(()) => Wake::Woken,
            Err(_) => Wake::Elapsed,
        }
    }
}

fn bad_cursor() -> Error {
    Error::invalid("a cursor that this store did not make")
}
