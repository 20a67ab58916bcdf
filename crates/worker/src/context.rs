//! [`Context`]: what a handler may know and do beside its task.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold_core::{
    BackendExt, Bounds, Client, Draft, Error, ErrorKind, Features, Fence, Headers, Lease, NewTask,
    RenewItem, RenewVerdict, TaskRef, Timestamp, typed,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::clock::{Instant, after, now};
use crate::failure::Failure;
use crate::held::{Held, Loss};
use crate::serving::within;

/// One run of a task, as its handler sees it; `S` is the worker's state. Clones are cheap,
/// and all are of the same run.
pub struct Context<S = ()> {
    run: Arc<Run>,
    state: Arc<S>,
}

/// Why a run was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancelled {
    /// Its lease is lost, or is about to end unrenewed: another worker may start the task.
    Lost(Loss),
    /// It ran over its kind's time.
    TimedOut,
    /// The worker stops, and the grace is over: the task is given back.
    Stopping,
}

/// What the contexts of one run share.
pub(crate) struct Run {
    /// Without its payload, which the handler has as a value.
    pub(crate) lease: Lease,
    pub(crate) bounds: Bounds,
    pub(crate) client: Client,
    pub(crate) held: Arc<Held>,
    pub(crate) ttl: Duration,
    pub(crate) call_deadline: Duration,
    pub(crate) ends_at: Instant,
    pub(crate) cancelled: watch::Sender<Option<Cancelled>>,
    pub(crate) follow_ups: Mutex<Vec<NewTask>>,
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
        self.run.ends_at.saturating_duration_since(now())
    }

    /// Why this run has been cancelled, if it has. Code that blocks its thread asks here from
    /// time to time; nothing else can stop it.
    #[must_use]
    pub fn is_cancelled(&self) -> Option<Cancelled> {
        *self.run.cancelled.borrow()
    }

    /// Comes back when this run is cancelled.
    ///
    /// The handler then has at most a sixth of the lease's length to end, and is dropped after
    /// that; if the lease is already over, it is polled once more and dropped. What it answers
    /// in time is committed, and counts if the claim still does: a success also as a late one
    /// (LH-LATE-1).
    pub async fn cancelled(&self) -> Cancelled {
        let mut told = self.run.cancelled.subscribe();
        let told = told.wait_for(Option::is_some).await.ok().and_then(|why| *why);
        match told {
            Some(why) => why,
            // The sender lives in the run that this context keeps alive.
            None => std::future::pending().await,
        }
    }

    /// Adds a task that is enqueued by the very step that writes this run's success, or not
    /// at all (LH-ENQ-8). One step is of one queue, so the draft's queue is this task's own;
    /// tasks for other queues go by the [client](Self::client).
    ///
    /// # Errors
    /// A failure when the store has no follow-ups, when there are too many, or when a part of
    /// the task is not valid. A limit group without a number is found out only by the commit,
    /// which then writes a failure instead.
    pub fn follow_up(&self, task: impl Into<Draft>) -> Result<(), Failure> {
        let capabilities = self.run.client.store().capabilities();
        if !capabilities.features.contains(Features::FOLLOW_UPS) {
            let what = format!("{} does not have: follow-ups", capabilities.name);
            return Err(Error::new(ErrorKind::Unsupported, what).into());
        }
        let own = &self.run.lease.task_ref;
        let (queue, new) = task.into().into_parts()?;
        if queue != own.queue {
            let words = format!(
                "a follow-up waits in the queue {:?} of its parent, not in {queue:?}: enqueue it \
                 by the client",
                own.queue
            );
            return Err(Failure::new(words));
        }
        new.check(&self.run.bounds)?;
        if new.id == own.id {
            return Err(Failure::new("a follow-up cannot have its parent's own id"));
        }
        let mut follow_ups = self.run.follow_ups.lock().unwrap_or_else(PoisonError::into_inner);
        if follow_ups.len() >= self.run.bounds.follow_max {
            let words = format!("more than {} follow-ups", self.run.bounds.follow_max);
            return Err(Failure::new(words));
        }
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
        let asked = now();
        match within(run.call_deadline, run.client.store().renew_one(item)).await? {
            RenewVerdict::Held { ttl_left } => {
                run.held.extend(&guard, after(asked, ttl_left));
                Ok(())
            }
            RenewVerdict::Lost(reason) => {
                run.held.lose(&guard, Loss::Told(reason));
                Err(Failure::new(format!("the lease is lost: {reason:?}")))
            }
            RenewVerdict::Busy => Err(Failure::new("the store holds the task just now: ask again")),
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
    pub(crate) fn cancel(&self, why: Cancelled) {
        self.cancelled.send_replace(Some(why));
    }

    pub(crate) fn take_follow_ups(&self) -> Vec<NewTask> {
        std::mem::take(&mut *self.follow_ups.lock().unwrap_or_else(PoisonError::into_inner))
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
