//! commit: the only way a task changes state.

use std::collections::BTreeMap;

use super::Source;
use super::queue::Queue;
use crate::{
    Applied, Bounds, Budget, Capabilities, Change, CommitItem, CommitVerdict, Edit, Error, Fence,
    Keep, Purpose, Role, Shown, State, StoredTask, TaskRef, Timestamp, To,
};

pub(super) fn commit(
    queues: &mut BTreeMap<String, Queue>,
    item: CommitItem,
    capabilities: &Capabilities,
    now: Timestamp,
    source: &mut Source,
) -> Result<CommitVerdict, Error> {
    item.check(capabilities)?;
    let Some(queue) = queues.get_mut(&item.guard.task.queue) else {
        return Ok(CommitVerdict::Gone);
    };
    let verdict = queue.decide(item, &capabilities.bounds, now, source)?;
    match &verdict {
        CommitVerdict::Applied(applied) => {
            queue.events.overdue += u64::from(applied.overdue);
            queue.events.late += u64::from(applied.late);
        }
        CommitVerdict::Replayed => queue.events.replayed += 1,
        CommitVerdict::Stale { .. } => queue.events.stale_commits += 1,
        CommitVerdict::Conflict(_) | CommitVerdict::Gone => {}
    }
    Ok(verdict)
}

impl Queue {
    fn decide(
        &mut self,
        item: CommitItem,
        bounds: &Bounds,
        now: Timestamp,
        source: &mut Source,
    ) -> Result<CommitVerdict, Error> {
        let CommitItem { guard, decision, change } = item;
        let id = guard.task.id.as_str();
        let Some(entry) = self.tasks.get(id) else {
            let left = self.remembered(id, now);
            return Ok(left.map_or(CommitVerdict::Gone, |l| l.refusal(guard.fence, decision)));
        };
        // The one rule (LH-COMMIT-1) and its one exception (LH-LATE-1).
        let current = guard.fence == entry.task.fence;
        let success = (change.by, change.to) == (Role::Worker, To::Succeeded);
        let late = !current && success && entry.task.run == Some(guard.fence);
        if !current && !late {
            return Ok(entry.task.refusal(guard.fence, decision));
        }
        if current && !change.fits(entry.task.state) {
            let what = format!("a task that is {} does not admit this change", entry.task.state);
            return Err(Error::invalid(what).with_task(&guard.task));
        }
        let rewrites = change.edit.as_ref().is_some_and(|edit| edit.policy.is_some());
        if rewrites && self.newer.contains(id) {
            let what = "a newer version has written this task's policy";
            return Err(Error::invalid(what).with_task(&guard.task));
        }
        if let Some(holder) = self.rival(&entry.task, &change) {
            return Ok(CommitVerdict::Conflict(holder));
        }
        self.settings.check_limits(&change.follow_ups)?;
        let overdue = current
            && change.by != Role::Operator
            && entry.task.until.is_some_and(|until| until <= now);
        let shown = Shown::new(guard.fence, decision, change.by);
        let fence = source.fence();
        self.apply(id, &change, shown, fence, bounds, now);
        let follow_ups = change.follow_ups.into_iter();
        let queue = &guard.task.queue;
        let follow_ups = follow_ups.map(|new| self.enqueue(new, now, queue, source)).collect();
        Ok(CommitVerdict::Applied(Applied { fence, overdue, late, follow_ups }))
    }

    /// Another unfinished task that holds the unique key which a redrive needs (LH-UNIQ-4).
    fn rival(&self, task: &StoredTask, change: &Change) -> Option<TaskRef> {
        let key = task.unique.as_ref().filter(|_| change.is_redrive())?;
        let holder = self.keys.get(key).filter(|holder| **holder != task.task_ref.id)?;
        self.tasks.get(holder).map(|entry| entry.task.task_ref.clone())
    }

    /// All effects of an admitted change in one step (LH-COMMIT-2).
    fn apply(
        &mut self,
        id: &str,
        change: &Change,
        shown: Shown,
        fence: Fence,
        bounds: &Bounds,
        now: Timestamp,
    ) {
        self.unplace(id);
        let Some(entry) = self.tasks.get_mut(id) else { return };
        let task = &mut entry.task;
        if change.by == Role::Operator && change.to != To::Same {
            // The run may not have heard yet: slot, record and next run wait (LH-OPER-11).
            let running = task.state == State::Leased(Purpose::Run);
            let live = task.until.filter(|until| running && *until > now);
            task.held_until = task.held_until.max(live);
        }
        task.history.push(change.record(now, shown.fence, task.attempt), bounds.history_max);
        task.fence = fence;
        task.shown = Some(shown);
        task.until = None;
        task.holder = None;
        task.takeovers = 0;
        if change.by != Role::Rescuer {
            task.run = None;
        }
        spend(task, change.budget);
        if let Some(edit) = change.edit.as_deref() {
            rewrite(task, edit, now);
        }
        task.state = change.to.state(task.state);
        if let To::Waiting(when) = change.to {
            task.due = when.instant(task.due, now);
        }
        let keep = change.keep.or(self.settings.retention.of(task.state));
        if change.to != To::Same {
            entry.expires = None;
            task.result = change.result.clone();
            task.finished_at = task.state.is_finished().then_some(now);
        }
        let limit = task.limit.clone();
        if change.by == Role::Worker {
            self.free_slot(id, limit.as_ref(), shown.fence);
        }
        if change.is_redrive() {
            self.take_key(id, now);
        }
        self.place(id);
        match change.to {
            To::Waiting(_) | To::Same => {}
            To::Gone => self.finish(id, Keep::NOT, now),
            To::Succeeded | To::Dead(_) | To::Cancelled => {
                self.finish(id, keep.unwrap_or(Keep::Forever), now);
            }
        }
        self.events.buried += u64::from(matches!(change.to, To::Dead(_)));
        self.events.rescued += u64::from(change.budget == Budget::SpendRescue);
    }
}

fn spend(task: &mut StoredTask, budget: Budget) {
    match budget {
        Budget::Keep => {}
        Budget::SpendRetry => task.failures = task.failures.saturating_add(1),
        Budget::SpendRescue => task.rescues = task.rescues.saturating_add(1),
        Budget::Reset => (task.failures, task.rescues, task.note) = (0, 0, None),
    }
}

fn rewrite(task: &mut StoredTask, edit: &Edit, now: Timestamp) {
    if let Some(payload) = &edit.payload {
        task.payload = payload.clone();
    }
    task.priority = edit.priority.unwrap_or(task.priority);
    task.due = edit.due.map_or(task.due, |due| due.instant(now));
    if let Some(policy) = edit.policy {
        // What could not be read has been written anew.
        (task.policy, task.corrupt) = (policy, None);
    }
}
