//! The read side: [`Filter`] and [`Page`] of tasks, [`Counts`], [`QueueSettings`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::error::Error;
use crate::policy::Retention;
use crate::request::Configure;
use crate::state::{DeadReason, Status};
use crate::task::{NewTask, StoredTask};

/// Which tasks of a queue a list shows; each part that is set must match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Filter {
    /// The status at the instant of the page.
    pub status: Option<Status>,
    /// The exact kind.
    pub kind: Option<String>,
    /// Why dead; matches only dead letters.
    pub reason: Option<DeadReason>,
    /// Finished at this instant or later.
    pub finished_from: Option<Timestamp>,
    /// Finished before this instant.
    pub finished_before: Option<Timestamp>,
}

impl Filter {
    /// Every task.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Only this status.
    #[must_use]
    pub fn with_status(mut self, status: Status) -> Self {
        self.status = Some(status);
        self
    }

    /// Only this kind.
    #[must_use]
    pub fn with_kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Only dead letters with this reason.
    #[must_use]
    pub fn with_reason(mut self, reason: DeadReason) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Only what finished within `from` (included) and `before` (excluded).
    #[must_use]
    pub fn with_finished(mut self, from: Timestamp, before: Timestamp) -> Self {
        self.finished_from = Some(from);
        self.finished_before = Some(before);
        self
    }

    /// Whether `task` is one of them at `now`.
    #[must_use]
    pub fn matches(&self, task: &StoredTask, now: Timestamp) -> bool {
        let finished = task.finished_at;
        self.status.is_none_or(|status| status == task.status(now))
            && self.kind.as_ref().is_none_or(|kind| *kind == task.kind)
            && self.reason.is_none_or(|why| task.state == crate::state::State::Dead(why))
            && self.finished_from.is_none_or(|from| finished.is_some_and(|at| at >= from))
            && self.finished_before.is_none_or(|before| finished.is_some_and(|at| at < before))
    }
}

/// A place in a list. Opaque: only the backend that made it can read it (LH-READ-4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// The cursor with this text; for backends.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text to hand back later.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Some of a list, in the order of enqueue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Page {
    /// At most as many as asked for; may be fewer, also none, while there is a cursor.
    pub tasks: Vec<StoredTask>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<Cursor>,
}

impl Page {
    /// A page, for backends.
    #[must_use]
    pub fn new(tasks: Vec<StoredTask>, next: Option<Cursor>) -> Self {
        Self { tasks, next }
    }
}

/// How many tasks of a queue are in which status, and what happened in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Tasks by status: each of the seven is present, and they sum to the queue's tasks
    /// (LH-READ-2).
    pub tasks: BTreeMap<Status, u64>,
    /// What happened since the queue began.
    pub events: Events,
}

impl Counts {
    /// No task in any status, and what happened; for backends.
    #[must_use]
    pub fn new(events: Events) -> Self {
        Self { tasks: Status::ALL.map(|status| (status, 0)).into(), events }
    }

    /// The number of tasks in `status`.
    #[must_use]
    pub fn of(&self, status: Status) -> u64 {
        self.tasks.get(&status).copied().unwrap_or(0)
    }

    /// The tasks that have not ended.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        let open = self.tasks.iter().filter(|(status, _)| !status.is_finished());
        open.map(|(_, count)| count).sum()
    }

    /// All tasks of the queue.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.tasks.values().sum()
    }
}

macro_rules! events {
    ($($(#[$doc:meta])* $field:ident),+ $(,)?) => {
        /// Counters of a queue's less happy paths (LH-OBS-1); they only grow.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[non_exhaustive]
        pub struct Events { $($(#[$doc])* pub $field: u64),+ }

        impl Events {
            /// The names of the counters, as a store keeps them.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($field)),+];

            /// The counter called `name`, one of [`Events::NAMES`].
            pub fn by_name(&mut self, name: &str) -> Option<&mut u64> {
                match name { $(stringify!($field) => Some(&mut self.$field),)+ _ => None }
            }
        }
    };
}

events! {
    /// Commits that were Stale.
    stale_commits,
    /// Renews that were Lost.
    lost_renews,
    /// Commits applied although the lease had passed.
    overdue,
    /// Successes taken after a rescue claim.
    late,
    /// Commits that were repeats.
    replayed,
    /// Runs whose lease lapsed, counted when the rescuer claims them.
    lapsed,
    /// Rescue leases that lapsed and were claimed again.
    takeovers,
    /// Rescues that put the task back.
    rescued,
    /// Tasks that became dead letters.
    buried,
    /// Times that a claim met ready tasks behind a full limit key.
    blocked_by_limit,
    /// Times that a claim passed over a record of a newer version.
    skipped_newer,
    /// Index entries that were found wrong and mended.
    repaired,
}

/// What an operator has set for a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueSettings {
    /// Whether Run claims are off (LH-CLAIM-7).
    pub paused: bool,
    /// The number of each limit group.
    pub limits: BTreeMap<String, u32>,
    /// How long finished tasks stay; every part is set.
    pub retention: Retention,
    /// How long the id of a task that left is remembered (LH-ENQ-9).
    pub id_memory: Duration,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            paused: false,
            limits: BTreeMap::new(),
            retention: Retention::DEFAULT,
            id_memory: Duration::from_secs(60),
        }
    }
}

impl QueueSettings {
    /// Takes over the parts that `request` sets.
    pub fn apply(&mut self, request: &Configure) {
        self.paused = request.paused.unwrap_or(self.paused);
        self.limits.extend(request.limits.iter().cloned());
        self.retention = request.retention.or(self.retention);
        self.id_memory = request.id_memory.unwrap_or(self.id_memory);
    }

    /// Checks that each limit group of `tasks` has a number; backends ask before they write.
    ///
    /// # Errors
    /// Invalid, naming the group: for the whole enqueue (LH-ENQ-7), or for the one commit
    /// whose follow-ups they are.
    pub fn check_limits(&self, tasks: &[NewTask]) -> Result<(), Error> {
        for group in tasks.iter().filter_map(|new| Some(&new.limit.as_ref()?.group)) {
            if !self.limits.contains_key(group) {
                return Err(Error::invalid(format!("limit group {group:?} has no number")));
            }
        }
        Ok(())
    }
}

/// A queue's name and settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueInfo {
    /// The queue.
    pub name: String,
    /// What was set, or the defaults.
    pub settings: QueueSettings,
}

impl QueueInfo {
    /// One queue, for backends.
    #[must_use]
    pub fn new(name: impl Into<String>, settings: QueueSettings) -> Self {
        Self { name: name.into(), settings }
    }
}

/// Some of the queues, ordered by the bytes of their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueuePage {
    /// Every queue that has had a task or a setting.
    pub queues: Vec<QueueInfo>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<Cursor>,
}

impl QueuePage {
    /// A page, for backends.
    #[must_use]
    pub fn new(queues: Vec<QueueInfo>, next: Option<Cursor>) -> Self {
        Self { queues, next }
    }
}
