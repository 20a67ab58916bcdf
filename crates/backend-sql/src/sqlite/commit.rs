//! commit: the only way a task changes state.
//!
//! Here a call is judged item by item; `apply` writes the change of one.

use std::collections::{BTreeMap, HashMap};

use leasehold_core::stored::FORMAT;
use leasehold_core::{
    Applied, Capabilities, Commit, CommitItem, CommitVerdict, Error, ErrorKind, Role, StoredTask,
    TaskRef, To,
};
use sqlx::Row;

use super::apply::{apply, leave};
use super::enqueue;
use super::read::{left_seen, tasks_seen};
use super::row::{Stored, fence};
use super::step::{Queue, Step};
use crate::error::Fault;

/// Each item for itself (LH-GEN-2); a fault of the store undoes them all.
pub(super) async fn commit(
    step: &mut Step,
    capabilities: &Capabilities,
    request: Commit,
) -> Result<Vec<Result<CommitVerdict, Error>>, Fault> {
    let mut verdicts = Vec::with_capacity(request.items.len());
    if request.items.is_empty() {
        return Ok(verdicts);
    }
    // One value an item: a follow-up of one may bear the id of another that has just left.
    let first = step.draw(request.items.len()).await?;
    let mut desks = Desk::open(step, &request.items).await?;
    for (new_fence, item) in (first..).zip(request.items) {
        verdicts.push(match (item.check(capabilities), desks.get_mut(&item.guard.task.queue)) {
            (Err(error), _) => Err(error),
            (Ok(()), None) => Ok(CommitVerdict::Gone),
            (Ok(()), Some(desk)) => desk.one(step, capabilities, item, new_fence).await?,
        });
    }
    for desk in desks.values_mut() {
        desk.see_off(step).await?;
    }
    Ok(verdicts)
}

/// What a call knows of one queue.
struct Desk {
    queue: Queue,
    /// The tasks of the call as they were before it; each is named by one item only
    /// (LH-COMMIT-11), so that no other item changes it.
    seen: HashMap<String, Result<Stored, Error>>,
    /// Finished tasks that leave in this step.
    leaving: Vec<i64>,
}

impl Desk {
    /// One for each queue of the items that is there.
    async fn open(step: &mut Step, items: &[CommitItem]) -> Result<HashMap<String, Self>, Fault> {
        let mut ids: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for TaskRef { queue, id } in items.iter().map(|item| &item.guard.task) {
            ids.entry(queue).or_default().push(id);
        }
        let mut desks = HashMap::new();
        for (name, ids) in ids {
            if let Some(queue) = Queue::find(step, name).await? {
                let seen = tasks_seen(step, &queue, ids).await?;
                desks.insert(name.to_owned(), Self { queue, seen, leaving: Vec::new() });
            }
        }
        Ok(desks)
    }

    /// One item: its verdict, or an error that concerns it alone and comes before any effect.
    async fn one(
        &mut self,
        step: &mut Step,
        capabilities: &Capabilities,
        item: CommitItem,
        new_fence: i64,
    ) -> Result<Result<CommitVerdict, Error>, Fault> {
        let verdict = match self.seen.remove(&item.guard.task.id) {
            Some(Ok(seen)) => self.decide(step, capabilities, &seen, item, new_fence).await?,
            Some(Err(error)) => Err(error),
            None => {
                let left = left_seen(step, &self.queue, &item.guard.task.id).await?;
                let refusal = left.map(|left| left.refusal(item.guard.fence, item.decision));
                Ok(refusal.unwrap_or(CommitVerdict::Gone))
            }
        };
        let queue = self.queue.key;
        match &verdict {
            Ok(CommitVerdict::Applied(applied)) => {
                step.count(queue, "overdue", u64::from(applied.overdue));
                step.count(queue, "late", u64::from(applied.late));
            }
            Ok(CommitVerdict::Replayed) => step.count(queue, "replayed", 1),
            Ok(CommitVerdict::Stale { .. }) => step.count(queue, "stale_commits", 1),
            Ok(CommitVerdict::Conflict(_) | CommitVerdict::Gone) | Err(_) => {}
        }
        Ok(verdict)
    }

    /// What was seen only fills in what is written and explains a refusal: whether the change
    /// is applied is decided by the statement's own guard.
    async fn decide(
        &mut self,
        step: &mut Step,
        capabilities: &Capabilities,
        seen: &Stored,
        item: CommitItem,
        new_fence: i64,
    ) -> Result<Result<CommitVerdict, Error>, Fault> {
        let missing = self.queue.missing_limit(step, &item.change.follow_ups).await?;
        if missing.is_some() {
            return refuse(step, &self.queue, &seen.task, &item, missing).await;
        }
        let edits_terms = item.change.edit.as_ref().is_some_and(|edit| edit.policy.is_some());
        if edits_terms && seen.format > FORMAT && seen.task.fence == item.guard.fence {
            // To encode them anew would drop what this build does not know of (LH-CLAIM-11).
            let error = Error::invalid("a newer Leasehold has written this task");
            return Ok(Err(error.with_task(&item.guard.task)));
        }
        let bounds = &capabilities.bounds;
        let Some(leaves) = apply(step, &self.queue, bounds, seen, &item, new_fence).await? else {
            return refuse(step, &self.queue, &seen.task, &item, None).await;
        };
        if leaves {
            self.leaving.push(seen.seq);
        }
        let current = seen.task.fence == item.guard.fence;
        let lapsed = seen.task.until.is_some_and(|until| until <= step.now);
        let mut applied = Applied::new(fence(new_fence));
        applied.overdue = current && lapsed && item.change.by != Role::Operator;
        applied.late = !current;
        if !item.change.follow_ups.is_empty() {
            // A follow-up must find the ids of those that leave to be free, or remembered.
            self.see_off(step).await?;
        }
        for new in item.change.follow_ups {
            applied.follow_ups.push(enqueue::add(step, &self.queue, new, new_fence).await?);
        }
        Ok(Ok(CommitVerdict::Applied(applied)))
    }

    /// Removes those that leave, all at once.
    async fn see_off(&mut self, step: &mut Step) -> Result<(), Fault> {
        leave(step, &self.queue, &std::mem::take(&mut self.leaving)).await
    }
}

/// Why a change was not written, told from the task as it was when it was not.
async fn refuse(
    step: &mut Step,
    queue: &Queue,
    task: &StoredTask,
    item: &CommitItem,
    missing: Option<Error>,
) -> Result<Result<CommitVerdict, Error>, Fault> {
    let CommitItem { guard, decision, change, .. } = item;
    let current = task.fence == guard.fence;
    let late =
        (change.by, change.to) == (Role::Worker, To::Succeeded) && task.run == Some(guard.fence);
    if !current && !late {
        return Ok(Ok(task.refusal(guard.fence, *decision)));
    }
    if current && !change.fits(task.state) {
        let what = format!("a task that is {} does not admit this change", task.state);
        return Ok(Err(Error::invalid(what).with_task(&guard.task)));
    }
    if let (true, Some(key)) = (change.is_redrive(), &task.unique) {
        let find = sql!("rival").bind(queue.key).bind(key);
        if let Some(row) = find.fetch_optional(step.conn()).await? {
            let rival = TaskRef::new(&queue.name, row.try_get::<&str, _>("id")?);
            return Ok(Ok(CommitVerdict::Conflict(rival)));
        }
    }
    let unexplained = || Error::new(ErrorKind::Internal, "a commit whose guard holds was refused");
    Ok(Err(missing.unwrap_or_else(unexplained).with_task(&guard.task)))
}
