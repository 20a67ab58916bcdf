//! The lease and what it is named by: [`Fence`], [`Guard`], [`Purpose`], [`Lease`].

use std::fmt;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::limit::LimitKey;
use crate::policy::Policy;
use crate::state::State;
use crate::task::{Headers, Payload, Priority, StoredTask, TaskRef};

/// A fencing token: for one task always growing, never used twice (LH-FENCE-1).
///
/// Below 2^63, so that every store can keep it as a signed integer. Hand it on to a system
/// that your handler writes to, and let that system refuse a smaller one than it has seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    /// The fence with this value; bit 63 is cut off.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value & (u64::MAX >> 1))
    }

    /// The value, below 2^63.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fence({})", self.0)
    }
}

/// What a renew or a commit shows: the task, and the fence on which it was decided.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard {
    /// The task.
    pub task: TaskRef,
    /// The fence of the claim, or the fence that an operator saw.
    pub fence: Fence,
}

impl Guard {
    /// The guard that shows `fence` for `task`.
    #[must_use]
    pub fn new(task: TaskRef, fence: Fence) -> Self {
        Self { task, fence }
    }
}

/// What a claim takes a lease for. Exhaustive: a backend handles each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// To execute a waiting task.
    Run,
    /// To decide about a lapsed lease.
    Rescue,
}

/// A granted claim: what the holder needs to run the task, or to decide about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// Queue and id.
    pub task_ref: TaskRef,
    /// The fence of this claim.
    pub fence: Fence,
    /// Run or Rescue.
    pub purpose: Purpose,
    /// What was left of the lease when the store answered; count it from before the call.
    pub ttl_left: Duration,
    /// The newest run: for Run this claim itself, for Rescue the run that was lost.
    pub run: Option<Fence>,
    /// The name that picks the handler.
    pub kind: String,
    /// What the handler gets.
    pub payload: Payload,
    /// What rides along.
    pub headers: Headers,
    /// 0 to 9.
    pub priority: Priority,
    /// Retries, delivery, retention.
    pub policy: Policy,
    /// The concurrency limit that counts this lease.
    pub limit: Option<LimitKey>,
    /// The unique key that the task holds.
    pub unique: Option<String>,
    /// When the task was enqueued.
    pub enqueued_at: Timestamp,
    /// When it was due.
    pub due: Timestamp,
    /// The ordinal of this run, 1 for the first.
    pub attempt: u32,
    /// Spent of the retry budget.
    pub failures: u32,
    /// Spent of the rescue budget.
    pub rescues: u32,
    /// Lapses of this rescue before this claim (LH-LAPSE-9).
    pub takeovers: u32,
    /// What an earlier renew stored.
    pub note: Option<Payload>,
    /// The raw bytes of a stored record that cannot be read (LH-CLAIM-11): the holder buries
    /// the task; policy and headers are placeholders.
    pub corrupt: Option<Payload>,
}

impl Lease {
    /// The lease of `task` as it stands after a claim at `now`; its history, result and the
    /// like are left behind. A task that is not leased counts as claimed to run.
    #[must_use]
    pub fn of(task: StoredTask, now: Timestamp) -> Self {
        let purpose = match task.state {
            State::Leased(purpose) => purpose,
            _ => Purpose::Run,
        };
        Self {
            task_ref: task.task_ref,
            fence: task.fence,
            purpose,
            ttl_left: task.until.map_or(Duration::ZERO, |until| until.since(now)),
            run: task.run,
            kind: task.kind,
            payload: task.payload,
            headers: task.headers,
            priority: task.priority,
            policy: task.policy,
            limit: task.limit,
            unique: task.unique,
            enqueued_at: task.enqueued_at,
            due: task.due,
            attempt: task.attempt,
            failures: task.failures,
            rescues: task.rescues,
            takeovers: task.takeovers,
            note: task.note,
            corrupt: task.corrupt,
        }
    }

    /// What a renew or a commit of this lease shows.
    #[must_use]
    pub fn guard(&self) -> Guard {
        Guard::new(self.task_ref.clone(), self.fence)
    }
}
