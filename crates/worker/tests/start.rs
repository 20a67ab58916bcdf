//! How a worker starts, or says why it does not; how many handlers it has at once, and how many
//! leases; and what its janitor does.

#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

mod support;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{
    Delivery, Draft, ErrorKind, Found, Keep, Purpose, Retention, State, Status, Task, TaskRef,
};
use leasehold_worker::{Context, Failure, Phase, Worker};
use support::working::{Told, Working, drained, standing};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Semaphore;

const HOUR: Duration = Duration::from_secs(3_600);

macro_rules! kind {
    ($type:ident, $kind:literal, $delivery:expr, $queue:literal, $accepts:literal) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct $type;

        impl Task for $type {
            const KIND: &'static str = $kind;
            const DELIVERY: Delivery = $delivery;
            const QUEUE: &'static str = $queue;
            const ACCEPT_LOSS: bool = $accepts;
        }
    };
}

kind!(Plain, "plain", Delivery::at_least_once(), "default", false);
kind!(Other, "other", Delivery::at_least_once(), "others", false);
kind!(BadKind, "a\tb", Delivery::at_least_once(), "default", false);
kind!(BadQueue, "bad.queue", Delivery::at_least_once(), "", false);
kind!(NotAfterLoss, "not.after.loss", Delivery::NotAfterLoss, "default", false);
kind!(AtMostOnce, "at.most.once", Delivery::AtMostOnce, "default", false);
kind!(Accepts, "accepts", Delivery::NotAfterLoss, "default", true);
kind!(AcceptsOnce, "accepts.once", Delivery::AtMostOnce, "default", true);

type With = fn(Worker) -> Worker;

async fn done<T: Task>(_: T, _: Context) -> Result<(), Failure> {
    Ok(())
}

/// Why this worker does not start; it must not have asked the store for anything before.
async fn refusal(change: impl FnOnce(Worker) -> Worker) -> (ErrorKind, String) {
    let stage = Stage::new();
    let receipt = stage.client.enqueue(Plain).await.expect("it is new");
    let before = stage.task(receipt.task()).await;
    let worker = change(Worker::new(&stage.client));
    let health = worker.health();
    // One that starts all the same stops after a minute.
    let minute = tokio::time::timeout(Duration::from_secs(60), std::future::pending::<()>());
    let started = worker.run_until(async { drop(minute.await) }).await;
    let error = started.expect_err("it must not start");
    assert_eq!(stage.task(receipt.task()).await, before);
    assert_eq!((stage.store.calls(Verb::Run), health.report().phase), (0, Phase::Idle));
    (error.kind(), error.to_string())
}

async fn invalid(change: impl FnOnce(Worker) -> Worker) -> String {
    let (kind, words) = refusal(change).await;
    assert_eq!(kind, ErrorKind::Invalid, "{words}");
    words
}

fn plain(worker: Worker) -> Worker {
    worker.handler(done::<Plain>)
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_could_do_no_work_says_what_to_change() {
    let words = invalid(|worker| worker).await;
    assert_eq!(words, "a worker without a handler: call .handler(..) first");
    let words = invalid(|worker| plain(plain(worker))).await;
    assert_eq!(words, "two handlers of kind \"plain\": a kind has one handler in a worker");
    let none = "0 handlers at once are not within 1 to 100000";
    assert_eq!(invalid(|worker| plain(worker).concurrency(0)).await, none);
    assert_eq!(invalid(|worker| plain(worker).queue("others", 0)).await, none);
}

#[tokio::test(start_paused = true)]
async fn a_time_out_of_range_says_the_range() {
    let millis = Duration::from_millis;
    let words = invalid(|worker| plain(worker).lease(millis(999))).await;
    assert_eq!(words, "a lease of 999ms is less than 1 s");
    let words = invalid(|worker| plain(worker).lease(HOUR * 25)).await;
    assert_eq!(words, "a lease of 90000s is not within 100ms to 86400s");
    let words = invalid(|worker| plain(worker).poll(millis(9))).await;
    assert_eq!(words, "a poll every 9ms is less than 10 ms");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_none_says_which_and_why() {
    assert_eq!(invalid(|worker| plain(worker).label("")).await, "label is empty");
    let words = invalid(|worker| plain(worker).label("a\nb")).await;
    assert_eq!(words, "label \"a\\nb\" has a control character");
    assert_eq!(invalid(|worker| plain(worker).queue("", 1)).await, "queue is empty");
    let words = invalid(|worker| plain(worker).queue("x".repeat(201), 1)).await;
    assert_eq!(words, "the size of queue in bytes is 201, more than 200");
    let words = invalid(|worker| worker.handler(done::<BadKind>)).await;
    assert_eq!(words, "kind \"a\\tb\" has a control character");
    assert_eq!(invalid(|worker| worker.handler(done::<BadQueue>)).await, "queue is empty");
}

#[tokio::test(start_paused = true)]
async fn the_least_and_the_most_that_is_allowed_works() {
    let least = |worker: Worker| {
        worker.lease(Duration::from_secs(1)).poll(Duration::from_millis(10)).concurrency(1)
    };
    let most = |worker: Worker| {
        worker.lease(HOUR * 24).poll(Duration::MAX).concurrency(5_000).grace(Duration::MAX)
    };
    let set: [With; 2] = [least, most];
    for set in set {
        let stage = Stage::new();
        stage.client.enqueue_many((0..3).map(|_| Plain)).await.expect("they are new");
        let report = drained(set(plain(Worker::new(&stage.client)))).await;
        assert_eq!((report.tally.succeeded, report.phase), (3, Phase::Stopped));
    }
}

// LH-MODE-4
#[tokio::test(start_paused = true)]
async fn a_kind_that_must_not_run_twice_refuses_a_store_that_may_forget_a_claim() {
    let kinds: [(With, &str); 2] = [
        (|worker| worker.handler(done::<NotAfterLoss>), "not.after.loss"),
        (|worker| worker.handler(done::<AtMostOnce>), "at.most.once"),
    ];
    for (with, kind) in kinds {
        let (error, words) = refusal(|worker| with(plain(worker))).await;
        assert_eq!(error, ErrorKind::Unsupported);
        let want = format!(
            "kind {kind:?} must not run again after a lost worker, but the store memory can lose \
             a confirmed claim: use a more durable store, or let the kind say accept_loss"
        );
        assert_eq!(words, want);
    }
    let stage = Stage::new();
    stage.client.enqueue(Accepts).await.expect("it is new");
    stage.client.enqueue(AcceptsOnce).await.expect("it is new");
    let worker = Worker::new(&stage.client).handler(done::<Accepts>).handler(done::<AcceptsOnce>);
    let report = drained(worker).await;
    assert_eq!(report.tally.succeeded, 2);
}

/// How many handlers were at work at once, by queue: now and at most.
struct AtWork {
    counts: Mutex<HashMap<String, (usize, usize)>>,
    gate: Semaphore,
}

impl AtWork {
    fn new() -> Arc<Self> {
        Arc::new(Self { counts: Mutex::default(), gate: Semaphore::new(0) })
    }

    fn now(&self, queue: &str) -> usize {
        self.counts.lock().unwrap().get(queue).map_or(0, |(now, _)| *now)
    }

    fn most(&self, queue: &str) -> usize {
        self.counts.lock().unwrap().get(queue).map_or(0, |(_, most)| *most)
    }
}

async fn at_work<T: Task>(_: T, cx: Context<Arc<AtWork>>) -> Result<(), Failure> {
    let (work, queue) = (cx.state(), cx.task().queue.clone());
    {
        let mut counts = work.counts.lock().unwrap();
        let (now, most) = counts.entry(queue.clone()).or_default();
        *now += 1;
        *most = (*most).max(*now);
    }
    work.gate.acquire().await?.forget();
    work.counts.lock().unwrap().entry(queue).or_default().0 -= 1;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn each_queue_has_its_own_number_of_handlers_and_never_more() {
    let (stage, work) = (Stage::new(), AtWork::new());
    let queues = ["default", "others", "third"];
    for (at, queue) in queues.into_iter().enumerate() {
        for n in 0..10 {
            let draft = if at == 1 { Draft::new(&Other) } else { Draft::new(&Plain) };
            let draft = draft.id(format!("{n}")).queue(queue);
            stage.client.enqueue(draft).await.expect("it is new");
        }
    }
    let worker = Worker::new(&stage.client).concurrency(2).queue("others", 3).queue("third", 1);
    let worker = worker.state(work.clone()).handler(at_work::<Plain>).handler(at_work::<Other>);
    let working = Working::start(worker);
    settle().await;
    assert_eq!(queues.map(|queue| work.now(queue)), [2, 3, 1]);
    for ended in 1..=30 {
        work.gate.add_permits(1);
        stage.until("one more has succeeded", || working.tally().succeeded >= ended).await;
    }
    assert_eq!(queues.map(|queue| work.most(queue)), [2, 3, 1]);
    assert_eq!(queues.map(|queue| stage.counts(queue).unfinished()), [0, 0, 0]);
}

// W1
#[tokio::test(start_paused = true)]
async fn no_lease_is_taken_before_a_handler_is_free_for_it() {
    let (stage, work) = (Stage::new(), AtWork::new());
    stage.client.enqueue_many((0..10).map(|_| Plain)).await.expect("they are new");
    let worker = Worker::new(&stage.client).concurrency(2).state(work.clone());
    let working = Working::start(worker.handler(at_work::<Plain>));
    let leased = || stage.counts("default").of(Status::Leased);
    for ended in 0..=10 {
        // While the handlers are busy time may pass, polls and renews may come.
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(leased(), 2.min(10 - ended));
        assert_eq!(working.health.report().running as u64, leased());
        assert_eq!(working.tally().claimed, 10.min(ended + 2));
        work.gate.add_permits(1);
        settle().await;
    }
    let claims = stage.store.claims(Purpose::Run);
    let asked: Vec<_> = claims[..3].iter().map(|claim| claim.max).collect();
    assert_eq!(asked, [2, 1, 1], "a claim asks for as many as there are free handlers");
    assert!(claims.iter().all(|claim| claim.max <= 2));
    assert_eq!(working.tally().succeeded, 10);
}

// LH-PURGE-1
#[tokio::test(start_paused = true)]
async fn the_janitor_purges_what_retention_let_go_and_nothing_else() {
    let (stage, told) = (Stage::new(), Told::default());
    let mut tasks = Vec::new();
    for (id, keep) in [("short", Keep::For(Duration::from_secs(10))), ("long", Keep::For(HOUR))] {
        let keep = Retention::default().with_succeeded(keep);
        let receipt = stage.client.enqueue(Draft::new(&Plain).id(id).retention(keep)).await;
        tasks.push(receipt.expect("it is new").task().clone());
    }
    let waits = Draft::new(&Plain).id("waits").delay(HOUR * 24);
    let waits = stage.client.enqueue(waits).await.expect("it is new").task().clone();
    let worker = plain(Worker::new(&stage.client)).observer(told.clone());
    let working = Working::start(worker);
    stage.pass(Duration::from_secs(29)).await;
    assert_eq!((stage.store.calls(Verb::Purge), stage.counts("default").total()), (0, 3));
    stage.pass(Duration::from_secs(32)).await;
    assert!(matches!(stage.found(&tasks[0]).await, Found::Left(_)));
    assert_eq!(standing(&stage.task(&tasks[1]).await), (State::Succeeded, 1, 0, 0));
    assert_eq!(stage.task(&waits).await.state, State::Waiting);
    // Nothing is said of a round that finds nothing.
    stage.pass(Duration::from_secs(61)).await;
    assert!(stage.store.calls(Verb::Purge) > 1);
    assert_eq!((told.of("purged"), working.tally().purged), (vec!["purged default 1".into()], 1));
}

#[tokio::test(start_paused = true)]
async fn the_janitor_goes_on_until_nothing_is_left_in_bounded_calls() {
    let (stage, told) = (Stage::new(), Told::default());
    let keep = Duration::from_secs(1);
    let drafts = (0..1_200).map(|_| Draft::new(&Plain).keep_success(keep));
    stage.client.enqueue_many(drafts).await.expect("they are new");
    stage.store.fail_next(Verb::Purge, [Fault::LostReply]);
    let worker = plain(Worker::new(&stage.client)).concurrency(100).observer(told.clone());
    let working = Working::start(worker);
    stage.until("all are worked", || working.tally().succeeded == 1_200).await;
    stage.until("a purge was lost", || stage.store.fired() == 1).await;
    stage.until("the next round came", || working.tally().purged > 0).await;
    assert_eq!(working.tally().purged, 700, "the rest waits for another round");
    assert_eq!(told.of("purged"), ["purged default 500", "purged default 200"]);
    assert_eq!((stage.counts("default").total(), stage.store.calls(Verb::Purge)), (0, 3));
    let gone = TaskRef::new("default", "never was");
    assert!(matches!(stage.found(&gone).await, Found::Nothing));
}
