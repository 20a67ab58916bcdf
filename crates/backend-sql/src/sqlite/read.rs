//! get, list, counts and queues; and what the writes read of a task under their lock.

use std::collections::{BTreeMap, HashMap};

use leasehold_core::stored::decode_retention;
use leasehold_core::{
    Bounds, Counts, Cursor, Error, Events, Found, Left, List, Page, QueueInfo, QueuePage,
    QueueSettings, Queues, State, Status, TaskRef, Timestamp,
};
use sqlx::Row;
use sqlx::sqlite::{SqlitePool, SqliteRow};

use super::row::{Stored, left, list as json, state};
use super::step::{Queue, Step, duration};
use crate::error::{Fault, unreadable, unreadable_row};

/// Most tasks that one page of a list looks at, however few of them match: a page may be
/// short as long as it has a cursor (LH-READ-4).
const LOOKS_MAX: i64 = 10_000;

/// Those of the tasks that are there, as a write is about to find them: without history,
/// payload, note and result. One that cannot be read is an error of its own.
pub(super) async fn tasks_seen(
    step: &mut Step,
    queue: &Queue,
    ids: Vec<&str>,
) -> Result<HashMap<String, Result<Stored, Error>>, Fault> {
    let find = sql!("task_seen").bind(queue.key).bind(json(ids));
    let mut seen = HashMap::new();
    for row in find.fetch_all(step.conn()).await? {
        let id: String = row.try_get("id")?;
        let stored = match Stored::read(&row, &queue.name) {
            Ok(stored) => Ok(stored),
            Err(fault) => Err(unreadable_row(fault)?.with_task(&TaskRef::new(&queue.name, &id))),
        };
        seen.insert(id, stored);
    }
    Ok(seen)
}

/// What is still remembered of a task that has left.
pub(super) async fn left_seen(
    step: &mut Step,
    queue: &Queue,
    id: &str,
) -> Result<Option<Left>, Fault> {
    let find = sql!("left_seen").bind(queue.key).bind(id).bind(step.now_ms());
    let row = find.fetch_optional(step.conn()).await?;
    row.map(|row| left(&row)).transpose()
}

/// The two looks need not be one: whatever comes between them, the answer was true at one.
pub(super) async fn get(
    readers: &SqlitePool,
    task: &TaskRef,
    now: Timestamp,
) -> Result<Found, Fault> {
    let find = sql!("task_get").bind(&task.queue).bind(&task.id);
    if let Some(row) = find.fetch_optional(readers).await? {
        return Ok(Found::Task(Box::new(Stored::read_whole(&row, &task.queue)?.task)));
    }
    let find = sql!("left_get").bind(&task.queue).bind(&task.id).bind(now.as_millis());
    match find.fetch_optional(readers).await? {
        Some(row) => Ok(Found::Left(left(&row)?)),
        None => Ok(Found::Nothing),
    }
}

pub(super) async fn list(
    readers: &SqlitePool,
    bounds: &Bounds,
    request: List,
    now: Timestamp,
) -> Result<Page, Fault> {
    let List { queue, filter, after, max, .. } = &request;
    let after: i64 = match after {
        None => 0,
        Some(cursor) => cursor.as_str().parse().map_err(|_| bad_cursor())?,
    };
    // All statements look at one state of the file.
    let mut reading = readers.begin().await?;
    let finished = filter.reason.is_some()
        || filter.finished_from.is_some()
        || filter.finished_before.is_some()
        || matches!(filter.status, Some(Status::Succeeded | Status::Dead | Status::Cancelled));
    let (window, find) = match finished {
        false => (sql!("list_window"), sql!("list_find")),
        true => (sql!("list_window_finished"), sql!("list_find_finished")),
    };
    let looks = LOOKS_MAX.max(i64::try_from(*max).unwrap_or(i64::MAX));
    let window = window.bind(queue).bind(after).bind(looks).fetch_one(&mut *reading).await?;
    let Some(last) = window.try_get::<Option<i64>, _>("last")? else { return Ok(Page::default()) };
    let all_seen = window.try_get::<i64, _>("seen")? < looks;
    let mut find = find
        .bind(queue)
        .bind(after)
        .bind(last)
        .bind(i64::try_from(max.saturating_add(1)).unwrap_or(i64::MAX))
        .bind(filter.status.map(Status::as_str))
        .bind(now.as_millis())
        .bind(&filter.kind);
    if finished {
        find = find
            .bind(filter.reason.map(|reason| State::Dead(reason).as_str()))
            .bind(filter.finished_from.map(Timestamp::as_millis))
            .bind(filter.finished_before.map(Timestamp::as_millis));
    }
    let found = find.fetch_all(&mut *reading).await?;
    let seqs = within(&found, *max, bounds.batch_bytes_max)?;
    let next = match seqs.last() {
        Some(seq) if seqs.len() < found.len() => Some(*seq),
        _ if all_seen => None,
        _ => Some(last),
    };
    let page = sql!("list_page").bind(json(seqs)).fetch_all(&mut *reading).await?;
    reading.rollback().await?;
    let read = |row| Ok(Stored::read_whole(row, queue)?.task);
    let tasks = page.iter().map(read).collect::<Result<_, Fault>>()?;
    Ok(Page::new(tasks, next.map(|seq| Cursor::new(seq.to_string()))))
}

/// The first of these rows, as many as are asked for and as come to so many bytes; always one.
fn within(rows: &[SqliteRow], max: usize, bytes_max: usize) -> Result<Vec<i64>, Fault> {
    let (mut seqs, mut bytes) = (Vec::new(), 0_u64);
    for row in rows.iter().take(max) {
        bytes += row.try_get::<i64, _>("bytes")?.unsigned_abs();
        if bytes > bytes_max as u64 && !seqs.is_empty() {
            break;
        }
        seqs.push(row.try_get("seq")?);
    }
    Ok(seqs)
}

fn bad_cursor() -> Error {
    Error::invalid("a cursor that this store did not make")
}

pub(super) async fn counts(
    readers: &SqlitePool,
    queue: &str,
    now: Timestamp,
) -> Result<Counts, Fault> {
    let mut counts = Counts::new(Events::default());
    let count = sql!("counts").bind(queue).bind(now.as_millis());
    for row in count.fetch_all(readers).await? {
        let what: &str = row.try_get("what")?;
        let n = row.try_get::<i64, _>("n")?.unsigned_abs();
        if what == "event" {
            // A counter of a newer version is none of ours.
            if let Some(counter) = counts.events.by_name(row.try_get("name")?) {
                *counter = n;
            }
            continue;
        }
        let status = match Status::from_name(what) {
            Some(status) => status,
            None => match state(what)? {
                State::Dead(_) => Status::Dead,
                _ => return Err(unreadable("the tally of finished tasks")),
            },
        };
        *counts.tasks.entry(status).or_default() += n;
    }
    Ok(counts)
}

pub(super) async fn queues(readers: &SqlitePool, request: Queues) -> Result<QueuePage, Fault> {
    let after = request.after.as_ref().map_or("", Cursor::as_str);
    let most = i64::try_from(request.max.saturating_add(1)).unwrap_or(i64::MAX);
    let rows = sql!("queue_settings").bind(after).bind(most).fetch_all(readers).await?;
    let mut page = Vec::with_capacity(rows.len().min(request.max));
    for row in rows.iter().take(request.max) {
        page.push(QueueInfo::new(row.try_get::<&str, _>("name")?, settings(row)?));
    }
    let last = page.last().map(|info| Cursor::new(info.name.clone()));
    let more = rows.len() > request.max;
    Ok(QueuePage::new(page, last.filter(|_| more)))
}

/// A queue's settings as a row tells them.
pub(super) fn settings(row: &SqliteRow) -> Result<QueueSettings, Fault> {
    let mut settings = QueueSettings::default();
    settings.paused = row.try_get("paused")?;
    settings.retention = decode_retention(row.try_get("retention")?)?;
    settings.id_memory = duration(row.try_get("id_memory_ms")?)?;
    let limits: BTreeMap<String, u32> =
        serde_json::from_str(row.try_get("limits")?).map_err(|_| unreadable("a queue's limits"))?;
    settings.limits = limits;
    Ok(settings)
}
