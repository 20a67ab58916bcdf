//! Which queues a worker serves, and which tasks in them.

mod support;

use std::future::pending;
use std::time::Duration;

use leasehold_core::{
    BackendExt, DeadReason, Delivery, Draft, ErrorKind, Features, NewTask, State, Task, TaskRef,
};
use leasehold_worker::{Context, Failure, Worker};
use support::{Stage, Verb, settle};

#[derive(serde::Serialize, serde::Deserialize)]
struct Step;

impl Task for Step {
    const KIND: &'static str = "step";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const QUEUE: &'static str = "own";
}

async fn step(_: Step, _: Context) -> Result<(), Failure> {
    Ok(())
}

/// Of the paused clock: what takes longer hangs.
async fn within_an_hour<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60 * 60), work).await.expect("it hangs")
}

async fn enqueue(stage: &Stage, queue: &str) -> TaskRef {
    let draft = Draft::new(&Step).queue(queue).keep_success(Duration::from_secs(60));
    stage.client.enqueue(draft).await.expect("it is new").task().clone()
}

#[tokio::test(start_paused = true)]
async fn only_named_queues_leave_out_those_of_the_handlers() {
    let stage = Stage::new();
    let [own, added, named] = ["own", "added", "named"];
    let tasks =
        [enqueue(&stage, own).await, enqueue(&stage, added).await, enqueue(&stage, named).await];
    let worker = || Worker::new(&stage.client).handler(step).queue(added, 1);

    let report = within_an_hour(worker().only_queues([named]).drain_until(pending()))
        .await
        .expect("it starts");
    let queues: Vec<_> = report.loops.iter().map(|one| one.queue.as_str()).collect();
    assert!(queues.iter().all(|queue| *queue == named), "{queues:?}");
    let mut states = Vec::new();
    for task in &tasks {
        states.push(stage.task(task).await.state);
    }
    assert_eq!(states, [State::Waiting, State::Waiting, State::Succeeded]);

    let report = within_an_hour(worker().drain_until(pending())).await.expect("it starts");
    assert_eq!(report.tally.succeeded, 2, "without the word it serves both others");
}

#[tokio::test(start_paused = true)]
async fn a_named_queue_keeps_its_own_number_of_handlers() {
    for (own, running) in [(None, 3), (Some(2), 2)] {
        let stage = Stage::new();
        for _ in 0..5 {
            enqueue(&stage, "named").await;
        }
        let mut worker = Worker::new(&stage.client)
            .handler(async |_: Step, _: Context| pending::<Result<(), Failure>>().await)
            .only_queues(["named"])
            .concurrency(3);
        if let Some(own) = own {
            worker = worker.queue("named", own);
        }
        let health = worker.health();
        let working = tokio::spawn(worker.run_until(pending()));
        settle().await;
        assert_eq!(health.report().running, running);
        working.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_of_queues_or_a_bad_name_is_refused() {
    let stage = Stage::new();
    for names in [vec![], vec![""]] {
        let worker = Worker::new(&stage.client).handler(step).only_queues(names.clone());
        let error =
            within_an_hour(worker.drain_until(pending())).await.expect_err("it serves nothing");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{names:?}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_kind_is_buried_where_that_is_asked_for_and_else_left_alone() {
    for features in [Features::all(), Features::all() - Features::KINDS] {
        let stage = Stage::with_features(features);
        let new = NewTask::new("foreign", "", Delivery::at_least_once()).with_id("foreign");
        let _ = stage.store.enqueue_one("own", new).await.expect("it is new");
        let task = TaskRef::new("own", "foreign");

        let patient = Worker::new(&stage.client).handler(step);
        let report = within_an_hour(patient.run_until(settle())).await.expect("it starts");
        assert!(stage.store.calls(Verb::Run) > 0, "nothing was asked for");
        let handed_out = u64::from(!features.contains(Features::KINDS));
        assert_eq!((report.tally.buried, report.tally.unknown_kinds), (0, handed_out));
        assert_eq!(stage.task(&task).await.state, State::Waiting, "{features:?}");

        // One that was handed out has been put off by a few seconds.
        stage.pass_in_store(Duration::from_secs(60));
        let strict = Worker::new(&stage.client).handler(step).bury_unknown_kinds();
        let report = within_an_hour(strict.drain_until(pending())).await.expect("it starts");
        assert_eq!(report.tally.buried, 1);
        assert_eq!(stage.task(&task).await.state, State::Dead(DeadReason::UnknownKind));
    }
}
