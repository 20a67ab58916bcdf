//! renew: `lua/renew.lua`, a run for each queue.

use leasehold_core::clock::millis;
use leasehold_core::{
    Delivery, Error, Fence, LostReason, NewTask, Payload, Renew, RenewItem, RenewVerdict,
    StoredTask, Timestamp,
};
use redis::Value;

use super::RedisBackend;
use super::enqueue::text;
use crate::codec::{Record, fence, left, unreadable};
use crate::error::Fault;
use crate::scripts::Script;
use crate::split::{Part, Weight, join, split};

/// Leases of one run.
const LEASES_MAX: usize = 100;

impl RedisBackend {
    pub(super) async fn renew_step(
        &self,
        request: Renew,
    ) -> Result<Vec<Result<RenewVerdict, Error>>, Fault> {
        let n = request.items.len();
        let bounds = &self.capabilities.bounds;
        let items = request.items.into_iter().map(|item| {
            let queue = item.guard.task.queue.clone();
            item.check(bounds).map(|()| (queue, item))
        });
        let most = Weight { tasks: LEASES_MAX, bytes: bounds.batch_bytes_max };
        let (parts, refused) = split(items, most, |item| {
            let bytes = item.note.as_ref().map_or(0, Payload::len);
            Weight { tasks: 1, bytes }
        });
        let mut answered = Vec::with_capacity(parts.len());
        for part in parts {
            let replies = self.renew_part(&part).await;
            answered.push((part.places, replies));
        }
        join("renew", n, refused, answered)
    }

    async fn renew_part(
        &self,
        part: &Part<RenewItem>,
    ) -> Result<Vec<Result<RenewVerdict, Error>>, Fault> {
        let mut call = self.call(Script::Renew, &part.queue);
        call.number(part.items.len());
        for RenewItem { guard, ttl, note, .. } in &part.items {
            call.arg(&guard.task.id).arg(fence(guard.fence)).number(millis(*ttl));
            match note {
                None => call.arg(""),
                Some(note) => call.arg([b"+", note.as_bytes()].concat()),
            };
        }
        let reply = call.run(&self.link).await?;
        let [now, replies @ ..] = &reply[..] else { return Err(unreadable("a renew")) };
        let now = instant(text(now)?)?;
        let items = part.items.iter().zip(replies);
        Ok(items.map(|(item, reply)| verdict(item, reply, now)).collect())
    }
}

fn verdict(item: &RenewItem, reply: &Value, now: Timestamp) -> Result<RenewVerdict, Error> {
    judge(item, reply, now)
        .map_err(|fault| crate::error::told("renew", fault).with_task(&item.guard.task))
}

fn judge(item: &RenewItem, reply: &Value, now: Timestamp) -> Result<RenewVerdict, Fault> {
    let reply = text(reply)?;
    let (word, rest) = reply.split_at_checked(1).ok_or_else(|| unreadable("a renew's reply"))?;
    let shown = item.guard.fence;
    let lost = match word {
        "H" => return Ok(RenewVerdict::Held { ttl_left: instant(rest)?.since(now) }),
        "S" => LostReason::Lapsed,
        "M" => left(rest.as_bytes())?.lost(shown),
        "G" => LostReason::Gone,
        "L" => {
            let task = seen(item, rest)?;
            // Its own fence, but no lease any more, or one that is over.
            task.lost(shown, now).unwrap_or(LostReason::Lapsed)
        }
        _ => return Err(unreadable("the task")),
    };
    Ok(RenewVerdict::Lost(lost))
}

/// What a lost renew is judged by: the record alone, which tells all but what the handler gets.
fn seen(item: &RenewItem, record: &str) -> Result<StoredTask, Fault> {
    let task = &item.guard.task;
    let new = NewTask::named(&*task.id, "", "", Delivery::NotAfterLoss);
    let mut seen = StoredTask::enqueued(&task.queue, new, Fence::new(0), Timestamp::default());
    Record::read(record.as_bytes())
        .and_then(|record| record.apply(&mut seen))
        .ok_or_else(|| unreadable("the task's record"))?;
    Ok(seen)
}

fn instant(text: &str) -> Result<Timestamp, Fault> {
    text.parse().map(Timestamp::from_millis).map_err(|_| unreadable("an instant"))
}
