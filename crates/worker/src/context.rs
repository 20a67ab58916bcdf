//! [`Context`]: what a handler may know and do beside its task.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold_core::clock::within;
use leasehold_core::{
    BackendExt, Bounds, Change, Client, CommitItem, Event, Fence, Headers, IntoDraft, Lease,
    NewTask, RenewItem, RenewVerdict, Role, TaskRef, Timestamp, To, typed,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::clock::{now, pause};
use crate::failure::Failure;
use crate::health::Phase;
use crate::held::{Held, Loss, ends};
use crate::signs::{Cancelled, Signs};

/// The pause before a task is asked about again that a stranger's transaction held.
const BUSY: Duration = Duration::from_millis(50);

/// One run of a task, as its handler sees it; `S` is the worker's state. Clones are cheap,
/// and all are of the same run.
pub struct Context<S = ()> {
    run: Arc<Run>,
    state: Arc<S>,
}

/// What the contexts of one run share.
pub(crate) struct Run {
    /// Without its payload, which the handler has as a value.
    pub(crate) lease: Lease,
    pub(crate) bounds: Bounds,
    pub(crate) client: Client,
    pub(crate) held: Arc<Held>,
    pub(crate) ttl: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) signs: Signs,
    pub(crate) cancelled: watch::Sender<Option<Cancelled>>,
    /// `None` once the run has ended.
    pub(crate) follow_ups: Mutex<Option<Vec<NewTask>>>,
}

impl<S> Context<S> {
    pub(crate) fn new(run: Arc<Run>, state: Arc<S>) -> Self {
        Self { run, state }
    }

    /// What was given to [`Worker::state`](crate::Worker::state).
    #[must_use]
    pub fn state(&self) -> &S {
        &self.state
    }

    /// A client of the worker's store.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.run.client
    }

    /// The task's queue and id.
    #[must_use]
    pub fn task(&self) -> &TaskRef {
        &self.run.lease.task_ref
    }

    /// What rides along with the task.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.run.lease.headers
    }

    /// When the task was enqueued, by the store's clock.
    #[must_use]
    pub fn enqueued_at(&self) -> Timestamp {
        self.run.lease.enqueued_at
    }

    /// The fence of this run. Pass it on to whatever the handler writes to, and let that refuse
    /// a smaller one than it has seen: then not even a handler that lost its lease unnoticed
    /// can overwrite its successor's work (LH-FENCE-3).
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.run.lease.fence
    }

    /// The ordinal of this run, 1 for the first; no budget, and never reset.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.run.lease.attempt
    }

    /// How many more runs follow if this one and the next ones fail; 0: a failure now buries
    /// the task.
    #[must_use]
    pub fn retries_left(&self) -> u32 {
        let policy = &self.run.lease.policy;
        policy.delivery.max_retries(&policy.retry).saturating_sub(self.run.lease.failures)
    }

    /// How many more runs follow if this worker and the next ones are lost; 0: a loss now
    /// buries the task.
    #[must_use]
    pub fn rescues_left(&self) -> u32 {
        self.run.lease.policy.delivery.max_rescues().saturating_sub(self.run.lease.rescues)
    }

    /// What is left of the kind's time for this run; then it is cancelled.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.run.signs.times_out.saturating_duration_since(now())
    }

    /// Whether this run has been cancelled. Code that blocks its thread asks here from time to
    /// time: nothing else can stop it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.why_cancelled().is_some()
    }

    /// Why this run has been cancelled, if it has; the first reason stands.
    #[must_use]
    pub fn why_cancelled(&self) -> Option<Cancelled> {
        let told = *self.run.cancelled.borrow();
        // Where the caller blocks the thread that would tell, it finds out by itself.
        told.or_else(|| Some(self.run.cancel(self.run.signs.clone().reason()?)))
    }

    /// Comes back when this run is cancelled.
    ///
    /// The handler then has a sixth of the lease's length, 5 s at most, to end, and is dropped
    /// after that; if its lease ends sooner, then sooner, but it is polled once more at least.
    /// What it answers in time is committed, and counts if the claim still does: a success
    /// also as a late one (LH-LATE-1). An error without [`fatal`](crate::FailureExt::fatal) or
    /// a delay of its own, told while the lease lasts, counts as an effect of the cancellation:
    /// the task is given back, and no retry is spent.
    pub async fn cancelled(&self) -> Cancelled {
        let mut told = self.run.cancelled.subscribe();
        let told = told.wait_for(Option::is_some).await.ok().and_then(|why| *why);
        match told {
            Some(why) => why,
            // The sender lives in the run that this context keeps alive.
            None => std::future::pending().await,
        }
    }

    /// Whether the worker stops. The run goes on, and is cancelled only when the worker's
    /// grace is over; a long one stores a checkpoint now and asks for later.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        *self.run.signs.phase.borrow() >= Phase::Stopping
    }

    /// Comes back when the worker stops.
    pub async fn stopping(&self) {
        let mut phase = self.run.signs.phase.clone();
        // A worker that is gone has stopped.
        let _ = phase.wait_for(|phase| *phase >= Phase::Stopping).await;
    }

    /// Adds a task that is enqueued by the very step that writes this run's success, or not
    /// at all (LH-ENQ-8). It waits in the queue of this task, as one step is one queue; tasks
    /// for other queues go by the [client](Self::client).
    ///
    /// # Errors
    /// A failure when the store cannot do it, when the draft names another queue, when a part
    /// of it is not valid, when there are too many, or when the run has ended. A limit group
    /// without a number is found out only by the commit, which then writes a failure instead.
    pub fn follow_up(&self, task: impl IntoDraft) -> Result<(), Failure> {
        let own = &self.run.lease.task_ref;
        let (queue, new) = task.into_draft().or_queue(&own.queue).into_parts()?;
        if queue != own.queue {
            return Err(Failure::new(format!(
                "a follow-up waits in the queue {:?} of its parent, not in {queue:?}: enqueue it \
                 by the client",
                own.queue
            )));
        }
        let mut follow_ups = self.run.follow_ups.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(follow_ups) = follow_ups.as_mut() else {
            return Err(Failure::new("the run has ended, and makes no more follow-ups"));
        };
        // The commit as it would be, checked as the store will check it (LH-ENQ-10).
        let change = Change::new(Role::Worker, To::Succeeded, Event::Succeeded);
        let all = follow_ups.iter().cloned().chain([new.clone()]).collect();
        let item = CommitItem::new(self.run.lease.guard(), change.with_follow_ups(all));
        item.check(&self.run.client.store().capabilities())?;
        follow_ups.push(new);
        Ok(())
    }

    /// Stores a value with the task, and renews the lease by the same step (LH-RENEW-9). A
    /// later run of the task finds it by [`last_checkpoint`](Self::last_checkpoint), after a
    /// failure, a snooze or a lost worker.
    ///
    /// # Errors
    /// A failure when the value is too large, when the lease is lost (this run is then
    /// cancelled), or when the store did not answer: then it may be stored or not.
    ///
    /// # Cancel safety
    /// After a dropped future it may be stored or not.
    pub async fn checkpoint<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), Failure> {
        let run = &self.run;
        let note = typed::to_json(value, "the checkpoint")?;
        let guard = run.lease.guard();
        let item = RenewItem::new(guard.clone(), run.ttl).with_note(note);
        loop {
            if !run.held.is_held(&guard) {
                return Err(Failure::new("the run has ended, or its lease is lost"));
            }
            let asked = now();
            let call = run.client.store().renew_one(item.clone());
            match within(run.renew_deadline, call).await? {
                RenewVerdict::Held { ttl_left } => {
                    run.held.extend(&guard, ends(asked, ttl_left, run.ttl));
                    return Ok(());
                }
                RenewVerdict::Lost(reason) => {
                    run.held.lose(&guard, Loss::Told(reason));
                    return Err(Failure::new(format!("the lease is lost: {reason:?}")));
                }
                RenewVerdict::Busy => pause(BUSY).await,
            }
        }
    }

    /// What this run or an earlier one stored last when this run began.
    ///
    /// # Errors
    /// A failure when it is none of this type.
    pub fn last_checkpoint<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let note = self.run.lease.note.as_ref();
        Ok(note.map(|note| typed::from_json(note, "the checkpoint")).transpose()?)
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.run.bounds
    }
}

impl Run {
    /// Cancels the run; answers the reason that stands, which is the first.
    pub(crate) fn cancel(&self, why: Cancelled) -> Cancelled {
        let mut stands = why;
        self.cancelled.send_if_modified(|told| {
            let first = told.is_none();
            stands = *told.get_or_insert(why);
            first
        });
        stands
    }

    /// The follow-ups of a success; from then on none is taken.
    pub(crate) fn close(&self) -> Vec<NewTask> {
        let mut follow_ups = self.follow_ups.lock().unwrap_or_else(PoisonError::into_inner);
        follow_ups.take().unwrap_or_default()
    }
}

impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), state: self.state.clone() }
    }
}

impl<S> fmt::Debug for Context<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("task", self.task())
            .field("fence", &self.fence())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
