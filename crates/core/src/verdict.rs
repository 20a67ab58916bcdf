//! What the verbs answer. A lost race is a value here, never an error (LH-GEN-8), and each
//! enum is exhaustive, so that a caller says what it does about every one.

use std::time::Duration;

use crate::change::Role;
use crate::clock::Timestamp;
use crate::id::DecisionId;
use crate::lease::{Fence, Lease};
use crate::state::State;
use crate::task::{Shown, StoredTask, TaskRef};

/// What became of one new task.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnqueueVerdict {
    /// Stored and claimable by everyone once due (LH-ENQ-4).
    Enqueued {
        /// The task's first fence, its `born`.
        fence: Fence,
    },
    /// Nothing was stored.
    Duplicate {
        /// What was taken already; the id is looked at before the key (LH-ENQ-2).
        cause: DuplicateCause,
        /// The task that has the id or holds the key.
        holder: TaskRef,
        /// Its state, or `None` when it has left and is only remembered (LH-ENQ-9).
        state: Option<State>,
    },
}

/// Why an enqueue was a Duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateCause {
    /// The id is in use, or remembered.
    Id,
    /// An unfinished task holds the unique key.
    Key,
}

/// What a claim brought.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Claimed {
    /// At most as many as asked for. For Run by priority, then ready time, then order of
    /// enqueue (LH-CLAIM-3); for Rescue by the end of the lease.
    pub leases: Vec<Lease>,
    /// Whether to ask again at once (LH-CLAIM-4).
    pub more: bool,
    /// A later claim of the same loop has been recorded; nothing was granted (LH-CLAIM-9).
    pub superseded: bool,
}

impl Claimed {
    /// Granted leases, for backends.
    pub fn new(leases: Vec<Lease>, more: bool) -> Self {
        Self { leases, more, superseded: false }
    }

    /// The answer to a claim with a smaller seq than the recorded one.
    pub fn superseded() -> Self {
        Self { leases: Vec::new(), more: false, superseded: true }
    }
}

/// What became of one lease.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenewVerdict {
    /// The lease goes on.
    Held {
        /// What is left of it, as the store measured.
        ttl_left: Duration,
    },
    /// The lease is over, and nothing changed.
    Lost(LostReason),
    /// Somebody else's transaction holds the task just now: unknown, ask again (LH-RENEW-7).
    Busy,
}

/// Why a lease is over (LH-RENEW-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostReason {
    /// Its time has passed, and nobody has claimed the task yet. A finished decision is
    /// still worth a commit (LH-COMMIT-7).
    Lapsed,
    /// Another claim or decision came, and this is the fence now. A success is still worth
    /// a commit: where it comes too late, its verdict says so (LH-LATE-1).
    Taken(Fence),
    /// An operator cancelled the task, and nobody acted on it since (LH-RENEW-6).
    Cancelled,
    /// An operator took the lease away.
    Revoked,
    /// This claim has committed already, or the fence is none of a lease.
    Decided,
    /// There is no such task, or it is a younger one under the same id.
    Gone,
}

/// What became of one decision (LH-COMMIT-3).
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitVerdict {
    /// Written, all of it.
    Applied(Applied),
    /// This very decision had been applied before; nothing happened again (LH-COMMIT-4).
    Replayed,
    /// The guard is no longer current; this call changed nothing.
    Stale {
        /// The fence now; of a task that has left, the last that was shown.
        fence: Fence,
        /// The state now; `None` when the task has left.
        state: Option<State>,
    },
    /// A redrive needs a unique key that this other task holds; nothing changed (LH-UNIQ-4).
    Conflict(TaskRef),
    /// No task under the id, or a younger one than the guard's (LH-COMMIT-8).
    Gone,
}

/// Particulars of a commit that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The task's new fence.
    pub fence: Fence,
    /// The lease had passed, but nobody had claimed the task (LH-COMMIT-7).
    pub overdue: bool,
    /// A rescue claim had come: a late success (LH-LATE-1).
    pub late: bool,
    /// One reply for each follow-up, in order (LH-ENQ-8).
    pub follow_ups: Vec<EnqueueVerdict>,
}

impl Applied {
    /// A punctual commit, for backends.
    #[must_use]
    pub fn new(fence: Fence) -> Self {
        Self { fence, overdue: false, late: false, follow_ups: Vec::new() }
    }
}

/// How many tasks a purge removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Purged {
    /// Tasks that left.
    pub tasks: usize,
    /// Whether there may be more to remove now.
    pub more: bool,
}

impl Purged {
    /// A count, for backends.
    #[must_use]
    pub fn new(tasks: usize, more: bool) -> Self {
        Self { tasks, more }
    }
}

/// What a store knows under a task's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The task.
    Task(Box<StoredTask>),
    /// It has left, and this is remembered of it.
    Left(Left),
    /// No task, or one that left too long ago.
    Nothing,
}

/// What is remembered of a task that has left (LH-ENQ-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// The last applied commit: a task leaves only when it has ended, so there was one.
    pub shown: Shown,
    /// The state in which it ended.
    pub state: State,
}

impl Left {
    /// What is remembered of a task that ended in `state` by the commit `shown`.
    #[must_use]
    pub fn new(shown: Shown, state: State) -> Self {
        Self { shown, state }
    }

    /// What a commit of `decision` that shows `fence` is told.
    pub fn refusal(&self, fence: Fence, decision: DecisionId) -> CommitVerdict {
        if is_replay(Some(self.shown), fence, decision) {
            return CommitVerdict::Replayed;
        }
        CommitVerdict::Stale { fence: self.shown.fence, state: None }
    }

    /// What a renew that shows `fence` is told.
    #[must_use]
    pub fn lost(&self, fence: Fence) -> LostReason {
        if self.shown.fence == fence {
            decided_by(self.shown, self.state)
        } else {
            LostReason::Gone
        }
    }
}

impl StoredTask {
    /// What a commit of `decision` that shows `fence` is told when its guard did not match:
    /// Replayed, Gone or Stale. Meaningless for a guard that is current.
    pub fn refusal(&self, fence: Fence, decision: DecisionId) -> CommitVerdict {
        if is_replay(self.shown, fence, decision) {
            CommitVerdict::Replayed
        } else if fence < self.born {
            CommitVerdict::Gone
        } else {
            CommitVerdict::Stale { fence: self.fence, state: Some(self.state) }
        }
    }

    /// Why a renew that shows `fence` is lost at `now`, or `None` while the lease goes on.
    #[must_use]
    pub fn lost(&self, fence: Fence, now: Timestamp) -> Option<LostReason> {
        if fence == self.fence {
            return match self.until {
                Some(until) if until > now => None,
                Some(_) => Some(LostReason::Lapsed),
                None => Some(LostReason::Decided),
            };
        }
        Some(match self.shown {
            _ if fence < self.born => LostReason::Gone,
            Some(shown) if shown.fence == fence => decided_by(shown, self.state),
            _ => LostReason::Taken(self.fence),
        })
    }
}

fn is_replay(shown: Option<Shown>, fence: Fence, decision: DecisionId) -> bool {
    shown.is_some_and(|shown| shown.fence == fence && shown.decision == decision)
}

fn decided_by(shown: Shown, state: State) -> LostReason {
    match (shown.by, state) {
        (Role::Operator, State::Cancelled) => LostReason::Cancelled,
        (Role::Operator, _) => LostReason::Revoked,
        (Role::Worker | Role::Rescuer, _) => LostReason::Decided,
    }
}
