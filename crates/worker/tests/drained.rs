//! A worker that ends with its work: what it takes for the end, and what else ends it.

mod support;

use std::future::pending;
use std::time::Duration;

use leasehold_core::{Delivery, Draft, Error, State, Task};
use leasehold_worker::{Context, Failure, Phase, Report, Worker};
use support::{Stage, Verb, settle};

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

#[tokio::test(start_paused = true)]
async fn tasks_are_not_counted_while_there_is_something_to_claim() {
    const TASKS: usize = 100;
    let stage = Stage::new();
    stage.client.enqueue_many((0..TASKS).map(|_| Step)).await.expect("they are new");
    let worker = Worker::new(&stage.client).handler(step).concurrency(1);
    let report = ended(worker.drain_until(pending())).await;
    assert_eq!(report.tally.succeeded, TASKS as u64);
    // At the start, then twice when there is nothing left, and again if a commit was out meanwhile.
    assert!(stage.store.calls(Verb::Commit) > TASKS / 2, "the batches are too few to tell");
    assert!(stage.store.calls(Verb::Counts) < 10, "{}", stage.store.calls(Verb::Counts));
}
