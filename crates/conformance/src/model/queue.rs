//! [`Model`]: what one queue holds, as the contract sees it and with no index of any kind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use leasehold_core::{
    Capabilities, ClaimerId, Events, Fence, Keep, Left, LimitKey, QueueSettings, State, StoredTask,
    Timestamp,
};

/// One queue between two steps.
///
/// A plain value: clone it to try a step, compare it, throw it away. Every index that a store
/// keeps is a search through `tasks` here, so that no index can be wrong.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// What the backend can do and how much it takes.
    pub capabilities: Capabilities,
    /// The queue's name.
    pub queue: String,
    /// What the store's clock shows.
    pub now: Timestamp,
    /// What was configured.
    pub settings: QueueSettings,
    /// Every task that is there.
    pub tasks: BTreeMap<String, Kept>,
    /// Slots by limit key: each is a task and the fence that took it, until the end of its lease.
    pub slots: BTreeMap<LimitKey, BTreeMap<(String, Fence), Timestamp>>,
    /// What the next holder of a unique key has to wait for (LH-UNIQ-3).
    pub held_keys: BTreeMap<String, Timestamp>,
    /// What is remembered of tasks that left, and until when (LH-ENQ-9).
    pub left: BTreeMap<String, (Left, Timestamp)>,
    /// The newest claim of each claiming loop that granted something (LH-CLAIM-9).
    pub claims: BTreeMap<ClaimerId, Recorded>,
    /// The counters of less happy paths.
    pub events: Events,
    /// Tasks whose record a newer version wrote (LH-CLAIM-11).
    pub newer: BTreeSet<String>,
    /// The greatest fence that each id ever had, also of tasks that are no more (LH-FENCE-1).
    pub fences: BTreeMap<String, Fence>,
    /// Each grant so far. No step of the contract reads it: it is for what is not the contract.
    pub grants: BTreeMap<(String, Fence), Grant>,
    /// How many tasks were ever enqueued.
    pub enqueues: u64,
}

/// A task that is there.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Kept {
    /// As a get tells it.
    pub task: StoredTask,
    /// Order of enqueue.
    pub seq: u64,
    /// When a purge may take it; only while finished, `None` is never.
    pub expires: Option<Timestamp>,
}

/// A recorded claim.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Recorded {
    /// Its number.
    pub seq: u64,
    /// What it granted.
    pub granted: Vec<(String, Fence)>,
    /// When.
    pub at: Timestamp,
}

/// What a claim gave away, as it was then.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Grant {
    /// The label of the holder.
    pub holder: String,
    /// The task after the grant.
    pub task: StoredTask,
    /// When.
    pub at: Timestamp,
}

impl Model {
    /// An empty queue.
    #[must_use]
    pub fn new(queue: impl Into<String>, capabilities: Capabilities, now: Timestamp) -> Self {
        Self {
            capabilities,
            queue: queue.into(),
            now,
            settings: QueueSettings::default(),
            tasks: BTreeMap::new(),
            slots: BTreeMap::new(),
            held_keys: BTreeMap::new(),
            left: BTreeMap::new(),
            claims: BTreeMap::new(),
            events: Events::default(),
            newer: BTreeSet::new(),
            fences: BTreeMap::new(),
            grants: BTreeMap::new(),
            enqueues: 0,
        }
    }

    /// The task under `id`, if it is there.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&StoredTask> {
        self.tasks.get(id).map(|kept| &kept.task)
    }

    /// What is remembered of the task that left under `id`.
    #[must_use]
    pub fn remembered(&self, id: &str) -> Option<Left> {
        self.left.get(id).filter(|(_, until)| *until > self.now).map(|(left, _)| *left)
    }

    /// The slots under `key` that have not ended.
    #[must_use]
    pub fn slots_taken(&self, key: &LimitKey) -> usize {
        let slots = self.slots.get(key).into_iter().flatten();
        slots.filter(|(_, until)| **until > self.now).count()
    }

    /// The unfinished task that holds the unique key.
    #[must_use]
    pub fn key_holder(&self, key: &str) -> Option<&StoredTask> {
        let mut tasks = self.tasks.values().map(|kept| &kept.task);
        tasks.find(|task| task.unique.as_deref() == Some(key) && !task.state.is_finished())
    }

    /// The greatest fence anywhere in the queue's past, so that one more is new to every task.
    #[must_use]
    pub fn fence_max(&self) -> Fence {
        self.fences.values().copied().max().unwrap_or(Fence::new(0))
    }

    /// Forgets slots under `key` that have ended: a clock that goes back revives none of them
    /// (LH-RENEW-8).
    pub(super) fn sweep(&mut self, key: &LimitKey) {
        let now = self.now;
        if let Some(slots) = self.slots.get_mut(key) {
            slots.retain(|_, until| *until > now);
        }
    }

    /// The end of a task: it leaves now if it may, or is kept until a purge may take it.
    pub(super) fn finish(&mut self, id: &str, keep: Keep, from: State) {
        let now = self.now;
        let Some(kept) = self.tasks.get_mut(id) else { return };
        let key = kept.task.unique.as_ref().filter(|_| !from.is_finished());
        if let (Some(key), Some(held)) = (key, kept.task.held_until) {
            let last = self.held_keys.entry(key.clone()).or_insert(held);
            *last = held.max(*last);
        }
        let held = kept.task.held_until.filter(|held| *held > now);
        kept.expires = match keep {
            Keep::Forever => None,
            Keep::For(time) => Some(now.after(time).max(held.unwrap_or(now))),
        };
        if kept.expires.is_some_and(|expires| expires <= now) {
            self.leave(id);
        }
    }

    /// The task is no more; its id is remembered for a while.
    pub(super) fn leave(&mut self, id: &str) {
        let Some(Kept { task, .. }) = self.tasks.remove(id) else { return };
        let until = self.now.after(self.settings.id_memory);
        if let Some(shown) = task.shown.filter(|_| self.settings.id_memory > Duration::ZERO) {
            self.left.insert(id.to_owned(), (Left::new(shown, task.state), until));
        }
    }

    /// Whether a lease or an operator's hold explains a slot.
    pub(super) fn explains(&self, id: &str, fence: Fence, until: Timestamp) -> bool {
        self.task(id).is_some_and(|task| {
            let running = task.run == Some(fence);
            let held = task.held_until.is_some_and(|held| held >= until);
            running || held
        })
    }
}
