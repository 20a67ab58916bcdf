//! What a test may do to a [`MemoryBackend`] that no caller may.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::lease::Fence;
use crate::limit::LimitKey;
use crate::memory::MemoryBackend;
use crate::memory::queue::{Entry, Queue};
use crate::state::State;
use crate::task::{Payload, TaskRef};

/// A stored record that this build did not write (LH-CLAIM-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Planted {
    /// It cannot be read; these are its bytes.
    Broken(Payload),
    /// It was written by a newer version.
    Newer,
}

/// An entry of an index that disagrees with the tasks (LH-LAPSE-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misplaced {
    /// The leased task is missing among the leases.
    LapseMissing,
    /// The task, or one that is not there, stands among the leases as if it had lapsed long ago.
    LapseSurplus,
    /// The waiting task is missing in its lane.
    ReadyMissing,
    /// The task, or one that is not there, stands in a lane as if it were ready now.
    ReadySurplus,
}

impl MemoryBackend {
    /// Puts `planted` in place of the task's record; false when there is no such task.
    pub fn plant(&self, task: &TaskRef, planted: Planted) -> bool {
        let (mut store, _) = self.locked();
        let Some(queue) = store.queues.get_mut(&task.queue) else { return false };
        let Some(entry) = queue.tasks.get_mut(&task.id) else { return false };
        match planted {
            Planted::Broken(raw) => entry.task.corrupt = Some(raw),
            Planted::Newer => _ = queue.newer.insert(task.id.clone()),
        }
        true
    }

    /// Adds a slot under `key` that no task explains and that lasts another day (LH-LAPSE-8).
    pub fn plant_slot(&self, queue: &str, key: &LimitKey) {
        let (mut store, now) = self.locked();
        let slots = &mut Queue::named(&mut store.queues, queue).slots;
        let until = now.after(Duration::from_secs(24 * 60 * 60));
        slots.entry(key.clone()).or_default().insert(("nobody".to_owned(), Fence::new(0)), until);
    }

    /// Makes an index disagree with the tasks; false when there is nothing to take away.
    pub fn misplace(&self, task: &TaskRef, planted: Misplaced) -> bool {
        let (mut store, now) = self.locked();
        let queue = Queue::named(&mut store.queues, &task.queue);
        let entry = queue.tasks.get(&task.id).map(|entry| (entry.task.clone(), entry.seq));
        match (planted, entry) {
            (Misplaced::LapseMissing, Some((stored, _))) => {
                stored.until.is_some_and(|until| queue.leases.remove(&(until, task.id.clone())))
            }
            (Misplaced::LapseSurplus, _) => queue.leases.insert((Timestamp::MIN, task.id.clone())),
            (Misplaced::ReadyMissing, Some((stored, seq))) => {
                let place = (9 - stored.priority.level(), stored.ready_at(), seq);
                let lane = queue.lanes.get_mut(&stored.limit);
                lane.is_some_and(|lane| lane.remove(&place).is_some())
            }
            (Misplaced::ReadySurplus, entry) => {
                let (limit, seq) = entry.map_or((None, 0), |(stored, seq)| (stored.limit, seq));
                let lane = queue.lanes.entry(limit).or_default();
                lane.insert((0, now, seq), task.id.clone()).is_none()
            }
            (_, None) => false,
        }
    }

    /// Makes the next fence at least `value` (LH-FENCE-5).
    pub fn raise_fence(&self, value: u64) {
        let (mut store, _) = self.locked();
        store.source.fence = store.source.fence.max(value.saturating_sub(1));
    }

    /// Every index entry that no task and no clause explains; empty when all is well.
    #[must_use]
    pub fn residue(&self) -> Vec<String> {
        let (store, now) = self.locked();
        store.queues.iter().flat_map(|(name, queue)| queue.residue(name, now)).collect()
    }
}

impl Queue {
    fn residue(&self, name: &str, now: Timestamp) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |holds: bool, id: &str, what: &str| {
            if !holds {
                found.push(format!("{name}: task {id} {what}"));
            }
        };
        let state = |id: &str| self.tasks.get(id).map(|entry| entry.task.state);
        for id in self.lanes.values().flat_map(|lane| lane.values()) {
            check(state(id) == Some(State::Waiting), id, "stands in a lane but does not wait");
        }
        for (_, id) in &self.leases {
            let leased = matches!(state(id), Some(State::Leased(_)));
            check(leased, id, "stands among the leases but is not leased");
        }
        for id in self.keys.values() {
            let holds = state(id).is_some_and(|state| !state.is_finished());
            check(holds, id, "has finished but holds a unique key");
        }
        for ((id, fence), until) in self.slots.values().flatten() {
            let task = self.tasks.get(id).map(|entry| &entry.task);
            let explained = *until <= now // It has ended, and the next claim sweeps it.
                || task.is_some_and(|t| t.run == Some(*fence) || t.held_until >= Some(*until));
            check(explained, id, "has a slot without a lease");
        }
        for (id, Entry { task, seq, .. }) in &self.tasks {
            let lane = self.lanes.get(&task.limit);
            let waits = lane.is_some_and(|lane| lane.values().any(|waiting| waiting == id));
            check(waits == (task.state == State::Waiting), id, "is in the wrong lane");
            let lapses = task.until.is_none_or(|until| self.leases.contains(&(until, id.clone())));
            check(lapses, id, &format!("of seq {seq} is missing among the leases"));
            let key = task.unique.as_ref().filter(|_| !task.state.is_finished());
            let held = key.is_none_or(|key| self.keys.get(key) == Some(id));
            check(held, id, "is unfinished but does not hold its unique key");
        }
        found
    }
}
