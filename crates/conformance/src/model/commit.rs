//! The commit of a [`Model`].

use leasehold_core::{
    Applied, Budget, CommitItem, CommitVerdict, ErrorKind, Role, StoredTask, TaskRef, To,
};

use super::op::Reply;
use super::play::Play;
use super::rules::{Admission, Draw};
use crate::expect;

impl Play<'_> {
    pub fn commit(&mut self, item: &CommitItem) -> Reply {
        if let Err(error) = item.check(&self.model.capabilities) {
            return Reply::Refused(error.kind());
        }
        let verdict = match self.decide(item) {
            Ok(verdict) => verdict,
            Err(kind) => return Reply::Refused(kind),
        };
        let events = &mut self.model.events;
        match &verdict {
            CommitVerdict::Applied(applied) => {
                events.overdue += u64::from(applied.overdue);
                events.late += u64::from(applied.late);
                events.buried += u64::from(matches!(item.change.to, To::Dead(_)));
                events.rescued += u64::from(item.change.budget == Budget::SpendRescue);
            }
            CommitVerdict::Replayed => events.replayed += 1,
            CommitVerdict::Stale { .. } => events.stale_commits += 1,
            CommitVerdict::Conflict(_) | CommitVerdict::Gone => {}
        }
        Reply::Committed(verdict)
    }

    fn decide(&mut self, item: &CommitItem) -> Result<CommitVerdict, ErrorKind> {
        let id = &item.guard.task.id;
        let Some(task) = self.model.task(id).cloned() else {
            return Ok(self.rules.refusal_of_left(self.model.remembered(id), item));
        };
        let admission = self.rules.admission(self.model, &task, item);
        let change = &item.change;
        match admission {
            Admission::No => return Ok(self.rules.refusal(&task, item)),
            Admission::Current if !self.rules.fits(change, task.state) => {
                return Err(ErrorKind::Invalid);
            }
            Admission::Current | Admission::Late => {}
        }
        let rewrites = change.edit.as_ref().is_some_and(|edit| edit.policy.is_some());
        if rewrites && self.model.newer.contains(id) {
            return Err(ErrorKind::Invalid);
        }
        if let Some(rival) = self.rival(&task, item) {
            return Ok(CommitVerdict::Conflict(rival));
        }
        self.model.settings.check_limits(&change.follow_ups).map_err(|error| error.kind())?;
        Ok(CommitVerdict::Applied(self.write(&task, item, admission)))
    }

    /// The other unfinished task that has the key which a redrive needs (LH-UNIQ-4).
    fn rival(&self, task: &StoredTask, item: &CommitItem) -> Option<TaskRef> {
        let key = task.unique.as_ref().filter(|_| item.change.is_redrive())?;
        let holder = self.model.key_holder(key)?;
        (holder.task_ref != task.task_ref).then(|| holder.task_ref.clone())
    }

    /// All effects of the commit (LH-COMMIT-2), follow-ups last (LH-ENQ-8).
    fn write(&mut self, before: &StoredTask, item: &CommitItem, admission: Admission) -> Applied {
        let (id, change, now) = (&item.guard.task.id, &item.change, self.model.now);
        let fence = self.draw(id, Draw::Commit(change.by));
        let history_max = self.model.capabilities.bounds.history_max;
        let mut task = expect::landed(before, item, fence, now, history_max);
        if self.rules.frees_slot(change) {
            let member = self.rules.slot_of(id, item.guard.fence);
            if let Some(slots) = task.limit.as_ref().and_then(|key| self.model.slots.get_mut(key)) {
                slots.remove(&member);
            }
        }
        if change.is_redrive() {
            task.held_until = self.inherited(&task);
        }
        let mut applied = Applied::new(fence);
        applied.late = admission == Admission::Late;
        applied.overdue = admission == Admission::Current
            && change.by != Role::Operator
            && before.until.is_some_and(|until| until <= now);
        if let Some(kept) = self.model.tasks.get_mut(id) {
            kept.task = task;
            if change.to != To::Same {
                kept.expires = None;
            }
        }
        if let Some(keep) = expect::keep(change, self.model.settings.retention) {
            self.model.finish(id, keep, before.state);
        }
        applied.follow_ups = change.follow_ups.iter().map(|new| self.enqueue(new)).collect();
        applied
    }
}
