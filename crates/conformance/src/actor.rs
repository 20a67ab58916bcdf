//! [`Actor`]: one handle with the calls that cases make most, each on one queue.

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::decide::{self, Intervention, Operator, Outcome, Retry};
use leasehold_core::{
    Applied, Backend, BackendExt, Change, Claim, Claimed, CommitItem, CommitVerdict, Configure,
    Delivery, Enqueue, EnqueueVerdict, Error, Fence, Guard, Keep, Lease, NewTask, Purpose,
    RenewItem, RenewVerdict, Retention, StoredTask, TaskRef,
};

use crate::context::{Context, Stop};

/// Somebody with a handle of their own: a worker, a rescuer, an operator.
#[derive(Debug, Clone)]
pub struct Actor {
    backend: Arc<dyn Backend>,
    name: String,
    queue: String,
}

impl Actor {
    /// The length of the leases that [`Actor`] takes: 30 s.
    pub const TTL: Duration = Duration::from_secs(30);
    /// [`Actor::TTL`] in milliseconds: shifting the clock by it makes such a lease lapse.
    pub const TTL_MS: i64 = 30_000;

    pub(crate) fn new(backend: Arc<dyn Backend>, name: &str) -> Self {
        Self { backend, name: name.to_owned(), queue: Context::QUEUE.to_owned() }
    }

    /// The same actor with the same handle on another queue.
    #[must_use]
    pub fn on(&self, queue: &str) -> Self {
        Self { queue: queue.to_owned(), ..self.clone() }
    }

    /// The queue on which this actor calls.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// The handle, for calls that have no shorthand here.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Who this is: the holder of the leases that it takes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An at-least-once task of kind `kind` under this id, due now.
    #[must_use]
    pub fn task(id: &str) -> NewTask {
        NewTask::new("kind", id.as_bytes().to_vec(), Delivery::at_least_once()).with_id(id)
    }

    /// The same, kept for ever once it has finished.
    #[must_use]
    pub fn kept(id: &str) -> NewTask {
        let keep = Keep::Forever;
        Self::task(id).with_retention(
            Retention::default().with_succeeded(keep).with_cancelled(keep).with_dead(keep),
        )
    }

    /// Enqueues one task, which must be new.
    ///
    /// # Errors
    /// When it was a Duplicate, or the call failed.
    pub async fn enqueue(&self, new: NewTask) -> Result<Fence, Stop> {
        match self.try_enqueue(new).await? {
            EnqueueVerdict::Enqueued { fence } => Ok(fence),
            other => Err(Stop::because(format!("a new task was not enqueued: {other:?}"))),
        }
    }

    /// Enqueues one task.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn try_enqueue(&self, new: NewTask) -> Result<EnqueueVerdict, Error> {
        self.backend.enqueue_one(&self.queue, new).await
    }

    /// Enqueues a batch; one reply a task.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn enqueue_all(&self, new: Vec<NewTask>) -> Result<Vec<EnqueueVerdict>, Error> {
        self.backend.enqueue(Enqueue::new(self.queue.clone(), new)).await
    }

    /// The claim that this actor makes: its queue, every kind, 30 s.
    #[must_use]
    pub fn request(&self, purpose: Purpose, max: usize) -> Claim {
        Claim::new(self.queue.clone(), purpose, max, Self::TTL, self.name.clone())
    }

    /// Claims up to `max` ready tasks, in as many calls as the store wants (LH-CLAIM-4).
    ///
    /// # Errors
    /// When a call failed.
    pub async fn claim(&self, max: usize) -> Result<Claimed, Error> {
        self.claim_for(Purpose::Run, max).await
    }

    async fn claim_for(&self, purpose: Purpose, max: usize) -> Result<Claimed, Error> {
        let mut all = self.backend.claim(self.request(purpose, max)).await?;
        // Bounded, so that a store which always says more fails the case instead of hanging it.
        for _ in 0..1_000 {
            if !all.more || all.leases.len() >= max {
                break;
            }
            let request = self.request(purpose, max - all.leases.len());
            let next = self.backend.claim(request).await?;
            all.leases.extend(next.leases);
            all.more = next.more;
        }
        Ok(all)
    }

    /// Claims one ready task, which must be there.
    ///
    /// # Errors
    /// When there was none, or the call failed.
    pub async fn run_one(&self) -> Result<Lease, Stop> {
        single(self.claim(1).await?, "a ready task was not granted")
    }

    /// Claims up to `max` lapsed leases, in as many calls as the store wants.
    ///
    /// # Errors
    /// When a call failed.
    pub async fn rescue(&self, max: usize) -> Result<Claimed, Error> {
        self.claim_for(Purpose::Rescue, max).await
    }

    /// Claims one lapsed lease, which must be there.
    ///
    /// # Errors
    /// When there was none, or the call failed.
    pub async fn rescue_one(&self) -> Result<Lease, Stop> {
        single(self.rescue(1).await?, "a lapsed lease was not granted")
    }

    /// Extends a lease by 30 s.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn renew(&self, lease: &Lease) -> Result<RenewVerdict, Error> {
        self.backend.renew_one(RenewItem::new(lease.guard(), Self::TTL)).await
    }

    /// Commits how a run ended.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn end(&self, lease: &Lease, outcome: Outcome) -> Result<CommitVerdict, Error> {
        self.commit(lease.guard(), decide::run(lease, outcome, 1)).await
    }

    /// Commits a success without a result.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn succeed(&self, lease: &Lease) -> Result<CommitVerdict, Error> {
        self.end(lease, success()).await
    }

    /// Commits a failure that is retried by the task's policy.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn fail(&self, lease: &Lease) -> Result<CommitVerdict, Error> {
        self.end(lease, failure()).await
    }

    /// Commits what the rescuer decides about a lapsed lease.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn give_back(&self, lease: &Lease) -> Result<CommitVerdict, Error> {
        self.commit(lease.guard(), decide::rescue(lease)).await
    }

    /// Commits any change.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn commit(&self, guard: Guard, change: Change) -> Result<CommitVerdict, Error> {
        self.commit_item(&CommitItem::new(guard, change)).await
    }

    /// Commits this very decision; again, if it was committed before.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn commit_item(&self, item: &CommitItem) -> Result<CommitVerdict, Error> {
        self.backend.commit_one(item.clone()).await
    }

    /// What this actor, as an operator, commits to act on what `seen` shows.
    ///
    /// # Errors
    /// When the state does not admit the act.
    pub fn decide(&self, seen: &StoredTask, act: Intervention) -> Result<CommitItem, Error> {
        let by = Operator::new(self.name.clone(), "a case of the suite");
        let change = decide::intervene(seen, act, &by)?;
        Ok(CommitItem::new(Guard::new(seen.task_ref.clone(), seen.fence), change))
    }

    /// Acts as an operator on what `seen` shows.
    ///
    /// # Errors
    /// When the state does not admit the act, or the call failed.
    pub async fn act(&self, seen: &StoredTask, act: Intervention) -> Result<CommitVerdict, Error> {
        self.commit_item(&self.decide(seen, act)?).await
    }

    /// Reads a task, which must be there.
    ///
    /// # Errors
    /// When it is not, or the call failed.
    pub async fn get(&self, id: &str) -> Result<StoredTask, Stop> {
        let task = self.backend.task(&TaskRef::new(self.queue.clone(), id)).await?;
        task.ok_or_else(|| Stop::because(format!("task {id} is not there")))
    }

    /// Changes settings of a queue.
    ///
    /// # Errors
    /// When the call failed.
    pub async fn configure(&self, request: Configure) -> Result<(), Error> {
        self.backend.configure(request).await.map(|_| ())
    }
}

/// A success without a result.
#[must_use]
pub fn success() -> Outcome {
    Outcome::Succeeded { result: None, follow_ups: Vec::new() }
}

/// A failure that is retried by the task's policy.
#[must_use]
pub fn failure() -> Outcome {
    Outcome::Failed { message: "it failed".to_owned(), retry: Retry::ByPolicy }
}

/// What an applied commit tells, or a stop.
///
/// # Errors
/// When the commit was not applied.
pub fn applied(verdict: CommitVerdict) -> Result<Applied, Stop> {
    match verdict {
        CommitVerdict::Applied(applied) => Ok(applied),
        other => Err(Stop::because(format!("a matching commit was not applied: {other:?}"))),
    }
}

fn single(mut claimed: Claimed, otherwise: &str) -> Result<Lease, Stop> {
    match (claimed.leases.pop(), claimed.leases.is_empty()) {
        (Some(lease), true) => Ok(lease),
        (first, _) => {
            Err(Stop::because(format!("{otherwise}: {first:?} and {:?}", claimed.leases)))
        }
    }
}
