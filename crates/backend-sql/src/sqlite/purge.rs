//! purge: bounded removal of what has had its time, and of what should not be there.

use leasehold_core::{LimitKey, Purge, Purged};
use sqlx::Row;
use std::time::Duration;

use super::apply::leave;
use super::limits::wake_key;
use super::mend;
use super::step::{Queue, Step};
use crate::error::Fault;

/// Most ended slots, ids and claims that one call forgets of each.
const FORGET_MAX: i64 = 1_000;

/// How long a claim is recorded at least (LH-CLAIM-9).
const RECORD_MIN: Duration = Duration::from_secs(60 * 60);

pub(super) async fn purge(
    step: &mut Step,
    request: &Purge,
    cursor: &mend::Cursors,
) -> Result<Purged, Fault> {
    let Some(queue) = Queue::find(step, &request.queue).await? else {
        return Ok(Purged::default());
    };
    let forgotten = forget(step, &queue).await?;
    mend::mend(step, &queue, cursor).await?;

    let most = i64::try_from(request.max.saturating_add(1)).unwrap_or(i64::MAX);
    let find = sql!("purge_due").bind(queue.key).bind(step.now_ms()).bind(most);
    let rows = find.fetch_all(step.conn()).await?;
    let more = rows.len() > request.max;
    let seqs = rows.iter().take(request.max).map(|row| row.try_get("seq"));
    let seqs = seqs.collect::<Result<Vec<i64>, _>>()?;
    leave(step, &queue, &seqs).await?;
    Ok(Purged::new(seqs.len(), more || forgotten))
}

/// Forgets ended slots, ids and claims; tells whether there may be more of them.
async fn forget(step: &mut Step, queue: &Queue) -> Result<bool, Fault> {
    let now = step.now_ms();
    let sweep = sql!("slot_purge").bind(queue.key).bind(now).bind(FORGET_MAX);
    let swept = sweep.fetch_all(step.conn()).await?;
    let mut keys = Vec::new();
    for row in &swept {
        let group: String = row.try_get("limit_group")?;
        keys.push(LimitKey { group, key: row.try_get("limit_key")? });
    }
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        wake_key(step, queue.key, &key).await?;
    }
    let ids = sql!("purge_remembered").bind(queue.key).bind(now).bind(FORGET_MAX);
    let ids = ids.execute(step.conn()).await?.rows_affected();
    let old = now.saturating_sub(leasehold_core::clock::millis(RECORD_MIN));
    let claims = sql!("purge_claims").bind(queue.key).bind(old).bind(now).bind(FORGET_MAX);
    let claims = claims.execute(step.conn()).await?.rows_affected();
    let most = FORGET_MAX.unsigned_abs();
    Ok(swept.len() as u64 >= most || ids >= most || claims >= most)
}
