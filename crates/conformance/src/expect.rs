//! The table of moves in `docs/contract.md` once more, written apart from every backend: what a
//! claim or an applied commit leaves of a task.

use leasehold_core::{
    Applied, Budget, Change, CommitItem, Fence, Keep, Lease, Purpose, Retention, Role, Shown,
    State, StoredTask, Timestamp, To, When,
};

/// Every finished task stays, so that the whole of it can be looked at.
pub(crate) const KEPT: Retention = Retention::DEFAULT
    .with_succeeded(Keep::Forever)
    .with_cancelled(Keep::Forever)
    .with_dead(Keep::Forever);

/// The task after the claim that granted `lease`.
pub(crate) fn claimed(
    before: &StoredTask,
    lease: &Lease,
    holder: &str,
    until: Timestamp,
) -> StoredTask {
    let mut task = before.clone();
    task.fence = lease.fence;
    task.until = Some(until);
    task.holder = Some(holder.to_owned());
    match lease.purpose {
        Purpose::Run => {
            task.run = Some(lease.fence);
            task.attempt += 1;
        }
        Purpose::Rescue => {
            let taken_over = before.state == State::Leased(Purpose::Rescue);
            task.takeovers += u32::from(taken_over);
        }
    }
    task.state = State::Leased(lease.purpose);
    task
}

/// The flags that tell how an applied commit came, but for an operator, who holds no lease.
pub(crate) fn applied(
    before: &StoredTask,
    item: &CommitItem,
    fence: Fence,
    now: Timestamp,
) -> Applied {
    let current = item.guard.fence == before.fence;
    let mut applied = Applied::new(fence);
    applied.late = !current;
    let by_holder = item.change.by != Role::Operator;
    applied.overdue = current && by_holder && before.until.is_some_and(|until| until <= now);
    applied
}

/// The task after `item` was applied with the new fence `fence`; `None` when it left, in a
/// queue with the usual settings.
pub(crate) fn after(
    before: &StoredTask,
    item: &CommitItem,
    fence: Fence,
    now: Timestamp,
    history_max: usize,
) -> Option<StoredTask> {
    let task = landed(before, item, fence, now, history_max);
    let held = task.held_until.is_some_and(|held| held > now);
    (held || keep(&item.change, Retention::DEFAULT) != Some(Keep::NOT)).then_some(task)
}

/// The task after `item` was applied with the new fence `fence`, whether it stays or not.
pub(crate) fn landed(
    before: &StoredTask,
    item: &CommitItem,
    fence: Fence,
    now: Timestamp,
    history_max: usize,
) -> StoredTask {
    let (change, mut task) = (&item.change, before.clone());
    let operator = change.by == Role::Operator;
    let live = before.until.filter(|until| *until > now);
    if operator && before.state == State::Leased(Purpose::Run) && live.is_some() {
        task.held_until = before.held_until.max(live);
    }
    task.history.push(change.record(now, item.guard.fence, before.attempt), history_max);
    task.fence = fence;
    task.shown = Some(Shown::new(item.guard.fence, item.decision, change.by));
    (task.until, task.holder, task.takeovers) = (None, None, 0);
    task.run = before.run.filter(|_| change.by == Role::Rescuer);
    match change.budget {
        Budget::Keep => {}
        Budget::SpendRetry => task.failures += 1,
        Budget::SpendRescue => task.rescues += 1,
        Budget::Reset => (task.failures, task.rescues, task.note) = (0, 0, None),
    }
    if change.to == To::Same {
        edit(&mut task, change, now);
    } else {
        arrive(&mut task, change, now);
    }
    task
}

fn edit(task: &mut StoredTask, change: &Change, now: Timestamp) {
    let edit = change.edit.clone().unwrap_or_default();
    task.payload = edit.payload.unwrap_or(task.payload.clone());
    task.priority = edit.priority.unwrap_or(task.priority);
    task.due = edit.due.map_or(task.due, |due| due.instant(now));
    if let Some(policy) = edit.policy {
        // What could not be read has been written anew.
        (task.policy, task.corrupt) = (policy, None);
    }
}

fn arrive(task: &mut StoredTask, change: &Change, now: Timestamp) {
    task.state = match change.to {
        To::Waiting(_) => State::Waiting,
        To::Succeeded => State::Succeeded,
        To::Dead(reason) => State::Dead(reason),
        To::Cancelled | To::Gone => State::Cancelled,
        To::Same => task.state,
    };
    task.due = match change.to {
        To::Waiting(When::After(delay)) => now.after(delay),
        To::Waiting(When::At(instant)) => instant.max(now),
        _ => task.due,
    };
    task.finished_at = task.state.is_finished().then_some(now);
    task.result = change.result.clone();
}

/// How long a task stays that the change finishes: its own word, else its queue's; `None` when
/// the change does not finish it.
pub(crate) fn keep(change: &Change, queue: Retention) -> Option<Keep> {
    match change.to {
        To::Succeeded => change.keep.or(queue.succeeded),
        To::Dead(reason) => change.keep.or(queue.of(State::Dead(reason))),
        To::Cancelled => change.keep.or(queue.cancelled),
        To::Gone => Some(Keep::NOT),
        To::Waiting(_) | To::Same => None,
    }
}
