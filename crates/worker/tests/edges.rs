//! The edges of a run: handlers that never wait, block their thread or panic out of turn,
//! contexts that outlive them, clocks that are set back.

#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use leasehold_core::{
    Delivery, Draft, Event, ManualClock, Purpose, State, StoredTask, Task, TaskRef,
};
use leasehold_worker::{Cancelled, Context, Failure, Loss, Phase, Worker};
use support::working::{Told, Working, standing};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::watch;

/// Of the worker's default lease, from which the grace follows.
const LEASE: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(3_600);

/// What a step of the stage's time may leave out.
const STEP: Duration = Duration::from_millis(100);

#[derive(serde::Serialize, serde::Deserialize)]
struct Short;

impl Task for Short {
    const KIND: &'static str = "short";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const TIMEOUT: Duration = Duration::from_secs(2);
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Long;

impl Task for Long {
    const KIND: &'static str = "long";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const TIMEOUT: Duration = HOUR;
}

async fn put(stage: &Stage, task: Draft) -> TaskRef {
    stage.client.enqueue(task.keep_success(HOUR)).await.expect("it is new").task().clone()
}

/// What the only record of a task says.
fn event(task: &StoredTask) -> Event {
    let [record] = &task.history.records[..] else { panic!("{:?}", task.history) };
    record.event
}

/// What handlers saw of their own end.
#[derive(Default)]
struct Scene {
    clock: ManualClock,
    entered: Mutex<Vec<String>>,
    why: Mutex<Vec<Option<Cancelled>>>,
}

impl Scene {
    fn on(stage: &Stage) -> Arc<Self> {
        Arc::new(Self { clock: stage.clock.clone(), ..Self::default() })
    }

    fn entered(&self) -> Vec<String> {
        self.entered.lock().unwrap().clone()
    }

    fn why(&self) -> Vec<Option<Cancelled>> {
        self.why.lock().unwrap().clone()
    }

    /// What a handler does that blocks the only thread: time passes, and nobody else runs.
    fn block(&self, time: Duration) {
        self.clock.shift(i64::try_from(time.as_millis()).expect("tests are short"));
        // It moves the clock when it is first polled, and would let others run after that.
        let _ = tokio::time::advance(time).now_or_never();
    }

    fn enter<S>(&self, cx: &Context<S>) {
        self.entered.lock().unwrap().push(cx.task().id.clone());
    }

    fn note(&self, why: Option<Cancelled>) {
        self.why.lock().unwrap().push(why);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_waits_is_cancelled_and_dropped_all_the_same() {
    let stage = Stage::new();
    let scene = Scene::on(&stage);
    let task = put(&stage, Draft::new(&Short)).await;
    async fn spins(_: Short, cx: Context<Arc<Scene>>) -> Result<(), Failure> {
        loop {
            if cx.is_cancelled() && cx.state().why().is_empty() {
                cx.state().note(cx.why_cancelled());
            }
            tokio::task::consume_budget().await;
        }
    }
    let worker = Worker::new(&stage.client).state(scene.clone()).handler(spins);
    let working = Working::start(worker);
    stage.pass(Short::TIMEOUT - STEP).await;
    assert_eq!((scene.why(), working.health.report().running), (vec![], 1));
    stage.pass(STEP * 2).await;
    assert_eq!(scene.why(), [Some(Cancelled::TimedOut)]);
    stage.pass(GRACE).await;
    let left = stage.task(&task).await;
    assert_eq!((standing(&left), event(&left)), ((State::Waiting, 1, 1, 0), Event::TimedOut));
}

// LH-WORK-1
#[tokio::test(start_paused = true)]
async fn a_handler_whose_lease_ran_out_before_its_first_step_is_never_entered() {
    let stage = Stage::new();
    let scene = Scene::on(&stage);
    let ids = ["a", "b"];
    for id in ids {
        put(&stage, Draft::new(&Long).id(id)).await;
    }
    // Nobody else takes the tasks, and this worker takes nothing more after the two.
    stage.store.take_down(Verb::Rescue, Fault::LostRequest);
    let store = stage.store.clone();
    let blocks = move |_: Long, cx: Context<Arc<Scene>>| {
        let store = store.clone();
        async move {
            store.take_down(Verb::Run, Fault::LostRequest);
            cx.state().enter(&cx);
            cx.state().block(LEASE);
            Ok::<_, Failure>(())
        }
    };
    let told = Told::default();
    let worker = Worker::new(&stage.client).state(scene.clone()).handler(blocks);
    let working = Working::start(worker.concurrency(2).observer(told.clone()));
    settle().await;
    let entered = scene.entered();
    assert_eq!(told.of("claimed").len(), 2, "the two were not claimed at once");
    let [first] = &entered[..] else { panic!("more than one was entered: {entered:?}") };
    let second = ids.into_iter().find(|id| id != first).expect("there are two");
    let second = stage.task(&TaskRef::new("default", second)).await;
    assert_eq!((standing(&second), event(&second)), ((State::Waiting, 1, 0, 0), Event::Released));
    assert_eq!((working.tally().succeeded, working.tally().released), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_blocks_its_thread_is_told_why_it_is_cancelled() {
    async fn short(_: Short, cx: Context<Arc<Scene>>) -> Result<(), Failure> {
        asks_between(&cx, [Short::TIMEOUT - STEP, STEP, LEASE])
    }
    async fn long(_: Long, cx: Context<Arc<Scene>>) -> Result<(), Failure> {
        asks_between(&cx, [LEASE - GRACE - STEP, STEP, HOUR])
    }
    fn asks_between(cx: &Context<Arc<Scene>>, times: [Duration; 3]) -> Result<(), Failure> {
        for time in times {
            cx.state().block(time);
            assert_eq!(cx.is_cancelled(), cx.why_cancelled().is_some());
            cx.state().note(cx.why_cancelled());
        }
        Ok(())
    }
    let unanswered = Cancelled::Lost(Loss::Unanswered);
    for (draft, why) in [(Draft::new(&Short), Cancelled::TimedOut), (Draft::new(&Long), unanswered)]
    {
        let stage = Stage::new();
        stage.store.take_down(Verb::Rescue, Fault::LostRequest);
        let scene = Scene::on(&stage);
        put(&stage, draft).await;
        let worker = Worker::new(&stage.client).state(scene.clone()).handler(short).handler(long);
        let _working = Working::start(worker);
        settle().await;
        assert_eq!(scene.why(), [None, Some(why), Some(why)], "the first reason stands");
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_that_outlives_its_run_can_do_nothing_and_keeps_no_lease() {
    let stage = Stage::new();
    let task = put(&stage, Draft::new(&Short)).await;
    let (sender, mut contexts) = watch::channel(None);
    let leaves = move |_: Short, cx: Context| {
        let sender = sender.clone();
        async move {
            sender.send_replace(Some(cx));
            std::future::pending::<Result<(), Failure>>().await
        }
    };
    // The end of the run is known here, and not yet to the store.
    stage.store.hold(Verb::Commit);
    stage.store.take_down(Verb::Rescue, Fault::LostRequest);
    let worker = Worker::new(&stage.client).handler(leaves);
    let working = Working::start(worker);
    contexts.wait_for(Option::is_some).await.expect("it was entered");
    let cx = contexts.borrow().clone().expect("it was left");
    cx.checkpoint(&1).await.expect("it is at work");
    cx.follow_up(Draft::new(&Long).id("early")).expect("it is at work");
    stage.until("its run has ended", || working.health.report().running == 0).await;
    let (before, renewals) = (stage.task(&task).await, stage.store.renewals(&task));
    assert_eq!(before.state, State::Leased(Purpose::Run), "the store knows already");
    stage.pass(STEP).await;
    cx.checkpoint(&2).await.expect_err("a run that has ended has stored a checkpoint");
    cx.follow_up(Draft::new(&Long).id("late")).expect_err("it has made a follow-up");
    stage.pass(LEASE * 2).await;
    let now = stage.task(&task).await;
    assert_eq!((now.until, now.note), (before.until, before.note));
    assert_eq!(stage.store.renewals(&task), renewals, "the lease is still renewed");
    assert_eq!(stage.rescue("default").await.len(), 1, "the lease has not lapsed");
}

#[tokio::test(start_paused = true)]
async fn a_store_whose_clock_is_set_back_does_not_stretch_a_lease() {
    let stage = Stage::new();
    let scene = Scene::on(&stage);
    let task = put(&stage, Draft::new(&Long)).await;
    async fn waits(_: Long, cx: Context<Arc<Scene>>) -> Result<(), Failure> {
        cx.state().note(Some(cx.cancelled().await));
        Ok(())
    }
    let worker = Worker::new(&stage.client).state(scene.clone()).handler(waits);
    let _working = Working::start(worker);
    stage.pass(Duration::from_secs(1)).await;
    let hour = i64::try_from(HOUR.as_millis()).expect("it is short");
    stage.clock.shift(-hour);
    // Another renew, which is told an hour.
    let renewals = stage.store.renewals(&task);
    stage.pass(LEASE / 2).await;
    assert!(stage.store.renewals(&task) > renewals, "no renew has come");
    let until = stage.task(&task).await.until.expect("it is leased");
    assert!(until.since(stage.clock.now()) > HOUR / 2, "the store has shortened the lease");
    stage.store.take_down(Verb::Renew, Fault::LostRequest);
    assert_eq!(scene.why(), []);
    stage.pass(LEASE).await;
    assert_eq!(scene.why(), [Some(Cancelled::Lost(Loss::Unanswered))]);
}

/// A payload that cannot even be read without a panic.
struct Bad;

impl serde::Serialize for Bad {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_unit()
    }
}

impl<'de> serde::Deserialize<'de> for Bad {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("no such value")
    }
}

impl Task for Bad {
    const KIND: &'static str = "bad";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

#[tokio::test(start_paused = true)]
async fn a_payload_whose_reading_panics_is_a_failure_and_no_lost_worker() {
    let stage = Stage::new();
    let task = put(&stage, Draft::new(&Bad)).await;
    let reads = |_: Bad, _: Context| async { Ok::<_, Failure>(()) };
    let working = Working::start(Worker::new(&stage.client).handler(reads));
    settle().await;
    let left = stage.task(&task).await;
    assert_eq!((standing(&left), event(&left)), ((State::Waiting, 1, 1, 0), Event::Panicked));
    assert!(format!("{:?}", left.history.records).contains("no such value"));
    assert_eq!((working.tally().failed, working.health.report().running), (1, 0));
}

/// Panics as it is dropped.
struct Loud;

impl Drop for Loud {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "it does not go quietly");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_as_it_is_dropped_is_decided_about_at_once() {
    let stage = Stage::new();
    let task = put(&stage, Draft::new(&Short)).await;
    let stays = |_: Short, _: Context| async {
        let _loud = Loud;
        std::future::pending::<Result<(), Failure>>().await
    };
    let working = Working::start(Worker::new(&stage.client).handler(stays));
    stage.pass(Short::TIMEOUT + GRACE + STEP).await;
    let left = stage.task(&task).await;
    assert_eq!(standing(&left), (State::Waiting, 1, 1, 0));
    assert_eq!(event(&left), Event::Panicked);
    assert_eq!((working.tally().failed, working.health.report().running), (1, 0));
}

/// On two threads, as a run that is still here needs one for itself. The store's clock is moved
/// by the test alone, so that the machine's speed decides nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_comes_back_while_its_run_blocks_is_not_claimed_all_the_time() {
    let stage = Stage::new();
    stage.store.take_down(Verb::Rescue, Fault::LostRequest);
    let task = put(&stage, Draft::new(&Long)).await;
    let (enter, mut entered) = watch::channel(0);
    let (end, ends) = std::sync::mpsc::channel::<()>();
    let ends = Arc::new(Mutex::new(ends));
    let blocks = move |_: Long, _: Context| {
        let (enter, ends) = (enter.clone(), ends.clone());
        async move {
            enter.send_modify(|entered| *entered += 1);
            // Until the test has dropped the other end.
            tokio::task::block_in_place(|| ends.lock().unwrap().recv()).unwrap_err();
            Ok::<_, Failure>(())
        }
    };
    let told = Told::default();
    let worker = Worker::new(&stage.client).handler(blocks).concurrency(2);
    let worker = worker.poll(Duration::from_millis(10)).observer(told.clone());
    let working = Working::start(worker);
    entered.wait_for(|entered| *entered == 1).await.expect("it lives");
    stage.pass_in_store(LEASE);
    assert_eq!(stage.rescue("default").await.len(), 1);
    for _ in 0..100 {
        stage.pass_in_store(STEP * 3);
        stage.store.reached(Verb::Run, stage.store.calls(Verb::Run) + 1).await;
    }
    let claimed = told.of("claimed").len();
    assert!((3..=8).contains(&claimed), "it was claimed {claimed} times in half a minute");
    assert_eq!(*entered.borrow(), 1, "it was entered beside its earlier run");
    assert_eq!(stage.task(&task).await.rescues, 1);
    assert_eq!(told.of("lost").len(), 0, "the blocked run cannot have told");
    drop(end);
    drop(working);
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_future_was_dropped_is_told_as_stopped() {
    let stage = Stage::new();
    let waits = |_: Long, _: Context| std::future::pending::<Result<(), Failure>>();
    put(&stage, Draft::new(&Long)).await;
    let working = Working::start(Worker::new(&stage.client).handler(waits));
    stage.pass(Duration::from_secs(1)).await;
    let health = working.health.clone();
    assert_eq!((health.report().phase, health.is_well()), (Phase::Working, true));
    assert_eq!(health.report().running, 1);
    working.kill().await;
    assert_eq!((health.report().phase, health.is_well()), (Phase::Stopped, false));
    assert_eq!(health.report().running, 0);
}
