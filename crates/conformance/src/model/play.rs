//! One step of a [`Model`]: what an op does to it, and what the store has to answer.
//!
//! The choices that the contract leaves to a store come from [`Choices`]; whatever else the
//! reply says follows.

use std::collections::VecDeque;

use leasehold_core::{
    Counts, DuplicateCause, EnqueueVerdict, ErrorKind, Fence, Found, Left, NewTask, RenewItem,
    RenewVerdict, StoredTask, TaskRef, Timestamp,
};

use super::op::{Op, Reply};
use super::queue::{Kept, Model};
use super::rules::{Draw, Rules};

/// What a store may choose.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// The fences, in the order in which the step draws them; when they run out, one more than
    /// the greatest of the queue.
    pub fences: VecDeque<Fence>,
    /// The tasks that a claim is to grant, in this order; `None` grants in the order of service
    /// as many as were asked for.
    pub grants: Option<Vec<String>>,
    /// Whether the claim may grant them in any order.
    pub free_order: bool,
}

/// A step in the making.
pub(super) struct Play<'a> {
    pub model: &'a mut Model,
    pub rules: &'a dyn Rules,
    pub choices: &'a mut Choices,
    /// What the store chose though it may not.
    pub broken: Vec<(leasehold_core::clause::Clause, String)>,
}

impl Play<'_> {
    pub fn step(&mut self, op: &Op) -> Reply {
        match op {
            Op::Enqueue(tasks) => self.enqueue_all(tasks),
            Op::Claim(claim) => Reply::Claimed(self.claim(claim)),
            Op::Renew(item) => self.renew(item),
            Op::Commit(item) => self.commit(item),
            Op::Get(id) => Reply::Found(self.get(id)),
            Op::Count => Reply::Counted(self.count()),
            Op::Configure(request) => {
                self.model.settings.apply(request);
                Reply::Configured(self.model.settings.clone())
            }
            Op::Purge(max) => Reply::Purged(self.purge(*max)),
            Op::Shift(by_ms) => {
                let now = self.model.now.as_millis() + by_ms;
                self.model.now = Timestamp::from_millis(now);
                Reply::Shifted
            }
        }
    }

    /// A new fence for the task under `id`.
    pub fn draw(&mut self, id: &str, why: Draw) -> Fence {
        let next = Fence::new(self.model.fence_max().value() + 1);
        let drawn = self.choices.fences.pop_front().unwrap_or(next);
        let fence = self.rules.fence(self.model, id, why, drawn);
        let last = self.model.fences.entry(id.to_owned()).or_insert(Fence::new(0));
        if fence <= *last {
            let what = format!("task {id} was given fence {fence} after it had had {last}");
            self.broken.push((leasehold_core::clause::FENCE_1, what));
        }
        *last = fence.max(*last);
        fence
    }

    fn enqueue_all(&mut self, tasks: &[NewTask]) -> Reply {
        if self.model.settings.check_limits(tasks).is_err() {
            return Reply::Refused(ErrorKind::Invalid);
        }
        Reply::Enqueued(tasks.iter().map(|new| self.enqueue(new)).collect())
    }

    pub fn enqueue(&mut self, new: &NewTask) -> EnqueueVerdict {
        let duplicate = |cause, task: Option<&StoredTask>| EnqueueVerdict::Duplicate {
            cause,
            holder: task.map_or(TaskRef::new("", ""), |task| task.task_ref.clone()),
            state: task.map(|task| task.state),
        };
        if let Some(task) = self.model.task(&new.id) {
            return duplicate(DuplicateCause::Id, Some(task));
        }
        if self.model.remembered(&new.id).is_some() {
            let holder = TaskRef::new(self.model.queue.clone(), new.id.clone());
            return EnqueueVerdict::Duplicate { cause: DuplicateCause::Id, holder, state: None };
        }
        if let Some(holder) = new.unique.as_ref().and_then(|key| self.model.key_holder(key)) {
            return duplicate(DuplicateCause::Key, Some(holder));
        }
        let fence = self.draw(&new.id, Draw::Enqueue);
        let Model { queue, now, .. } = &*self.model;
        let mut task = StoredTask::enqueued(queue, new.clone(), fence, *now);
        task.held_until = self.inherited(&task);
        self.model.enqueues += 1;
        let kept = Kept { task, seq: self.model.enqueues, expires: None };
        self.model.left.remove(&new.id);
        self.model.tasks.insert(new.id.clone(), kept);
        EnqueueVerdict::Enqueued { fence }
    }

    /// What a task that takes its unique key has to wait for (LH-UNIQ-3).
    pub fn inherited(&self, task: &StoredTask) -> Option<Timestamp> {
        let held = task.unique.as_ref().and_then(|key| self.model.held_keys.get(key)).copied();
        task.held_until.max(held.filter(|held| *held > self.model.now))
    }

    fn renew(&mut self, item: &RenewItem) -> Reply {
        if item.check(&self.model.capabilities.bounds).is_err() {
            return Reply::Refused(ErrorKind::Invalid);
        }
        let id = &item.guard.task.id;
        let lost = match self.model.tasks.get(id) {
            Some(kept) => self.rules.lost(self.model, &kept.task, &item.guard),
            None => {
                let left = self.model.remembered(id);
                Some(self.rules.lost_with_task(left, &item.guard))
            }
        };
        if let Some(reason) = lost {
            self.model.events.lost_renews += 1;
            return Reply::Renewed(RenewVerdict::Lost(reason));
        }
        Reply::Renewed(self.extend(item))
    }

    fn extend(&mut self, item: &RenewItem) -> RenewVerdict {
        let Self { model, rules, .. } = self;
        let (id, now) = (&item.guard.task.id, model.now);
        let Some(kept) = model.tasks.get_mut(id) else {
            return RenewVerdict::Held { ttl_left: item.ttl };
        };
        let until = kept.task.until.unwrap_or(now);
        let extended = rules.extended(now, until, item.ttl);
        kept.task.until = Some(extended.lease);
        kept.task.note = item.note.clone().or(kept.task.note.take());
        let member = rules.slot_of(id, item.guard.fence);
        let slots = kept.task.limit.as_ref().and_then(|key| model.slots.get_mut(key));
        if let (Some(slot), Some(end)) =
            (slots.and_then(|slots| slots.get_mut(&member)), extended.slot)
        {
            *slot = end;
        }
        RenewVerdict::Held { ttl_left: extended.lease.since(now) }
    }

    fn get(&self, id: &str) -> Found {
        match (self.model.task(id), self.model.remembered(id)) {
            (Some(task), _) => Found::Task(Box::new(task.clone())),
            (None, Some(Left { shown, state, .. })) => Found::Left(Left::new(shown, state)),
            (None, None) => Found::Nothing,
        }
    }

    fn count(&self) -> Counts {
        let mut counts = Counts::new(self.model.events);
        for kept in self.model.tasks.values() {
            *counts.tasks.entry(kept.task.status(self.model.now)).or_default() += 1;
        }
        counts
    }

    /// Takes tasks in the order of enqueue: a purge with no room for all may take any, and a
    /// history with such a purge cannot be judged.
    fn purge(&mut self, max: usize) -> usize {
        let now = self.model.now;
        self.mend();
        self.forget_claims();
        self.model.left.retain(|_, (_, until)| *until > now);
        self.model.held_keys.retain(|_, held| *held > now);
        let over = |kept: &Kept| kept.expires.is_some_and(|expires| expires <= now);
        let tasks = self.model.tasks.iter().filter(|(_, kept)| over(kept));
        let mut ids: Vec<_> = tasks.map(|(id, kept)| (kept.seq, id.clone())).collect();
        ids.sort_unstable();
        ids.truncate(max);
        for (_, id) in &ids {
            self.model.leave(id);
        }
        ids.len()
    }

    /// Drops slots that have ended, and those that nothing explains (LH-LAPSE-8).
    fn mend(&mut self) {
        let now = self.model.now;
        let slots = std::mem::take(&mut self.model.slots);
        for (key, slots) in slots {
            for ((id, fence), until) in slots {
                let explained = self.model.explains(&id, fence, until);
                if until > now && !explained {
                    self.model.events.repaired += 1;
                } else if until > now {
                    let slots = self.model.slots.entry(key.clone()).or_default();
                    slots.insert((id, fence), until);
                }
            }
        }
    }
}
