//! The heartbeat of a run lives inside the run: whatever ends the run ends its heartbeat, so
//! that the lease of a run that is no more lapses, and another process rescues the task.

mod support;

use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use leasehold_core::{
    Backend, BackendExt, CommitItem, CommitVerdict, Configure, Delivery, Error, Event, Fence,
    Outcome, Purpose, State, StoredTask, Task, TaskRef, decide,
};
use leasehold_worker::{Context, Failure, Health, Report, Worker};
use support::heard::{Answer, Heard};
use support::play::{Plan, Seen, play};
use support::{Fault, Stage, Verb, settle};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

/// Of the worker's default lease.
const LEASE: Duration = Duration::from_secs(30);

/// So much of it is gone when it is renewed for the first time.
const PULSE: Duration = Duration::from_secs(10);

const SECOND: Duration = Duration::from_secs(1);

const QUEUE: &str = Long::QUEUE;

#[derive(serde::Serialize, serde::Deserialize)]
struct Long(Plan);

impl Task for Long {
    const KIND: &'static str = "long";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

/// Over its time before the first pulse, and a pulse falls in the grace that follows.
#[derive(serde::Serialize, serde::Deserialize)]
struct Brief(Plan);

impl Task for Brief {
    const KIND: &'static str = "brief";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const TIMEOUT: Duration = Duration::from_secs(7);
}

async fn long(task: Long, cx: Context<Arc<Seen>>) -> Result<(), Failure> {
    play(task.0, cx).await
}

async fn brief(task: Brief, cx: Context<Arc<Seen>>) -> Result<(), Failure> {
    play(task.0, cx).await
}

/// One run, on a worker that never rescues: that is another process's part.
struct Scene {
    stage: Stage,
    seen: Arc<Seen>,
    health: Health,
    running: JoinHandle<Result<Report, Error>>,
    task: TaskRef,
    /// The first pulse may come before or after the first claim.
    renewals_at_first: usize,
}

impl Scene {
    /// At work.
    async fn begun(task: impl Task) -> Self {
        let stage = Stage::new();
        stage.store.take_down(Verb::Rescue, Fault::LostRequest);
        let receipt = stage.client.enqueue(task).await.expect("it is new");
        let (task, seen) = (receipt.task().clone(), Arc::new(Seen::default()));
        let worker = Worker::new(&stage.client).state(seen.clone()).handler(long).handler(brief);
        let health = worker.health();
        let running = tokio::spawn(worker.run_until(std::future::pending()));
        seen.entered(1).await;
        settle().await;
        let renewals_at_first = stage.store.renewals(&task);
        Self { stage, seen, health, running, task, renewals_at_first }
    }

    /// How often the lease has been renewed since the handler began.
    fn renewals(&self) -> usize {
        self.stage.store.renewals(&self.task) - self.renewals_at_first
    }

    async fn stored(&self) -> StoredTask {
        self.stage.task(&self.task).await
    }

    /// The run is over, and no decision of it has reached the store: its lease is left alone,
    /// until it lapses and another process rescues the task.
    async fn lease_is_left_to_lapse(&self) {
        assert_eq!((self.seen.at_work().now, self.health.report().running), (0, 0));
        let (left, renewals) = (self.stored().await, self.renewals());
        assert_eq!(left.state, State::Leased(Purpose::Run));
        let rest = left.until.expect("it is leased").since(self.stage.clock.now());
        self.stage.pass(rest - Duration::from_millis(1)).await;
        assert_eq!(self.stage.rescue(QUEUE).await, []);
        self.stage.pass(Duration::from_millis(1)).await;
        assert_eq!(self.stored().await, left, "somebody still acts for the run");
        assert_eq!(self.renewals(), renewals, "a dead run was renewed");

        let verdicts = self.stage.rescue(QUEUE).await;
        assert!(matches!(verdicts[..], [CommitVerdict::Applied(_)]), "{verdicts:?}");
        let rescued = self.stored().await;
        assert_eq!((rescued.state, rescued.run), (State::Waiting, left.run));
        assert_eq!((rescued.attempt, rescued.failures, rescued.rescues), (1, 0, 1));
        assert!(rescued.fence > left.fence);
    }
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_keeps_the_lease_for_as_long_as_its_run_lasts() {
    let scene = Scene::begun(Long(Plan::Succeed)).await;
    let begun = scene.stored().await;
    for _ in 0..50 {
        scene.stage.pass(2 * SECOND).await;
        assert_eq!(scene.stage.rescue(QUEUE).await, []);
    }
    let now = scene.stage.clock.now();
    let held = scene.stored().await;
    assert!(held.until >= Some(now.after(LEASE - PULSE)) && held.until > begun.until);
    assert_eq!((held.state, held.fence, held.run), (begun.state, begun.fence, begun.run));
    assert_eq!((held.attempt, held.failures, held.rescues), (1, 0, 0));
    assert!((9..=10).contains(&scene.renewals()), "{} in 100 s", scene.renewals());
    assert_eq!((scene.seen.cancelled(), scene.seen.at_work().now), (vec![], 1));
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_the_heartbeat() {
    let scene = Scene::begun(Long(Plan::Panic)).await;
    scene.stage.store.take_down(Verb::Commit, Fault::LostRequest);
    scene.stage.pass(PULSE + SECOND).await;
    assert_eq!(scene.renewals(), 1);
    scene.seen.go.notify_one();
    settle().await;
    scene.lease_is_left_to_lapse().await;
    assert!(scene.stage.store.calls(Verb::Commit) > 0, "no commit was lost");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_ends_the_heartbeat() {
    let scene = Scene::begun(Brief(Plan::Fail)).await;
    scene.stage.store.take_down(Verb::Commit, Fault::LostRequest);
    scene.stage.pass(Brief::TIMEOUT).await;
    settle().await;
    assert_eq!(scene.renewals(), 0);
    scene.lease_is_left_to_lapse().await;
    assert!(scene.stage.store.calls(Verb::Commit) > 0, "no commit was lost");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_ends_the_heartbeat_of_a_handler_that_goes_on() {
    let scene = Scene::begun(Brief(Plan::GoOn)).await;
    scene.stage.store.take_down(Verb::Commit, Fault::LostRequest);
    scene.stage.pass(Brief::TIMEOUT + LEASE / 6).await;
    settle().await;
    assert_eq!(scene.renewals(), 1, "in its grace it was still renewed");
    scene.lease_is_left_to_lapse().await;
    assert!(scene.stage.store.calls(Verb::Commit) > 0, "no commit was lost");
}

#[tokio::test(start_paused = true)]
async fn an_aborted_worker_ends_its_heartbeats() {
    let scene = Scene::begun(Long(Plan::GoOn)).await;
    scene.stage.pass(PULSE + SECOND).await;
    scene.running.abort();
    settle().await;
    // The stage's own and the client's.
    assert_eq!(Arc::strong_count(&scene.stage.store), 2, "a loop of the worker lives on");
    scene.lease_is_left_to_lapse().await;
    assert_eq!(scene.stage.store.calls(Verb::Commit), 0);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_future_of_a_worker_ends_its_heartbeats() {
    let stage = Stage::new();
    let receipt = stage.client.enqueue(Long(Plan::GoOn)).await.expect("it is new");
    let seen = Arc::new(Seen::default());
    let worker = Worker::new(&stage.client).state(seen.clone()).handler(long);
    let health = worker.health();
    tokio::select! {
        ended = worker.run_until(std::future::pending()) => panic!("{ended:?}"),
        _ = seen.entered(1) => {}
    }
    settle().await;
    assert_eq!(Arc::strong_count(&stage.store), 2, "a loop of the worker lives on");
    let running = tokio::spawn(std::future::pending());
    let scene =
        Scene { stage, seen, health, running, task: receipt.task().clone(), renewals_at_first: 0 };
    scene.lease_is_left_to_lapse().await;
    assert_eq!(scene.stage.store.calls(Verb::Commit), 0);
}

// From here on the processes are real, as a blocked thread is nothing that can be staged: the
// store's clock alone is the test's.

/// Blocks its thread, as no handler should.
#[derive(serde::Serialize, serde::Deserialize)]
struct Blocking;

impl Task for Blocking {
    const KIND: &'static str = "blocking";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const QUEUE: &'static str = "blocking";
    const TIMEOUT: Duration = Duration::from_millis(1_500);
}

struct Block {
    entered: Notify,
    end: Mutex<mpsc::Receiver<()>>,
}

async fn blocking(_: Blocking, cx: Context<Arc<Block>>) -> Result<(), Failure> {
    cx.state().entered.notify_one();
    // An error tells that the test is over.
    let _ = cx.state().end.lock().expect("one handler waits").recv();
    Ok(())
}

/// A process whose handler blocks.
struct Process {
    task: TaskRef,
    heard: Heard,
    end: mpsc::Sender<()>,
    /// Dropped: the worker stops.
    _stop: oneshot::Sender<()>,
}

impl Process {
    async fn begun(stage: &Stage, runtime: Runtime) -> Self {
        let kept = stage.client.enqueue(Blocking).keep_success(Duration::from_secs(3_600));
        let task = kept.await.expect("it is new").task().clone();
        // Its rescues would be another's part, and its next run would only confuse.
        stage.store.take_down(Verb::Rescue, Fault::LostRequest);
        let (end, ended) = mpsc::channel();
        let block = Arc::new(Block { entered: Notify::new(), end: Mutex::new(ended) });
        let heard = Heard::default();
        let worker = Worker::new(&stage.client).state(block.clone()).handler(blocking);
        let worker = worker.lease(SECOND).concurrency(1).observer(heard.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        thread::spawn(move || runtime.block_on(worker.run_until(async { drop(stopped.await) })));
        soon(block.entered.notified()).await;
        let pause = Configure::new(Blocking::QUEUE).pause();
        stage.store.configure(pause).await.expect("memory answers");
        Self { task, heard, end, _stop: stop }
    }

    /// The handler ends well; tells what became of that.
    async fn succeed(&self) -> Answer {
        self.end.send(()).expect("it waits");
        soon(self.heard.decisions(1)).await;
        match self.heard.decided()[..] {
            [(_, Event::Succeeded, answer)] => answer,
            ref other => panic!("{other:?}"),
        }
    }
}

/// Runs on another worker, whose renews tell that time passes.
#[derive(serde::Serialize, serde::Deserialize)]
struct Witness;

impl Task for Witness {
    const KIND: &'static str = "witness";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const QUEUE: &'static str = "witness";
}

async fn witness(_: Witness, _: Context) -> Result<(), Failure> {
    std::future::pending().await
}

/// A healthy process with a task of its own, which it renews once a second.
struct Healthy {
    task: TaskRef,
}

impl Healthy {
    async fn begun(stage: &Stage) -> Self {
        let receipt = stage.client.enqueue(Witness).await.expect("it is new");
        let worker = Worker::new(&stage.client).handler(witness).lease(3 * SECOND);
        tokio::spawn(worker.run_until(std::future::pending()));
        Self { task: receipt.task().clone() }
    }

    /// Comes back after so many seconds at least.
    async fn seconds(&self, stage: &Stage, count: usize) {
        let so_far = stage.store.renewals(&self.task);
        // The first one may come at any moment.
        soon(stage.store.renewed(&self.task, so_far + 1 + count)).await;
    }
}

/// A signal that is far from coming has not been sent: the test fails instead of hanging.
async fn soon<T>(signal: impl Future<Output = T>) -> T {
    tokio::time::timeout(60 * SECOND, signal).await.expect("the signal came")
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime starts")
}

fn two_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime starts")
}

/// For as long as a lease no renew comes, so that the lease lapses and is rescued.
async fn is_not_renewed_and_is_rescued(stage: &Stage, healthy: &Healthy, task: &TaskRef) -> Fence {
    let (left, renewals) = (stage.task(task).await, stage.store.renewals(task));
    healthy.seconds(stage, 1).await;
    assert_eq!(stage.store.renewals(task), renewals, "somebody else renewed for the run");
    assert_eq!(stage.task(task).await, left);
    assert_eq!(stage.rescue(Blocking::QUEUE).await, [], "the store's clock stands still");
    stage.pass_in_store(SECOND);
    let verdicts = stage.rescue(Blocking::QUEUE).await;
    assert!(matches!(verdicts[..], [CommitVerdict::Applied(_)]), "{verdicts:?}");
    let rescued = stage.task(task).await;
    assert_eq!((rescued.state, rescued.run), (State::Waiting, left.run));
    assert_eq!((rescued.attempt, rescued.failures, rescued.rescues), (1, 0, 1));
    left.fence
}

#[tokio::test]
async fn a_blocked_runtime_ends_the_heartbeat_and_its_late_success_counts() {
    let stage = Stage::new();
    let healthy = Healthy::begun(&stage).await;
    let process = Process::begun(&stage, one_thread()).await;
    let run = is_not_renewed_and_is_rescued(&stage, &healthy, &process.task).await;
    let late = Answer::Applied { overdue: false, late: true };
    assert_eq!(process.succeed().await, late);
    let task = stage.task(&process.task).await;
    assert_eq!((task.state, task.run), (State::Succeeded, None));
    assert_eq!(task.shown.expect("it was committed").fence, run);
    assert_eq!((task.attempt, task.failures, task.rescues), (1, 0, 1));
}

#[tokio::test]
async fn a_blocked_runtime_ends_the_heartbeat_and_its_success_is_stale_once_the_task_was_taken() {
    let stage = Stage::new();
    let healthy = Healthy::begun(&stage).await;
    let process = Process::begun(&stage, one_thread()).await;
    let run = is_not_renewed_and_is_rescued(&stage, &healthy, &process.task).await;
    let resume = Configure::new(Blocking::QUEUE).resume();
    stage.store.configure(resume).await.expect("memory answers");
    let other = stage.claim(Blocking::QUEUE, Purpose::Run).await.remove(0);
    let taken = stage.task(&process.task).await;
    let stale = Answer::Stale { shown: run, now: other.fence };
    assert_eq!(process.succeed().await, stale);
    assert_eq!(stage.task(&process.task).await, taken, "the success changed nothing");

    let success = Outcome::Succeeded { result: None, follow_ups: Vec::new() };
    let item = CommitItem::new(other.guard(), decide::run(&other, success, 0));
    let verdict = stage.store.commit_one(item).await.expect("memory answers");
    let CommitVerdict::Applied(applied) = verdict else { panic!("{verdict:?}") };
    assert!(!applied.late && !applied.overdue, "{applied:?}");
    let task = stage.task(&process.task).await;
    assert_eq!((task.state, task.attempt), (State::Succeeded, 2));
    assert_eq!((task.failures, task.rescues), (0, 1));
}

#[tokio::test]
async fn a_handler_that_blocks_its_thread_keeps_its_lease_no_longer_than_its_kinds_time() {
    let stage = Stage::new();
    let healthy = Healthy::begun(&stage).await;
    let process = Process::begun(&stage, two_threads()).await;
    let renewals_at_first = stage.store.renewals(&process.task);
    // Longer than the time of its kind and the grace.
    healthy.seconds(&stage, 2).await;
    let renewals = stage.store.renewals(&process.task);
    assert!(
        renewals > renewals_at_first,
        "a blocked thread is no reason to lose the lease at once"
    );
    is_not_renewed_and_is_rescued(&stage, &healthy, &process.task).await;
    let late = Answer::Applied { overdue: false, late: true };
    assert_eq!(process.succeed().await, late);
    let task = stage.task(&process.task).await;
    assert_eq!((task.state, task.run), (State::Succeeded, None));
    assert_eq!((task.attempt, task.failures, task.rescues), (1, 0, 1));
}
