//! From records and replies of a script to values of core.

use std::str;

use leasehold_core::stored::{decode_record, decode_terms};
use leasehold_core::{
    DecisionId, Delivery, Fence, Headers, History, Left, LimitKey, NewTask, Payload, Policy, Shown,
    StoredTask, Timestamp,
};
use redis::Value;

use super::{fence_from, priority, role, state, unreadable};
use crate::error::Fault;

/// A task's birth record, taken apart. See `lua/part/record.lua`.
struct Birth<'a> {
    born: Fence,
    enqueued_at: Timestamp,
    due: Timestamp,
    rank: u8,
    kind: &'a str,
    group: &'a str,
    key: &'a str,
    unique: &'a str,
    terms: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Birth<'a> {
    fn read(record: &'a [u8]) -> Option<Self> {
        let mut rest = record;
        let mut field = || {
            let tab = rest.iter().position(|byte| *byte == b'\t')?;
            let (field, after) = (&rest[..tab], &rest[tab + 1..]);
            rest = after;
            str::from_utf8(field).ok()
        };
        let _format = field()?;
        let born = fence_from(field()?)?;
        let (enqueued_at, due) = (instant(field()?)?, instant(field()?)?);
        let rank = field()?.parse().ok()?;
        let (kind, group, key, unique) = (field()?, field()?, field()?, field()?);
        let size: usize = field()?.parse().ok()?;
        let (terms, payload) = rest.split_at_checked(size)?;
        Some(Self { born, enqueued_at, due, rank, kind, group, key, unique, terms, payload })
    }

    fn task(&self, queue: &str, id: &str) -> Option<StoredTask> {
        let read = str::from_utf8(self.terms).ok().and_then(|terms| decode_terms(terms).ok());
        let corrupt = read.is_none().then(|| Payload::from(self.terms.to_vec()));
        // A placeholder must not promise a run after a lost worker.
        let (policy, headers) =
            read.unwrap_or((Policy::new(Delivery::NotAfterLoss), Headers::new()));
        let mut new = NewTask::named(id, self.kind, self.payload.to_vec(), policy.delivery)
            .with_priority(priority(self.rank)?);
        (new.policy, new.headers) = (policy, headers);
        new.limit = (!self.group.is_empty()).then(|| LimitKey::new(self.group, self.key));
        new.unique = some(self.unique).map(str::to_owned);
        let mut task = StoredTask::enqueued(queue, new, self.born, self.enqueued_at);
        task.due = self.due;
        task.corrupt = corrupt;
        Some(task)
    }
}

/// A task's record, taken apart. See `lua/part/record.lua`.
pub(crate) struct Record<'a> {
    head: &'a str,
    fields: Vec<&'a str>,
}

impl<'a> Record<'a> {
    const HEAD: usize = 74;
    const FIELDS: usize = 21;

    pub fn read(record: &'a [u8]) -> Option<Self> {
        let text = str::from_utf8(record).ok()?;
        let (head, rest) = text.split_at_checked(Self::HEAD)?;
        let fields: Vec<_> = rest.strip_prefix('\t')?.split('\t').collect();
        (head.is_ascii() && fields.len() == Self::FIELDS).then_some(Self { head, fields })
    }

    /// Sets what has changed since the task's enqueue.
    pub fn apply(&self, task: &mut StoredTask) -> Option<()> {
        let (head, fields) = (self.head, &self.fields);
        let count = |at: usize| fields[at].parse::<u32>().ok();
        task.fence = fence_from(&head[..19])?;
        task.run = fence_from(&head[19..38]).filter(|run| run.value() != 0);
        task.state = state(head[38..39].chars().next()?)?;
        task.until = Some(instant(&head[40..55])?).filter(|until| until.as_millis() != 0);
        task.born = fence_from(&head[55..74])?;
        task.attempt = count(0)?;
        (task.failures, task.rescues, task.takeovers) = (count(1)?, count(2)?, count(3)?);
        task.due = instant(fields[4])?;
        task.priority = priority(fields[5].parse().ok()?)?;
        task.held_until = optional(fields[6], instant)?;
        task.shown = optional(fields[7], |fence| shown(fence, fields[8], fields[9]))?;
        task.finished_at = optional(fields[10], instant)?;
        task.history.dropped = count(12)?;
        task.holder = some(fields[20]).map(str::to_owned);
        Some(())
    }
}

/// What is left of a task whose birth record is broken. Whoever claims it gets that, and buries
/// it (LH-CLAIM-11).
fn without_birth(queue: &str, id: &str, birth: &[u8], record: Option<&Record<'_>>) -> StoredTask {
    let field = |at: usize| record.and_then(|record| some(record.fields[at]));
    let kind = field(16).unwrap_or_default();
    let mut new = NewTask::named(id, kind, Vec::new(), Delivery::NotAfterLoss);
    new.limit = field(17).map(|group| LimitKey::new(group, field(18).unwrap_or_default()));
    new.unique = field(19).map(str::to_owned);
    let mut task = StoredTask::enqueued(queue, new, Fence::new(0), Timestamp::default());
    task.corrupt = Some(Payload::from(birth.to_vec()));
    task
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// An absent value is none; one that is there and cannot be read is a fault.
fn optional<'a, T>(text: &'a str, read: impl FnOnce(&'a str) -> Option<T>) -> Option<Option<T>> {
    match some(text) {
        None => Some(None),
        Some(text) => read(text).map(Some),
    }
}

fn instant(text: &str) -> Option<Timestamp> {
    text.parse().ok().map(Timestamp::from_millis)
}

fn shown(fence: &str, decision: &str, by: &str) -> Option<Shown> {
    let decision = DecisionId::from_bits(u128::from_str_radix(decision, 16).ok()?);
    Some(Shown::new(fence_from(fence)?, decision, role(by)?))
}

/// A task from its birth record, and from its task record where that is not empty.
pub(crate) fn stored(
    queue: &str,
    id: &str,
    birth: &[u8],
    record: &[u8],
) -> Result<StoredTask, Fault> {
    let read = || {
        let record = if record.is_empty() { None } else { Some(Record::read(record)?) };
        let whole = Birth::read(birth).and_then(|birth| birth.task(queue, id));
        let mut task = whole.unwrap_or_else(|| without_birth(queue, id, birth, record.as_ref()));
        if let Some(record) = record {
            record.apply(&mut task)?;
        }
        Some(task)
    };
    read().ok_or_else(|| unreadable(&format!("the record of task {queue}/{id}")))
}

/// A task as `lua/part/read.lua` answers it.
pub(crate) fn whole(queue: &str, value: &Value) -> Result<StoredTask, Fault> {
    let wrong = || unreadable("a task in a reply");
    let Value::Array(values) = value else { return Err(wrong()) };
    let parts: Option<Vec<&[u8]>> = values.iter().map(bytes).collect();
    let parts = parts.ok_or_else(wrong)?;
    let [id, birth, record, has_note, note, has_result, result, history @ ..] = &parts[..] else {
        return Err(wrong());
    };
    let id = str::from_utf8(id).map_err(|_| wrong())?;
    let mut task = stored(queue, id, birth, record)?;
    task.note = (*has_note == b"1").then(|| Payload::from(note.to_vec()));
    task.result = (*has_result == b"1").then(|| Payload::from(result.to_vec()));
    // One that a newer version wrote, or that is broken, counts as dropped: it must not keep
    // anybody from looking at the task.
    let records: Vec<_> = history.iter().filter_map(|line| line_of_history(line)).collect();
    let unread = u32::try_from(history.len() - records.len()).unwrap_or(u32::MAX);
    task.history = History { records, dropped: task.history.dropped.saturating_add(unread) };
    Ok(task)
}

fn line_of_history(line: &[u8]) -> Option<leasehold_core::Record> {
    let mut parts = str::from_utf8(line).ok()?.splitn(4, '\t');
    let (at, shown) = (instant(parts.next()?)?, fence_from(parts.next()?)?);
    let attempt = parts.next()?.parse().ok()?;
    decode_record(parts.next()?, at, shown, attempt).ok()
}

/// What is remembered of a task that left: until(15) shown(19) state(1) by(1) decision(32).
pub(crate) fn left(text: &[u8]) -> Result<Left, Fault> {
    let read = || {
        let text = str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
        let (_, rest) = text.split_at_checked(15)?;
        let (fence, rest) = rest.split_at_checked(19)?;
        let (letter, rest) = rest.split_at_checked(1)?;
        let (by, decision) = rest.split_at_checked(1)?;
        Some(Left::new(shown(fence, decision, by)?, state(letter.chars().next()?)?))
    };
    read().ok_or_else(|| unreadable("what is remembered of a task"))
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    }
}
