//! [`Scene`]: one task in a queue of its own, and steps that are each judged as a whole: the
//! reply, the task and the counts.

use leasehold_core::clause::Clause;
use leasehold_core::clause::{
    CLAIM_4, CLAIM_5, COMMIT_2, COMMIT_3, FENCE_1, FENCE_2, LAPSE_2, LAPSE_3, OBS_1, READ_2,
};
use leasehold_core::{
    BackendExt, Budget, CommitItem, CommitVerdict, Count, Counts, Delivery, Fence, Lease, NewTask,
    Purpose, Role, State, Status, StoredTask, Timestamp, To,
};

use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::demand;
use crate::expect;
use crate::moves::{self, Move};

/// The people of a case, each with a handle; every scene of the case has them.
#[derive(Debug, Clone)]
pub(crate) struct Cast {
    /// The holder of the first run.
    pub worker: Actor,
    /// Another worker.
    pub second: Actor,
    /// Who claims the lapsed lease first.
    pub rescuer: Actor,
    /// Another rescuer.
    pub other: Actor,
    /// Who reads, and acts on what was read.
    pub operator: Actor,
}

/// A task `t` of a queue of its own.
#[derive(Debug)]
pub(crate) struct Scene {
    /// The people, on this queue.
    pub cast: Cast,
    what: String,
    now: Timestamp,
    shown: Option<Fence>,
}

/// A task and its queue's counts at one instant.
pub(crate) struct Seen {
    pub task: Option<StoredTask>,
    pub counts: Counts,
}

impl Cast {
    pub async fn open(cx: &Context) -> Result<Self, Stop> {
        Ok(Self {
            worker: cx.actor("worker").await?,
            second: cx.actor("second worker").await?,
            rescuer: cx.actor("rescuer").await?,
            other: cx.actor("other rescuer").await?,
            operator: cx.actor("operator").await?,
        })
    }

    /// The scene called `what` with a task of this delivery, which stays when it has finished.
    pub async fn stage(&self, what: &str, delivery: Delivery) -> Result<Scene, Stop> {
        let new = NewTask::new("kind", "payload", delivery);
        self.stage_with(what, new.with_retention(expect::KEPT)).await
    }

    /// The scene called `what` with this task.
    pub async fn stage_with(&self, what: &str, new: NewTask) -> Result<Scene, Stop> {
        let cast = Self {
            worker: self.worker.on(what),
            second: self.second.on(what),
            rescuer: self.rescuer.on(what),
            other: self.other.on(what),
            operator: self.operator.on(what),
        };
        cast.operator.enqueue(new.with_id("t")).await?;
        let now = cast.operator.get("t").await?.enqueued_at;
        Ok(Scene { cast, what: what.to_owned(), now, shown: None })
    }
}

impl Scene {
    /// The instant that the store's clock shows.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// What the scene's reports begin with.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The task, which must be there.
    pub async fn task(&self) -> Result<StoredTask, Stop> {
        self.cast.operator.get("t").await
    }

    /// Moves the store's clock.
    pub async fn shift(&mut self, cx: &Context, by_ms: i64) -> Result<(), Stop> {
        cx.shift(by_ms).await?;
        self.now = Timestamp::from_millis(self.now.as_millis() + by_ms);
        Ok(())
    }

    /// Lets every lease lapse that was taken until now.
    pub async fn lapse(&mut self, cx: &Context) -> Result<(), Stop> {
        self.shift(cx, Actor::TTL_MS).await
    }

    /// Claims the task to run it; it must be granted, and as a whole as a claim leaves it.
    pub async fn run(&self, cx: &mut Context, by: &Actor) -> Result<Lease, Stop> {
        let before = self.task().await?;
        let claimed = by.claim(1).await?;
        let what = format!("{}: the one lease of a claim of a ready task", self.what);
        let lease = demand::lease(cx, CLAIM_4, &what, claimed)?;
        self.granted(cx, &before, &lease, by).await?;
        Ok(lease)
    }

    /// Claims the lapsed lease; it must be granted, and as a whole as a claim leaves it.
    pub async fn rescue(&self, cx: &mut Context, by: &Actor) -> Result<Lease, Stop> {
        let before = self.task().await?;
        let clause = match before.state {
            State::Leased(Purpose::Rescue) => LAPSE_3,
            _ => CLAIM_4,
        };
        let claimed = by.rescue(1).await?;
        let what = format!("{}: the one lease of a rescue of a lapsed task", self.what);
        let lease = demand::lease(cx, clause, &what, claimed)?;
        self.granted(cx, &before, &lease, by).await?;
        Ok(lease)
    }

    /// The worker's run, whose lease lapses and is claimed by the rescuer.
    pub async fn lapsed(&mut self, cx: &mut Context) -> Result<(Lease, Lease), Stop> {
        let run = self.run(cx, &self.cast.worker).await?;
        self.lapse(cx).await?;
        let rescue = self.rescue(cx, &self.cast.rescuer).await?;
        Ok((run, rescue))
    }

    /// The same, and the rescuer's decision has been applied.
    pub async fn rescued(&mut self, cx: &mut Context) -> Result<(Lease, Lease), Stop> {
        let (run, rescue) = self.lapsed(cx).await?;
        self.lands(cx, LAPSE_2, &moves::rescue(&rescue)).await?;
        Ok((run, rescue))
    }

    async fn granted(
        &self,
        cx: &mut Context,
        before: &StoredTask,
        lease: &Lease,
        by: &Actor,
    ) -> Result<(), Stop> {
        let what = |what: &str| format!("{}: {what}", self.what);
        let clause = match lease.purpose {
            Purpose::Run => CLAIM_5,
            Purpose::Rescue => LAPSE_2,
        };
        let grows = lease.fence > before.fence;
        cx.check_that(FENCE_1, &what("the fence of a claim is greater"), grows, lease);
        let want = expect::claimed(before, lease, by.name(), self.now.after(Actor::TTL));
        let mut told = Lease::of(want.clone(), self.now);
        told.corrupt.clone_from(&lease.corrupt);
        cx.check(clause, &what("the lease tells the task"), lease, &told);
        let task = self.task().await?;
        cx.check(clause, &what("the task after a claim"), task, want);
        Ok(())
    }

    /// Commits what must be applied, and leave the whole task as its change says.
    pub async fn lands(
        &mut self,
        cx: &mut Context,
        clause: Clause,
        one: &Move,
    ) -> Result<(), Stop> {
        let Move { name, item, .. } = one;
        let what = |what: &str| format!("{}: {name}: {what}", self.what);
        let before = self.see().await?;
        let task = before.task.as_ref().ok_or_else(|| Stop::because("no task to decide about"))?;
        let verdict = self.commit(item).await?;
        let CommitVerdict::Applied(applied) = verdict else {
            cx.check_that(clause, &what("a commit that must be applied"), false, &verdict);
            return Err(Stop::because(format!("{}: {name} was not applied", self.what)));
        };
        let told = expect::applied(task, item, applied.fence, self.now);
        cx.check(clause, &what("how it was applied"), &applied, &told);
        let grows = applied.fence > task.fence;
        cx.check_that(FENCE_1, &what("the new fence is greater"), grows, &applied);
        let history_max = self.cast.operator.backend().capabilities().bounds.history_max;
        let want = expect::after(task, item, applied.fence, self.now, history_max);
        let mut counts = before.counts;
        move_count(&mut counts, task, want.as_ref(), self.now);
        counts.events.overdue += u64::from(told.overdue);
        counts.events.late += u64::from(told.late);
        counts.events.buried += u64::from(matches!(item.change.to, To::Dead(_)));
        counts.events.rescued += u64::from(item.change.budget == Budget::SpendRescue);
        self.shown = Some(item.guard.fence);
        let after = self.see().await?;
        cx.check(COMMIT_2, &what("the task after an applied commit"), after.task, want);
        cx.check(READ_2, &what("the tasks counted"), after.counts.tasks, counts.tasks);
        cx.check(OBS_1, &what("the events counted"), after.counts.events, counts.events);
        Ok(())
    }

    /// Commits what must be stale, and so change nothing at all.
    pub async fn refused(&self, cx: &mut Context, clause: Clause, one: &Move) -> Result<(), Stop> {
        let before = self.see().await?;
        let want = match (&before.task, self.shown) {
            (Some(task), _) => CommitVerdict::Stale { fence: task.fence, state: Some(task.state) },
            (None, Some(fence)) => CommitVerdict::Stale { fence, state: None },
            (None, None) => return Err(Stop::because("no task and none that left")),
        };
        self.without_effect(cx, clause, one, before, want).await
    }

    /// Commits what has been applied already, and so must change nothing at all.
    pub async fn replayed(&self, cx: &mut Context, clause: Clause, one: &Move) -> Result<(), Stop> {
        let before = self.see().await?;
        self.without_effect(cx, clause, one, before, CommitVerdict::Replayed).await
    }

    /// Commits what is about no task, or about an earlier one under the same id.
    pub async fn gone(&self, cx: &mut Context, clause: Clause, one: &Move) -> Result<(), Stop> {
        let before = self.see().await?;
        self.without_effect(cx, clause, one, before, CommitVerdict::Gone).await
    }

    async fn without_effect(
        &self,
        cx: &mut Context,
        clause: Clause,
        one: &Move,
        before: Seen,
        want: CommitVerdict,
    ) -> Result<(), Stop> {
        let what = |what: &str| format!("{}: {}: {what}", self.what, one.name);
        let mut events = before.counts.events;
        match want {
            CommitVerdict::Stale { .. } => events.stale_commits += 1,
            CommitVerdict::Replayed => events.replayed += 1,
            _ => {}
        }
        let verdict = self.commit(&one.item).await?;
        cx.check(clause, &what("the verdict"), verdict, want);
        let after = self.see().await?;
        cx.check(FENCE_2, &what("the task, which nothing may touch"), after.task, before.task);
        cx.check(FENCE_2, &what("the tasks counted"), after.counts.tasks, before.counts.tasks);
        cx.check(OBS_1, &what("the events counted"), after.counts.events, events);
        Ok(())
    }

    /// Commits what the task's state does not admit: an error for this item, without effect.
    pub async fn invalid(&self, cx: &mut Context, one: &Move) -> Result<(), Stop> {
        let what = |what: &str| format!("{}: {}: {what}", self.what, one.name);
        let before = self.see().await?;
        let told = self.cast.operator.commit_item(&one.item).await;
        let kind = told.as_ref().err().map(leasehold_core::Error::kind);
        let want = Some(leasehold_core::ErrorKind::Invalid);
        cx.check(COMMIT_3, &what("the answer"), kind, want);
        let after = self.see().await?;
        cx.check(COMMIT_3, &what("the task"), after.task, before.task);
        cx.check(COMMIT_3, &what("the counts"), after.counts, before.counts);
        Ok(())
    }

    /// Claims everything there is: the task must be granted if its status says so, else nothing.
    pub async fn claimable(&self, cx: &mut Context, clause: Clause) -> Result<(), Stop> {
        let status = self.see().await?.task.map(|task| task.status(self.now));
        let rescues = self.cast.other.rescue(10).await?.leases.len();
        let runs = self.cast.second.claim(10).await?.leases.len();
        let want = (
            usize::from(status == Some(Status::Lapsed)),
            usize::from(status == Some(Status::Ready)),
        );
        let what = format!("{}: rescues and runs granted for a task that is {status:?}", self.what);
        cx.check(clause, &what, (rescues, runs), want);
        Ok(())
    }

    /// The task and the counts as they are.
    pub async fn see(&self) -> Result<Seen, Stop> {
        let (backend, queue) = (self.cast.operator.backend(), self.cast.operator.queue());
        let task = backend.task(&leasehold_core::TaskRef::new(queue, "t")).await?;
        Ok(Seen { task, counts: backend.counts(Count::new(queue)).await? })
    }

    /// By the handle of whoever decided.
    async fn commit(&self, item: &CommitItem) -> Result<CommitVerdict, Stop> {
        let by = match item.change.by {
            Role::Worker => &self.cast.worker,
            Role::Rescuer => &self.cast.rescuer,
            Role::Operator => &self.cast.operator,
        };
        Ok(by.commit_item(item).await?)
    }
}

fn move_count(counts: &mut Counts, from: &StoredTask, to: Option<&StoredTask>, now: Timestamp) {
    if let Some(count) = counts.tasks.get_mut(&from.status(now)) {
        *count = count.saturating_sub(1);
    }
    if let Some(task) = to {
        *counts.tasks.entry(task.status(now)).or_default() += 1;
    }
}

/// The newest run's lease, at a place that has one.
pub(crate) fn newest(run: &Option<Lease>) -> Result<&Lease, Stop> {
    run.as_ref().ok_or_else(|| Stop::because("no run at a place that has one"))
}

/// A state of the task, and a way that leads there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Ready,
    Snoozed,
    Running,
    Lapsed,
    Rescuing,
    PutBack,
    Lost,
    Exhausted,
    Succeeded,
    Cancelled,
}

impl Place {
    pub const ALL: [Place; 10] = [
        Self::Ready,
        Self::Snoozed,
        Self::Running,
        Self::Lapsed,
        Self::Rescuing,
        Self::PutBack,
        Self::Lost,
        Self::Exhausted,
        Self::Succeeded,
        Self::Cancelled,
    ];

    /// The places of a finished task.
    pub const FINISHED: [Place; 4] =
        [Self::Lost, Self::Exhausted, Self::Succeeded, Self::Cancelled];

    fn delivery(self) -> Delivery {
        match self {
            Self::Lost => Delivery::NotAfterLoss,
            _ => Delivery::at_least_once(),
        }
    }
}

impl Cast {
    /// The scene called `what` with a task that has come to `place`, and its newest run's lease.
    pub async fn stage_at(
        &self,
        cx: &mut Context,
        what: &str,
        place: Place,
    ) -> Result<(Scene, Option<Lease>), Stop> {
        let mut scene = self.stage(&format!("{what} at {place:?}"), place.delivery()).await?;
        let ends = match place {
            Place::Ready => return Ok((scene, None)),
            Place::Running | Place::Lapsed => {
                let run = scene.run(cx, &scene.cast.worker).await?;
                if place == Place::Lapsed {
                    scene.lapse(cx).await?;
                }
                return Ok((scene, Some(run)));
            }
            Place::Rescuing => {
                let (run, _) = scene.lapsed(cx).await?;
                return Ok((scene, Some(run)));
            }
            Place::PutBack | Place::Lost => {
                let (run, _) = scene.rescued(cx).await?;
                return Ok((scene, Some(run)));
            }
            Place::Snoozed => "snooze",
            Place::Exhausted => "exhausted",
            Place::Succeeded => "success",
            Place::Cancelled => "cancel",
        };
        let run = scene.run(cx, &scene.cast.worker).await?;
        scene.lands(cx, COMMIT_2, &moves::ending(&run, ends)?).await?;
        Ok((scene, Some(run)))
    }
}
