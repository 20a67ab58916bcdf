//! Scenes that cases begin with, and what an applied commit leaves whatever it decides.

use leasehold_core::decide::{Entered, Intervention, Outcome, Retry, Unknown};
use leasehold_core::{
    BackendExt, Claim, CommitItem, CommitVerdict, DeadReason, Delivery, Fence, Filter, Keep, Lease,
    List, NewTask, Purge, Purpose, Role, Shown, State, StoredTask, Timestamp,
};

use crate::actor::{Actor, applied, failure, success};
use crate::context::{Context, Stop};

/// How a scene's task stands when the scene begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    Waiting,
    Running,
    /// The run's lease has passed, and nobody came.
    Lapsed,
    /// A rescuer has come and not yet decided.
    Rescuing,
    /// The rescuer has put it back.
    Returned,
    /// The rescuer has buried it.
    Lost,
    Succeeded,
    Rejected,
    Cancelled,
}

impl Met {
    pub(crate) const ALL: [Met; 9] = [
        Self::Waiting,
        Self::Running,
        Self::Lapsed,
        Self::Rescuing,
        Self::Returned,
        Self::Lost,
        Self::Succeeded,
        Self::Rejected,
        Self::Cancelled,
    ];

    pub(crate) const UNFINISHED: [Met; 5] =
        [Self::Waiting, Self::Running, Self::Lapsed, Self::Rescuing, Self::Returned];

    pub(crate) fn is_finished(self) -> bool {
        !Self::UNFINISHED.contains(&self)
    }

    fn outcome(self) -> Option<Outcome> {
        let message = "a case of the suite".to_owned();
        match self {
            Self::Succeeded => Some(success()),
            Self::Rejected => Some(Outcome::Failed { message, retry: Retry::Never }),
            Self::Cancelled => Some(Outcome::Cancelled { message }),
            _ => None,
        }
    }
}

/// A task in a known state, the leases that led there, and the store's instant.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) task: StoredTask,
    pub(crate) run: Option<Lease>,
    pub(crate) rescue: Option<Lease>,
    pub(crate) now: Timestamp,
}

impl Staged {
    /// Brings a new task there, on a manual clock; nothing else may be claimable.
    pub(crate) async fn bring(
        cx: &Context,
        by: &Actor,
        mut new: NewTask,
        met: Met,
    ) -> Result<Staged, Stop> {
        let id = new.id.clone();
        match met {
            Met::Lost => new.policy.delivery = Delivery::NotAfterLoss,
            Met::Succeeded => new.policy.retention.succeeded = Some(Keep::Forever),
            _ => {}
        }
        by.enqueue(new).await?;
        let task = by.get(&id).await?;
        let mut scene = Staged { now: task.enqueued_at, task, run: None, rescue: None };
        if met != Met::Waiting {
            let run = by.run_one().await?;
            if let Some(outcome) = met.outcome() {
                applied(by.end(&run, outcome).await?)?;
            }
            scene.run = Some(run);
        }
        if matches!(met, Met::Lapsed | Met::Rescuing | Met::Returned | Met::Lost) {
            cx.shift(Actor::TTL_MS).await?;
            scene.now = scene.now.after(Actor::TTL);
        }
        if matches!(met, Met::Rescuing | Met::Returned | Met::Lost) {
            let rescue = by.rescue_one().await?;
            if met != Met::Rescuing {
                applied(by.give_back(&rescue).await?)?;
            }
            scene.rescue = Some(rescue);
        }
        scene.task = by.get(&id).await?;
        Ok(scene)
    }
}

/// Acts on a task as an operator and tells what is certain of it afterwards, see [`after`].
pub(crate) async fn act(
    by: &Actor,
    seen: &StoredTask,
    act: Intervention,
    at: Timestamp,
) -> Result<StoredTask, Stop> {
    let item = by.decide(seen, act)?;
    let fence = applied(by.commit_item(&item).await?)?.fence;
    Ok(after(seen, &item, fence, at))
}

/// Deletes what there is of a task, so that the next scene is alone.
pub(crate) async fn clear(by: &Actor, seen: &StoredTask) -> Result<(), Stop> {
    if let Some(task) = by.backend().task(&seen.task_ref).await? {
        applied(by.act(&task, Intervention::Delete).await?)?;
    }
    Ok(())
}

/// `before` after an applied commit, as far as every one does the same: new fence, `shown` and
/// record; no lease; no right to a late success but after a rescuer's (LH-LATE-5).
pub(crate) fn after(
    before: &StoredTask,
    item: &CommitItem,
    fence: Fence,
    at: Timestamp,
) -> StoredTask {
    let (shown, by) = (item.guard.fence, item.change.by);
    let mut task = before.clone();
    task.fence = fence;
    task.shown = Some(Shown::new(shown, item.decision, by));
    (task.until, task.holder, task.takeovers) = (None, None, 0);
    task.run = task.run.filter(|_| by == Role::Rescuer);
    task.history.push(item.change.record(at, shown, before.attempt), usize::MAX);
    task
}

/// `task`, finished in `state` at `at`.
pub(crate) fn finished(mut task: StoredTask, state: State, at: Timestamp) -> StoredTask {
    task.state = state;
    task.finished_at = Some(at);
    task
}

/// What a commit is told that shows another fence than the task has.
pub(crate) fn stale(now: &StoredTask) -> CommitVerdict {
    CommitVerdict::Stale { fence: now.fence, state: Some(now.state) }
}

/// Every way in which a run ends, with the state that a task with retries left ends in.
pub(crate) fn outcomes() -> Vec<(Outcome, State)> {
    let message = || "a case of the suite".to_owned();
    let dead = State::Dead;
    vec![
        (success(), State::Succeeded),
        (failure(), State::Waiting),
        (Outcome::Panicked { message: message() }, State::Waiting),
        (Outcome::TimedOut, State::Waiting),
        (Outcome::Snoozed(Actor::TTL), State::Waiting),
        (Outcome::Released(Entered::Yes), State::Waiting),
        (Outcome::UnknownKind(Unknown::Wait), State::Waiting),
        (Outcome::Cancelled { message: message() }, State::Cancelled),
        (Outcome::Failed { message: message(), retry: Retry::Never }, dead(DeadReason::Rejected)),
        (Outcome::Undecodable { message: message() }, dead(DeadReason::Undecodable)),
        (Outcome::UnknownKind(Unknown::Bury), dead(DeadReason::UnknownKind)),
        (Outcome::Corrupt, dead(DeadReason::Corrupt)),
    ]
}

/// Claims until `max` leases are there or the store has no more to give (LH-CLAIM-4).
pub(crate) async fn take(by: &Actor, max: usize) -> Result<Vec<Lease>, Stop> {
    take_as(by, by.request(Purpose::Run, max)).await
}

/// The same for any claim without a ticket.
pub(crate) async fn take_as(by: &Actor, claim: Claim) -> Result<Vec<Lease>, Stop> {
    let mut leases = Vec::new();
    for _ in 0..1_000 {
        let mut claim = claim.clone();
        claim.max -= leases.len();
        let claimed = by.backend().claim(claim.clone()).await?;
        let enough = claimed.leases.len() >= claim.max;
        leases.extend(claimed.leases);
        if enough || !claimed.more {
            return Ok(leases);
        }
    }
    Err(Stop::because("1,000 claims in a row asked for one more"))
}

/// The ids of some leases, in their order.
pub(crate) fn ids(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.task_ref.id.as_str()).collect()
}

/// Purges until there is no more to remove, and counts.
pub(crate) async fn purge_all(by: &Actor) -> Result<usize, Stop> {
    let max = by.backend().capabilities().bounds.batch_max;
    let mut removed = 0;
    for _ in 0..1_000 {
        let purged = by.backend().purge(Purge::new(Context::QUEUE, max)).await?;
        removed += purged.tasks;
        if !purged.more {
            return Ok(removed);
        }
    }
    Err(Stop::because("1,000 purges in a row left more to remove"))
}

/// Every task that a list shows, in pages of `max`.
pub(crate) async fn list(by: &Actor, filter: Filter, max: usize) -> Result<Vec<StoredTask>, Stop> {
    let mut request = List::new(Context::QUEUE, filter, max);
    let mut tasks = Vec::new();
    for _ in 0..10_000 {
        let page = by.backend().list(request.clone()).await?;
        tasks.extend(page.tasks);
        match page.next {
            Some(cursor) => request = request.after(cursor),
            None => return Ok(tasks),
        }
    }
    Err(Stop::because("10,000 pages did not end a list"))
}
