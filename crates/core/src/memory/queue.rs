//! What one queue knows: its tasks, the places they wait in, slots, unique keys, memories.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Source;
use super::claim::ClaimRecord;
use crate::{
    ClaimerId, Counts, Cursor, DuplicateCause, EnqueueVerdict, Events, Fence, Found, Keep, Left,
    LimitKey, List, NewTask, Page, Purged, QueueSettings, State, StoredTask, TaskRef, Timestamp,
};

/// A stored task and what only the store needs of it.
pub(crate) struct Entry {
    pub task: StoredTask,
    /// Order of enqueue.
    pub seq: u64,
    /// When purge may take it; `None` is never. Only while finished.
    pub expires: Option<Timestamp>,
}

/// The order in which waiting tasks are served: rank of the priority (0 is served first),
/// ready time, order of enqueue (LH-CLAIM-3).
pub(crate) type Place = (u8, Timestamp, u64);

#[derive(Default)]
pub(crate) struct Queue {
    pub settings: QueueSettings,
    pub tasks: HashMap<String, Entry>,
    /// Waiting tasks by limit key, each lane in the order of service. A full key's lane is
    /// passed over whole, so that its tasks cost the others nothing (LH-CLAIM-12).
    pub lanes: Lanes,
    /// Leased tasks by the end of their lease.
    pub leases: BTreeSet<(Timestamp, String)>,
    /// Members are (task, fence), never a count (LH-LIMIT-3); each ends with its lease.
    pub slots: BTreeMap<LimitKey, BTreeMap<(String, Fence), Timestamp>>,
    /// The unfinished task that holds each unique key.
    pub keys: HashMap<String, String>,
    /// What the next holder of a unique key inherits (LH-UNIQ-3).
    pub held_keys: HashMap<String, Timestamp>,
    /// Tasks that have left, and until when they are remembered (LH-ENQ-9).
    pub left: HashMap<String, (Left, Timestamp)>,
    pub claims: HashMap<ClaimerId, ClaimRecord>,
    /// Tasks whose record a newer version wrote (LH-CLAIM-11); only `hooks` adds one.
    pub newer: BTreeSet<String>,
    pub events: Events,
}

impl Queue {
    pub fn named<'a>(queues: &'a mut BTreeMap<String, Queue>, name: &str) -> &'a mut Queue {
        queues.entry(name.to_owned()).or_default()
    }

    pub fn enqueue(
        &mut self,
        new: NewTask,
        now: Timestamp,
        queue: &str,
        source: &mut Source,
    ) -> EnqueueVerdict {
        let duplicate = |cause, id: &str, state| EnqueueVerdict::Duplicate {
            cause,
            holder: TaskRef::new(queue, id),
            state,
        };
        if let Some(entry) = self.tasks.get(&new.id) {
            return duplicate(DuplicateCause::Id, &new.id, Some(entry.task.state));
        }
        if self.remembered(&new.id, now).is_some() {
            return duplicate(DuplicateCause::Id, &new.id, None);
        }
        if let Some(holder) = new.unique.as_ref().and_then(|key| self.keys.get(key)) {
            let state = self.tasks.get(holder).map(|entry| entry.task.state);
            return duplicate(DuplicateCause::Key, holder, state);
        }
        let fence = source.fence();
        let task = StoredTask::enqueued(queue, new, fence, now);
        let id = task.task_ref.id.clone();
        self.left.remove(&id);
        let entry = Entry { task, seq: source.seq(), expires: None };
        self.tasks.insert(id.clone(), entry);
        self.take_key(&id, now);
        self.place(&id);
        EnqueueVerdict::Enqueued { fence }
    }

    /// Gives an unfinished task its unique key, with what the last holder left to wait for.
    pub fn take_key(&mut self, id: &str, now: Timestamp) {
        let Some(entry) = self.tasks.get_mut(id) else { return };
        let Some(key) = entry.task.unique.clone() else { return };
        let inherited = self.held_keys.get(&key).copied().filter(|held| *held > now);
        entry.task.held_until = entry.task.held_until.max(inherited);
        self.keys.insert(key, id.to_owned());
    }

    /// Frees the unique key of a task that has just finished, if the task still holds it.
    fn free_key(&mut self, id: &str) {
        let Some(task) = self.tasks.get(id).map(|entry| &entry.task) else { return };
        let Some(key) = task.unique.clone() else { return };
        if self.keys.get(&key).is_some_and(|holder| holder == id) {
            self.keys.remove(&key);
            if let Some(held) = task.held_until {
                let last = self.held_keys.entry(key).or_insert(held);
                *last = held.max(*last);
            }
        }
    }

    /// Puts a task under its index: waiting in its lane, leased by the lease's end.
    pub fn place(&mut self, id: &str) {
        let Some(entry) = self.tasks.get(id) else { return };
        match (entry.task.state, entry.task.until) {
            (State::Waiting, _) => {
                let lane = self.lanes.entry(entry.task.limit.clone()).or_default();
                lane.insert(place_of(entry), id.to_owned());
            }
            (State::Leased(_), Some(until)) => {
                self.leases.insert((until, id.to_owned()));
            }
            _ => {}
        }
    }

    /// Takes a task from under its index, before its state or times change.
    pub fn unplace(&mut self, id: &str) {
        let Some(entry) = self.tasks.get(id) else { return };
        if let Some(lane) = self.lanes.get_mut(&entry.task.limit) {
            lane.remove(&place_of(entry));
            if lane.is_empty() {
                self.lanes.remove(&entry.task.limit);
            }
        }
        if let Some(until) = entry.task.until {
            self.leases.remove(&(until, id.to_owned()));
        }
    }

    /// Whether one more lease fits under a limit key. Ended slots are swept for good: a clock
    /// that goes back gives none of them back (LH-RENEW-8).
    pub fn has_slot(&mut self, key: &LimitKey, now: Timestamp) -> bool {
        let max = self.settings.limits.get(&key.group).copied().unwrap_or(0);
        let taken = self.slots.get_mut(key).map_or(0, |slots| {
            slots.retain(|_, until| *until > now);
            slots.len()
        });
        taken < max as usize
    }

    pub fn free_slot(&mut self, id: &str, key: Option<&LimitKey>, fence: Fence) {
        let Some(slots) = key.and_then(|key| self.slots.get_mut(key)) else { return };
        slots.remove(&(id.to_owned(), fence));
    }

    pub fn remembered(&self, id: &str, now: Timestamp) -> Option<Left> {
        self.left.get(id).filter(|(_, until)| *until > now).map(|(left, _)| *left)
    }

    /// Frees the key of a task that has just finished, sets when the task may leave, and lets
    /// it leave if that is now.
    pub fn finish(&mut self, id: &str, keep: Keep, now: Timestamp) {
        self.free_key(id);
        let Some(entry) = self.tasks.get_mut(id) else { return };
        let stays = entry.task.held_until.filter(|held| *held > now);
        entry.expires = match keep {
            Keep::Forever => None,
            Keep::For(time) => Some(now.after(time).max(stays.unwrap_or(now))),
        };
        if entry.expires.is_some_and(|expires| expires <= now) {
            self.leave(id, now);
        }
    }

    /// Removes a finished task; only the remembered id stays (LH-PURGE-2).
    fn leave(&mut self, id: &str, now: Timestamp) {
        let Some(Entry { task, .. }) = self.tasks.remove(id) else { return };
        let until = now.after(self.settings.id_memory);
        if let Some(shown) = task.shown.filter(|_| until > now) {
            self.left.insert(id.to_owned(), (Left::new(shown, task.state), until));
        }
    }

    pub fn purge(&mut self, max: usize, now: Timestamp) -> Purged {
        self.left.retain(|_, (_, until)| *until > now);
        self.held_keys.retain(|_, held| *held > now);
        self.mend_slots(now);
        self.mend_places();
        self.forget_claims(now);
        let over = |entry: &Entry| entry.expires.is_some_and(|expires| expires <= now);
        let mut ids: Vec<_> =
            self.tasks.iter().filter(|(_, e)| over(e)).map(|(id, e)| (e.seq, id.clone())).collect();
        ids.sort_unstable();
        let more = ids.len() > max;
        ids.truncate(max);
        for (_, id) in &ids {
            self.leave(id, now);
        }
        Purged::new(ids.len(), more)
    }

    /// Drops slots that have ended, and those that no lease and no hold explains (LH-LAPSE-8).
    fn mend_slots(&mut self, now: Timestamp) {
        let Self { tasks, slots, events, .. } = self;
        slots.retain(|_, slots| {
            slots.retain(|(id, fence), until| {
                let task = tasks.get(id).map(|entry| &entry.task);
                let explained =
                    task.is_some_and(|t| t.run == Some(*fence) || t.held_until >= Some(*until));
                events.repaired += u64::from(!explained && *until > now);
                explained && *until > now
            });
            !slots.is_empty()
        });
    }

    /// Puts both indexes right where they disagree with the tasks (LH-LAPSE-8).
    fn mend_places(&mut self) {
        let lanes = std::mem::take(&mut self.lanes);
        let leases = std::mem::take(&mut self.leases);
        let ids: Vec<_> = self.tasks.keys().cloned().collect();
        for id in ids {
            self.place(&id);
        }
        let lapses = self.leases.symmetric_difference(&leases).count();
        let waits = places(&self.lanes).symmetric_difference(&places(&lanes)).count();
        self.events.repaired += (lapses + waits) as u64;
    }

    pub fn list(&self, request: &List, after: u64, now: Timestamp) -> Page {
        let mut found: Vec<&Entry> = self.tasks.values().filter(|e| e.seq > after).collect();
        found.retain(|entry| request.filter.matches(&entry.task, now));
        found.sort_unstable_by_key(|entry| entry.seq);
        let more = found.len() > request.max;
        found.truncate(request.max);
        let next = found.last().filter(|_| more).map(|e| Cursor::new(e.seq.to_string()));
        Page::new(found.into_iter().map(|entry| entry.task.clone()).collect(), next)
    }

    pub fn find(&self, id: &str, now: Timestamp) -> Found {
        match (self.tasks.get(id), self.remembered(id, now)) {
            (Some(entry), _) => Found::Task(Box::new(entry.task.clone())),
            (None, Some(left)) => Found::Left(left),
            (None, None) => Found::Nothing,
        }
    }

    pub fn counts(&self, now: Timestamp) -> Counts {
        let mut counts = Counts::new(self.events);
        for entry in self.tasks.values() {
            *counts.tasks.entry(entry.task.status(now)).or_default() += 1;
        }
        counts
    }
}

pub(crate) type Lanes = BTreeMap<Option<LimitKey>, BTreeMap<Place, String>>;

fn places(lanes: &Lanes) -> BTreeSet<(&Option<LimitKey>, &Place, &String)> {
    lanes.iter().flat_map(|(key, lane)| lane.iter().map(move |(at, id)| (key, at, id))).collect()
}

pub(crate) fn place_of(entry: &Entry) -> Place {
    (9 - entry.task.priority.level(), entry.task.ready_at(), entry.seq)
}
