//! enqueue: how a task comes to be.

use leasehold_core::stored::{FORMAT, encode_terms};
use leasehold_core::{DuplicateCause, Enqueue, EnqueueVerdict, NewTask, TaskRef};
use sqlx::Row;

use super::row::{fence, rank, state};
use super::step::{Queue, Step};
use crate::error::Fault;

/// All of the call's tasks or none (LH-ENQ-7).
pub(super) async fn enqueue(
    step: &mut Step,
    request: Enqueue,
) -> Result<Vec<EnqueueVerdict>, Fault> {
    let mut verdicts = Vec::with_capacity(request.tasks.len());
    if request.tasks.is_empty() {
        return Ok(verdicts);
    }
    let queue = Queue::named(step, &request.queue).await?;
    if let Some(error) = queue.missing_limit(step, &request.tasks).await? {
        return Err(error.into());
    }
    let fence = step.draw(1).await?;
    for new in request.tasks {
        verdicts.push(add(step, &queue, new, fence).await?);
    }
    Ok(verdicts)
}

/// Adds one task with this fence, whose limit group has been seen to have a number.
pub(super) async fn add(
    step: &mut Step,
    queue: &Queue,
    new: NewTask,
    born: i64,
) -> Result<EnqueueVerdict, Fault> {
    let (group, key) = new.limit.map(|limit| (limit.group, limit.key)).unzip();
    let add = sql!("enqueue")
        .bind(queue.key)
        .bind(&new.id)
        .bind(new.kind)
        .bind(FORMAT)
        .bind(encode_terms(new.policy, &new.headers))
        .bind(rank(new.priority))
        .bind(step.now_ms())
        .bind(new.due.instant(step.now).as_millis())
        .bind(born)
        .bind(group)
        .bind(key)
        .bind(&new.unique)
        .bind(new.payload.as_bytes());
    if add.fetch_optional(step.conn()).await?.is_some() {
        return Ok(EnqueueVerdict::Enqueued { fence: fence(born) });
    }
    let now = step.now_ms();
    let find = sql!("duplicate").bind(queue.key).bind(new.id).bind(new.unique).bind(now);
    let row = find.fetch_one(step.conn()).await?;
    let cause = match row.try_get("place")? {
        2_i64 => DuplicateCause::Key,
        _ => DuplicateCause::Id,
    };
    let holder = TaskRef::new(&queue.name, row.try_get::<&str, _>("id")?);
    let state = row.try_get::<Option<&str>, _>("state")?.map(state).transpose()?;
    Ok(EnqueueVerdict::Duplicate { cause, holder, state })
}
