//! enqueue: `lua/enqueue.lua`, and the note of the queue's name.

use leasehold_core::{DuplicateCause, Enqueue, EnqueueVerdict, Error, Fence, NewTask, TaskRef};
use redis::Value;

use super::RedisBackend;
use crate::codec::{NewArgs, state, unreadable};
use crate::error::Fault;
use crate::scripts::{Call, Script};

impl RedisBackend {
    pub(super) async fn enqueue_step(
        &self,
        request: Enqueue,
    ) -> Result<Vec<EnqueueVerdict>, Fault> {
        let Enqueue { queue, tasks, .. } = request;
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        self.note_queue(&queue).await?;
        let mut call = self.call(Script::Enqueue, &queue);
        call.number(tasks.len());
        for new in tasks {
            add(&mut call, new);
        }
        let replies = call.run(&self.link).await?;
        let [first, rest @ ..] = &replies[..] else { return Err(unreadable("a reply")) };
        let first = text(first)?;
        if let Some(group) = first.strip_prefix('L') {
            return Err(unset(group).into());
        }
        if first == "N" {
            // A server that lost what it knew of the queue may have lost its name as well.
            self.note_again(&queue).await?;
        }
        rest.iter().map(|reply| verdict(&queue, reply)).collect()
    }
}

/// Adds what `lua/part/enter.lua` reads of a new task.
pub(super) fn add(call: &mut Call, new: NewTask) {
    let new = NewArgs::from(new);
    call.arg(new.id).arg(new.due).number(new.rank).arg(new.kind);
    call.arg(new.limit).arg(new.unique).arg(new.rest);
}

/// What became of one new task.
pub(super) fn verdict(queue: &str, reply: &Value) -> Result<EnqueueVerdict, Fault> {
    let reply = text(reply)?;
    let wrong = || unreadable("the reply about a new task");
    if let Some(fence) = reply.strip_prefix('E') {
        let fence = Fence::new(fence.parse().map_err(|_| wrong())?);
        return Ok(EnqueueVerdict::Enqueued { fence });
    }
    let mut letters = reply.chars();
    let cause = match (letters.next(), letters.next()) {
        (Some('D'), Some('i')) => DuplicateCause::Id,
        (Some('D'), Some('k')) => DuplicateCause::Key,
        _ => return Err(wrong()),
    };
    let state = state(letters.next().ok_or_else(wrong)?);
    let holder = TaskRef::new(queue, letters.as_str());
    Ok(EnqueueVerdict::Duplicate { cause, holder, state })
}

/// A limit group without a number.
pub(super) fn unset(group: &str) -> Error {
    Error::invalid(format!("limit group {group:?} has no number"))
}

/// A reply that is a text.
pub(super) fn text(value: &Value) -> Result<&str, Fault> {
    let wrong = || unreadable("a text in a reply");
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).map_err(|_| wrong()),
        Value::SimpleString(text) => Ok(text),
        _ => Err(wrong()),
    }
}
