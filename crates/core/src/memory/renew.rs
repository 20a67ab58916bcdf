//! renew: extends what is current and has not lapsed.

use std::collections::BTreeMap;

use super::queue::Queue;
use crate::{Bounds, Error, Fence, LostReason, RenewItem, RenewVerdict, StoredTask, Timestamp};

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
        if let Some(reason) = self.lost(&entry.task, fence, now) {
            return Err(reason);
        }
        let until = entry.task.until.unwrap_or(now).max(now.after(item.ttl));
        let slots = entry.task.limit.as_ref().and_then(|key| self.slots.get_mut(key));
        if let Some(slot) = slots.and_then(|slots| slots.get_mut(&(id.clone(), fence))) {
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

    /// Why a claim's lease is over: as the task tells, or since its slot was swept, which is
    /// never given back, whatever the clock says now (LH-RENEW-8). Only a run has a slot.
    pub fn lost(&self, task: &StoredTask, fence: Fence, now: Timestamp) -> Option<LostReason> {
        let member = (task.task_ref.id.clone(), fence);
        let key = task.limit.as_ref().filter(|_| task.run == Some(fence));
        let stands = |key| self.slots.get(key).is_some_and(|slots| slots.contains_key(&member));
        let swept = key.filter(|key| !stands(key)).map(|_| LostReason::Lapsed);
        task.lost(fence, now).or(swept)
    }
}
