//! What one admitted change writes: the task, its slot, its history.

use leasehold_core::stored::{FORMAT, encode_cause, encode_terms};
use leasehold_core::{
    Bounds, Budget, Change, CommitItem, Edit, Keep, Payload, Purpose, Role, State, StoredTask,
    Timestamp, To,
};
use sqlx::Row;

use super::limits;
use super::row::{Stored, column, history_max, list, rank};
use super::step::{Queue, Step};
use crate::error::Fault;

/// Writes the change if its guard holds: all effects in this step (LH-COMMIT-2). Tells whether
/// the task leaves in it, which is the caller's to do; nothing when the guard does not hold.
pub(super) async fn apply(
    step: &mut Step,
    queue: &Queue,
    bounds: &Bounds,
    seen: &Stored,
    item: &CommitItem,
    new_fence: i64,
) -> Result<Option<bool>, Fault> {
    let arrival = arrive(step, queue, &seen.task, &item.change).await?;
    let written = match &item.change.edit {
        Some(edit) => rewrite(step, seen, item, edit, new_fence).await?,
        None => write(step, seen, item, &arrival, new_fence).await?,
    };
    if !written {
        return Ok(None);
    }
    follow(step, queue, bounds, seen, item, &arrival).await?;
    Ok(Some(arrival.leaves))
}

/// Where a change takes the task, in the values that are written.
struct Arrival {
    state: State,
    due: Timestamp,
    held_until: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    expires: Option<Timestamp>,
    /// Whether the task leaves in the step that finishes it.
    leaves: bool,
}

async fn arrive(
    step: &mut Step,
    queue: &Queue,
    task: &StoredTask,
    change: &Change,
) -> Result<Arrival, Fault> {
    let now = step.now;
    let mut held_until = task.held_until;
    if change.by == Role::Operator && task.state == State::Leased(Purpose::Run) {
        // The run may not have heard yet: slot, record and next run wait (LH-OPER-11).
        held_until = held_until.max(task.until.filter(|until| *until > now));
    }
    if let (true, Some(key)) = (change.is_redrive(), &task.unique) {
        let find = sql!("held_key").bind(queue.key).bind(key).bind(now.as_millis());
        let inherited: Option<i64> = find.fetch_one(step.conn()).await?.try_get("held_until")?;
        held_until = held_until.max(inherited.map(Timestamp::from_millis));
    }
    let state = change.to.state(task.state);
    let due = match change.to {
        To::Waiting(when) => when.instant(task.due, now),
        _ => task.due,
    };
    let keep = match change.to {
        To::Waiting(_) | To::Same => None,
        To::Gone => Some(Keep::NOT),
        To::Succeeded | To::Dead(_) | To::Cancelled => change.keep.or(queue.retention.of(state)),
    };
    let expires = match keep {
        Some(Keep::For(time)) => {
            Some(now.after(time).max(held_until.filter(|held| *held > now).unwrap_or(now)))
        }
        Some(Keep::Forever) | None => None,
    };
    let leaves = expires.is_some_and(|expires| expires <= now);
    let finished_at = state.is_finished().then_some(now);
    Ok(Arrival { state, due, held_until, finished_at, expires, leaves })
}

/// Writes the change if the guard holds; tells whether it did.
async fn write(
    step: &mut Step,
    seen: &Stored,
    item: &CommitItem,
    arrival: &Arrival,
    new_fence: i64,
) -> Result<bool, Fault> {
    let CommitItem { guard, decision, change, .. } = item;
    let task = &seen.task;
    let (failures, rescues) = match change.budget {
        Budget::Keep => (task.failures, task.rescues),
        Budget::SpendRetry => (task.failures.saturating_add(1), task.rescues),
        Budget::SpendRescue => (task.failures, task.rescues.saturating_add(1)),
        Budget::Reset => (0, 0),
    };
    let write = sql!("commit")
        .bind(seen.seq)
        .bind(column(guard.fence))
        .bind((change.by, change.to) == (Role::Worker, To::Succeeded))
        .bind(admitting(change))
        .bind(change.is_redrive())
        .bind(new_fence)
        .bind(decision.bits().to_be_bytes().to_vec())
        .bind(change.by.as_str())
        .bind(change.by == Role::Rescuer)
        .bind(arrival.state.as_str())
        .bind(arrival.due.as_millis())
        .bind(arrival.held_until.map_or(0, Timestamp::as_millis))
        .bind(failures)
        .bind(rescues)
        .bind(change.budget == Budget::Reset)
        .bind(change.result.as_ref().map(Payload::as_bytes))
        .bind(arrival.finished_at.map(Timestamp::as_millis))
        .bind(arrival.expires.map(Timestamp::as_millis));
    Ok(write.fetch_optional(step.conn()).await?.is_some())
}

/// Writes an operator's new values if the guard holds; tells whether it did.
async fn rewrite(
    step: &mut Step,
    seen: &Stored,
    item: &CommitItem,
    edit: &Edit,
    new_fence: i64,
) -> Result<bool, Fault> {
    let CommitItem { guard, decision, change, .. } = item;
    let task = &seen.task;
    let due = edit.due.map_or(task.due, |due| due.instant(step.now));
    let terms = edit.policy.map(|policy| encode_terms(policy, &task.headers));
    let write = sql!("edit")
        .bind(seen.seq)
        .bind(column(guard.fence))
        .bind(admitting(change))
        .bind(new_fence)
        .bind(decision.bits().to_be_bytes().to_vec())
        .bind(change.by.as_str())
        .bind(due.as_millis())
        .bind(rank(edit.priority.unwrap_or(task.priority)))
        .bind(edit.payload.as_ref().map(Payload::as_bytes))
        .bind(terms)
        .bind(FORMAT);
    Ok(write.fetch_optional(step.conn()).await?.is_some())
}

/// The states in which a current guard admits the change, as core says.
fn admitting(change: &Change) -> String {
    list(State::ALL.into_iter().filter(|state| change.fits(*state)).map(State::as_str))
}

/// What else an applied change brings, all in the same step (LH-COMMIT-2).
async fn follow(
    step: &mut Step,
    queue: &Queue,
    bounds: &Bounds,
    seen: &Stored,
    item: &CommitItem,
    arrival: &Arrival,
) -> Result<(), Fault> {
    let CommitItem { guard, change, .. } = item;
    let task = &seen.task;
    match &task.limit {
        Some(key) if change.by == Role::Worker => {
            limits::free_slot(step, queue.key, key, &guard.task.id, guard.fence).await?;
        }
        // A task that another one of its key was parked for may be out of the way now.
        Some(key) => limits::wake_key(step, queue.key, key).await?,
        None => {}
    }
    step.count(queue.key, "buried", u64::from(matches!(change.to, To::Dead(_))));
    step.count(queue.key, "rescued", u64::from(change.budget == Budget::SpendRescue));
    if arrival.leaves {
        // Its history would leave along with it.
        return Ok(());
    }
    let add = sql!("history_add")
        .bind(seen.seq)
        .bind(step.now_ms())
        .bind(column(guard.fence))
        .bind(task.attempt)
        .bind(encode_cause(change));
    let newest: i64 = add.fetch_one(step.conn()).await?.try_get("n")?;
    let kept = history_max(bounds);
    if newest > kept {
        // The first record stays, beside the newest ones.
        let trim = sql!("history_trim").bind(seen.seq).bind(newest - (kept - 1));
        trim.execute(step.conn()).await?;
    }
    Ok(())
}

/// Removes finished tasks; only their ids stay, for a while (LH-ENQ-9).
pub(super) async fn leave(step: &mut Step, queue: &Queue, seqs: &[i64]) -> Result<(), Fault> {
    if seqs.is_empty() {
        return Ok(());
    }
    let seqs = list(seqs.iter().copied());
    let until = step.now.after(queue.id_memory);
    if until > step.now {
        let remember = sql!("leave_remember").bind(&seqs).bind(until.as_millis());
        remember.execute(step.conn()).await?;
    } else {
        sql!("leave_forget").bind(queue.key).bind(&seqs).execute(step.conn()).await?;
    }
    sql!("leave").bind(seqs).execute(step.conn()).await?;
    Ok(())
}
