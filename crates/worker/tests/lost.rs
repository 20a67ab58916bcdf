//! A run that loses its lease: its handler is cancelled, and what it still says is told truly.

mod support;

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{
    Backend, BackendExt, CommitItem, CommitVerdict, Configure, Delivery, Event, Fence,
    Intervention, Lease, LostReason, OnLeased, Operator, Outcome, Purpose, State, Task, TaskRef,
    decide,
};
use leasehold_worker::{Cancelled, Context, Failure, Health, Loss, Worker};
use support::heard::{Answer, Heard};
use support::play::{AtWork, Plan, Seen, play};
use support::{Fault, Stage, Verb, settle};

/// Of the worker's default lease, from which the others follow.
const LEASE: Duration = Duration::from_secs(30);
const PULSE: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(5);

/// What a step of the stage's time may leave out.
const STEP: Duration = Duration::from_millis(100);

const QUEUE: &str = Long::QUEUE;

#[derive(serde::Serialize, serde::Deserialize)]
struct Long(Plan);

impl Task for Long {
    const KIND: &'static str = "long";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

async fn long(task: Long, cx: Context<Arc<Seen>>) -> Result<(), Failure> {
    play(task.0, cx).await
}

/// One task and a worker that may run it, from the instant of its claim on. The worker never
/// rescues, as every rescue of these tests is another process's.
struct Scene {
    stage: Stage,
    seen: Arc<Seen>,
    heard: Heard,
    health: Health,
    task: TaskRef,
}

impl Scene {
    /// Before the first claim: the worker begins when the test next waits.
    async fn new(plan: Plan, concurrency: usize) -> Self {
        let stage = Stage::new();
        stage.store.take_down(Verb::Rescue, Fault::LostRequest);
        let kept = stage.client.enqueue(Long(plan)).keep_success(LEASE * 100);
        let task = kept.await.expect("it is new").task().clone();
        let (seen, heard) = (Arc::new(Seen::default()), Heard::default());
        let worker = Worker::new(&stage.client).state(seen.clone()).handler(long);
        let worker = worker.concurrency(concurrency).observer(heard.clone());
        let health = worker.health();
        tokio::spawn(worker.run_until(std::future::pending()));
        Self { stage, seen, heard, health, task }
    }

    /// At work: also tells the fence of the run.
    async fn begun(plan: Plan) -> (Self, Fence) {
        let scene = Self::new(plan, 1).await;
        let run = scene.seen.entered(1).await;
        (scene, run)
    }

    /// The lease lapses by the store's clock alone, and another process rescues the task.
    async fn rescue(&self) {
        self.stage.pass_in_store(LEASE);
        let verdicts = self.stage.rescue(QUEUE).await;
        assert!(matches!(verdicts[..], [CommitVerdict::Applied(_)]), "{verdicts:?}");
    }

    /// Another process takes the task.
    async fn claim(&self) -> Lease {
        let mut leases = self.stage.claim(QUEUE, Purpose::Run).await;
        assert_eq!(leases.len(), 1, "it can be claimed");
        leases.remove(0)
    }

    async fn pause(&self) {
        self.stage.store.configure(Configure::new(QUEUE).pause()).await.expect("memory answers");
    }

    async fn act(&self, act: Intervention) -> Fence {
        let seen = self.stage.task(&self.task).await;
        let by = Operator::new("ada", "staged");
        match self.stage.store.intervene(&seen, act, &by).await.expect("it is admitted") {
            CommitVerdict::Applied(applied) => applied.fence,
            other => panic!("{other:?}"),
        }
    }

    fn why(&self) -> Vec<Loss> {
        let loss = |why| match why {
            Cancelled::Lost(loss) => loss,
            other => panic!("cancelled for another reason: {other:?}"),
        };
        self.seen.cancelled().into_iter().map(loss).collect()
    }

    /// State, attempt, failures and rescues of the task.
    async fn standing(&self) -> (State, u32, u32, u32) {
        let task = self.stage.task(&self.task).await;
        (task.state, task.attempt, task.failures, task.rescues)
    }
}

#[tokio::test(start_paused = true)]
async fn no_answer_cancels_the_handler_before_the_lease_ends() {
    let (scene, run) = Scene::begun(Plan::Succeed).await;
    scene.stage.store.take_down(Verb::Renew, Fault::Silence);
    scene.stage.pass(LEASE - GRACE - STEP).await;
    assert_eq!(scene.why(), []);
    scene.stage.pass(STEP).await;
    assert_eq!(scene.why(), [Loss::Unanswered]);
    assert!(scene.stage.store.renewals(&scene.task) > 0, "no renew was left without an answer");
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, Answer::PUNCTUAL)]);
    assert_eq!(scene.standing().await, (State::Succeeded, 1, 0, 0));
    assert_eq!(scene.health.report().tally.succeeded, 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_task_was_taken_is_cancelled_and_its_success_is_stale() {
    let (scene, run) = Scene::begun(Plan::Succeed).await;
    scene.rescue().await;
    let other = scene.claim().await;
    scene.stage.pass(PULSE + STEP).await;
    let taken = Loss::Told(LostReason::Taken(other.fence));
    assert_eq!(scene.why(), [taken]);
    let stale = Answer::Stale { shown: run, now: other.fence };
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, stale)]);
    let tally = scene.health.report().tally;
    assert_eq!((tally.stale, tally.succeeded, tally.late, tally.lost), (1, 0, 0, 1));

    let task = scene.stage.task(&scene.task).await;
    assert_eq!((task.fence, task.run), (other.fence, Some(other.fence)));
    let left = task.until.expect("it is leased").since(scene.stage.clock.now());
    assert_eq!(left, LEASE - PULSE - STEP, "nobody touched the other's lease");
    assert_eq!(scene.standing().await, (State::Leased(Purpose::Run), 2, 0, 1));
    let success = Outcome::Succeeded { result: None, follow_ups: Vec::new() };
    let item = CommitItem::new(other.guard(), decide::run(&other, success, 0));
    let verdict = scene.stage.store.commit_one(item).await.expect("memory answers");
    let CommitVerdict::Applied(applied) = verdict else { panic!("{verdict:?}") };
    assert!(!applied.late && !applied.overdue, "{applied:?}");
    assert_eq!(scene.standing().await, (State::Succeeded, 2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_after_its_task_was_taken_is_dropped_at_once() {
    let (scene, run) = Scene::begun(Plan::GoOn).await;
    scene.rescue().await;
    let other = scene.claim().await;
    scene.stage.pass(PULSE + STEP).await;
    let taken = Loss::Told(LostReason::Taken(other.fence));
    assert_eq!((scene.why(), scene.seen.at_work().now), (vec![taken], 0));
    assert_eq!(scene.heard.lost(), [(run, taken)]);
    assert_eq!((scene.heard.decided(), scene.stage.store.calls(Verb::Commit)), (vec![], 0));
    assert_eq!(scene.health.report().tally.lost, 1);
    assert_eq!(scene.stage.task(&scene.task).await.fence, other.fence);
    assert_eq!(scene.standing().await, (State::Leased(Purpose::Run), 2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_success_after_a_rescue_counts_until_the_next_run_starts() {
    let (scene, run) = Scene::begun(Plan::Succeed).await;
    // The next run does not start, also not here.
    scene.pause().await;
    scene.rescue().await;
    scene.seen.go.notify_one();
    settle().await;
    let late = Answer::Applied { overdue: false, late: true };
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, late)]);
    let tally = scene.health.report().tally;
    assert_eq!((tally.late, tally.succeeded, tally.stale), (1, 1, 0));
    let task = scene.stage.task(&scene.task).await;
    assert_eq!((task.run, task.shown.expect("it was committed").fence), (None, run));
    assert_eq!(scene.standing().await, (State::Succeeded, 1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_a_rescue_is_stale_and_spends_nothing() {
    let (scene, run) = Scene::begun(Plan::Fail).await;
    scene.pause().await;
    scene.rescue().await;
    let rescued = scene.stage.task(&scene.task).await;
    scene.stage.pass(PULSE + STEP).await;
    assert_eq!(scene.why(), [Loss::Told(LostReason::Taken(rescued.fence))]);
    let stale = Answer::Stale { shown: run, now: rescued.fence };
    assert_eq!(scene.heard.decided(), [(run, Event::Failed, stale)]);
    let tally = scene.health.report().tally;
    assert_eq!((tally.stale, tally.failed), (1, 0));
    assert_eq!(scene.standing().await, (State::Waiting, 1, 0, 1));
    assert_eq!(scene.stage.task(&scene.task).await, rescued, "the failure changed nothing");
}

#[tokio::test(start_paused = true)]
async fn a_handler_hears_that_an_operator_cancelled_its_task_and_may_end_within_the_grace() {
    let (scene, run) = Scene::begun(Plan::GoOn).await;
    let end = scene.stage.task(&scene.task).await.until;
    let now = scene.act(Intervention::Cancel).await;
    let cancelled = scene.stage.task(&scene.task).await;
    scene.stage.pass(PULSE + STEP).await;
    assert_eq!(scene.why(), [Loss::Told(LostReason::Cancelled)]);
    scene.stage.pass(GRACE - 2 * STEP).await;
    assert_eq!(scene.seen.at_work().now, 1, "the grace goes on");
    scene.seen.go.notify_one();
    settle().await;
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, Answer::Stale { shown: run, now })]);
    assert_eq!(scene.heard.lost(), [(run, Loss::Told(LostReason::Cancelled))]);
    assert_eq!(scene.standing().await, (State::Cancelled, 1, 0, 0));
    assert_eq!(cancelled.held_until, end);
    assert_eq!(scene.stage.task(&scene.task).await, cancelled, "the success changed nothing");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_after_an_operators_cancel_is_dropped_after_the_grace() {
    let (scene, run) = Scene::begun(Plan::GoOn).await;
    scene.act(Intervention::Cancel).await;
    let commits = scene.stage.store.calls(Verb::Commit);
    scene.stage.pass(PULSE + GRACE - STEP).await;
    assert_eq!(scene.seen.at_work().now, 1);
    // Its lease goes on for as long again, and it is dropped all the same.
    scene.stage.pass(2 * STEP).await;
    assert_eq!(scene.seen.at_work().now, 0);
    assert_eq!(scene.heard.lost(), [(run, Loss::Told(LostReason::Cancelled))]);
    assert_eq!((scene.heard.decided(), scene.stage.store.calls(Verb::Commit)), (vec![], commits));
    assert_eq!(scene.standing().await, (State::Cancelled, 1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_requeue_that_revokes_is_told_and_the_next_run_waits_for_the_end_of_the_lease() {
    let (scene, run) = Scene::begun(Plan::Succeed).await;
    let now = scene.act(Intervention::Requeue(OnLeased::Revoke)).await;
    scene.stage.pass(PULSE + STEP).await;
    assert_eq!(scene.why(), [Loss::Told(LostReason::Revoked)]);
    assert_eq!(scene.heard.decided(), [(run, Event::Succeeded, Answer::Stale { shown: run, now })]);
    assert_eq!(scene.standing().await, (State::Waiting, 1, 0, 0));
    assert_eq!(scene.stage.task(&scene.task).await.fence, now);

    scene.stage.pass(LEASE - PULSE - 2 * STEP).await;
    assert_eq!(scene.seen.runs(), [run]);
    // The worker asks again within a second.
    scene.stage.pass(Duration::from_secs(1) + STEP).await;
    assert_eq!(scene.seen.runs().len(), 2);
    assert_eq!(scene.seen.at_work(), AtWork { now: 1, most: 1 });
    assert_eq!(scene.standing().await, (State::Leased(Purpose::Run), 2, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_without_an_answer_is_dropped_when_its_lease_ends() {
    let (scene, run) = Scene::begun(Plan::GoOn).await;
    scene.pause().await;
    scene.stage.store.take_down(Verb::Renew, Fault::LostRequest);
    scene.stage.pass(LEASE - STEP).await;
    assert_eq!((scene.why(), scene.seen.at_work().now), (vec![Loss::Unanswered], 1));
    let task = scene.stage.task(&scene.task).await;
    assert!(task.until > Some(scene.stage.clock.now()), "nobody can have taken it yet");
    scene.stage.pass(STEP).await;
    assert_eq!(scene.seen.at_work().now, 0);
    assert!(scene.stage.store.renewals(&scene.task) > 1, "no renew was refused");
    assert_eq!(scene.heard.lost(), [(run, Loss::Unanswered)]);
    // Nobody has taken it, so the run that gave up gives it back: no lapse is counted.
    let overdue = Answer::Applied { overdue: true, late: false };
    assert_eq!(scene.heard.decided(), [(run, Event::Released, overdue)]);
    let tally = scene.health.report().tally;
    assert_eq!((tally.lost, tally.released), (1, 1));
    assert_eq!(scene.standing().await, (State::Waiting, 1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_counted_from_before_its_claim_was_asked() {
    const REPLY: Duration = Duration::from_secs(6);
    let scene = Scene::new(Plan::GoOn, 1).await;
    scene.stage.store.fail_next(Verb::Run, [Fault::HeldReply]);
    scene.stage.store.take_down(Verb::Renew, Fault::LostRequest);
    scene.stage.store.at_gate().await;
    let end = scene.stage.task(&scene.task).await.until.expect("it is leased");
    scene.stage.pass(REPLY).await;
    assert_eq!(scene.seen.runs(), [], "the reply has not come");
    scene.stage.store.open_gate();
    let run = scene.seen.entered(1).await;
    scene.pause().await;
    scene.stage.pass(LEASE - GRACE - REPLY - STEP).await;
    assert_eq!(scene.why(), []);
    scene.stage.pass(STEP).await;
    assert_eq!(scene.why(), [Loss::Unanswered]);
    scene.stage.pass(GRACE - STEP).await;
    assert_eq!(scene.seen.at_work().now, 1);
    scene.stage.pass(STEP).await;
    assert_eq!(scene.seen.at_work().now, 0);
    assert_eq!(scene.stage.clock.now(), end, "dropped as the store's own lease ends");
    assert_eq!(scene.heard.lost(), [(run, Loss::Unanswered)]);
    assert_eq!(scene.standing().await, (State::Waiting, 1, 0, 0));
}

// LH-WORK-1
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_answered_after_its_lease_starts_nothing_and_is_given_back() {
    let scene = Scene::new(Plan::Succeed, 1).await;
    scene.stage.store.fail_next(Verb::Run, [Fault::HeldReply]);
    scene.stage.store.at_gate().await;
    let claimed = scene.stage.task(&scene.task).await;
    scene.pause().await;
    // The answer is there, and then the process stands still for a whole lease.
    scene.stage.store.open_gate();
    scene.stage.pass_in_store(LEASE);
    tokio::time::advance(LEASE).await;
    settle().await;
    let overdue = Answer::Applied { overdue: true, late: false };
    assert_eq!(scene.heard.decided(), [(claimed.fence, Event::Released, overdue)]);
    assert_eq!(scene.seen.runs(), [], "no handler was entered");
    assert_eq!(scene.health.report().tally.released, 1);
    assert_eq!(scene.standing().await, (State::Waiting, 1, 0, 0));
    let task = scene.stage.task(&scene.task).await;
    assert_eq!((task.due, task.until), (claimed.due, None));
}

// LH-WORK-1
#[tokio::test(start_paused = true)]
async fn a_task_that_comes_back_while_its_run_is_at_work_does_not_start_beside_it() {
    let scene = Scene::new(Plan::GoOn, 2).await;
    let first = scene.seen.entered(1).await;
    scene.rescue().await;
    settle().await;
    assert_eq!(scene.why(), [Loss::Superseded]);
    assert_eq!(scene.heard.lost(), [(first, Loss::Superseded)]);
    assert_eq!(scene.seen.runs(), [first], "it waits a little before it comes back");
    scene.stage.pass(Duration::from_secs(4)).await;
    let runs = scene.seen.runs();
    let [_, last] = runs[..] else { panic!("{runs:?}") };
    assert_eq!(scene.seen.at_work(), AtWork { now: 1, most: 1 });
    let given_back = scene.heard.decided();
    let [(second, Event::Released, Answer::PUNCTUAL)] = given_back[..] else {
        panic!("{given_back:?}")
    };
    assert!(first < second && second < last, "{first} {second} {last}");
    assert_eq!(scene.standing().await, (State::Leased(Purpose::Run), 3, 0, 1));
    assert_eq!(scene.stage.task(&scene.task).await.fence, last);
}
