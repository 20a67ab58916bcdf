//! Finds and mends entries that disagree with the task records (LH-LAPSE-8), some at a time.
//!
//! The indexes of a table cannot disagree with it, so this is about slots, parked tasks and
//! the notes of when to look at a limit key again. Whoever mends touches no task.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use leasehold_core::{Fence, LimitKey};
use sqlx::Row;

use super::limits::{bound, free_slot, wake_key};
use super::row::fence;
use super::step::{Queue, Step};
use crate::error::Fault;

/// Most slots that one call looks at.
const SLOTS_MAX: i64 = 1_000;

/// Most limit keys that one call looks at.
const KEYS_MAX: usize = 100;

/// The limit key of each queue after which this handle goes on looking.
pub(super) type Cursors = Mutex<HashMap<i64, LimitKey>>;

pub(super) async fn mend(step: &mut Step, queue: &Queue, cursors: &Cursors) -> Result<(), Fault> {
    let mut repaired = surplus_slots(step, queue).await?;
    let mut at = take(cursors, queue.key);
    for _ in 0..KEYS_MAX {
        let Some((key, mended)) = next_key(step, queue, &at).await? else {
            // The last key: the next call begins again with the first.
            at = LimitKey::new("", "");
            break;
        };
        repaired += u64::from(mended);
        at = key;
    }
    cursors.lock().unwrap_or_else(PoisonError::into_inner).insert(queue.key, at);
    if repaired > 0 {
        tracing::warn!(queue = %queue.name, repaired, "entries disagreed with the tasks");
    }
    step.count(queue.key, "repaired", repaired);
    Ok(())
}

fn take(cursors: &Cursors, queue: i64) -> LimitKey {
    let mut cursors = cursors.lock().unwrap_or_else(PoisonError::into_inner);
    cursors.remove(&queue).unwrap_or(LimitKey::new("", ""))
}

/// Removes slots that neither a lease nor a held until explains.
async fn surplus_slots(step: &mut Step, queue: &Queue) -> Result<u64, Fault> {
    let find = sql!("slot_surplus").bind(queue.key).bind(step.now_ms()).bind(SLOTS_MAX);
    let rows = find.fetch_all(step.conn()).await?;
    for row in &rows {
        let group: String = row.try_get("limit_group")?;
        let key = LimitKey { group, key: row.try_get("limit_key")? };
        let run: Fence = fence(row.try_get("fence")?);
        free_slot(step, queue.key, &key, row.try_get("id")?, run).await?;
    }
    Ok(rows.len() as u64)
}

/// Looks at the limit key after `at`; tells which it is and whether it was mended.
async fn next_key(
    step: &mut Step,
    queue: &Queue,
    at: &LimitKey,
) -> Result<Option<(LimitKey, bool)>, Fault> {
    let find = bound(sql!("mend_key"), queue.key, at);
    let Some(row) = find.fetch_optional(step.conn()).await? else { return Ok(None) };
    let group: String = row.try_get("limit_group")?;
    let key = LimitKey { group, key: row.try_get("limit_key")? };
    let wake_at: Option<i64> = row.try_get("wake_at")?;
    let first_end: Option<i64> = row.try_get("first_end")?;
    let mended = match (row.try_get("has_parked")?, wake_at) {
        // Nobody would ever look at these tasks again.
        (true, None) => {
            let note = bound(sql!("key_park"), queue.key, &key).bind(step.now_ms());
            note.execute(step.conn()).await?;
            wake_key(step, queue.key, &key).await?;
            true
        }
        (true, Some(wake_at)) => {
            let late = first_end.is_some_and(|end| end < wake_at);
            // Room alone is no fault: as many tasks as it has may have been brought back and
            // not been claimed yet. To look again costs little.
            if late || row.try_get::<i64, _>("room")? > 0 {
                wake_key(step, queue.key, &key).await?;
            }
            late
        }
        // One that is to be looked at anyway is removed there too, and is no fault.
        (false, wake_at) => {
            let forget = bound(sql!("key_empty"), queue.key, &key);
            forget.fetch_optional(step.conn()).await?;
            wake_at.is_some_and(|wake_at| wake_at > step.now_ms())
        }
    };
    Ok(Some((key, mended)))
}
