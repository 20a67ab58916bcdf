//! A worker that stops: what it still starts, waits for, gives back and writes.

mod support;

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{
    DeadReason, Delivery, Error, Event, Fence, Purpose, State, StoredTask, Task, TaskRef,
};
use leasehold_worker::{Cancelled, Context, Failure, Health, Phase, Report, Worker};
use support::heard::{Answer, Heard};
use support::play::{AtWork, Plan, Seen, play};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The worker's defaults.
const LEASE: Duration = Duration::from_secs(30);
const PULSE: Duration = Duration::from_secs(10);
/// What handlers have after a stop before they are cancelled: the worker's grace without what
/// a cancelled one has left of it.
const GRACE: Duration = Duration::from_secs(20);
const LAST: Duration = Duration::from_secs(5);
/// What the last decisions have left after that.
const FLUSH: Duration = Duration::from_secs(5);

const SECOND: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(100);

const QUEUE: &str = Often::QUEUE;

#[derive(serde::Serialize, serde::Deserialize)]
struct Often(Plan);

impl Task for Often {
    const KIND: &'static str = "often";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Once(Plan);

impl Task for Once {
    const KIND: &'static str = "once";
    const DELIVERY: Delivery = Delivery::AtMostOnce;
    const ACCEPT_LOSS: bool = true;
}

async fn often(task: Often, cx: Context<Arc<Seen>>) -> Result<(), Failure> {
    play(task.0, cx).await
}

async fn once(task: Once, cx: Context<Arc<Seen>>) -> Result<(), Failure> {
    play(task.0, cx).await
}

/// A worker that can be told to stop.
struct Scene {
    stage: Stage,
    seen: Arc<Seen>,
    heard: Heard,
    health: Health,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<Result<Report, Error>>,
}

impl Scene {
    /// The worker begins when the test next waits.
    fn new(stage: Stage, concurrency: usize) -> Self {
        let (seen, heard) = (Arc::new(Seen::default()), Heard::default());
        let worker = Worker::new(&stage.client).state(seen.clone()).handler(often).handler(once);
        let worker = worker.concurrency(concurrency).observer(heard.clone());
        let health = worker.health();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(worker.run_until(async { drop(stopped.await) }));
        Self { stage, seen, heard, health, stop: Some(stop), running }
    }

    /// With one task, whose handler has been entered: also tells its run.
    async fn begun(task: impl Task) -> (Self, TaskRef, Fence) {
        let stage = Stage::new();
        let task = enqueue(&stage, task).await;
        let scene = Self::new(stage, 1);
        let run = scene.seen.entered(1).await;
        (scene, task, run)
    }

    /// With one task, whose claim has been granted, but not answered before the stop.
    async fn stopped_before_the_answer(task: impl Task) -> (Self, StoredTask) {
        let stage = Stage::new();
        let task = enqueue(&stage, task).await;
        stage.store.fail_next(Verb::Run, [Fault::HeldReply]);
        let mut scene = Self::new(stage, 1);
        scene.stage.store.at_gate().await;
        let claimed = scene.stage.task(&task).await;
        assert_eq!(claimed.state, State::Leased(Purpose::Run));
        scene.stop().await;
        scene.stage.pass(SECOND).await;
        assert!(!scene.running.is_finished(), "it waits for the answer");
        scene.stage.store.open_gate();
        (scene, claimed)
    }

    async fn stop(&mut self) {
        self.stop.take().expect("it is told once").send(()).expect("it listens");
        settle().await;
    }

    /// It has ended by now.
    async fn report(&mut self) -> Report {
        settle().await;
        assert!(self.running.is_finished(), "it goes on: {:?}", self.health.report());
        let report = (&mut self.running).await.expect("it did not panic").expect("it started");
        assert_eq!((report.phase, report.running), (Phase::Stopped, 0));
        report
    }

    /// The task waits as if it had never been claimed, but for its attempt; another process
    /// can take it at once.
    async fn is_given_back(&self, before: &StoredTask) {
        let after = self.stage.task(&before.task_ref).await;
        assert_eq!((after.state, after.until, after.run), (State::Waiting, None, None));
        assert_eq!((after.due, after.attempt), (before.due, before.attempt));
        assert_eq!((after.failures, after.rescues), (0, 0));
        assert!(after.fence > before.fence);
        let leases = self.stage.claim(QUEUE, Purpose::Run).await;
        let next = leases.iter().find(|lease| lease.task_ref == before.task_ref);
        assert_eq!(next.expect("it can be claimed").attempt, before.attempt + 1);
    }
}

async fn enqueue(stage: &Stage, task: impl Task) -> TaskRef {
    let kept = stage.client.enqueue(task).keep_success(LEASE * 100);
    kept.await.expect("it is new").task().clone()
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_stops_at_once() {
    let mut scene = Scene::new(Stage::new(), 10);
    scene.stage.pass(3 * SECOND).await;
    scene.stop().await;
    assert_eq!(scene.report().await.tally.claimed, 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_stop_nothing_is_claimed_and_a_handler_that_ends_in_time_counts() {
    let (mut scene, first, run) = Scene::begun(Often(Plan::Fail)).await;
    scene.stop().await;
    assert_eq!(scene.health.report().phase, Phase::Stopping);
    let claims = scene.stage.store.calls(Verb::Run);
    let second = enqueue(&scene.stage, Often(Plan::Fail)).await;
    scene.stage.pass(GRACE - STEP).await;
    assert_eq!((scene.seen.at_work().now, scene.seen.cancelled()), (1, vec![]));
    assert!(scene.stage.store.renewals(&first) > 1, "its lease is kept during the grace");
    scene.seen.go.notify_one();
    let report = scene.report().await;
    assert_eq!((report.tally.claimed, report.tally.succeeded), (1, 1));
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, Answer::PUNCTUAL)]);
    assert_eq!(scene.stage.store.calls(Verb::Run), claims, "it claimed after the stop");
    let first = scene.stage.task(&first).await;
    assert_eq!((first.state, first.attempt), (State::Succeeded, 1));
    let second = scene.stage.task(&second).await;
    assert_eq!((second.state, second.attempt), (State::Waiting, 0));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_as_the_stop_cancels_it_has_not_failed_and_its_task_is_given_back() {
    let (mut scene, task, run) = Scene::begun(Often(Plan::Fail)).await;
    scene.stage.pass(3 * SECOND).await;
    let leased = scene.stage.task(&task).await;
    scene.stop().await;
    scene.stage.pass(GRACE - STEP).await;
    assert_eq!(scene.seen.cancelled(), []);
    scene.stage.pass(STEP).await;
    assert_eq!(scene.seen.cancelled(), [Cancelled::Stopping]);
    let report = scene.report().await;
    assert_eq!((report.tally.released, report.tally.failed), (1, 0));
    assert_eq!(scene.heard.decided(), [(run, Event::Released, Answer::PUNCTUAL)]);
    scene.is_given_back(&leased).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_says_never_again_as_the_stop_cancels_it_is_believed() {
    let (mut scene, task, run) = Scene::begun(Often(Plan::FailForGood)).await;
    scene.stop().await;
    scene.stage.pass(GRACE).await;
    assert_eq!(scene.report().await.tally.buried, 1);
    assert_eq!(scene.heard.decided(), [(run, Event::Rejected, Answer::PUNCTUAL)]);
    let task = scene.stage.task(&task).await;
    assert_eq!((task.state, task.failures), (State::Dead(DeadReason::Rejected), 0));
}

/// C95: a panic in the last moment is the one decision about its run, and no release comes after.
#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_as_the_stop_cancels_it_has_failed_once() {
    let (mut scene, task, run) = Scene::begun(Often(Plan::PanicWhenCancelled)).await;
    scene.stop().await;
    scene.stage.pass(GRACE).await;
    let report = scene.report().await;
    assert_eq!((report.tally.failed, report.tally.released), (1, 0));
    assert_eq!(scene.heard.decided(), [(run, Event::Panicked, Answer::PUNCTUAL)]);
    let task = scene.stage.task(&task).await;
    assert_eq!((task.state, task.attempt), (State::Waiting, 1));
    assert_eq!((task.failures, task.rescues, task.history.records.len()), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_after_the_grace_is_dropped_and_its_task_is_given_back() {
    let (mut scene, task, run) = Scene::begun(Often(Plan::GoOn)).await;
    scene.stage.pass(3 * SECOND).await;
    let leased = scene.stage.task(&task).await;
    scene.stop().await;
    scene.stage.pass(GRACE + LAST - STEP).await;
    assert_eq!(scene.seen.cancelled(), [Cancelled::Stopping]);
    assert_eq!(scene.health.report().phase, Phase::Cancelling);
    assert_eq!((scene.seen.at_work().now, scene.running.is_finished()), (1, false));
    scene.stage.pass(STEP).await;
    assert_eq!(scene.seen.at_work().now, 0);
    let report = scene.report().await;
    assert_eq!((report.tally.released, report.tally.lost), (1, 0));
    assert_eq!(scene.heard.decided(), [(run, Event::Released, Answer::PUNCTUAL)]);
    scene.is_given_back(&leased).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_succeeds_as_the_stop_cancels_it_has_succeeded() {
    let (mut scene, task, run) = Scene::begun(Often(Plan::Succeed)).await;
    scene.stop().await;
    scene.stage.pass(GRACE).await;
    assert_eq!(scene.seen.cancelled(), [Cancelled::Stopping]);
    let report = scene.report().await;
    assert_eq!((report.tally.succeeded, report.tally.released), (1, 0));
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, Answer::PUNCTUAL)]);
    let task = scene.stage.task(&task).await;
    assert_eq!((task.state, task.attempt), (State::Succeeded, 1));
    assert_eq!((task.failures, task.rescues), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_succeeds_in_the_moment_when_it_is_dropped_has_succeeded() {
    let (mut scene, task, run) = Scene::begun(Often(Plan::GoOn)).await;
    scene.stop().await;
    scene.stage.pass(GRACE + LAST - STEP).await;
    // The same step of time wakes this and then ends the handler's time: when the handler is
    // looked at next, both are true.
    let seen = scene.seen.clone();
    tokio::spawn(async move {
        let over = tokio::time::timeout(STEP / 2, std::future::pending::<()>()).await;
        assert!(over.is_err());
        seen.go.notify_one();
    });
    settle().await;
    scene.stage.pass(STEP).await;
    assert_eq!(scene.report().await.tally.succeeded, 1);
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, Answer::PUNCTUAL)]);
    assert_eq!(scene.stage.task(&task).await.state, State::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn an_at_most_once_task_whose_handler_was_entered_is_buried_and_never_given_back() {
    for plan in [Plan::Fail, Plan::GoOn] {
        let (mut scene, task, run) = Scene::begun(Once(plan)).await;
        scene.stop().await;
        scene.stage.pass(GRACE + LAST).await;
        let report = scene.report().await;
        assert_eq!((report.tally.buried, report.tally.released), (1, 0), "{plan:?}");
        assert_eq!(scene.heard.decided(), [(run, Event::Released, Answer::PUNCTUAL)]);
        let task = scene.stage.task(&task).await;
        assert_eq!((task.state, task.attempt), (State::Dead(DeadReason::Rejected), 1));
        assert_eq!((task.failures, task.rescues), (0, 0));
        scene.stage.pass_in_store(LEASE * 2);
        assert_eq!(scene.stage.claim(QUEUE, Purpose::Run).await, []);
        assert_eq!(scene.stage.claim(QUEUE, Purpose::Rescue).await, []);
    }
}

#[tokio::test(start_paused = true)]
async fn an_at_most_once_task_whose_handler_was_not_entered_is_given_back() {
    let (mut scene, claimed) = Scene::stopped_before_the_answer(Once(Plan::GoOn)).await;
    let report = scene.report().await;
    assert_eq!((report.tally.released, report.tally.buried), (1, 0));
    assert_eq!(scene.heard.decided(), [(claimed.fence, Event::Released, Answer::PUNCTUAL)]);
    assert_eq!(scene.seen.at_work(), AtWork::default());
    scene.is_given_back(&claimed).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_on_its_way_at_the_stop_is_awaited_and_its_leases_are_given_back() {
    let (mut scene, claimed) = Scene::stopped_before_the_answer(Often(Plan::GoOn)).await;
    assert_eq!(scene.report().await.tally.released, 1);
    assert_eq!(scene.heard.decided(), [(claimed.fence, Event::Released, Answer::PUNCTUAL)]);
    assert_eq!(scene.seen.at_work(), AtWork::default());
    assert_eq!(scene.stage.store.calls(Verb::Run), 1);
    scene.is_given_back(&claimed).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_is_lost_at_the_stop_is_asked_again_and_its_leases_are_given_back() {
    let stage = Stage::new();
    let tasks = [enqueue(&stage, Often(Plan::GoOn)).await, enqueue(&stage, Once(Plan::GoOn)).await];
    stage.store.fail_next(Verb::Run, [Fault::SilenceAfter]);
    let mut scene = Scene::new(stage, 10);
    scene.stage.store.reached(Verb::Run, 1).await;
    scene.stop().await;
    let [often, once] = [scene.stage.task(&tasks[0]).await, scene.stage.task(&tasks[1]).await];
    assert_eq!(often.state, State::Leased(Purpose::Run));
    // A call may take 10 s.
    scene.stage.pass(11 * SECOND).await;
    let report = scene.report().await;
    assert_eq!((scene.stage.store.fired(), scene.stage.store.calls(Verb::Run)), (1, 2));
    assert_eq!((report.tally.claimed, report.tally.released), (2, 2));
    assert_eq!(scene.seen.at_work(), AtWork::default());
    // The first claim of another process takes both.
    scene.is_given_back(&often).await;
    let once = (once, scene.stage.task(&tasks[1]).await);
    assert_eq!((once.1.state, once.1.attempt), (State::Leased(Purpose::Run), once.0.attempt + 1));
    assert_eq!((once.1.failures, once.1.rescues, once.1.due), (0, 0, once.0.due));
}

#[tokio::test(start_paused = true)]
async fn a_decision_on_its_way_at_the_stop_is_written_before_the_worker_ends() {
    let (mut scene, task, run) = Scene::begun(Often(Plan::Fail)).await;
    scene.stage.store.take_down(Verb::Commit, Fault::LostRequest);
    // Its lease has just been renewed, so that it outlives all this.
    scene.stage.pass(2 * PULSE + STEP).await;
    scene.seen.go.notify_one();
    settle().await;
    scene.stop().await;
    // Longer than the grace: the last decisions have their own time.
    scene.stage.pass(GRACE + 2 * SECOND).await;
    assert!(scene.stage.store.fired() > 1, "no commit was lost");
    assert!(!scene.running.is_finished());
    assert_eq!(scene.stage.task(&task).await.state, State::Leased(Purpose::Run));
    scene.stage.store.restore(Verb::Commit);
    scene.stage.pass(SECOND).await;
    let report = scene.report().await;
    assert_eq!((report.tally.succeeded, report.tally.unknown), (1, 0));
    let [(told, Event::Succeeded, Answer::PUNCTUAL)] = scene.heard.decided()[..] else {
        panic!("{:?}", scene.heard.decided())
    };
    assert_eq!(told, run);
    let task = scene.stage.task(&task).await;
    assert_eq!((task.state, task.attempt), (State::Succeeded, 1));
    assert_eq!((task.failures, task.rescues), (0, 0));
}

/// A store that is down for these verbs: three decisions are left then.
async fn stops_without_its_store(verbs: &[Verb], fault: Fault) {
    let stage = Stage::new();
    let mut tasks = Vec::new();
    for plan in [Plan::Fail, Plan::Fail, Plan::GoOn] {
        tasks.push(enqueue(&stage, Often(plan)).await);
    }
    // One place is free, so that there is always a claim on its way.
    let mut scene = Scene::new(stage, 4);
    scene.seen.entered(3).await;
    for verb in verbs {
        scene.stage.store.take_down(*verb, fault);
    }
    // One ends before the stop, one within the grace, and one has to be dropped.
    scene.seen.go.notify_one();
    scene.stage.pass(2 * SECOND).await;
    scene.stop().await;
    scene.stage.pass(SECOND).await;
    scene.seen.go.notify_one();
    scene.stage.pass(GRACE + LAST + FLUSH - SECOND - STEP).await;
    assert!(!scene.running.is_finished(), "it gives the last decisions their time");
    assert_eq!((scene.seen.at_work().now, scene.heard.decided()), (0, vec![]));
    scene.stage.pass(STEP).await;

    let tally = scene.report().await.tally;
    assert_eq!((tally.unknown, tally.lost), (3, 0), "{fault:?} {tally:?}");
    let decided = scene.heard.decided();
    assert_eq!(decided.len(), 3);
    assert!(decided.iter().all(|(_, _, answer)| *answer == Answer::Unanswered), "{decided:?}");
    let mut told: Vec<_> = decided.iter().map(|(run, ..)| *run).collect();
    told.sort_unstable();
    assert_eq!(told, scene.seen.runs());
    for task in tasks {
        let task = scene.stage.task(&task).await;
        assert_eq!((task.state, task.attempt), (State::Leased(Purpose::Run), 1));
        assert_eq!((task.failures, task.rescues), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_store_is_down_stops_in_bounded_time_and_tells_what_was_left() {
    let all = [Verb::Run, Verb::Rescue, Verb::Renew, Verb::Commit];
    stops_without_its_store(&all, Fault::LostRequest).await;
    stops_without_its_store(&all, Fault::Silence).await;
    stops_without_its_store(&[Verb::Rescue, Verb::Commit], Fault::LostRequest).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_worker_drops_its_handlers_at_once_and_decides_nothing() {
    let stage = Stage::new();
    let tasks = [enqueue(&stage, Once(Plan::GoOn)).await, enqueue(&stage, Often(Plan::GoOn)).await];
    let scene = Scene::new(stage, 10);
    scene.seen.entered(2).await;
    scene.running.abort();
    settle().await;
    assert_eq!(scene.seen.at_work(), AtWork { now: 0, most: 2 });
    assert_eq!((scene.seen.cancelled(), scene.heard.decided()), (vec![], vec![]));
    assert_eq!(scene.stage.store.calls(Verb::Commit), 0);
    for task in tasks {
        let task = scene.stage.task(&task).await;
        assert_eq!((task.state, task.attempt), (State::Leased(Purpose::Run), 1));
        assert_eq!((task.failures, task.rescues), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_worker_tells_which_decisions_it_leaves() {
    let (scene, task, run) = Scene::begun(Often(Plan::Succeed)).await;
    scene.stage.store.take_down(Verb::Commit, Fault::Silence);
    scene.seen.go.notify_one();
    settle().await;
    assert_eq!((scene.stage.store.fired(), scene.heard.decided()), (1, vec![]));
    scene.running.abort();
    settle().await;
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, Answer::Unanswered)]);
    assert_eq!(scene.health.report().tally.unknown, 1);
    let task = scene.stage.task(&task).await;
    assert_eq!((task.state, task.attempt), (State::Leased(Purpose::Run), 1));
}
