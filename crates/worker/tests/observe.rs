//! What observers and `Debug` say: the truth, after the verdict, and no content.

#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{
    BackendExt, Backoff, Client, Delivery, Draft, Intervention, Jitter, MemoryBackend, Purpose,
    RetryPolicy, State, Task, TaskRef,
};
use leasehold_worker::{Context, Done, Failure, Notice, Observer, Verdict, Worker};
use support::working::{Told, Working, at_once, drained, standing};
use support::{Fault, Stage, Staged, Verb, settle};
use tokio::sync::Notify;

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(serde::Serialize, serde::Deserialize)]
struct Letter {
    text: String,
}

impl Task for Letter {
    const KIND: &'static str = "letter";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const RETRY: RetryPolicy = RetryPolicy::at_most(1)
        .with_backoff(Backoff::Constant { delay: Duration::from_secs(1) })
        .with_jitter(Jitter::None);
}

const SECRET: &str = "the launch code";

fn letter() -> Draft {
    Draft::new(&Letter { text: SECRET.to_owned() }).id("t").header("trace", SECRET)
}

async fn enqueue(stage: &Stage, draft: Draft) -> TaskRef {
    stage.client.enqueue(draft).await.expect("it is new").task().clone()
}

/// Looks into the store at the very moment when it is told of something.
struct Looks {
    store: Arc<Staged>,
    saw: Arc<Mutex<Vec<String>>>,
}

impl Observer for Looks {
    fn notice(&self, notice: &Notice<'_>) {
        let (lease, what) = match notice {
            Notice::Claimed { lease } => (lease, "claimed".to_owned()),
            Notice::Decided { lease, change, verdict } => {
                (lease, format!("{} {}", change.event, verdict.counts()))
            }
            Notice::Rescued { lease, change, verdict } => {
                (lease, format!("{} {}", change.event, verdict.counts()))
            }
            _ => return,
        };
        let task = at_once(self.store.memory().task(&lease.task_ref));
        let task = task.expect("memory answers").expect("it is kept");
        let shown = task.shown.is_some_and(|shown| shown.fence == lease.fence);
        let (state, attempt, failures, rescues) = standing(&task);
        let now = format!("{what}: {state} {attempt} {failures} {rescues} {shown}");
        self.saw.lock().unwrap().push(now);
    }
}

// LH-OBS-2
#[tokio::test(start_paused = true)]
async fn observers_are_told_when_the_store_shows_it_already() {
    let stage = Stage::new();
    let saw = Arc::new(Mutex::new(Vec::new()));
    let task = enqueue(&stage, letter().keep_success(HOUR)).await;
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    stage.pass_in_store(Duration::from_secs(30));
    let fails_once = |_: Letter, cx: Context| async move {
        if cx.attempt() == 2 { Err(Failure::new("no stamp")) } else { Ok(()) }
    };
    let looks = Looks { store: stage.store.clone(), saw: saw.clone() };
    let _working = Working::start(Worker::new(&stage.client).handler(fails_once).observer(looks));
    stage.until_it_is(&task, State::Succeeded).await;
    settle().await;
    let want = [
        "lapsed true: waiting 1 0 1 true",
        "claimed: leased_run 2 0 1 false",
        "failed true: waiting 2 1 1 true",
        "claimed: leased_run 3 1 1 false",
        "succeeded true: succeeded 3 1 1 true",
    ];
    assert_eq!(*saw.lock().unwrap(), want);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_of_a_decision_while_it_has_no_verdict() {
    let (stage, told) = (Stage::new(), Told::default());
    let task = enqueue(&stage, letter().keep_success(HOUR)).await;
    stage.store.hold(Verb::Commit);
    let done = |_: Letter, _: Context| async { Ok::<_, Failure>(()) };
    let working = Working::start(Worker::new(&stage.client).handler(done).observer(told.clone()));
    stage.store.reached(Verb::Commit, 1).await;
    stage.pass(Duration::from_secs(5)).await;
    assert_eq!(told.lines(), ["claimed t"]);
    assert_eq!(working.tally().succeeded, 0);
    stage.store.release(Verb::Commit);
    stage.until_it_is(&task, State::Succeeded).await;
    settle().await;
    assert_eq!((told.of("decided").len(), working.tally().succeeded), (1, 1));
}

/// A run whose success comes after an operator's act.
async fn stale(stage: &Stage, act: Intervention) -> (Told, Working) {
    let (go, told) = (Arc::new(Notify::new()), Told::default());
    let task = enqueue(stage, letter().keep_success(HOUR)).await;
    let waits = |_: Letter, cx: Context<Arc<Notify>>| async move {
        cx.state().notified().await;
        Ok::<_, Failure>(())
    };
    let worker = Worker::new(&stage.client).state(go.clone()).handler(waits);
    let working = Working::start(worker.observer(told.clone()));
    settle().await;
    let _ = stage.act(&task, act).await;
    go.notify_one();
    stage.until("the verdict came", || !told.of("decided").is_empty()).await;
    (told, working)
}

#[tokio::test(start_paused = true)]
async fn a_success_that_did_not_count_is_never_told_as_one() {
    let acts = [
        (Intervention::Cancel, State::Cancelled),
        (Intervention::Bury, { State::Dead(leasehold_core::DeadReason::Operator) }),
    ];
    for (act, state) in acts {
        let stage = Stage::new();
        let (told, working) = stale(&stage, act).await;
        assert_eq!(told.of("decided"), ["decided t succeeded: stale"]);
        let tally = working.tally();
        assert_eq!((tally.stale, tally.succeeded, tally.late, tally.buried), (1, 0, 0, 0));
        let task = stage.task(&TaskRef::new("default", "t")).await;
        assert_eq!(standing(&task), (state, 1, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn only_an_applied_decision_counts() {
    use leasehold_core::{Error, Fence};
    let (shown, now) = (Fence::new(3), Fence::new(5));
    assert!(Verdict::Applied { overdue: true, late: true }.counts());
    for verdict in [
        Verdict::Stale { shown, now },
        Verdict::Unknown { shown, now: Some(now) },
        Verdict::Gone,
        Verdict::Refused(Error::invalid("staged")),
        Verdict::Unanswered,
    ] {
        assert!(!verdict.counts(), "{verdict:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_harms_nothing() {
    struct Panics;
    impl Observer for Panics {
        fn notice(&self, notice: &Notice<'_>) {
            panic!("staged: {notice:?}")
        }
    }
    let (stage, told) = (Stage::new(), Told::default());
    let task = enqueue(&stage, letter().keep_success(HOUR)).await;
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    stage.pass_in_store(Duration::from_secs(30));
    stage.store.fail_next(Verb::Rescue, [Fault::LostRequest]);
    let done = |_: Letter, _: Context| async { Ok::<_, Failure>(()) };
    let worker = Worker::new(&stage.client).handler(done);
    let working = Working::start(worker.observer(Panics).observer(told.clone()));
    let task = stage.until_it_is(&task, State::Succeeded).await;
    settle().await;
    assert_eq!(standing(&task), (State::Succeeded, 2, 0, 1));
    let want = [
        "failing rescuer 1",
        "recovered rescuer 1",
        "rescued t lapsed: applied",
        "claimed t",
        "decided t succeeded: applied",
    ];
    assert_eq!(told.lines(), want);
    assert!(working.works() && working.health.is_well());
    let errors: u64 = working.health.report().loops.iter().map(|it| it.errors).sum();
    assert_eq!(errors, 1, "an observer's panic was taken for a loop's");
}

#[tokio::test(start_paused = true)]
async fn debug_shows_no_content() {
    let client = Client::new(Arc::new(MemoryBackend::new()));
    let mut shown = vec![format!("{:?}", letter())];
    let enqueueing = client.enqueue(letter());
    shown.push(format!("{enqueueing:?}"));
    enqueueing.await.expect("it is new");
    shown.push(format!("{client:?}"));
    shown.push(format!("{:?}", client.look(&TaskRef::new("default", "t")).await));
    let contexts = Arc::new(Mutex::new(Vec::new()));
    let notes = contexts.clone();
    struct Debugs(Arc<Mutex<Vec<String>>>);
    impl Observer for Debugs {
        fn notice(&self, notice: &Notice<'_>) {
            self.0.lock().unwrap().push(format!("{notice:?}"));
        }
    }
    let handler = move |task: Letter, cx: Context| {
        let done = Done::result(&task.text);
        notes.lock().unwrap().push(format!("{cx:?} {:?} {done:?}", cx.client()));
        async { done }
    };
    let worker = Worker::new(&client).handler(handler).observer(Debugs(contexts.clone()));
    drained(worker).await;
    // The claim with its lease, the context, and the decision with lease and result.
    assert_eq!(contexts.lock().unwrap().len(), 3);
    shown.extend(contexts.lock().unwrap().iter().cloned());
    for text in shown {
        let bytes = SECRET.as_bytes()[..4].iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
        assert!(!text.contains(SECRET) && !text.contains(&bytes), "{text}");
    }
}
