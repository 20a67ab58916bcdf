//! What a run stores on its way, and who finds it.

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{
    Delivery, Draft, Event, Intervention, LostReason, Payload, RetryPolicy, State, Task, TaskRef,
};
use leasehold_worker::{Cancelled, Context, Done, Failure, Loss, Worker};
use support::working::{Told, Working, standing};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Notify;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(serde::Serialize, serde::Deserialize)]
struct Copy;

impl Task for Copy {
    const KIND: &'static str = "copy";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const RETRY: RetryPolicy = RetryPolicy::at_most(5);
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Copied {
    files: u32,
}

async fn copy(stage: &Stage) -> TaskRef {
    let draft = Draft::new(&Copy).id("t").keep_success(MINUTE * 60);
    stage.client.enqueue(draft).await.expect("it is new").task().clone()
}

/// What the runs of one test found, and a sign of life of each.
#[derive(Default)]
struct Seen {
    found: Mutex<Vec<Option<Copied>>>,
    stored: Notify,
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_outlives_a_failure_a_snooze_and_a_panic() {
    let stage = Stage::new();
    let task = copy(&stage).await;
    let seen = Arc::new(Seen::default());
    let handler = |_: Copy, cx: Context<Arc<Seen>>| async move {
        let last = cx.last_checkpoint()?;
        cx.state().found.lock().unwrap().push(last);
        match cx.attempt() {
            1 => {
                cx.checkpoint(&Copied { files: 1 }).await?;
                cx.checkpoint(&Copied { files: 2 }).await?;
                Err(Failure::new("the disk is away").retry_after(Duration::ZERO))
            }
            // A run that stores nothing leaves the last one as it is.
            2 => Ok(Done::snooze(Duration::ZERO)),
            3 => {
                cx.checkpoint(&Copied { files: 3 }).await?;
                panic!("staged")
            }
            _ => Ok(Done::success()),
        }
    };
    let worker = Worker::new(&stage.client).state(seen.clone()).handler(handler);
    let _working = Working::start(worker);
    let done = stage.until_it_is(&task, State::Succeeded).await;
    let files = |files| Some(Copied { files });
    assert_eq!(*seen.found.lock().unwrap(), [None, files(2), files(2), files(3)]);
    assert_eq!(standing(&done), (State::Succeeded, 4, 2, 0));
    assert_eq!(done.note, Some(Payload::from(r#"{"files":3}"#)));
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_outlives_a_lost_worker() {
    let stage = Stage::new();
    let task = copy(&stage).await;
    let seen = Arc::new(Seen::default());
    let handler = |_: Copy, cx: Context<Arc<Seen>>| async move {
        let last = cx.last_checkpoint()?;
        cx.state().found.lock().unwrap().push(last);
        if cx.attempt() == 1 {
            cx.checkpoint(&Copied { files: 7 }).await?;
            cx.state().stored.notify_one();
            std::future::pending::<()>().await;
        }
        Ok::<_, Failure>(())
    };
    let worker = || Worker::new(&stage.client).state(seen.clone()).handler(handler);
    let first = Working::start(worker());
    seen.stored.notified().await;
    first.kill().await;
    let _second = Working::start(worker());
    let done = stage.until_it_is(&task, State::Succeeded).await;
    assert_eq!(*seen.found.lock().unwrap(), [None, Some(Copied { files: 7 })]);
    assert_eq!(standing(&done), (State::Succeeded, 2, 0, 1));
}

// LH-RENEW-9
#[tokio::test(start_paused = true)]
async fn a_checkpoint_renews_the_lease_by_itself() {
    let stage = Stage::new();
    let task = copy(&stage).await;
    let (seen, go) = (Arc::new(Seen::default()), Arc::new(Notify::new()));
    let goes = go.clone();
    let handler = move |_: Copy, cx: Context<Arc<Seen>>| {
        let goes = goes.clone();
        async move {
            goes.notified().await;
            cx.checkpoint(&Copied { files: 1 }).await?;
            cx.state().stored.notify_one();
            goes.notified().await;
            match cx.why_cancelled() {
                None => Ok(()),
                Some(why) => Err(Failure::new(format!("it was cancelled: {why:?}"))),
            }
        }
    };
    let worker = Worker::new(&stage.client).state(seen.clone()).handler(handler);
    let working = Working::start(worker);
    settle().await;
    let ends = stage.task(&task).await.until.expect("it is leased");
    stage.pass(Duration::from_secs(5)).await;
    go.notify_one();
    seen.stored.notified().await;
    let leased = stage.task(&task).await;
    assert_eq!(leased.until, Some(ends.after(Duration::from_secs(5))));
    // From here on no renew is answered: what the checkpoint gave is all that there is, 30 s
    // less the sixth that a cancelled handler has to end.
    stage.store.take_down(Verb::Renew, Fault::LostRequest);
    stage.pass(Duration::from_secs(24)).await;
    assert_eq!(working.health.report().running, 1);
    go.notify_one();
    settle().await;
    let done = stage.task(&task).await;
    assert_eq!(standing(&done), (State::Succeeded, 1, 0, 0));
    assert!(stage.store.fired() > 0, "no renew was lost");
}

/// A handler that stores at the test's word, and fails as its checkpoint does.
async fn stores(_: Copy, cx: Context<Arc<Notify>>) -> Result<(), Failure> {
    cx.state().notified().await;
    let stored = cx.checkpoint(&Copied { files: 9 }).await;
    if stored.is_err() {
        let why = cx.cancelled().await;
        assert!(matches!(why, Cancelled::Lost(Loss::Told(LostReason::Taken(_)))), "{why:?}");
    }
    stored
}

/// LH-RENEW-2, LH-LATE-2: the failure that the handler makes of it changes nothing.
#[tokio::test(start_paused = true)]
async fn a_checkpoint_on_a_lost_lease_stores_nothing_and_cancels_the_run() {
    let stage = Stage::new();
    let task = copy(&stage).await;
    let (go, told) = (Arc::new(Notify::new()), Told::default());
    let worker = Worker::new(&stage.client).state(go.clone()).handler(stores);
    let working = Working::start(worker.observer(told.clone()));
    settle().await;
    stage.pass_in_store(Duration::from_secs(31));
    assert_eq!(stage.rescue("default").await.len(), 1);
    let put_back = stage.task(&task).await;
    // Nobody starts it again in this test.
    stage.store.take_down(Verb::Run, Fault::LostRequest);
    go.notify_one();
    settle().await;
    settle().await;
    assert_eq!(told.of("decided"), ["decided t failed: stale"]);
    assert_eq!(stage.task(&task).await, put_back);
    assert_eq!(standing(&put_back), (State::Waiting, 1, 0, 1));
    assert_eq!((put_back.note, working.tally().stale), (None, 1));
    assert_eq!(working.health.report().running, 0);
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_after_an_operators_cancel_says_so() {
    let stage = Stage::new();
    let task = copy(&stage).await;
    let words = Arc::new(Mutex::new(None));
    let go = Arc::new(Notify::new());
    let (goes, says) = (go.clone(), words.clone());
    let handler = move |_: Copy, cx: Context| {
        let (goes, says) = (goes.clone(), says.clone());
        async move {
            goes.notified().await;
            let stored = cx.checkpoint(&Copied { files: 9 }).await;
            *says.lock().unwrap() = stored.as_ref().err().map(|f| f.message().to_owned());
            stored
        }
    };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    settle().await;
    let _ = stage.act(&task, Intervention::Cancel).await;
    let cancelled = stage.task(&task).await;
    go.notify_one();
    stage.until("the verdict came", || working.tally().stale == 1).await;
    assert_eq!(words.lock().unwrap().as_deref(), Some("the lease is lost: Cancelled"));
    assert_eq!(stage.task(&task).await, cancelled);
    assert_eq!(standing(&cancelled), (State::Cancelled, 1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_without_an_answer_fails_and_the_run_may_go_on() {
    let stage = Stage::new();
    let task = copy(&stage).await;
    let go = Arc::new(Notify::new());
    let handler = |_: Copy, cx: Context<Arc<Notify>>| async move {
        cx.state().notified().await;
        let failed = cx.checkpoint(&Copied { files: 1 }).await;
        let failed = failed.expect_err("its reply was lost");
        settle().await;
        assert_eq!((failed.message(), cx.why_cancelled()), ("staged", None));
        // As it had been stored, the same or another one is welcome.
        cx.checkpoint(&Copied { files: 2 }).await
    };
    let worker = Worker::new(&stage.client).state(go.clone()).handler(handler);
    let _working = Working::start(worker);
    settle().await;
    stage.store.fail_next(Verb::Renew, [Fault::LostReply]);
    go.notify_one();
    let done = stage.until_it_is(&task, State::Succeeded).await;
    assert_eq!(stage.store.fired(), 1);
    assert_eq!(standing(&done), (State::Succeeded, 1, 0, 0));
    assert_eq!(done.note, Some(Payload::from(r#"{"files":2}"#)));
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_too_large_or_of_another_type_is_a_failure_like_any_other() {
    let stage = Stage::new();
    let task = copy(&stage).await;
    let handler = |_: Copy, cx: Context| async move {
        match cx.attempt() {
            1 => cx.checkpoint(&"x".repeat(64 << 10)).await,
            2 => {
                cx.checkpoint(&"a secret").await?;
                Err(Failure::new("again").retry_after(Duration::ZERO))
            }
            _ => cx.last_checkpoint::<Copied>().map(drop),
        }
        .map_err(|failure| failure.retry_after(Duration::ZERO))
    };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.until("three runs failed", || working.tally().failed >= 3).await;
    let task = stage.task(&task).await;
    let records = &task.history.records;
    assert!(records.iter().all(|record| record.event == Event::Failed));
    let words: Vec<_> = records.iter().map(|record| record.message.as_str()).collect();
    assert_eq!(words[0], "the note's size in bytes is 65538, more than 65536");
    assert!(words[2].starts_with("the checkpoint: "), "{}", words[2]);
    assert!(!words[2].contains("secret"), "{}", words[2]);
    assert_eq!(task.note, Some(Payload::from(r#""a secret""#)));
}
