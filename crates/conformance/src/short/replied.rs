//! [`Replied`]: the short form of a reply.

use std::fmt;

use leasehold_core::{
    Claimed, CommitVerdict, Counts, EnqueueVerdict, Error, ErrorKind, Fence, Found, Left, Page,
    Purged, QueuePage, QueueSettings, RenewVerdict, State, Status, TaskRef,
};

use super::{Few, Named, Short};

/// What a call answered.
#[derive(Debug)]
pub(crate) enum Replied {
    Enqueued(Few<EnqueueVerdict>),
    Claimed { leases: Few<Granted>, more: bool, superseded: bool },
    Items(Few<Answer>),
    Found { task: TaskRef, state: State, fence: Fence, attempt: u32, budgets: (u32, u32) },
    Left(Left),
    Nothing,
    Page { tasks: Few<String>, next: bool },
    Counts(Vec<(Status, u64)>),
    Queues(usize),
    Set,
    Purged(Purged),
    Failed(Failed),
}

/// What an item of a renew or of a commit was answered.
#[derive(Debug)]
pub(crate) enum Answer {
    Renewed(RenewVerdict),
    Applied { fence: Fence, overdue: bool, late: bool, follow_ups: usize },
    Refused(CommitVerdict),
    Failed(Failed),
}

/// An error; its words are taken at once, since it cannot be kept, but errors are rare.
#[derive(Debug)]
pub(crate) struct Failed {
    kind: ErrorKind,
    what: String,
}

/// A lease that was granted.
#[derive(Debug)]
pub(crate) struct Granted {
    task: TaskRef,
    fence: Fence,
}

impl Replied {
    pub fn failed(error: &Error) -> Self {
        Self::Failed(Failed::of(error))
    }

    pub fn enqueued(reply: &[EnqueueVerdict]) -> Self {
        Self::Enqueued(Few::of(reply, Clone::clone))
    }

    pub fn claimed(reply: &Claimed) -> Self {
        let leases = Few::of(&reply.leases, |lease| Granted {
            task: lease.task_ref.clone(),
            fence: lease.fence,
        });
        Self::Claimed { leases, more: reply.more, superseded: reply.superseded }
    }

    pub fn renewed(reply: &[Result<RenewVerdict, Error>]) -> Self {
        Self::Items(Few::of(reply, |item| match item {
            Ok(verdict) => Answer::Renewed(verdict.clone()),
            Err(error) => Answer::Failed(Failed::of(error)),
        }))
    }

    pub fn committed(reply: &[Result<CommitVerdict, Error>]) -> Self {
        Self::Items(Few::of(reply, |item| match item {
            Ok(CommitVerdict::Applied(applied)) => Answer::Applied {
                fence: applied.fence,
                overdue: applied.overdue,
                late: applied.late,
                follow_ups: applied.follow_ups.len(),
            },
            Ok(refused) => Answer::Refused(refused.clone()),
            Err(error) => Answer::Failed(Failed::of(error)),
        }))
    }

    pub fn found(reply: &Found) -> Self {
        match reply {
            Found::Task(task) => Self::Found {
                task: task.task_ref.clone(),
                state: task.state,
                fence: task.fence,
                attempt: task.attempt,
                budgets: (task.failures, task.rescues),
            },
            Found::Left(left) => Self::Left(*left),
            Found::Nothing => Self::Nothing,
        }
    }

    pub fn page(reply: &Page) -> Self {
        let tasks = Few::of(&reply.tasks, |task| task.task_ref.id.clone());
        Self::Page { tasks, next: reply.next.is_some() }
    }

    pub fn counts(reply: &Counts) -> Self {
        let tasks = reply.tasks.iter().filter(|(_, count)| **count > 0);
        Self::Counts(tasks.map(|(status, count)| (*status, *count)).collect())
    }

    pub fn queues(reply: &QueuePage) -> Self {
        Self::Queues(reply.queues.len())
    }

    pub fn settings(_: &QueueSettings) -> Self {
        Self::Set
    }

    pub fn purged(reply: &Purged) -> Self {
        Self::Purged(*reply)
    }

    /// The tasks that it names.
    pub fn tasks(&self) -> Vec<TaskRef> {
        match self {
            Self::Claimed { leases, .. } => {
                leases.first.iter().map(|lease| lease.task.clone()).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Replied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enqueued(verdicts) => {
                let told = Few {
                    first: verdicts.first.iter().map(told_enqueue).collect(),
                    count: verdicts.count,
                };
                write!(f, "{told}")
            }
            Self::Claimed { superseded: true, .. } => f.write_str("superseded"),
            Self::Claimed { leases, more, .. } => {
                write!(f, "{leases}{}", if *more { ", more" } else { "" })
            }
            Self::Items(items) => write!(f, "{items}"),
            Self::Found { task, state, fence, attempt, budgets: (failures, rescues) } => {
                write!(f, "{}@{fence} {state}, attempt {attempt}", Named(task))?;
                write!(f, ", failures {failures}, rescues {rescues}")
            }
            Self::Left(left) => write!(f, "left as {}", left.state),
            Self::Nothing => f.write_str("nothing"),
            Self::Page { tasks, next } => {
                write!(f, "{tasks}{}", if *next { ", and a next page" } else { "" })
            }
            Self::Counts(counts) if counts.is_empty() => f.write_str("all 0"),
            Self::Counts(counts) => {
                let told: Vec<_> =
                    counts.iter().map(|(status, count)| format!("{status:?} {count}")).collect();
                f.write_str(&told.join(", "))
            }
            Self::Queues(count) => write!(f, "{count} queues"),
            Self::Set => f.write_str("done"),
            Self::Purged(purged) => {
                write!(f, "{} removed{}", purged.tasks, if purged.more { ", more" } else { "" })
            }
            Self::Failed(failed) => write!(f, "{failed}"),
        }
    }
}

fn told_enqueue(verdict: &EnqueueVerdict) -> String {
    match verdict {
        EnqueueVerdict::Enqueued { fence } => format!("new @{fence}"),
        EnqueueVerdict::Duplicate { cause, holder, .. } => {
            format!("duplicate by {cause:?} of {}", Named(holder))
        }
    }
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", Named(&self.task), self.fence)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renewed(verdict) => write!(f, "{verdict:?}"),
            Self::Applied { fence, overdue, late, follow_ups } => {
                write!(f, "applied @{fence}")?;
                f.write_str(if *overdue { ", overdue" } else { "" })?;
                f.write_str(if *late { ", late" } else { "" })?;
                match follow_ups {
                    0 => Ok(()),
                    count => write!(f, ", {count} follow-ups"),
                }
            }
            Self::Refused(CommitVerdict::Stale { fence, state: Some(state) }) => {
                write!(f, "stale: @{fence} {state}")
            }
            Self::Refused(CommitVerdict::Conflict(holder)) => {
                write!(f, "conflict with {}", Named(holder))
            }
            Self::Refused(verdict) => write!(f, "{verdict:?}"),
            Self::Failed(failed) => write!(f, "{failed}"),
        }
    }
}

impl Failed {
    fn of(error: &Error) -> Self {
        Self { kind: error.kind(), what: error.to_string() }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, Short(&self.what))
    }
}
