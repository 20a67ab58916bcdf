//! A worker that ends with its work: what it takes for the end, and what else ends it.

mod support;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{Delivery, Draft, Error, State, Task};
use leasehold_worker::{Context, Failure, Phase, Report, Worker};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Notify;

#[derive(serde::Serialize, serde::Deserialize)]
struct Step;

impl Task for Step {
    const KIND: &'static str = "step";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

async fn step(_: Step, _: Context) -> Result<(), Failure> {
    Ok(())
}

/// What a worker reports that has to end within an hour of the paused clock.
async fn ended(work: impl Future<Output = Result<Report, Error>>) -> Report {
    let hour = Duration::from_secs(60 * 60);
    tokio::time::timeout(hour, work).await.expect("it hangs").expect("it starts")
}

const LATER: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn it_stops_when_no_unfinished_task_is_left_or_when_it_is_told() {
    let stage = Stage::new();
    let scheduled = stage.client.enqueue(Draft::new(&Step).delay(LATER)).await.expect("new");
    let worker = || Worker::new(&stage.client).handler(step);

    let report = ended(worker().drain_until(settle())).await;
    assert!(!report.drained, "a task that is due later is unfinished");
    assert_eq!(stage.task(scheduled.task()).await.state, State::Waiting);

    stage.pass_in_store(LATER);
    let report = ended(worker().drain_until(pending())).await;
    assert_eq!((report.drained, report.phase, report.tally.succeeded), (true, Phase::Stopped, 1));
}

async fn step_when_told(_: Step, cx: Context<Arc<Notify>>) -> Result<(), Failure> {
    cx.state().notified().await;
    Ok(())
}

/// Between two runs nothing is held, but to count then would cost a call for each of them.
#[tokio::test(start_paused = true)]
async fn tasks_are_not_counted_while_a_claim_may_bring_more() {
    let (stage, go) = (Stage::new(), Arc::new(Notify::new()));
    stage.client.enqueue_many([Step, Step]).await.expect("they are new");
    let worker = Worker::new(&stage.client).state(go.clone()).handler(step_when_told);
    let working = tokio::spawn(worker.concurrency(1).drain_until(pending()));
    stage.store.reached(Verb::Run, 1).await;
    settle().await;
    let counted = stage.store.calls(Verb::Counts);

    stage.store.fail_next(Verb::Run, [Fault::HeldReply]);
    go.notify_one();
    stage.store.at_gate().await;
    settle().await;
    assert_eq!((stage.store.calls(Verb::Run), stage.store.calls(Verb::Commit)), (2, 1));
    assert_eq!(stage.store.calls(Verb::Counts), counted);

    stage.store.open_gate();
    go.notify_one();
    let report = ended(async { working.await.expect("no panic") }).await;
    assert_eq!((report.drained, report.tally.succeeded), (true, 2));
}
