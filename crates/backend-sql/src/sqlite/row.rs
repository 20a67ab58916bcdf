//! What rows mean: columns to [`StoredTask`], names to enums.

use std::str;

use leasehold_core::stored::{decode_record, decode_terms};
use leasehold_core::{
    Bounds, DecisionId, Delivery, Fence, Headers, History, Left, LimitKey, NewTask, Payload,
    Policy, Priority, Role, Shown, State, StoredTask, Timestamp,
};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::error::{Fault, unreadable};

/// A task as its row has it.
pub(super) struct Stored {
    pub seq: i64,
    /// The version of its terms.
    pub format: u32,
    pub task: StoredTask,
}

impl Stored {
    /// Reads the columns that every statement about tasks returns; the history is another
    /// matter.
    pub fn read(row: &SqliteRow, queue: &str) -> Result<Self, Fault> {
        let terms: &[u8] = row.try_get("terms")?;
        let read = str::from_utf8(terms).ok().and_then(|terms| decode_terms(terms).ok());
        // A placeholder must not promise a run after a lost worker.
        let (policy, headers) =
            read.clone().unwrap_or((Policy::new(Delivery::NotAfterLoss), Headers::new()));
        let corrupt = read.is_none().then(|| Payload::from(terms.to_vec()));

        let payload: Vec<u8> = row.try_get("payload")?;
        let (id, kind): (&str, &str) = (row.try_get("id")?, row.try_get("kind")?);
        let mut new = NewTask::named(id, kind, payload, policy.delivery)
            .with_priority(priority(row.try_get("rank")?)?);
        (new.policy, new.headers) = (policy, headers);
        new.limit = limit(row)?;
        new.unique = row.try_get("unique_key")?;

        let enqueued_at = instant(row.try_get("enqueued_at")?);
        let mut task = StoredTask::enqueued(queue, new, fence(row.try_get("born")?), enqueued_at);
        task.state = state(row.try_get("state")?)?;
        task.due = instant(row.try_get("due")?);
        task.fence = fence(row.try_get("fence")?);
        task.run = row.try_get::<Option<i64>, _>("run")?.map(fence);
        task.shown = shown(row)?;
        task.until = row.try_get::<Option<i64>, _>("until")?.map(instant);
        task.holder = row.try_get("holder")?;
        task.held_until = Some(row.try_get("held_until")?).filter(|held| *held != 0).map(instant);
        task.attempt = count(row.try_get("attempt")?)?;
        task.failures = count(row.try_get("failures")?)?;
        task.rescues = count(row.try_get("rescues")?)?;
        task.takeovers = count(row.try_get("takeovers")?)?;
        task.note = row.try_get::<Option<Vec<u8>>, _>("note")?.map(Payload::from);
        task.result = row.try_get::<Option<Vec<u8>>, _>("result")?.map(Payload::from);
        task.finished_at = row.try_get::<Option<i64>, _>("finished_at")?.map(instant);
        task.corrupt = corrupt;
        Ok(Self { seq: row.try_get("seq")?, format: count(row.try_get("format")?)?, task })
    }

    /// Reads the same, and the history that a statement returns beside it.
    pub fn read_whole(row: &SqliteRow, queue: &str) -> Result<Self, Fault> {
        let mut stored = Self::read(row, queue)?;
        let mut records: Vec<(u32, i64, i64, u32, String)> =
            serde_json::from_str(row.try_get("records")?).map_err(|_| unreadable("a history"))?;
        records.sort_unstable_by_key(|(n, ..)| *n);
        let last = records.last().map_or(0, |(n, ..)| *n);
        // One that a newer version wrote, or that is broken, counts as dropped: it must not
        // keep anybody from looking at the task.
        let records: Vec<_> = records
            .into_iter()
            .filter_map(|(_, at, shown, attempt, cause)| {
                decode_record(&cause, instant(at), fence(shown), attempt).ok()
            })
            .collect();
        let dropped = last.saturating_sub(u32::try_from(records.len()).unwrap_or(u32::MAX));
        stored.task.history = History { records, dropped };
        Ok(stored)
    }
}

/// What is remembered of a task that has left.
pub(super) fn left(row: &SqliteRow) -> Result<Left, Fault> {
    let shown = shown(row)?.ok_or_else(|| unreadable("a remembered commit"))?;
    Ok(Left::new(shown, state(row.try_get("state")?)?))
}

fn shown(row: &SqliteRow) -> Result<Option<Shown>, Fault> {
    let (Some(at), Some(decision), Some(by)) = (
        row.try_get::<Option<i64>, _>("shown")?,
        row.try_get::<Option<&[u8]>, _>("decision")?,
        row.try_get::<Option<&str>, _>("shown_by")?,
    ) else {
        return Ok(None);
    };
    let bits = decision.try_into().map_err(|_| unreadable("a decision id"))?;
    let decision = DecisionId::from_bits(u128::from_be_bytes(bits));
    let by = Role::from_name(by).ok_or_else(|| unreadable("a commit's role"))?;
    Ok(Some(Shown::new(fence(at), decision, by)))
}

fn limit(row: &SqliteRow) -> Result<Option<LimitKey>, Fault> {
    let group: Option<String> = row.try_get("limit_group")?;
    let key: Option<String> = row.try_get("limit_key")?;
    Ok(group.zip(key).map(|(group, key)| LimitKey { group, key }))
}

pub(super) fn state(name: &str) -> Result<State, Fault> {
    State::from_name(name).ok_or_else(|| unreadable("a task's state"))
}

/// The place of a priority in the order of service, 0 for the highest.
pub(super) fn rank(priority: Priority) -> i64 {
    i64::from(Priority::HIGHEST.level() - priority.level())
}

fn priority(rank: i64) -> Result<Priority, Fault> {
    let level = i64::from(Priority::HIGHEST.level()) - rank;
    u8::try_from(level).map(Priority::new).map_err(|_| unreadable("a task's priority"))
}

/// A fence from its column; it has 63 bits, so the sign is never lost.
pub(super) fn fence(column: i64) -> Fence {
    Fence::new(column.unsigned_abs())
}

/// A fence for its column.
pub(super) fn column(fence: Fence) -> i64 {
    i64::try_from(fence.value()).expect("a fence is below 2^63")
}

pub(super) fn instant(column: i64) -> Timestamp {
    Timestamp::from_millis(column)
}

fn count(column: i64) -> Result<u32, Fault> {
    u32::try_from(column).map_err(|_| unreadable("a task's counter"))
}

/// Most records that a history keeps: the first and the newest (LH-RETRY-5).
pub(super) fn history_max(bounds: &Bounds) -> i64 {
    i64::try_from(bounds.history_max.max(2)).unwrap_or(i64::MAX)
}

/// Values as a JSON array, the one way to hand a statement a list.
pub(super) fn list<T: Into<serde_json::Value>>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().collect::<serde_json::Value>().to_string()
}
