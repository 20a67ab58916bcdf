//! The contract: [`Backend`], ten verbs and a hint, and [`BackendExt`], sugar over them.
//!
//! The clauses are in `docs/contract.md` and, as data, in [`clause`](crate::clause).

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use crate::decide;
use crate::{
    Capabilities, Claim, Claimed, Commit, CommitItem, CommitVerdict, Configure, Count, Counts,
    Enqueue, EnqueueVerdict, Error, ErrorKind, Found, Get, Guard, Intervention, List, NewTask,
    Operator, Page, Purge, Purged, QueuePage, QueueSettings, Queues, Renew, RenewItem,
    RenewVerdict, StoredTask, TaskRef,
};

/// A hint about a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// There may be something to claim.
    Woken,
    /// The time is over.
    Elapsed,
    /// This backend gives no hints and answered at once: the caller paces itself.
    NoHint,
}

/// A store that keeps the contract.
///
/// Every verb is one atomic step for each of its items (LH-GEN-1). Each checks its request
/// first by [`admit`](crate::request::admit). Durations go in and are measured by the store's
/// clock; no instant that was read elsewhere is ever compared (LH-TIME-1).
///
/// # Implementing it
/// A verb takes these steps, and the functions of core decide in each of them:
/// 1. [`admit`](crate::request::admit) refuses what the backend cannot do and what is out of
///    bounds; [`RenewItem::check`] and [`CommitItem::check`](crate::CommitItem::check) do so for
///    one item of a batch.
/// 2. Take the item's locks, then read the clock once (LH-TIME-2), then draw the fence
///    (LH-FENCE-6).
/// 3. A commit writes where the guard's fence is current and [`Change::fits`](crate::Change::fits)
///    the state, or where a worker's success shows the task's `run`. The arithmetic is in
///    [`When::instant`](crate::When::instant), [`To::state`](crate::To::state) and
///    [`Retention::of`](crate::Retention::of).
/// 4. Where it does not write, [`StoredTask::refusal`] and [`Left::refusal`](crate::Left::refusal) say
///    what to answer; [`StoredTask::lost`] and [`Left::lost`](crate::Left::lost) do so for a renew.
/// 5. A claim answers with [`Lease::of`](crate::Lease::of) the task after the grant;
///    [`stored`](crate::stored) has text forms for policy, headers and history.
///
/// `memory/` does all of this in its plainest form.
///
/// # Errors
/// Of every verb: Invalid and Unsupported before any effect; Unavailable means that the call
/// was applied once or not at all, and may be repeated (LH-GEN-4); Corrupt when a stored
/// record cannot be read; Internal for a fault of the backend.
///
/// # Cancel safety
/// A dropped future equals Unavailable, and the handle stays usable (LH-GEN-5).
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// What this backend is and can do.
    fn capabilities(&self) -> Capabilities;

    /// Stores new tasks of one queue, all or nothing; one reply a task, in order.
    ///
    /// Each new id becomes Waiting with a new fence (LH-ENQ-1); an id or a unique key in use
    /// answers Duplicate and changes nothing (LH-ENQ-2, LH-UNIQ-2).
    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error>;

    /// Takes leases: on ready tasks to run them, or on lapsed leases to decide about them.
    ///
    /// Fence, run, attempt, lease end and slot are written in one step (LH-CLAIM-5); no task
    /// is granted twice (LH-CLAIM-2); a repeat of a named claim never grants (LH-CLAIM-9).
    async fn claim(&self, request: Claim) -> Result<Claimed, Error>;

    /// Extends leases that are current and have not lapsed; one reply an item, in order.
    ///
    /// A lapsed lease is never extended (LH-RENEW-2); the slot goes along (LH-RENEW-3).
    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error>;

    /// Writes decisions whose guard is current, or late successes; one reply an item, in order.
    ///
    /// All effects of an item in one step (LH-COMMIT-2), else none (LH-FENCE-2); the truth
    /// about which (LH-COMMIT-3).
    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error>;

    /// Reads one task, or what is remembered of it (LH-ENQ-9). Sees every acknowledged write
    /// (LH-READ-1).
    async fn get(&self, request: Get) -> Result<Found, Error>;

    /// Reads a page of a queue's tasks in order of enqueue (LH-READ-4).
    async fn list(&self, request: List) -> Result<Page, Error>;

    /// Counts a queue's tasks by status, at a cost that does not grow with finished tasks
    /// (LH-READ-2), and tells its event counters; zeros for a queue that does not exist.
    async fn counts(&self, request: Count) -> Result<Counts, Error>;

    /// Reads a page of the queues that have had a task or a setting.
    async fn queues(&self, request: Queues) -> Result<QueuePage, Error>;

    /// Changes a queue's settings, durably and for everyone (LH-CTL-1); answers them whole.
    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error>;

    /// Removes finished tasks whose retention and held until have passed, at most `max`
    /// (LH-PURGE-1); also forgets old ids and claims, and mends indexes (LH-LAPSE-8).
    async fn purge(&self, request: Purge) -> Result<Purged, Error>;

    /// Waits until `queue` may have something to claim, at most `max`. Only a hint: it may
    /// wake for nothing and may miss, so the caller polls as well.
    async fn wait(&self, _queue: &str, _max: Duration) -> Wake {
        Wake::NoHint
    }
}

/// Single calls and operator's acts over the verbs of any [`Backend`].
pub trait BackendExt: Backend {
    /// The task, if it is there.
    ///
    /// # Errors
    /// Those of [`Backend::get`].
    fn task(
        &self,
        task: &TaskRef,
    ) -> impl Future<Output = Result<Option<StoredTask>, Error>> + Send {
        let found = self.get(Get::new(task.clone()));
        async {
            match found.await? {
                Found::Task(task) => Ok(Some(*task)),
                Found::Left(_) | Found::Nothing => Ok(None),
            }
        }
    }

    /// Enqueues one task.
    ///
    /// # Errors
    /// Those of [`Backend::enqueue`].
    fn enqueue_one(
        &self,
        queue: &str,
        new: NewTask,
    ) -> impl Future<Output = Result<EnqueueVerdict, Error>> + Send {
        let verdicts = self.enqueue(Enqueue::new(queue, vec![new]));
        async { one(verdicts.await?) }
    }

    /// Renews one lease.
    ///
    /// # Errors
    /// Those of [`Backend::renew`], the item's included.
    fn renew_one(
        &self,
        item: RenewItem,
    ) -> impl Future<Output = Result<RenewVerdict, Error>> + Send {
        let verdicts = self.renew(Renew::new(vec![item]));
        async { one(verdicts.await?)? }
    }

    /// Commits one decision.
    ///
    /// # Errors
    /// Those of [`Backend::commit`], the item's included.
    fn commit_one(
        &self,
        item: CommitItem,
    ) -> impl Future<Output = Result<CommitVerdict, Error>> + Send {
        let verdicts = self.commit(Commit::new(vec![item]));
        async { one(verdicts.await?)? }
    }

    /// An operator's act on the task as it was seen: decides, and commits with the fence of
    /// `seen` (LH-OPER-1). `Stale` when somebody was faster: look again before you act again.
    ///
    /// # Errors
    /// Invalid when the state of `seen` does not admit the act; else those of
    /// [`Backend::commit`], the item's included.
    fn intervene(
        &self,
        seen: &StoredTask,
        act: Intervention,
        by: &Operator,
    ) -> impl Future<Output = Result<CommitVerdict, Error>> + Send {
        let guard = Guard::new(seen.task_ref.clone(), seen.fence);
        let change = decide::intervene(seen, act, by);
        async { self.commit_one(CommitItem::new(guard, change?)).await }
    }
}

impl<B: Backend + ?Sized> BackendExt for B {}

fn one<T>(mut replies: Vec<T>) -> Result<T, Error> {
    match (replies.pop(), replies.is_empty()) {
        (Some(reply), true) => Ok(reply),
        _ => Err(Error::new(ErrorKind::Internal, "a backend broke LH-GEN-2: one reply an item")),
    }
}
