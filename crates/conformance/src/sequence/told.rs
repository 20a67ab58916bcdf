//! Steps and replies as people read them.

use leasehold_core::{
    Change, Claimed, CommitVerdict, EnqueueVerdict, Found, Guard, NewTask, StoredTask, To,
};

use crate::model::{Op, Reply};

/// The step in short.
pub(crate) fn told_op(op: &Op) -> String {
    match op {
        Op::Enqueue(tasks) => format!("enqueue {}", joined(tasks.iter().map(new))),
        Op::Claim(claim) => {
            let kinds = claim.kinds.as_ref().map(|kinds| format!(" of {}", kinds.join(", ")));
            let ticket = claim.ticket.map(|ticket| {
                let claimer = ticket.claimer.bits() % 1_000;
                format!(" as claim {} of loop ..{claimer}", ticket.seq)
            });
            let (kinds, ticket) = (kinds.unwrap_or_default(), ticket.unwrap_or_default());
            format!("claim {:?} {}{kinds} for {:?}{ticket}", claim.purpose, claim.max, claim.ttl)
        }
        Op::Renew(item) => {
            let note = if item.note.is_some() { " with a note" } else { "" };
            format!("renew {} by {:?}{note}", guard(&item.guard), item.ttl)
        }
        Op::Commit(item) => {
            let decision = item.decision.bits() % 1_000;
            format!("commit {} ..{decision}: {}", guard(&item.guard), change(&item.change))
        }
        Op::Get(id) => format!("get {id}"),
        Op::Shift(by_ms) => format!("the clock moves by {by_ms} ms"),
        Op::Purge(max) => format!("purge {max}"),
        Op::Configure(request) => format!("{request:?}"),
        Op::Count => "counts".to_owned(),
    }
}

/// The reply in short.
pub(crate) fn told_reply(reply: &Reply) -> String {
    match reply {
        Reply::Enqueued(verdicts) => joined(verdicts.iter().map(enqueued)),
        Reply::Claimed(Claimed { leases, more, superseded, .. }) => {
            let leases = joined(leases.iter().map(|lease| guard(&lease.guard())));
            let more = if *more { ", more" } else { "" };
            let superseded = if *superseded { ", superseded" } else { "" };
            format!("[{leases}]{more}{superseded}")
        }
        Reply::Committed(CommitVerdict::Applied(applied)) => {
            let late = if applied.late { " late" } else { "" };
            let overdue = if applied.overdue { " overdue" } else { "" };
            let follow_ups = joined(applied.follow_ups.iter().map(enqueued));
            format!("Applied{late}{overdue} {} {follow_ups}", applied.fence)
        }
        Reply::Found(Found::Task(task)) => task_in_short(task),
        Reply::Found(found) => format!("{found:?}"),
        Reply::Renewed(verdict) => format!("{verdict:?}"),
        Reply::Committed(verdict) => format!("{verdict:?}"),
        other => format!("{other:?}"),
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn guard(guard: &Guard) -> String {
    format!("{}@{}", guard.task.id, guard.fence)
}

fn new(new: &NewTask) -> String {
    let mut told = format!("{} ({}", new.id, new.kind);
    if new.due != leasehold_core::Due::Now {
        told += &format!(" due {:?}", new.due);
    }
    if let Some(limit) = &new.limit {
        told += &format!(" limit {}/{}", limit.group, limit.key);
    }
    if let Some(key) = &new.unique {
        told += &format!(" unique {key}");
    }
    let (level, delivery) = (new.priority.level(), new.policy.delivery);
    told += &format!(" priority {level} {delivery:?} {:?})", new.policy.retention);
    told
}

fn change(change: &Change) -> String {
    let follow_ups = joined(change.follow_ups.iter().map(new));
    let follow_ups = match follow_ups.is_empty() {
        true => String::new(),
        false => format!(" then {follow_ups}"),
    };
    let keep = match (change.keep, change.to) {
        (Some(keep), _) => format!(" kept {keep:?}"),
        (None, To::Same) => format!(" {:?}", change.edit),
        (None, _) => String::new(),
    };
    format!("{} {} to {:?}{keep}{follow_ups}", change.by, change.event, change.to)
}

fn enqueued(verdict: &EnqueueVerdict) -> String {
    match verdict {
        EnqueueVerdict::Enqueued { fence } => format!("Enqueued {fence}"),
        EnqueueVerdict::Duplicate { cause, holder, state } => {
            format!("Duplicate by {cause:?} of {} {state:?}", holder.id)
        }
    }
}

fn task_in_short(task: &StoredTask) -> String {
    let run = task.run.map(|run| format!(" run {run}")).unwrap_or_default();
    let shown = task.shown.map(|shown| format!(" shown {}", shown.fence)).unwrap_or_default();
    format!("{} at {}{run}{shown}", task.state, task.fence)
}
