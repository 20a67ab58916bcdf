//! [`Op`] and [`Reply`]: one call about one queue, and what a store answered.

use leasehold_core::{
    Claim, Claimed, CommitItem, CommitVerdict, Configure, Counts, EnqueueVerdict, ErrorKind, Found,
    NewTask, QueueSettings, RenewItem, RenewVerdict,
};

/// One step on a queue. An item of a renew or a commit is a step of its own (LH-GEN-2).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Op {
    /// New tasks, all or nothing.
    Enqueue(Vec<NewTask>),
    /// A claim.
    Claim(Claim),
    /// One item of a renew.
    Renew(RenewItem),
    /// One item of a commit.
    Commit(CommitItem),
    /// A read of the task under this id.
    Get(String),
    /// A count of the queue.
    Count,
    /// New settings.
    Configure(Configure),
    /// A purge of up to so many tasks.
    Purge(usize),
    /// Not a verb: the store's clock moves by so many milliseconds.
    Shift(i64),
}

impl Op {
    /// The verb.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Enqueue(_) => "enqueue",
            Self::Claim(_) => "claim",
            Self::Renew(_) => "renew",
            Self::Commit(_) => "commit",
            Self::Get(_) => "get",
            Self::Count => "counts",
            Self::Configure(_) => "configure",
            Self::Purge(_) => "purge",
            Self::Shift(_) => "shift",
        }
    }
}

/// What was answered; each goes with the [`Op`] of the same meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// One verdict for each new task.
    Enqueued(Vec<EnqueueVerdict>),
    /// The leases.
    Claimed(Claimed),
    /// Held, Lost or Busy.
    Renewed(RenewVerdict),
    /// What became of the decision.
    Committed(CommitVerdict),
    /// What is there.
    Found(Found),
    /// The counts.
    Counted(Counts),
    /// The settings, whole.
    Configured(QueueSettings),
    /// How many tasks left.
    Purged(usize),
    /// The clock stands where it was put.
    Shifted,
    /// An error that says that nothing happened: Invalid or Unsupported.
    Refused(ErrorKind),
}
