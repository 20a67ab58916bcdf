//! What a store tells of a lease and of a task, as the files write it.

use std::time::Duration;

use leasehold_core::{
    Event, Fence, Lease, Payload, Priority, Record, Role, Shown, State, StoredTask,
};
use serde::{Deserialize, Serialize};

use super::book::{self, Book, name};
use super::call::PurposeText;
use super::text::unset;

pub(super) type Read<T> = Result<T, String>;

/// A lease; whatever is not told is as it was enqueued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeaseText {
    task: String,
    fence: String,
    purpose: PurposeText,
    ttl_left_ms: u64,
    run: Option<String>,
    payload: String,
    priority: u8,
    due: i64,
    attempt: u32,
    #[serde(default, skip_serializing_if = "unset")]
    failures: u32,
    #[serde(default, skip_serializing_if = "unset")]
    rescues: u32,
    #[serde(default, skip_serializing_if = "unset")]
    takeovers: u32,
    #[serde(default, skip_serializing_if = "unset")]
    note: Option<String>,
}

/// A task; whatever is not told is as it was enqueued. Instants are milliseconds since the
/// beginning of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskText {
    id: String,
    state: String,
    fence: String,
    born: String,
    #[serde(default, skip_serializing_if = "unset")]
    run: Option<String>,
    #[serde(default, skip_serializing_if = "unset")]
    shown: Option<ShownText>,
    payload: String,
    priority: u8,
    due: i64,
    #[serde(default, skip_serializing_if = "unset")]
    until: Option<i64>,
    #[serde(default, skip_serializing_if = "unset")]
    holder: Option<String>,
    #[serde(default, skip_serializing_if = "unset")]
    held_until: Option<i64>,
    attempt: u32,
    #[serde(default, skip_serializing_if = "unset")]
    failures: u32,
    #[serde(default, skip_serializing_if = "unset")]
    rescues: u32,
    #[serde(default, skip_serializing_if = "unset")]
    takeovers: u32,
    #[serde(default, skip_serializing_if = "unset")]
    note: Option<String>,
    #[serde(default, skip_serializing_if = "unset")]
    result: Option<String>,
    #[serde(default, skip_serializing_if = "unset")]
    finished_at: Option<i64>,
    #[serde(default, skip_serializing_if = "unset")]
    history: Vec<RecordText>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShownText {
    fence: String,
    decision: String,
    by: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordText {
    at: i64,
    fence: String,
    attempt: u32,
    event: String,
    #[serde(default, skip_serializing_if = "unset")]
    message: String,
    #[serde(default, skip_serializing_if = "unset")]
    actor: Option<String>,
}

impl LeaseText {
    pub fn lease(&self, book: &Book) -> Read<Lease> {
        let (new, at) = book.task(&self.task)?.clone();
        let born = Fence::new(0);
        let mut lease = Lease::of(StoredTask::enqueued(&book.queue, new, born, at), at);
        lease.fence = book.fence(&self.fence)?;
        lease.purpose = self.purpose.purpose();
        lease.ttl_left = Duration::from_millis(self.ttl_left_ms);
        lease.run = self.run.as_deref().map(|run| book.fence(run)).transpose()?;
        lease.payload = payload(&self.payload);
        lease.priority = Priority::new(self.priority);
        lease.due = book.at(self.due);
        (lease.attempt, lease.failures) = (self.attempt, self.failures);
        (lease.rescues, lease.takeovers) = (self.rescues, self.takeovers);
        lease.note = self.note.as_deref().map(payload);
        Ok(lease)
    }

    pub fn of(lease: &Lease, book: &Book) -> Self {
        Self {
            task: lease.task_ref.id.clone(),
            fence: name(lease.fence),
            purpose: PurposeText::of(lease.purpose),
            ttl_left_ms: ms(lease.ttl_left),
            run: lease.run.map(name),
            payload: text(&lease.payload),
            priority: lease.priority.level(),
            due: book.ms(lease.due),
            attempt: lease.attempt,
            failures: lease.failures,
            rescues: lease.rescues,
            takeovers: lease.takeovers,
            note: lease.note.as_ref().map(text),
        }
    }
}

impl TaskText {
    pub fn task(&self, book: &Book) -> Read<StoredTask> {
        let (new, at) = book.task(&self.id)?.clone();
        let born = book.fence(&self.born)?;
        let mut task = StoredTask::enqueued(&book.queue, new, born, at);
        task.state = state_of(&self.state)?;
        task.fence = book.fence(&self.fence)?;
        task.run = self.run.as_deref().map(|run| book.fence(run)).transpose()?;
        task.shown = self.shown.as_ref().map(|shown| shown.shown(book)).transpose()?;
        task.payload = payload(&self.payload);
        task.priority = Priority::new(self.priority);
        task.due = book.at(self.due);
        task.until = self.until.map(|ms| book.at(ms));
        task.holder.clone_from(&self.holder);
        task.held_until = self.held_until.map(|ms| book.at(ms));
        (task.attempt, task.failures) = (self.attempt, self.failures);
        (task.rescues, task.takeovers) = (self.rescues, self.takeovers);
        task.note = self.note.as_deref().map(payload);
        task.result = self.result.as_deref().map(payload);
        task.finished_at = self.finished_at.map(|ms| book.at(ms));
        task.history.records = read(&self.history, |record| record.record(book))?;
        Ok(task)
    }

    pub fn of(task: &StoredTask, book: &Book) -> Self {
        let instant = |at| book.ms(at);
        Self {
            id: task.task_ref.id.clone(),
            state: task.state.as_str().to_owned(),
            fence: name(task.fence),
            born: name(task.born),
            run: task.run.map(name),
            shown: task.shown.map(ShownText::of),
            payload: text(&task.payload),
            priority: task.priority.level(),
            due: book.ms(task.due),
            until: task.until.map(instant),
            holder: task.holder.clone(),
            held_until: task.held_until.map(instant),
            attempt: task.attempt,
            failures: task.failures,
            rescues: task.rescues,
            takeovers: task.takeovers,
            note: task.note.as_ref().map(text),
            result: task.result.as_ref().map(text),
            finished_at: task.finished_at.map(instant),
            history: task.history.records.iter().map(|one| RecordText::of(one, book)).collect(),
        }
    }
}

impl ShownText {
    pub fn shown(&self, book: &Book) -> Read<Shown> {
        let by = Role::from_name(&self.by).ok_or_else(|| format!("{:?} is no role", self.by))?;
        Ok(Shown::new(book.fence(&self.fence)?, book::decision(&self.decision)?, by))
    }

    pub fn of(shown: Shown) -> Self {
        Self {
            fence: name(shown.fence),
            decision: format!("d{}", shown.decision.bits()),
            by: shown.by.as_str().to_owned(),
        }
    }
}

impl RecordText {
    fn record(&self, book: &Book) -> Read<Record> {
        let event = Event::from_name(&self.event);
        Ok(Record {
            at: book.at(self.at),
            fence: book.fence(&self.fence)?.value(),
            attempt: self.attempt,
            event: event.ok_or_else(|| format!("{:?} is no event", self.event))?,
            message: self.message.clone(),
            actor: self.actor.clone(),
        })
    }

    fn of(record: &Record, book: &Book) -> Self {
        Self {
            at: book.ms(record.at),
            fence: name(Fence::new(record.fence)),
            attempt: record.attempt,
            event: record.event.as_str().to_owned(),
            message: record.message.clone(),
            actor: record.actor.clone(),
        }
    }
}

pub(super) fn read<T, U>(all: &[T], one: impl Fn(&T) -> Read<U>) -> Read<Vec<U>> {
    all.iter().map(one).collect()
}

pub(super) fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn text(payload: &Payload) -> String {
    String::from_utf8_lossy(payload.as_bytes()).into_owned()
}

pub(super) fn payload(text: &str) -> Payload {
    text.as_bytes().to_vec().into()
}

pub(super) fn state_of(name: &str) -> Read<State> {
    State::from_name(name).ok_or_else(|| format!("{name:?} is no state"))
}
