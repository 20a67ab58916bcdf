//! One task or one answer that spoils its loop's calls must not hold up the rest, and a store
//! that tells nonsense is neither believed nor asked all the time.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use leasehold_core::{
    Backend, Capabilities, Claim, Claimed, Client, Commit, CommitVerdict, Configure, Count, Counts,
    Delivery, Draft, Enqueue, EnqueueVerdict, Error, ErrorKind, Event, Events, Features, Found,
    Get, List, Page, Purge, Purged, Purpose, QueuePage, QueueSettings, Queues, Renew, RenewVerdict,
    State, Task, TaskRef, Wake,
};
use leasehold_worker::{Context, Failure, Worker};
use support::desk::Spoils;
use support::working::{Working, standing};
use support::{Fault, Stage, Staged, Verb};

const LEASE: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3_600);

#[derive(serde::Serialize, serde::Deserialize)]
struct Step;

impl Task for Step {
    const KIND: &'static str = "step";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

async fn step(_: Step, _: Context) -> Result<(), Failure> {
    Ok(())
}

/// So many tasks, called `0`, `1` and so on, and kept after a success.
async fn steps(stage: &Stage, count: usize) -> Vec<TaskRef> {
    let drafts = (0..count).map(|n| Draft::new(&Step).id(n.to_string()).keep_success(HOUR));
    let receipts = stage.client.enqueue_many(drafts).await.expect("they are new");
    receipts.iter().map(|receipt| receipt.task().clone()).collect()
}

/// The stage's store, with a nuisance.
#[derive(Debug)]
struct Odd {
    inner: Arc<Staged>,
    /// Commits about the task of this id panic.
    panics_for: Option<&'static str>,
    /// It wakes at once whoever waits for a hint.
    wakes: bool,
    /// How long its counts are behind.
    lag: Duration,
    /// So many counts are still of a time before anything was enqueued.
    empty_counts: AtomicUsize,
}

impl Odd {
    fn of(stage: &Stage) -> Self {
        Self {
            inner: stage.store.clone(),
            panics_for: None,
            wakes: false,
            lag: Duration::ZERO,
            empty_counts: AtomicUsize::new(0),
        }
    }

    fn client(self) -> Client {
        Client::new(Arc::new(self))
    }
}

#[async_trait]
impl Backend for Odd {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities().with_count_lag(self.lag)
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        self.inner.enqueue(request).await
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        self.inner.claim(request).await
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        self.inner.renew(request).await
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        let bad = |id| request.items.iter().any(|item| item.guard.task.id == id);
        assert!(!self.panics_for.is_some_and(bad), "staged");
        self.inner.commit(request).await
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        self.inner.get(request).await
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        self.inner.list(request).await
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        let less = |left: usize| left.checked_sub(1);
        let behind = self.empty_counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        let counts = self.inner.counts(request).await?;
        Ok(if behind.is_ok() { Counts::new(Events::default()) } else { counts })
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        self.inner.queues(request).await
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        self.inner.configure(request).await
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        self.inner.purge(request).await
    }

    async fn wait(&self, queue: &str, max: Duration) -> Wake {
        if self.wakes { Wake::Woken } else { self.inner.wait(queue, max).await }
    }
}

#[tokio::test(start_paused = true)]
async fn one_lapsed_task_that_spoils_its_calls_does_not_keep_the_others_from_being_rescued() {
    for kind in [ErrorKind::Unavailable, ErrorKind::Internal] {
        let stage = Stage::new();
        let tasks = steps(&stage, 20).await;
        assert_eq!(stage.claim("default", Purpose::Run).await.len(), 20);
        stage.pass_in_store(LEASE + Duration::from_secs(1));
        stage.store.spoil("0", Spoils::ItsCall, kind);
        let working = Working::start(Worker::new(&stage.client).handler(step));
        stage.until("the others are rescued", || working.tally().rescued == 19).await;
        assert!(stage.store.fired() > 0, "nothing was spoilt");
        assert_eq!(stage.task(&tasks[0]).await.rescues, 0, "{kind:?}");
        for task in &tasks[1..] {
            assert_eq!(stage.task(task).await.rescues, 1, "{kind:?}");
        }
        stage.until("the others are done meanwhile", || working.tally().succeeded == 19).await;
        stage.store.mend("0");
        stage.until("all are done", || working.tally().succeeded == 20).await;
        for task in &tasks {
            assert_eq!(standing(&stage.task(task).await), (State::Succeeded, 2, 0, 1), "{kind:?}");
        }
    }
}

/// A decision that is given up says nothing about the store any more.
#[tokio::test(start_paused = true)]
async fn a_decision_that_is_refused_after_a_lost_request_does_not_stop_its_queue() {
    let stage = Stage::new();
    steps(&stage, 1).await;
    let refused = Fault::Refused(ErrorKind::Corrupt);
    stage.store.fail_next(Verb::Commit, [Fault::LostRequest, refused]);
    let working = Working::start(Worker::new(&stage.client).handler(step));
    stage.until("it is given up", || working.tally().unknown == 1).await;
    assert_eq!(stage.store.fired(), 2);
    assert!(working.health.is_well(), "nothing is left that could fail");
    let next = Draft::new(&Step).id("next").keep_success(HOUR);
    let next = stage.client.enqueue(next).await.expect("it is new").task().clone();
    stage.pass(Duration::from_secs(5)).await;
    assert_eq!(standing(&stage.task(&next).await), (State::Succeeded, 1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_makes_the_backend_panic_does_not_keep_the_good_ones_from_counting() {
    let stage = Stage::new();
    let tasks = steps(&stage, 5).await;
    let client = Odd { panics_for: Some("0"), ..Odd::of(&stage) }.client();
    let working = Working::start(Worker::new(&client).handler(step));
    // Before their leases lapse: a rescue would be another way to count.
    stage.pass(LEASE / 2).await;
    assert_eq!(working.tally().succeeded, 4);
    for task in &tasks[1..] {
        assert_eq!(standing(&stage.task(task).await), (State::Succeeded, 1, 0, 0));
    }
    assert_eq!(stage.task(&tasks[0]).await.state, State::Leased(Purpose::Run));
    assert!(!working.health.is_well(), "nobody is told of the panics");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_wakes_for_nothing_is_not_asked_all_the_time() {
    let stage = Stage::new();
    let client = Odd { wakes: true, ..Odd::of(&stage) }.client();
    let worker = Worker::new(&client).handler(step).poll(Duration::from_secs(1));
    let working = Working::start(worker);
    stage.pass(Duration::from_secs(10)).await;
    let claims = stage.store.claims(Purpose::Run).len();
    assert!((10..60).contains(&claims), "{claims} claims in 10 s");
    // It is still heard, though not at once.
    let tasks = steps(&stage, 1).await;
    stage.pass(Duration::from_secs(2)).await;
    assert_eq!(standing(&stage.task(&tasks[0]).await), (State::Succeeded, 1, 0, 0));
    assert!(working.health.is_well());
}

#[tokio::test(start_paused = true)]
async fn counts_that_are_behind_do_not_make_a_worker_believe_that_it_is_done() {
    let stage = Stage::new();
    let tasks = steps(&stage, 1).await;
    let empty_counts = AtomicUsize::new(1);
    let client = Odd { lag: LEASE, empty_counts, ..Odd::of(&stage) }.client();
    let drains = Worker::new(&client).handler(step).drain_until(std::future::pending());
    let report = tokio::time::timeout(HOUR, drains).await.expect("it ends").expect("it starts");
    assert!(report.drained);
    assert_eq!((report.tally.claimed, report.tally.succeeded), (1, 1));
    assert_eq!(stage.task(&tasks[0]).await.state, State::Succeeded);
    assert!(stage.store.calls(Verb::Counts) > 1);
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_that_the_store_cannot_keep_is_an_error_before_the_commit() {
    let stage = Stage::with_features(Features::all() - Features::UNIQUE);
    let tasks = steps(&stage, 1).await;
    let follows = |_: Step, cx: Context| async move {
        let later = || Draft::new(&Step).id("later").delay(HOUR);
        let refused = cx.follow_up(later().unique("k"));
        cx.follow_up(later())?;
        refused
    };
    let working = Working::start(Worker::new(&stage.client).handler(follows));
    stage.until("it is decided", || working.tally().failed + working.tally().refused > 0).await;
    let task = stage.task(&tasks[0]).await;
    assert_eq!(standing(&task), (State::Waiting, 1, 1, 0));
    assert_eq!(task.history.records[0].event, Event::Failed);
    assert_eq!((working.tally().refused, stage.store.commits().len()), (0, 1));
    let later = stage.found(&TaskRef::new("default", "later")).await;
    assert!(!matches!(later, Found::Task(_)), "a failure has made a follow-up: {later:?}");
}
