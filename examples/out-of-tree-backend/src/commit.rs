//! commit, the only way a task changes state, and enqueue, the way it comes to be.

use leasehold_core::*;
use redb::Error as Fault;

use crate::error::reply;
use crate::record::Entry;
use crate::store::{Reads, Step};

pub(crate) fn enqueue(step: &Step, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Fault> {
    if !request.tasks.is_empty() && step.tx.settings(&request.queue)?.is_none() {
        step.configure(&request.queue, &QueueSettings::default())?;
    }
    request.tasks.into_iter().map(|new| add(step, &request.queue, new)).collect()
}

/// One new task, of a caller or a follow-up.
fn add(step: &Step, queue: &str, new: NewTask) -> Result<EnqueueVerdict, Fault> {
    let state = step.tx.entry(queue, &new.id)?.map(|entry| entry.task.state);
    if state.is_some() || step.tx.left(queue, &new.id, step.now)?.is_some() {
        let (cause, holder) = (DuplicateCause::Id, TaskRef::new(queue, new.id));
        return Ok(EnqueueVerdict::Duplicate { cause, holder, state });
    }
    let fence = step.fence()?;
    let task = StoredTask::enqueued(queue, new, fence, step.now);
    step.put_body(&task)?;
    let old = step.tx.record(queue, &task.task_ref.id)?;
    step.put(old.as_ref(), Some(&Entry { task, expires: None, left: false }))?;
    Ok(EnqueueVerdict::Enqueued { fence })
}

type Committed = Result<CommitVerdict, Error>;

pub(crate) fn commit(step: &Step, request: Commit) -> Result<Vec<Committed>, Fault> {
    request.items.into_iter().map(|item| reply(commit_one(step, item))).collect()
}

fn commit_one(step: &Step, item: CommitItem) -> Result<Committed, Fault> {
    if let Err(error) = item.check(&step.capabilities) {
        return Ok(Err(error));
    }
    let queue = item.guard.task.queue.clone();
    if step.tx.settings(&queue)?.is_none() {
        return Ok(Ok(CommitVerdict::Gone));
    }
    let verdict = decide(step, item)?;
    let event = match &verdict {
        Ok(CommitVerdict::Applied(Applied { overdue: true, .. })) => "overdue",
        Ok(CommitVerdict::Applied(Applied { late: true, .. })) => "late",
        Ok(CommitVerdict::Replayed) => "replayed",
        Ok(CommitVerdict::Stale { .. }) => "stale_commits",
        _ => return Ok(verdict),
    };
    step.count(&queue, event, 1)?;
    Ok(verdict)
}

/// Whatever can refuse the item, also a record that cannot be read, comes before its first
/// write: nothing of a refused one must be left when the call commits.
fn decide(step: &Step, item: CommitItem) -> Result<Committed, Fault> {
    let CommitItem { guard, decision, change, .. } = item;
    let TaskRef { queue, id } = &guard.task;
    let Some(before) = step.tx.entry(queue, id)? else {
        let left = step.tx.left(queue, id, step.now)?;
        let refusal = left.map(|left| left.refusal(guard.fence, decision));
        return Ok(Ok(refusal.unwrap_or(CommitVerdict::Gone)));
    };
    let task = &before.task;
    // The one rule (LH-COMMIT-1) and its one exception (LH-LATE-1).
    let current = guard.fence == task.fence;
    let success = (change.by, change.to) == (Role::Worker, To::Succeeded);
    let late = !current && success && task.run == Some(guard.fence);
    if !current && !late {
        return Ok(Ok(task.refusal(guard.fence, decision)));
    }
    let invalid = |what: &str| Ok(Err(Error::invalid(what).with_task(&guard.task)));
    if current && !change.fits(task.state) {
        return invalid(&format!("a task that is {} does not admit this change", task.state));
    }
    change.follow_ups.iter().try_for_each(|new| step.tx.record(queue, &new.id).map(drop))?;
    let mut after = before.clone();
    if let Some(edit) = &change.edit
        && !rewrite(step, &mut after.task, edit)?
    {
        return invalid("a newer version has written this task");
    }
    let mut applied = Applied::new(step.fence()?);
    let lapsed = task.until.is_some_and(|until| until <= step.now);
    (applied.overdue, applied.late) = (current && lapsed && change.by != Role::Operator, late);
    after.task.fence = applied.fence;
    after.task.shown = Some(Shown::new(guard.fence, decision, change.by));
    apply(step, &before, after, &change)?;
    for new in change.follow_ups {
        applied.follow_ups.push(add(step, queue, new)?);
    }
    Ok(Ok(CommitVerdict::Applied(applied)))
}

/// All effects of an admitted change in one step (LH-COMMIT-2).
fn apply(step: &Step, before: &Entry, mut after: Entry, change: &Change) -> Result<(), Fault> {
    let (was, task, now) = (&before.task, &mut after.task, step.now);
    let queue = &*was.task_ref.queue;
    let settings = step.tx.settings(queue)?.unwrap_or_default();
    let running = was.state == State::Leased(Purpose::Run);
    if change.by == Role::Operator && change.to != To::Same && running {
        // The run may not have heard yet: record and next run wait (LH-OPER-11).
        task.held_until = task.held_until.max(was.until.filter(|until| *until > now));
    }
    let shown = task.shown.map_or(was.fence, |shown| shown.fence);
    let max = step.capabilities.bounds.history_max;
    task.history.push(change.record(now, shown, task.attempt), max);
    (task.until, task.holder, task.takeovers) = (None, None, 0);
    task.run = task.run.filter(|_| change.by == Role::Rescuer);
    match change.budget {
        Budget::Keep => {}
        Budget::SpendRetry => task.failures = task.failures.saturating_add(1),
        Budget::SpendRescue => {
            task.rescues = task.rescues.saturating_add(1);
            step.count(queue, "rescued", 1)?;
        }
        Budget::Reset => (task.failures, task.rescues, task.note) = (0, 0, None),
    }
    task.state = change.to.state(was.state);
    match change.to {
        To::Waiting(when) => task.due = when.instant(was.due, now),
        To::Dead(_) => _ = step.count(queue, "buried", 1)?,
        _ => {}
    }
    if change.to != To::Same {
        task.result = change.result.clone();
        task.finished_at = task.state.is_finished().then_some(now);
        let own = if change.to == To::Gone { Some(Keep::NOT) } else { change.keep };
        let held = task.held_until.unwrap_or(now);
        after.expires = match own.or(settings.retention.of(task.state)) {
            Some(Keep::For(time)) => task.finished_at.map(|at| at.after(time).max(held)),
            Some(Keep::Forever) | None => None,
        };
    }
    step.put(Some(before), Some(&after))?;
    match after.expires {
        Some(expires) if expires <= now && change.to != To::Same => step.leave(&after, &settings),
        _ => Ok(()),
    }
}

/// An operator's new values. False, and nothing is written, where they would replace what a
/// newer version has written by what this one understands of it (LH-CLAIM-11).
fn rewrite(step: &Step, task: &mut StoredTask, edit: &Edit) -> Result<bool, Fault> {
    let mut whole = task.clone();
    if step.tx.fill(&mut whole)? > stored::FORMAT {
        return Ok(false);
    }
    whole.payload = edit.payload.clone().unwrap_or(whole.payload);
    if let Some(policy) = edit.policy {
        (whole.policy, whole.corrupt) = (policy, None);
    }
    step.put_body(&whole)?;
    task.priority = edit.priority.unwrap_or(task.priority);
    task.due = edit.due.map_or(task.due, |due| due.instant(step.now));
    Ok(true)
}
