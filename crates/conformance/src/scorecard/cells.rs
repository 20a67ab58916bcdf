//! Steps into cells.

use leasehold_core::{
    Budget, Claim, Claimed, CommitItem, CommitVerdict, DeadReason, DuplicateCause, EnqueueVerdict,
    Event, Fence, Found, Guard, LostReason, Purpose, RenewItem, RenewVerdict, Role, State,
    StoredTask, To,
};

use super::Cell;
use crate::model::{Model, Op, Reply};

/// The cells that a step reaches.
pub(super) fn of(before: &Model, after: &Model, op: &Op, reply: &Reply) -> Vec<Cell> {
    match (op, reply) {
        (Op::Enqueue(_), Reply::Refused(_)) => {
            vec![("enqueue", "a group without a number", "Invalid")]
        }
        (Op::Enqueue(tasks), Reply::Enqueued(verdicts)) => {
            let ids = tasks.iter().map(|new| new.id.as_str());
            enqueues("enqueue", before, after, ids, verdicts)
        }
        (Op::Claim(claim), Reply::Claimed(claimed)) => claims(before, claim, claimed),
        (Op::Renew(item), Reply::Renewed(verdict)) => vec![renew(before, item, verdict)],
        (Op::Renew(_), _) => vec![("renew", "too short", "Invalid")],
        (Op::Commit(item), reply) => commits(before, after, item, reply),
        (Op::Get(_), Reply::Found(found)) => vec![("get", found_in(found), "told")],
        (Op::Purge(_), Reply::Purged(0)) => vec![("purge", "nothing is over", "nothing")],
        (Op::Purge(_), _) => vec![("purge", "something is over", "counted")],
        (Op::Configure(request), _) => match (request.paused, before.settings.paused) {
            (Some(true), false) => vec![("configure", "running", "paused")],
            (Some(false), true) => vec![("configure", "paused", "resumed")],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn enqueues<'a>(
    op: &'static str,
    before: &Model,
    after: &Model,
    ids: impl Iterator<Item = &'a str>,
    verdicts: &[EnqueueVerdict],
) -> Vec<Cell> {
    let cells = ids.zip(verdicts).map(|(id, verdict)| match verdict {
        EnqueueVerdict::Enqueued { .. } => {
            let held = after.task(id).is_some_and(|task| task.held_until.is_some());
            let when = match before.fences.contains_key(id) {
                _ if held => "a unique key that is held",
                true => "an id that is forgotten",
                false => "a new id",
            };
            (op, when, "Enqueued")
        }
        EnqueueVerdict::Duplicate { cause: DuplicateCause::Key, .. } => {
            (op, "a unique key in use", "Duplicate")
        }
        EnqueueVerdict::Duplicate { state: None, .. } => {
            (op, "an id that is remembered", "Duplicate")
        }
        EnqueueVerdict::Duplicate { .. } => (op, "an id in use", "Duplicate"),
    });
    cells.collect()
}

fn claims(before: &Model, claim: &Claim, claimed: &Claimed) -> Vec<Cell> {
    let recorded = claim.ticket.and_then(|t| Some((t, before.claims.get(&t.claimer)?)));
    match recorded {
        _ if claimed.superseded => return vec![("claim again", "a later one came", "superseded")],
        Some((ticket, record)) if record.seq == ticket.seq => {
            let when = match claimed.leases.len() {
                0 => "no lease goes on",
                some if some < record.granted.len() => "some leases go on",
                _ => "all leases go on",
            };
            return vec![("claim again", when, "told")];
        }
        _ => {}
    }
    let op = match claim.purpose {
        Purpose::Run => "claim run",
        Purpose::Rescue => "claim rescue",
    };
    let mut cells = Vec::new();
    for lease in &claimed.leases {
        let Some(task) = before.task(&lease.task_ref.id) else { continue };
        cells.extend(granted(before, claim, task).into_iter().map(|when| (op, when, "granted")));
    }
    if claimed.leases.is_empty() {
        cells.push((op, refused(before, claim), "nothing"));
    }
    cells
}

/// What is said of a task that a claim was granted.
fn granted(before: &Model, claim: &Claim, task: &StoredTask) -> Vec<&'static str> {
    let mut when = vec![match (task.state, task.run, task.shown.map(|shown| shown.by)) {
        (State::Leased(Purpose::Run), ..) => "a lapsed run",
        (State::Leased(Purpose::Rescue), ..) => "a lapsed rescue",
        (_, Some(_), _) => "put back by a rescue",
        (_, None, None) => "a new task",
        (_, None, Some(Role::Operator)) => "put back by an operator",
        (_, None, Some(_)) => "put back by its run",
    }];
    let held = task.held_until.is_some() && claim.purpose == Purpose::Run;
    when.extend(held.then_some("a hold that is over"));
    when.extend(task.limit.as_ref().map(|_| "under a limit"));
    when.extend(task.unique.as_ref().map(|_| "with a unique key"));
    when.extend(claim.kinds.as_ref().map(|_| "of its kind"));
    when.extend(before.settings.paused.then_some("a paused queue"));
    when
}

/// Why a claim was granted nothing.
fn refused(before: &Model, claim: &Claim) -> &'static str {
    let ready = |task: &&StoredTask| match claim.purpose {
        Purpose::Run => task.state == State::Waiting && task.ready_at() <= before.now,
        Purpose::Rescue => {
            matches!(task.state, State::Leased(_))
                && task.until.is_some_and(|until| until <= before.now)
        }
    };
    let tasks = before.tasks.values().map(|kept| &kept.task);
    let ready: Vec<_> = tasks.filter(ready).collect();
    let kinds =
        |task: &&&StoredTask| claim.kinds.as_ref().is_none_or(|kinds| kinds.contains(&task.kind));
    match ready.iter().filter(kinds).count() {
        _ if ready.is_empty() => "nothing is ready",
        _ if claim.purpose == Purpose::Run && before.settings.paused => "a paused queue",
        0 => "other kinds only",
        _ => "full limits only",
    }
}

fn renew(before: &Model, item: &RenewItem, verdict: &RenewVerdict) -> Cell {
    let reason = match verdict {
        RenewVerdict::Held { .. } => {
            return ("renew", meeting(before, &item.guard, None), "Held");
        }
        RenewVerdict::Busy => return ("renew", "held by another transaction", "Busy"),
        RenewVerdict::Lost(reason) => *reason,
    };
    let when = match before.task(&item.guard.task.id) {
        Some(task) if task.fence == item.guard.fence && task.until > Some(before.now) => {
            "its slot was swept"
        }
        _ => meeting(before, &item.guard, None),
    };
    let told = match reason {
        _ if when == "left by this claim" => "Lost",
        LostReason::Lapsed => "Lapsed",
        LostReason::Taken(_) => "Taken",
        LostReason::Cancelled => "Cancelled",
        LostReason::Revoked => "Revoked",
        LostReason::Decided => "Decided",
        LostReason::Gone => "Gone",
    };
    ("renew", when, told)
}

fn commits(before: &Model, after: &Model, item: &CommitItem, reply: &Reply) -> Vec<Cell> {
    let repeat = Some((item.guard.fence, item.decision));
    let mut when = meeting(before, &item.guard, repeat);
    if item.change.by == Role::Operator {
        when = seen(when);
    }
    let Reply::Committed(verdict) = reply else {
        return vec![(role(item), "a rescue's claim", "Invalid")];
    };
    // What is written depends on the change, what is refused on its role.
    let op = match verdict {
        CommitVerdict::Applied(_) | CommitVerdict::Conflict(_) => change(item),
        _ => role(item),
    };
    let told = match verdict {
        CommitVerdict::Applied(applied) if applied.late => "Applied late",
        CommitVerdict::Applied(applied) if applied.overdue => "Applied overdue",
        CommitVerdict::Applied(_) => "Applied",
        CommitVerdict::Replayed => "Replayed",
        CommitVerdict::Stale { .. } => "Stale",
        CommitVerdict::Conflict(_) => return vec![(op, "its unique key in use", "Conflict")],
        CommitVerdict::Gone => "Gone",
    };
    let mut cells = vec![(op, when, told)];
    if let CommitVerdict::Applied(applied) = verdict {
        let ids = item.change.follow_ups.iter().map(|new| new.id.as_str());
        cells.extend(enqueues("follow-up", before, after, ids, &applied.follow_ups));
        let left =
            before.task(&item.guard.task.id).is_some() && after.task(&item.guard.task.id).is_none();
        cells.extend(left.then_some((op, "its task may leave", "left")));
    }
    cells
}

/// To an operator a lapsed rescue is a rescue, and a run's right to a late success nothing.
fn seen(when: &'static str) -> &'static str {
    match when {
        "lapsed rescue" => "rescuing",
        "rescue by another" => "another rescue",
        "put back by a rescue" => "another decision since: waiting",
        "buried by a rescue" => "another decision since: finished",
        other => other,
    }
}

fn role(item: &CommitItem) -> &'static str {
    match (item.change.by, item.change.to) {
        (Role::Worker, To::Succeeded) => "success",
        (Role::Worker, _) => "another ending",
        (Role::Rescuer, _) => "rescue",
        (Role::Operator, _) => "act of an operator",
    }
}

fn change(item: &CommitItem) -> &'static str {
    let change = &item.change;
    match (change.by, change.event) {
        (Role::Worker, _) => match (change.to, change.budget) {
            (To::Succeeded, _) => "success",
            (_, Budget::SpendRetry) => "failure",
            (To::Waiting(_), _) => "give back",
            _ => "last ending",
        },
        (Role::Rescuer, _) if matches!(change.to, To::Waiting(_)) => "rescue that puts back",
        (Role::Rescuer, _) => "rescue that buries",
        (_, Event::Cancelled) => "cancel",
        (_, Event::Buried) => "bury",
        (_, Event::Requeued) => match change.on_leased {
            leasehold_core::OnLeased::Refuse => "requeue",
            leasehold_core::OnLeased::Revoke => "revoke",
        },
        (_, Event::Edited) => "edit",
        (_, Event::Deleted) => "delete",
        (_, _) => "redrive",
    }
}

/// What a guard meets; `repeat` is the decision of a commit.
fn meeting(
    before: &Model,
    guard: &Guard,
    repeat: Option<(Fence, leasehold_core::DecisionId)>,
) -> &'static str {
    let Some(task) = before.task(&guard.task.id) else {
        return match before.remembered(&guard.task.id).map(|left| left.shown) {
            None => "no task",
            Some(shown) if repeat == Some((shown.fence, shown.decision)) => "left by this decision",
            Some(shown) if shown.fence == guard.fence => "left by this claim",
            Some(_) => "left by another",
        };
    };
    let shown = task.shown.filter(|shown| shown.fence == guard.fence);
    if task.fence == guard.fence {
        return met(task, before);
    }
    if guard.fence < task.born {
        return "a younger task";
    }
    match (shown, task.state) {
        (Some(shown), _) if repeat == Some((shown.fence, shown.decision)) => {
            "this decision counted"
        }
        (Some(_), _) => "another decision counted",
        (None, State::Leased(Purpose::Rescue)) if task.run == Some(guard.fence) => {
            "rescue by another"
        }
        (None, State::Waiting) if task.run == Some(guard.fence) => "put back by a rescue",
        (None, State::Dead(DeadReason::Lost)) if task.run == Some(guard.fence) => {
            "buried by a rescue"
        }
        (None, State::Leased(Purpose::Run)) => "another run",
        (None, State::Leased(Purpose::Rescue)) => "another rescue",
        (None, State::Waiting) => "another decision since: waiting",
        (None, _) => "another decision since: finished",
    }
}

/// A task whose fence is current.
fn met(task: &StoredTask, before: &Model) -> &'static str {
    let live = task.until > Some(before.now);
    match task.state {
        State::Waiting => "waiting",
        State::Leased(Purpose::Run) if live => "running",
        State::Leased(Purpose::Run) => "lapsed",
        State::Leased(Purpose::Rescue) if live => "rescuing",
        State::Leased(Purpose::Rescue) => "lapsed rescue",
        State::Succeeded => "succeeded",
        State::Dead(_) => "dead",
        State::Cancelled => "cancelled",
    }
}

fn found_in(found: &Found) -> &'static str {
    match found {
        Found::Nothing => "no task",
        Found::Left(_) => "remembered",
        Found::Task(task) => match task.state {
            State::Waiting => "waiting",
            State::Leased(Purpose::Run) => "running",
            State::Leased(Purpose::Rescue) => "rescuing",
            State::Succeeded => "succeeded",
            State::Dead(_) => "dead",
            State::Cancelled => "cancelled",
        },
    }
}
