//! What a test may do to a [`MemoryBackend`] that no caller may.

use crate::memory::MemoryBackend;
use crate::memory::queue::Queue;
use crate::task::{Payload, State, TaskRef};

/// A stored record that this build did not write (LH-CLAIM-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Planted {
    /// It cannot be read; these are its bytes.
    Broken(Payload),
    /// It was written by a newer version.
    Newer,
}

impl MemoryBackend {
    /// Puts `planted` in place of the task's record; false when there is no such task.
    pub fn plant(&self, task: &TaskRef, planted: Planted) -> bool {
        let (mut store, _) = self.locked();
        let queue = store.queues.get_mut(&task.queue);
        let Some(entry) = queue.and_then(|queue| queue.tasks.get_mut(&task.id)) else {
            return false;
        };
        match planted {
            Planted::Broken(raw) => entry.task.corrupt = Some(raw),
            Planted::Newer => entry.newer = true,
        }
        true
    }

    /// Makes the next fence at least `value` (LH-FENCE-5).
    pub fn raise_fence(&self, value: u64) {
        let (mut store, _) = self.locked();
        store.source.fence = store.source.fence.max(value.saturating_sub(1));
    }

    /// Every index entry that no task and no clause explains; empty when all is well.
    #[must_use]
    pub fn residue(&self) -> Vec<String> {
        let (store, _) = self.locked();
        store.queues.iter().flat_map(|(name, queue)| queue.residue(name)).collect()
    }
}

impl Queue {
    fn residue(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        let state = |id: &String| self.tasks.get(id).map(|entry| entry.task.state);
        for id in self.lanes.values().flat_map(|lane| lane.values()) {
            if state(id) != Some(State::Waiting) {
                found.push(format!("{name}: {id} stands in a lane but does not wait"));
            }
        }
        for (_, id) in &self.leases {
            if !matches!(state(id), Some(State::Leased(_))) {
                found.push(format!("{name}: {id} stands among the leases but is not leased"));
            }
        }
        for (key, id) in &self.keys {
            if state(id).is_none_or(State::is_finished) {
                found.push(format!("{name}: {id} has finished but holds unique key {key}"));
            }
        }
        for (id, fence) in self.slots.values().flat_map(|slots| slots.keys()) {
            let task = self.tasks.get(id).map(|entry| &entry.task);
            if !task.is_some_and(|task| task.run == Some(*fence) || task.held_until.is_some()) {
                found.push(format!("{name}: {id} has a slot of fence {fence} without a lease"));
            }
        }
        found
    }
}
