//! [`Observer`]: hears what happened, once the store's verdict is known.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use leasehold_core::{Change, CommitVerdict, Error, Fence, Lease};

use crate::health::Loop;
use crate::held::Loss;

/// Hears of everything that a worker does, and can change nothing of it (LH-OBS-2).
///
/// It is called on the worker's own tasks: it hands on what takes time. A panic in it is
/// caught and logged.
pub trait Observer: Send + Sync + 'static {
    /// Something has happened.
    fn notice(&self, notice: &Notice<'_>);
}

/// Something that has happened in a worker.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// A lease was taken to run its task.
    Claimed {
        /// The lease.
        lease: &'a Lease,
    },
    /// A run has lost its lease, and its handler was cancelled. If it has something to say all
    /// the same, that is told by `Decided`.
    Lost {
        /// The lease that was lost.
        lease: &'a Lease,
        /// How.
        loss: Loss,
    },
    /// The decision about a run has its verdict.
    Decided {
        /// The lease of the run.
        lease: &'a Lease,
        /// What was decided.
        change: &'a Change,
        /// What became of it.
        verdict: &'a Verdict,
    },
    /// The decision about a lapsed lease has its verdict.
    Rescued {
        /// The rescuer's lease.
        lease: &'a Lease,
        /// What was decided.
        change: &'a Change,
        /// What became of it. Stale is good news: the run was not lost after all.
        verdict: &'a Verdict,
    },
    /// Finished tasks left a queue, as their retention has passed.
    Purged {
        /// The queue.
        queue: &'a str,
        /// How many.
        tasks: usize,
    },
    /// A call of a background loop failed; the loop goes on.
    Failing {
        /// The queue.
        queue: &'a str,
        /// Which loop.
        name: Loop,
        /// The error.
        error: &'a Error,
        /// How many calls of the loop have failed in a row, this one included.
        tries: u32,
    },
    /// A loop's call went well again.
    Recovered {
        /// The queue.
        queue: &'a str,
        /// Which loop.
        name: Loop,
        /// How many calls had failed in a row.
        tries: u32,
    },
}

/// What became of a decision: the store's own word, or what can be said without it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// It counts.
    Applied {
        /// The lease had passed, but nobody had claimed the task (LH-COMMIT-7).
        overdue: bool,
        /// A rescue had come first: a late success (LH-LATE-1).
        late: bool,
    },
    /// It changed nothing: the task had moved on.
    Stale {
        /// The fence that it showed.
        shown: Fence,
        /// The task's fence now.
        now: Fence,
    },
    /// A try got no answer, and the store cannot tell any more: it may have counted.
    Unknown {
        /// The fence that it showed.
        shown: Fence,
        /// The task's fence now; `None` when the task is gone, or the store did not say.
        now: Option<Fence>,
    },
    /// It changed nothing: the task is gone.
    Gone,
    /// It changed nothing: the store refused it. The lease is left to lapse.
    Refused(Error),
    /// No try was answered before the worker stopped: it may have counted, or the lease
    /// is left to lapse.
    Unanswered,
}

impl Verdict {
    /// The verdict of a commit that showed `shown`. `unanswered`: an earlier try of the same
    /// decision got no answer and may have been applied (LH-COMMIT-3).
    pub(crate) fn of(reply: CommitVerdict, shown: Fence, unanswered: bool) -> Self {
        match reply {
            CommitVerdict::Applied(applied) => {
                Self::Applied { overdue: applied.overdue, late: applied.late }
            }
            CommitVerdict::Replayed => Self::Applied { overdue: false, late: false },
            CommitVerdict::Stale { fence, .. } if unanswered => {
                Self::Unknown { shown, now: Some(fence) }
            }
            CommitVerdict::Stale { fence, .. } => Self::Stale { shown, now: fence },
            CommitVerdict::Gone if unanswered => Self::Unknown { shown, now: None },
            // Only a redrive meets a conflict, and no worker redrives.
            CommitVerdict::Gone | CommitVerdict::Conflict(_) => Self::Gone,
        }
    }

    /// Whether the decision is known to count.
    #[must_use]
    pub fn counts(&self) -> bool {
        matches!(self, Self::Applied { .. })
    }
}

/// All observers of a worker, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    pub(crate) fn push(&mut self, observer: Arc<dyn Observer>) {
        self.0.push(observer);
    }

    pub(crate) fn notice(&self, notice: &Notice<'_>) {
        for observer in &self.0 {
            let told = catch_unwind(AssertUnwindSafe(|| observer.notice(notice)));
            if told.is_err() {
                tracing::error!(target: "leasehold", "an observer panicked; the worker goes on");
            }
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}
