//! renew: extends what is current and has not lapsed.

use std::collections::BTreeMap;

use super::queue::Queue;
use crate::{Bounds, Error, LostReason, RenewItem, RenewVerdict, Timestamp};

pub(super) fn renew(
    queues: &mut BTreeMap<String, Queue>,
    item: RenewItem,
    bounds: &Bounds,
    now: Timestamp,
) -> Result<RenewVerdict, Error> {
    item.check(bounds)?;
    let Some(queue) = queues.get_mut(&item.guard.task.queue) else {
        return Ok(RenewVerdict::Lost(LostReason::Gone));
    };
    Ok(match queue.extend(&item, now) {
        Ok(until) => RenewVerdict::Held { ttl_left: until.since(now) },
        Err(reason) => {
            queue.events.lost_renews += 1;
            RenewVerdict::Lost(reason)
        }
    })
}

impl Queue {
    fn extend(&mut self, item: &RenewItem, now: Timestamp) -> Result<Timestamp, LostReason> {
        let (id, fence) = (&item.guard.task.id, item.guard.fence);
        let Some(entry) = self.tasks.get(id) else {
            let left = self.remembered(id, now);
            return Err(left.map_or(LostReason::Gone, |left| left.lost(fence)));
        };
        if let Some(reason) = entry.task.lost(fence, now) {
            return Err(reason);
        }
        // Only a run has a slot, and a swept one is never given back (LH-RENEW-8).
        let member = (id.clone(), fence);
        let limit = entry.task.limit.as_ref().filter(|_| entry.task.run == Some(fence));
        let slots = limit.map(|key| self.slots.get_mut(key));
        let slot = match slots {
            None => None,
            Some(slots) => match slots.and_then(|slots| slots.get_mut(&member)) {
                None => return Err(LostReason::Lapsed),
                slot => slot,
            },
        };
        let until = entry.task.until.unwrap_or(now).max(now.after(item.ttl));
        if let Some(slot) = slot {
            *slot = until;
        }
        self.unplace(id);
        if let Some(entry) = self.tasks.get_mut(id) {
            entry.task.until = Some(until);
            entry.task.note = item.note.clone().or(entry.task.note.take());
        }
        self.place(id);
        Ok(until)
    }
}
