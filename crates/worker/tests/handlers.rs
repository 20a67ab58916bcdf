//! Every end of a handler, and what it leaves in the store: state, due time, budgets, record.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{
    BackendExt, Backoff, DeadReason, Delivery, Draft, Event, Found, Jitter, NewTask, Payload,
    Planted, Purpose, RetryPolicy, State, StoredTask, Task, TaskRef,
};
use leasehold_worker::{Cancelled, Context, Done, Failure, FailureExt, Handler, Worker};
use support::working::{Told, Working, drained, standing};
use support::{Stage, settle};

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(serde::Serialize, serde::Deserialize)]
struct Weigh {
    grams: u64,
}

impl Task for Weigh {
    const KIND: &'static str = "weigh";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const RETRY: RetryPolicy = RetryPolicy::at_most(2)
        .with_backoff(Backoff::Constant { delay: HOUR })
        .with_jitter(Jitter::None);
    const TIMEOUT: Duration = Duration::from_secs(60);
}

fn weigh() -> Draft {
    Draft::new(&Weigh { grams: 17 }).id("t")
}

/// A stage on which a worker has decided about one task once.
struct Once {
    stage: Stage,
    working: Working,
    task: TaskRef,
    told: Told,
}

impl Once {
    async fn of<A>(draft: Draft, handler: impl Handler<(), A>) -> Self {
        let stage = Stage::new();
        let receipt = stage.client.enqueue(draft).await.expect("it is new");
        Self::on(stage, receipt.task().clone(), handler).await
    }

    async fn on<A>(stage: Stage, task: TaskRef, handler: impl Handler<(), A>) -> Self {
        let told = Told::default();
        let worker = Worker::new(&stage.client).handler(handler).observer(told.clone());
        let working = Working::start(worker);
        let once = Self { stage, working, task, told };
        once.decided(1).await;
        once
    }

    /// Waits until the task was decided about so many times in all.
    async fn decided(&self, times: usize) {
        let decided = || self.told.of("decided").len();
        self.stage.until("every run is decided about", || decided() >= times).await;
    }

    /// The task after a decision that counted: it shows the fence of its last run and has moved
    /// past it, and nobody holds it.
    async fn left(&self) -> StoredTask {
        let task = self.stage.task(&self.task).await;
        let shown = task.shown.expect("a commit was applied").fence;
        assert!(shown < task.fence, "the fence has not moved past the one that was shown");
        assert_eq!((task.until, task.run), (None, None), "somebody still holds it");
        let record = task.history.records.last().expect("a commit leaves a record");
        assert_eq!((record.fence, record.attempt), (shown.value(), task.attempt));
        task
    }

    /// Asserts that nobody can claim the task before `due` and its worker runs it then.
    async fn returns_at_its_due_time(&self) {
        let due = self.stage.task(&self.task).await.due;
        let left = due.since(self.stage.clock.now()) - Duration::from_millis(1);
        self.stage.pass_in_store(left);
        assert_eq!(self.stage.claim("default", Purpose::Run).await, []);
        self.stage.pass_in_store(Duration::from_millis(1));
        self.decided(2).await;
        assert_eq!(self.stage.task(&self.task).await.attempt, 2);
    }
}

fn last(task: &StoredTask) -> (Event, &str) {
    let record = task.history.records.last().expect("a commit leaves a record");
    (record.event, &record.message)
}

#[tokio::test(start_paused = true)]
async fn a_success_leaves_nothing_but_its_memory() {
    let fence = Arc::new(Mutex::new(None));
    let sees = fence.clone();
    let once = Once::of(weigh(), move |task: Weigh, cx: Context| {
        *sees.lock().unwrap() = Some(cx.fence());
        async move { if task.grams == 17 { Ok(()) } else { Err("another weight".into()) } }
    })
    .await;
    let Found::Left(left) = once.stage.found(&once.task).await else { panic!("it has not left") };
    assert_eq!((left.state, Some(left.shown.fence)), (State::Succeeded, *fence.lock().unwrap()));
    assert_eq!(once.told.lines(), ["claimed t", "decided t succeeded: applied"]);
    let tally = once.working.tally();
    assert_eq!((tally.claimed, tally.succeeded), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_result_is_kept_with_the_task_and_read_back() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Weight {
        grams: u64,
    }
    let weighs =
        |task: Weigh, _: Context| async move { Ok::<_, Failure>(Weight { grams: task.grams + 1 }) };
    let once = Once::of(weigh().keep_success(HOUR), weighs).await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Succeeded, 1, 0, 0));
    assert_eq!(task.result_as::<Weight>().expect("it is one"), Some(Weight { grams: 18 }));
    assert_eq!(last(&task), (Event::Succeeded, ""));
    task.result_as::<u64>().expect_err("it is no number");
}

#[tokio::test(start_paused = true)]
async fn a_done_may_bring_a_result_or_none() {
    let with = |_: Weigh, _: Context| async { Done::result(&"seventeen") };
    let once = Once::of(weigh().keep_success(HOUR), with).await;
    let result = once.left().await.result_as::<String>().expect("it is text");
    assert_eq!(result.as_deref(), Some("seventeen"));

    let without = |_: Weigh, _: Context| async { Ok(Done::success()) };
    let once = Once::of(weigh().keep_success(HOUR), without).await;
    let task = once.left().await;
    assert_eq!((task.state, task.result), (State::Succeeded, None));
}

/// Retries would not make it smaller, and the work is done: only a person can help.
#[tokio::test(start_paused = true)]
async fn a_result_beyond_the_stores_bound_buries_and_says_why() {
    let value = |_: Weigh, _: Context| async { Ok::<_, Failure>("x".repeat(1 << 20)) };
    let done = |_: Weigh, _: Context| async { Done::result(&"x".repeat(1 << 20)) };
    for once in [Once::of(weigh(), value).await, Once::of(weigh(), done).await] {
        let task = once.left().await;
        assert_eq!(standing(&task), (State::Dead(DeadReason::Rejected), 1, 0, 0));
        let words = "the result's size in bytes is 1048578, more than 1048576";
        assert_eq!(last(&task), (Event::Rejected, words));
        assert_eq!(task.payload, Payload::from(r#"{"grams":17}"#));
        assert_eq!(once.working.tally().buried, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_snooze_spends_no_budget_and_returns_when_it_said() {
    let later = |_: Weigh, _: Context| async { Ok(Done::snooze(HOUR * 2)) };
    let once = Once::of(weigh(), later).await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Waiting, 1, 0, 0));
    assert_eq!(last(&task), (Event::Snoozed, ""));
    assert_eq!(task.due, task.history.records[0].at.after(HOUR * 2));
    once.returns_at_its_due_time().await;
    assert_eq!(standing(&once.left().await), (State::Waiting, 2, 0, 0));
    assert_eq!(once.working.tally().snoozed, 2);
}

#[tokio::test(start_paused = true)]
async fn a_handler_calls_its_task_off_and_says_why() {
    let off = |_: Weigh, _: Context| async { Ok(Done::cancel("the order was withdrawn")) };
    let once = Once::of(weigh(), off).await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Cancelled, 1, 0, 0));
    assert_eq!(last(&task), (Event::Cancelled, "the order was withdrawn"));
    assert_eq!(once.working.tally().cancelled, 1);
}

// LH-RETRY-1
#[tokio::test(start_paused = true)]
async fn any_error_is_retried_after_the_policys_delay_and_not_before() {
    let once = Once::of(weigh(), |_: Weigh, _: Context| async {
        let grams: u64 = "heavy".parse()?;
        Ok(grams)
    })
    .await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Waiting, 1, 1, 0));
    assert_eq!(last(&task), (Event::Failed, "invalid digit found in string"));
    assert_eq!(task.due, task.history.records[0].at.after(HOUR));
    assert_eq!(once.working.tally().failed, 1);
    once.returns_at_its_due_time().await;
    assert_eq!(standing(&once.left().await), (State::Waiting, 2, 2, 0));
}

// LH-RETRY-3
#[tokio::test(start_paused = true)]
async fn a_fatal_failure_buries_and_leaves_the_budget_as_it_is() {
    let once = Once::of(weigh(), |_: Weigh, cx: Context| async move {
        let failed: Result<(), _> = Err(Failure::new("no such scales"));
        if cx.attempt() == 1 { failed } else { failed.fatal() }
    })
    .await;
    once.returns_at_its_due_time().await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Dead(DeadReason::Rejected), 2, 1, 0));
    assert_eq!(last(&task), (Event::Rejected, "no such scales"));
    assert_eq!((once.working.tally().failed, once.working.tally().buried), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failure_may_name_its_own_delay_within_the_same_budget() {
    let once = Once::of(weigh(), |_: Weigh, _: Context| async {
        Err::<(), _>(Failure::new("busy").retry_after(Duration::from_secs(90)))
    })
    .await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Waiting, 1, 1, 0));
    assert_eq!(task.due, task.history.records[0].at.after(Duration::from_secs(90)));
    once.returns_at_its_due_time().await;
    assert_eq!(standing(&once.left().await), (State::Waiting, 2, 2, 0));
}

// LH-RETRY-2
#[tokio::test(start_paused = true)]
async fn retries_run_out_and_the_last_failure_buries() {
    let once = Once::of(weigh(), |_: Weigh, cx: Context| async move {
        assert_eq!(cx.retries_left(), 3 - cx.attempt());
        Err::<(), _>(Failure::new(format!("failure {}", cx.attempt())))
    })
    .await;
    for times in 2..=3 {
        once.stage.pass_in_store(HOUR);
        once.decided(times).await;
    }
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Dead(DeadReason::Exhausted), 3, 2, 0));
    let words: Vec<_> = task.history.records.iter().map(|r| r.message.as_str()).collect();
    assert_eq!(words, ["failure 1", "failure 2", "failure 3"]);
    assert_eq!(task.payload, Payload::from(r#"{"grams":17}"#));
    let tally = once.working.tally();
    assert_eq!((tally.claimed, tally.failed, tally.buried), (3, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_in_its_own_words_wherever_it_comes() {
    async fn after_an_await(_: Weigh, _: Context) -> Result<(), Failure> {
        settle().await;
        panic!("the scales broke")
    }
    let in_the_call = |task: Weigh, _: Context| {
        assert!(task.grams > 17, "{} g is too little", task.grams);
        std::future::ready(Ok::<_, Failure>(()))
    };
    let without_words = |_: Weigh, _: Context| async {
        std::panic::panic_any(17);
        #[allow(unreachable_code, reason = "tells what it would return")]
        Ok::<_, Failure>(())
    };
    let all = [
        (Once::of(weigh(), after_an_await).await, "the scales broke"),
        (Once::of(weigh(), in_the_call).await, "17 g is too little"),
        (Once::of(weigh(), without_words).await, "a panic without words"),
    ];
    for (once, words) in all {
        let task = once.left().await;
        assert_eq!(standing(&task), (State::Waiting, 1, 1, 0));
        assert_eq!(last(&task), (Event::Panicked, words));
        assert_eq!(task.due, task.history.records[0].at.after(HOUR));
        assert!(once.working.works(), "a handler's panic ended the worker");
        assert_eq!(once.working.tally().failed, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_over_its_time_is_dropped_and_retried() {
    struct Dropped(Arc<AtomicU32>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicU32::new(0));
    let count = dropped.clone();
    let begin = Stage::new().clock.now();
    let once = Once::of(weigh(), move |_: Weigh, _: Context| {
        let held = Dropped(count.clone());
        async move {
            std::future::pending::<()>().await;
            drop(held);
            Ok::<_, Failure>(())
        }
    })
    .await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Waiting, 1, 1, 0));
    assert_eq!(last(&task), (Event::TimedOut, "the handler ran over its time"));
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    let took = task.history.records[0].at.since(begin);
    assert!((60..=66).contains(&took.as_secs()), "it was cut off after {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_handler_over_its_time_may_still_say_how_it_ends() {
    async fn heeds(cx: &Context) {
        assert_eq!(cx.cancelled().await, Cancelled::TimedOut);
    }
    let succeeds = |_: Weigh, cx: Context| async move {
        heeds(&cx).await;
        Ok::<_, Failure>(())
    };
    let fails = |_: Weigh, cx: Context| async move {
        heeds(&cx).await;
        Err::<(), _>(Failure::new("interrupted"))
    };
    let refuses = |_: Weigh, cx: Context| async move {
        heeds(&cx).await;
        Err::<(), _>(Failure::new("will never be quick enough").fatal())
    };
    let keep = || weigh().keep_success(HOUR);
    let all = [
        (Once::of(keep(), succeeds).await, State::Succeeded, Event::Succeeded, 0),
        (Once::of(keep(), fails).await, State::Waiting, Event::TimedOut, 1),
        (Once::of(keep(), refuses).await, State::Dead(DeadReason::Rejected), Event::Rejected, 0),
    ];
    for (once, state, event, failures) in all {
        let task = once.left().await;
        assert_eq!((standing(&task), last(&task).0), ((state, 1, failures, 0), event));
    }
}

async fn never(_: Weigh, _: Context) -> Result<(), Failure> {
    panic!("the handler was entered")
}

#[tokio::test(start_paused = true)]
async fn a_payload_that_cannot_be_read_is_buried_whole_and_unquoted() {
    for raw in [r#"{"grams":"my secret"}"#, "my secret", r#"{"my secret":17}"#, ""] {
        let stage = Stage::new();
        let new = NewTask::named("t", "weigh", raw.to_owned(), Delivery::at_least_once());
        let _ = stage.store.enqueue_one("default", new).await.expect("a store looks at no payload");
        let once = Once::on(stage, TaskRef::new("default", "t"), never).await;
        let task = once.left().await;
        assert_eq!(standing(&task), (State::Dead(DeadReason::Undecodable), 1, 0, 0));
        let (event, words) = last(&task);
        assert_eq!(event, Event::Undecodable);
        assert!(words.starts_with("the payload of kind \"weigh\": "), "{words}");
        assert!(!words.contains("secret"), "{words}");
        assert_eq!(task.payload, Payload::from(raw));
        assert_eq!(once.working.tally().buried, 1);
    }
}

// LH-CLAIM-11
#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_read_is_buried_with_its_raw_bytes() {
    let stage = Stage::new();
    let receipt = stage.client.enqueue(weigh()).await.expect("it is new");
    let raw = Payload::from(vec![0xff, 0, 1]);
    assert!(stage.store.memory().plant(receipt.task(), Planted::Broken(raw.clone())));
    let once = Once::on(stage, receipt.task().clone(), never).await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Dead(DeadReason::Corrupt), 1, 0, 0));
    assert_eq!((last(&task).0, task.corrupt), (Event::Corrupt, Some(raw)));
    assert_eq!(once.stage.store.memory().residue(), [""; 0]);
    assert_eq!(once.working.tally().buried, 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_knows_what_it_is() {
    let stage = Stage::new();
    let draft = weigh().header("trace", "abc").retry(RetryPolicy::at_most(5));
    let receipt = stage.client.enqueue(draft).await.expect("it is new");
    let enqueued_at = stage.clock.now();
    // A lapse and a failure before this run: each has its own budget.
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    stage.pass_in_store(Duration::from_secs(31));
    assert_eq!(stage.rescue("default").await.len(), 1);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = seen.clone();
    let once = Once::on(stage, receipt.task().clone(), move |_: Weigh, cx: Context| {
        let facts = (cx.attempt(), cx.retries_left(), cx.rescues_left(), cx.time_left());
        sees.lock().unwrap().push(facts);
        assert_eq!((cx.task().id.as_str(), cx.headers().get("trace")), ("t", Some("abc")));
        assert_eq!((cx.enqueued_at(), cx.why_cancelled()), (enqueued_at, None));
        async { Err::<(), _>(Failure::new("not yet").retry_after(Duration::ZERO)) }
    })
    .await;
    once.decided(2).await;
    let minute = Duration::from_secs(60);
    assert_eq!(seen.lock().unwrap()[..2], [(2, 5, 2, minute), (3, 4, 2, minute)]);
}

#[tokio::test(start_paused = true)]
async fn an_at_most_once_task_has_one_run_and_knows_it() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Charge;
    impl Task for Charge {
        const KIND: &'static str = "charge";
        const DELIVERY: Delivery = Delivery::AtMostOnce;
        const ACCEPT_LOSS: bool = true;
    }
    let fails = |_: Charge, cx: Context| async move {
        assert_eq!((cx.retries_left(), cx.rescues_left()), (0, 0));
        Err::<(), _>(Failure::new("declined"))
    };
    let snoozes = |_: Charge, _: Context| async { Ok(Done::snooze(HOUR)) };
    let draft = || Draft::new(&Charge).id("t");
    let once = Once::of(draft(), fails).await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Dead(DeadReason::Exhausted), 1, 0, 0));
    assert_eq!(last(&task), (Event::Failed, "declined"));
    let once = Once::of(draft(), snoozes).await;
    let task = once.left().await;
    assert_eq!(standing(&task), (State::Dead(DeadReason::Rejected), 1, 0, 0));
    assert_eq!(last(&task).0, Event::Snoozed);
}

#[tokio::test(start_paused = true)]
async fn the_state_is_one_for_all_runs_and_each_handler_has_its_own() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Count;
    impl Task for Count {
        const KIND: &'static str = "count";
        const DELIVERY: Delivery = Delivery::at_least_once();
    }
    let stage = Stage::new();
    stage.client.enqueue_many((0..5).map(|grams| Weigh { grams })).await.expect("they are new");
    stage.client.enqueue(Count).await.expect("it is new");
    let (sum, words) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(String::new())));
    let worker = Worker::new(&stage.client)
        .state(sum.clone())
        .handler(|_: Weigh, cx: Context<Arc<AtomicU32>>| async move {
            cx.clone().state().fetch_add(1, Ordering::SeqCst);
            Ok::<_, Failure>(())
        })
        .state(words.clone())
        .handler(|_: Count, cx: Context<Arc<Mutex<String>>>| async move {
            cx.state().lock().unwrap().push_str("counted");
            Ok::<_, Failure>(())
        });
    let report = drained(worker).await;
    assert_eq!((report.tally.claimed, report.tally.succeeded), (6, 6));
    assert_eq!((sum.load(Ordering::SeqCst), words.lock().unwrap().as_str()), (5, "counted"));
}
