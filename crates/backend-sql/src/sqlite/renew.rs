//! renew: extends what is current and has not lapsed.

use std::collections::HashMap;

use leasehold_core::{
    Bounds, Error, LimitKey, LostReason, Payload, Renew, RenewItem, RenewVerdict,
};
use sqlx::Row;

use super::limits::bound;
use super::read::{left_seen, tasks_seen};
use super::row::{column, instant};
use super::step::{Queue, Step};
use crate::error::Fault;

/// Each item for itself (LH-RENEW-5).
pub(super) async fn renew(
    step: &mut Step,
    bounds: &Bounds,
    request: Renew,
) -> Result<Vec<Result<RenewVerdict, Error>>, Fault> {
    let mut queues = HashMap::new();
    let mut verdicts = Vec::with_capacity(request.items.len());
    for item in request.items {
        if let Err(error) = item.check(bounds) {
            verdicts.push(Err(error));
            continue;
        }
        let name = &item.guard.task.queue;
        if !queues.contains_key(name) {
            queues.insert(name.clone(), Queue::find(step, name).await?);
        }
        verdicts.push(match queues.get(name) {
            Some(Some(queue)) => match one(step, queue, &item).await {
                Err(Fault::Told(error)) => Err(error),
                verdict => Ok(verdict?),
            },
            _ => Ok(RenewVerdict::Lost(LostReason::Gone)),
        });
    }
    Ok(verdicts)
}

async fn one(step: &mut Step, queue: &Queue, item: &RenewItem) -> Result<RenewVerdict, Fault> {
    let (now, shown) = (step.now, item.guard.fence);
    let extend = sql!("renew")
        .bind(queue.key)
        .bind(&item.guard.task.id)
        .bind(column(shown))
        .bind(now.as_millis())
        .bind(now.after(item.ttl).as_millis())
        .bind(item.note.as_ref().map(Payload::as_bytes));
    let Some(row) = extend.fetch_optional(step.conn()).await? else {
        step.count(queue.key, "lost_renews", 1);
        return Ok(RenewVerdict::Lost(why_lost(step, queue, item).await?));
    };
    let until: i64 = row.try_get("until")?;
    let group: Option<String> = row.try_get("limit_group")?;
    let key: Option<String> = row.try_get("limit_key")?;
    if let (Some(group), Some(key)) = (group, key) {
        let key = LimitKey { group, key };
        let extend = bound(sql!("slot_extend"), queue.key, &key)
            .bind(&item.guard.task.id)
            .bind(column(shown))
            .bind(until);
        extend.execute(step.conn()).await?;
    }
    Ok(RenewVerdict::Held { ttl_left: instant(until).since(now) })
}

async fn why_lost(step: &mut Step, queue: &Queue, item: &RenewItem) -> Result<LostReason, Fault> {
    let (id, fence) = (&item.guard.task.id, item.guard.fence);
    if let Some(seen) = tasks_seen(step, queue, vec![id]).await?.remove(id) {
        // Nothing is wrong with the lease itself only when its slot has been swept
        // (LH-RENEW-8).
        return Ok(seen?.task.lost(fence, step.now).unwrap_or(LostReason::Lapsed));
    }
    let left = left_seen(step, queue, id).await?;
    Ok(left.map_or(LostReason::Gone, |left| left.lost(fence)))
}
