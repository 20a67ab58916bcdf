//! [`Asked`]: the short form of a request.

use std::fmt;
use std::time::Duration;

use leasehold_core::{
    Claim, Commit, Configure, Enqueue, Event, Guard, LimitKey, List, NewTask, Purpose, Renew,
    RenewItem, Retention, Role, TaskRef, To,
};

use super::{Few, Held, In, Named, Short};

/// What a call asked for.
#[derive(Debug)]
pub(crate) enum Asked {
    Enqueue { queue: String, tasks: Few<New> },
    Claim(Claim),
    Renew(Few<Extended>),
    Commit(Few<Decided>),
    Get(TaskRef),
    List { queue: String, after: bool, max: usize },
    Counts(String),
    Queues(usize),
    Configure(Box<Configure>),
    Purge { queue: String, max: usize },
}

/// A new task.
#[derive(Debug)]
pub(crate) struct New {
    id: String,
    limit: Option<LimitKey>,
    unique: Option<String>,
}

/// An item of a renew.
#[derive(Debug)]
pub(crate) struct Extended {
    guard: Guard,
    ttl: Duration,
}

/// An item of a commit.
#[derive(Debug)]
pub(crate) struct Decided {
    guard: Guard,
    by: Role,
    event: Event,
    to: To,
    follow_ups: usize,
}

impl Asked {
    pub fn enqueue(request: &Enqueue) -> Self {
        let tasks = Few::of(&request.tasks, |new: &NewTask| New {
            id: new.id.clone(),
            limit: new.limit.clone(),
            unique: new.unique.clone(),
        });
        Self::Enqueue { queue: request.queue.clone(), tasks }
    }

    pub fn renew(request: &Renew) -> Self {
        let short = |item: &RenewItem| Extended { guard: item.guard.clone(), ttl: item.ttl };
        Self::Renew(Few::of(&request.items, short))
    }

    pub fn commit(request: &Commit) -> Self {
        Self::Commit(Few::of(&request.items, |item| Decided {
            guard: item.guard.clone(),
            by: item.change.by,
            event: item.change.event,
            to: item.change.to,
            follow_ups: item.change.follow_ups.len(),
        }))
    }

    pub fn list(request: &List) -> Self {
        let after = request.after.is_some();
        Self::List { queue: request.queue.clone(), after, max: request.max }
    }

    /// The tasks that it names.
    pub fn tasks(&self) -> Vec<TaskRef> {
        match self {
            Self::Enqueue { queue, tasks } => {
                let ids = tasks.first.iter().map(|new| &new.id);
                ids.map(|id| TaskRef::new(queue, id)).collect()
            }
            Self::Renew(items) => items.first.iter().map(|item| item.guard.task.clone()).collect(),
            Self::Commit(items) => items.first.iter().map(|item| item.guard.task.clone()).collect(),
            Self::Get(task) => vec![task.clone()],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enqueue { queue, tasks } => write!(f, "enqueue{} {tasks}", In(queue)),
            Self::Claim(claim) => show_claim(claim, f),
            Self::Renew(items) => write!(f, "renew {items}"),
            Self::Commit(items) => write!(f, "commit {items}"),
            Self::Get(task) => write!(f, "get {}", Named(task)),
            Self::List { queue, after, max } => {
                write!(f, "list{} x{max}{}", In(queue), if *after { ", next page" } else { "" })
            }
            Self::Counts(queue) => write!(f, "counts{}", In(queue)),
            Self::Queues(max) => write!(f, "queues x{max}"),
            Self::Configure(request) => show_configure(request, f),
            Self::Purge { queue, max } => write!(f, "purge{} x{max}", In(queue)),
        }
    }
}

fn show_claim(claim: &Claim, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let purpose = match claim.purpose {
        Purpose::Run => "run",
        Purpose::Rescue => "rescue",
    };
    write!(f, "claim {purpose}{} x{} for {:?}", In(&claim.queue), claim.max, claim.ttl)?;
    if let Some(kinds) = &claim.kinds {
        write!(f, ", kinds {}", Few::of(kinds, Clone::clone))?;
    }
    match &claim.ticket {
        Some(ticket) => write!(f, ", seq {}", ticket.seq),
        None => Ok(()),
    }
}

fn show_configure(request: &Configure, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "configure{}", In(&request.queue))?;
    if let Some(paused) = request.paused {
        f.write_str(if paused { ", pause" } else { ", resume" })?;
    }
    for (group, max) in &request.limits {
        write!(f, ", limit {group}={max}")?;
    }
    if let Some(memory) = request.id_memory {
        write!(f, ", id memory {memory:?}")?;
    }
    match request.retention == Retention::default() {
        true => Ok(()),
        false => f.write_str(", retention"),
    }
}

impl fmt::Display for New {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Short(&self.id).to_string())?;
        if let Some(limit) = &self.limit {
            write!(f, " limit {}/{}", Short(&limit.group), Short(&limit.key))?;
        }
        match &self.unique {
            Some(key) => write!(f, " unique {}", Short(key)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {:?}", Held(&self.guard), self.ttl)
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { guard, by, event, to, follow_ups } = self;
        write!(f, "{} {by} {event} -> {to:?}", Held(guard))?;
        match follow_ups {
            0 => Ok(()),
            count => write!(f, ", {count} follow-ups"),
        }
    }
}
