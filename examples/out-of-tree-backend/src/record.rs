//! [`Entry`]: a task as the store has it, and its bytes.
//!
//! The head is rewritten by every verb; the body, terms and payload as the caller gave them,
//! only by an operator's edit, so that to renew a task with a megabyte of payload is cheap.

use leasehold_core::*;
use redb::Error as Fault;
use serde::{Serialize, de::DeserializeOwned};

use crate::error::unreadable;

/// A task's record; without its body it has placeholders for policy, headers and payload.
#[derive(Clone)]
pub struct Entry {
    pub task: StoredTask,
    /// When purge may take it; only while finished.
    pub expires: Option<Timestamp>,
    /// The task has left, and its id is remembered until it expires (LH-ENQ-9).
    pub left: bool,
}

/// The bytes of a body: the version of the terms, the terms, the payload.
pub type Body<'a> = (u32, &'a [u8], &'a [u8]);

/// The bytes of a head, behind its version.
type Head = (Names, Fences, Times, Numbers, Results, Past);
/// Kind, state, holder.
type Names = (String, String, Option<String>);
/// Born, fence, run, the last applied commit.
type Fences = (u64, u64, Option<u64>, Option<Last>);
/// Fence, decision, role.
type Last = (u64, u128, String);
/// Enqueued at, due, until, held until, finished at, expires.
type Times = (Timestamp, Timestamp, Maybe, Maybe, Maybe, Maybe);
type Maybe = Option<Timestamp>;
/// Priority, attempt, failures, rescues, takeovers.
type Numbers = (u8, u32, u32, u32, u32);
/// Note, result, whether it has left.
type Results = (Option<Vec<u8>>, Option<Vec<u8>>, bool);
/// How many records were dropped; instant, fence, attempt, event, message, actor of the others.
type Past = (u32, Vec<(Timestamp, u64, u32, String, String, Option<String>)>);

const VERSION: u8 = 1;

impl Entry {
    pub fn encode(&self) -> Vec<u8> {
        let t = &self.task;
        let names = (t.kind.clone(), t.state.to_string(), t.holder.clone());
        let shown = t.shown.map(|s| (s.fence.value(), s.decision.bits(), s.by.to_string()));
        let fences = (t.born.value(), t.fence.value(), t.run.map(Fence::value), shown);
        let times = (t.enqueued_at, t.due, t.until, t.held_until, t.finished_at, self.expires);
        let numbers = (t.priority.level(), t.attempt, t.failures, t.rescues, t.takeovers);
        let bytes = |payload: &Payload| payload.as_bytes().to_vec();
        let results = (t.note.as_ref().map(bytes), t.result.as_ref().map(bytes), self.left);
        let record = |r: &Record| {
            let Record { at, fence, attempt, event, message, actor } = r.clone();
            (at, fence, attempt, event.to_string(), message, actor)
        };
        let past = (t.history.dropped, t.history.records.iter().map(record).collect());
        let head: Head = (names, fences, times, numbers, results, past);
        encode(&(VERSION, head))
    }

    pub fn decode(queue: &str, id: &str, bytes: &[u8]) -> Result<Self, Fault> {
        let (VERSION, head) = decode::<(u8, Head)>(bytes, "a task's head")? else {
            return Err(unreadable("a task's head of another version"));
        };
        let (names, fences, times, numbers, (note, result, left), past) = head;
        // A placeholder must not promise a run after a lost worker.
        let new = NewTask::named(id, names.0, Payload::default(), Delivery::NotAfterLoss);
        let mut t = StoredTask::enqueued(queue, new, Fence::new(fences.0), times.0);
        t.state = State::from_name(&names.1).ok_or_else(|| unreadable("a task's state"))?;
        (t.fence, t.run) = (Fence::new(fences.1), fences.2.map(Fence::new));
        if let Some((fence, decision, by)) = fences.3 {
            let by = Role::from_name(&by).ok_or_else(|| unreadable("a commit's role"))?;
            t.shown = Some(Shown::new(Fence::new(fence), DecisionId::from_bits(decision), by));
        }
        let expires = times.5;
        (_, t.due, t.until, t.held_until, t.finished_at, _) = times;
        t.priority = numbers.0.into();
        (_, t.attempt, t.failures, t.rescues, t.takeovers) = numbers;
        (t.holder, t.note, t.result) = (names.2, note.map(Into::into), result.map(Into::into));
        let record = |(at, fence, attempt, event, message, actor): (_, _, _, String, _, _)| {
            let event = Event::from_name(&event)?;
            Some(Record { at, fence, attempt, event, message, actor })
        };
        // A record of a newer version keeps nobody from the task.
        t.history.records = past.1.into_iter().filter_map(record).collect();
        t.history.dropped = past.0;
        Ok(Self { task: t, expires, left })
    }
}

pub fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data always serializes")
}

pub fn decode<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Fault> {
    postcard::from_bytes(bytes).map_err(|_| unreadable(what))
}
