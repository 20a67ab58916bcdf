//! The counters of the feature `metrics`: each one, with its labels.

#![cfg(feature = "metrics")]
#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{
    Configure, Delivery, Draft, Intervention, Keep, Purpose, Retention, RetryPolicy, State, Task,
    TaskRef,
};
use leasehold_worker::{Context, Done, Failure, Worker};
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, LocalRecorderGuard, Metadata, Recorder, SharedString,
    Unit, set_default_local_recorder,
};
use support::working::Working;
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Notify;

const HOUR: Duration = Duration::from_secs(3_600);
const LEASE: Duration = Duration::from_secs(30);

/// Every counter that this thread has touched, as `name{label=value,...}`.
#[derive(Default)]
struct Counters(Mutex<BTreeMap<String, Arc<AtomicU64>>>);

impl Counters {
    fn record(&self) -> LocalRecorderGuard<'_> {
        set_default_local_recorder(self)
    }

    /// `name{label=value,...} count`, in order; all of them, so that none is there unasked.
    fn all(&self) -> Vec<String> {
        let counters = self.0.lock().unwrap();
        let shown = |(name, count): (&String, &Arc<AtomicU64>)| {
            format!("{name} {}", count.load(Ordering::SeqCst))
        };
        counters.iter().map(shown).collect()
    }
}

impl Recorder for Counters {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let labels: Vec<_> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        Counter::from_arc(self.0.lock().unwrap().entry(name).or_default().clone())
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        unreachable!("a worker has no gauge")
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        unreachable!("a worker has no histogram")
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Count;

impl Task for Count {
    const KIND: &'static str = "count";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const RETRY: RetryPolicy = RetryPolicy::NONE;
}

async fn enqueue(stage: &Stage, draft: Draft) -> TaskRef {
    stage.client.enqueue(draft.id("t")).await.expect("it is new").task().clone()
}

fn count() -> Draft {
    Draft::new(&Count)
}

/// How a handler ends.
type End = fn() -> Result<Done, Failure>;

#[tokio::test(start_paused = true)]
async fn a_run_is_counted_by_its_event_and_verdict() {
    let ends: [(End, &str, Option<&str>); 3] = [
        (|| Ok(Done::success()), "succeeded", None),
        (|| Ok(Done::snooze(HOUR)), "snoozed", None),
        (|| Err(Failure::new("no")), "failed", Some("exhausted")),
    ];
    for (end, event, dead) in ends {
        let (stage, counters) = (Stage::new(), Counters::default());
        let _recording = counters.record();
        enqueue(&stage, count()).await;
        let handler = move |_: Count, _: Context| async move { end() };
        let _working = Working::start(Worker::new(&stage.client).handler(handler));
        settle().await;
        let task = "queue=default,kind=count";
        let mut want = vec![format!("leasehold_claimed_total{{{task}}} 1")];
        want.extend(
            dead.map(|why| format!("leasehold_dead_letters_total{{{task},reason={why}}} 1")),
        );
        want.push(format!("leasehold_decided_total{{{task},event={event},verdict=applied}} 1"));
        assert_eq!(counters.all(), want);
    }
}

/// LH-OBS-2: neither the success that did not count nor the dead letter that is none.
#[tokio::test(start_paused = true)]
async fn a_decision_that_did_not_count_is_counted_as_what_it_is() {
    let ends: [(End, &str); 2] =
        [(|| Ok(Done::success()), "succeeded"), (|| Err(Failure::new("no")), "failed")];
    for (end, event) in ends {
        let (stage, counters) = (Stage::new(), Counters::default());
        let _recording = counters.record();
        let (task, go) = (enqueue(&stage, count()).await, Arc::new(Notify::new()));
        let handler = move |_: Count, cx: Context<Arc<Notify>>| async move {
            cx.state().notified().await;
            end()
        };
        let worker = Worker::new(&stage.client).state(go.clone()).handler(handler);
        let working = Working::start(worker);
        settle().await;
        let _ = stage.act(&task, Intervention::Cancel).await;
        go.notify_one();
        stage.until("the verdict came", || working.tally().stale == 1).await;
        let labels = format!("{{queue=default,kind=count,event={event},verdict=stale}}");
        let want = [
            "leasehold_claimed_total{queue=default,kind=count} 1".to_owned(),
            format!("leasehold_decided_total{labels} 1"),
        ];
        assert_eq!(counters.all(), want);
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_success_is_counted_as_one_and_as_late() {
    let (stage, counters) = (Stage::new(), Counters::default());
    let _recording = counters.record();
    let (task, go) = (enqueue(&stage, count()).await, Arc::new(Notify::new()));
    let handler = |_: Count, cx: Context<Arc<Notify>>| async move {
        cx.state().notified().await;
        Ok::<_, Failure>(())
    };
    let _working = Working::start(Worker::new(&stage.client).state(go.clone()).handler(handler));
    settle().await;
    // Another process rescues it, and nobody starts it again.
    let pause = Configure::new("default").pause();
    stage.client.store().configure(pause).await.expect("memory answers");
    stage.pass_in_store(LEASE);
    assert_eq!(stage.rescue("default").await.len(), 1);
    assert_eq!(stage.task(&task).await.state, State::Waiting);
    go.notify_one();
    settle().await;
    assert_eq!(stage.now(&task), None, "it has succeeded and left");
    let want = [
        "leasehold_claimed_total{queue=default,kind=count} 1",
        "leasehold_decided_total{queue=default,kind=count,event=succeeded,verdict=applied} 1",
        "leasehold_late_successes_total{queue=default,kind=count} 1",
    ];
    assert_eq!(counters.all(), want);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_lost_its_lease_and_was_dropped_is_counted() {
    let (stage, counters) = (Stage::new(), Counters::default());
    let _recording = counters.record();
    enqueue(&stage, count()).await;
    let handler = |_: Count, _: Context| std::future::pending::<Result<(), Failure>>();
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    settle().await;
    // Nobody starts it again.
    let pause = Configure::new("default").pause();
    stage.client.store().configure(pause).await.expect("memory answers");
    stage.pass_in_store(LEASE);
    assert_eq!(stage.rescue("default").await.len(), 1);
    stage.until("it is lost", || working.tally().lost == 1).await;
    let want = [
        "leasehold_claimed_total{queue=default,kind=count} 1",
        "leasehold_lost_total{queue=default,kind=count} 1",
    ];
    assert_eq!(counters.all(), want);
}

#[tokio::test(start_paused = true)]
async fn rescues_and_what_they_bury_are_counted_by_their_verdict() {
    let (stage, counters) = (Stage::new(), Counters::default());
    let _recording = counters.record();
    let task = enqueue(&stage, count()).await;
    let handler = |_: Count, _: Context| async { Ok::<_, Failure>(()) };
    let start = || Working::start(Worker::new(&stage.client).handler(handler));
    stage.store.hold(Verb::Run);
    for _ in 0..4 {
        assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
        stage.pass_in_store(LEASE);
        let working = start();
        settle().await;
        working.kill().await;
    }
    assert!(matches!(stage.task(&task).await.state, State::Dead(_)));
    // One that was overtaken: an operator was faster than the rescuer's commit.
    let _ = stage.act(&task, Intervention::Redrive).await;
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    stage.pass_in_store(LEASE);
    stage.store.hold(Verb::Commit);
    let _working = start();
    settle().await;
    let _ = stage.act(&task, Intervention::Bury).await;
    stage.store.release(Verb::Commit);
    settle().await;
    let want = [
        "leasehold_dead_letters_total{queue=default,kind=count,reason=lost} 1",
        "leasehold_rescues_total{queue=default,kind=count,verdict=applied} 4",
        "leasehold_rescues_total{queue=default,kind=count,verdict=stale} 1",
    ];
    assert_eq!(counters.all(), want);
}

#[tokio::test(start_paused = true)]
async fn purged_tasks_and_failed_calls_are_counted() {
    let (stage, counters) = (Stage::new(), Counters::default());
    let _recording = counters.record();
    let keep = Retention::default().with_dead(Keep::For(HOUR));
    let drafts = (0..3).map(|_| count().retention(keep));
    stage.client.enqueue_many(drafts).await.expect("they are new");
    stage.store.fail_next(Verb::Purge, [Fault::LostRequest]);
    stage.store.fail_next(Verb::Rescue, [Fault::LostRequest, Fault::LostRequest]);
    let handler = |_: Count, _: Context| async { Err::<(), _>(Failure::new("no")) };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.pass(Duration::from_secs(61)).await;
    stage.pass_in_store(HOUR);
    stage.until("they are purged", || working.tally().purged == 3).await;
    let all = counters.all();
    let of = |name: &str| -> Vec<_> {
        all.iter().filter(|line| line.starts_with(name)).map(String::as_str).collect()
    };
    assert_eq!(of("leasehold_purged_total"), ["leasehold_purged_total{queue=default} 3"]);
    let failed = [
        "leasehold_loop_errors_total{queue=default,loop=janitor} 1",
        "leasehold_loop_errors_total{queue=default,loop=rescuer} 2",
    ];
    assert_eq!(of("leasehold_loop_errors_total"), failed);
    assert_eq!(stage.store.fired(), 3);
}
