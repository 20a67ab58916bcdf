//! Calls that fail, stay without an answer or were answered in vain: nothing is lost, nothing
//! counts twice, and what is told is true.

#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{
    Backend, CommitItem, Configure, Delivery, Draft, ErrorKind, Event, Features, Fence, Found,
    Intervention, OnLeased, Purpose, RetryPolicy, State, Task, TaskRef,
};
use leasehold_worker::{Context, Failure, Worker};
use support::desk::Spoils;
use support::working::{Told, Working, standing};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Semaphore;

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(serde::Serialize, serde::Deserialize)]
struct Step;

impl Task for Step {
    const KIND: &'static str = "step";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const RETRY: RetryPolicy = RetryPolicy::at_most(3);
}

/// What the handlers of one test did, and the gate that each of them ends at.
struct Ran {
    runs: Mutex<Vec<(String, Fence)>>,
    go: Semaphore,
}

impl Ran {
    fn open() -> Arc<Self> {
        Arc::new(Self { runs: Mutex::default(), go: Semaphore::new(1_000) })
    }

    fn closed() -> Arc<Self> {
        Arc::new(Self { runs: Mutex::default(), go: Semaphore::new(0) })
    }

    fn ids(&self) -> Vec<String> {
        let mut ids: Vec<_> = self.runs.lock().unwrap().iter().map(|(id, _)| id.clone()).collect();
        ids.sort_unstable();
        ids
    }
}

/// Ends at the gate, or when it is cancelled: both are a success.
async fn step(_: Step, cx: Context<Arc<Ran>>) -> Result<(), Failure> {
    let ran = cx.state();
    ran.runs.lock().unwrap().push((cx.task().id.clone(), cx.fence()));
    tokio::select! {
        biased;
        permit = ran.go.acquire() => permit?.forget(),
        _ = cx.cancelled() => {}
    }
    Ok(())
}

/// So many tasks, called `0`, `1` and so on, and kept after a success.
async fn steps(stage: &Stage, count: usize) -> Vec<TaskRef> {
    let drafts = (0..count).map(|n| Draft::new(&Step).id(n.to_string()).keep_success(HOUR));
    let receipts = stage.client.enqueue_many(drafts).await.expect("they are new");
    receipts.iter().map(|receipt| receipt.task().clone()).collect()
}

fn start(stage: &Stage, ran: &Arc<Ran>, told: &Told) -> Working {
    let worker = Worker::new(&stage.client).concurrency(5).state(ran.clone());
    Working::start(worker.handler(step).observer(told.clone()))
}

async fn all_succeed(stage: &Stage, tasks: &[TaskRef]) {
    let succeeded = |task| stage.now(task).is_some_and(|task| task.state == State::Succeeded);
    stage.until("all have succeeded", || tasks.iter().all(succeeded)).await;
    settle().await;
}

const LOST_ANSWERS: [&[Fault]; 5] = [
    &[Fault::LostRequest],
    &[Fault::LostReply],
    &[Fault::Silence],
    &[Fault::SilenceAfter],
    &[Fault::LostReply, Fault::LostRequest, Fault::SilenceAfter],
];

// LH-CLAIM-9
#[tokio::test(start_paused = true)]
async fn a_claim_without_an_answer_is_repeated_and_its_leases_are_worked_once() {
    for faults in LOST_ANSWERS {
        let (stage, ran, told) = (Stage::new(), Ran::open(), Told::default());
        let tasks = steps(&stage, 3).await;
        stage.store.fail_next(Verb::Run, faults.iter().copied());
        let working = start(&stage, &ran, &told);
        all_succeed(&stage, &tasks).await;
        assert_eq!(stage.store.fired(), faults.len());
        assert_eq!(ran.ids(), ["0", "1", "2"], "{faults:?}");
        for task in &tasks {
            let task = stage.task(task).await;
            assert_eq!(standing(&task), (State::Succeeded, 1, 0, 0), "{faults:?}");
            assert_eq!(task.history.records.len(), 1);
        }
        let tickets: Vec<_> =
            stage.store.claims(Purpose::Run).iter().map(|claim| claim.ticket).collect();
        assert!(tickets[0].is_some());
        assert!(tickets[..=faults.len()].iter().all(|ticket| *ticket == tickets[0]), "{tickets:?}");
        let events = stage.counts("default").events;
        assert_eq!((events.lapsed, events.stale_commits), (0, 0));
        let tally = working.tally();
        assert_eq!((tally.claimed, tally.succeeded, tally.rescued), (3, 3, 0));
        assert_eq!(told.of("recovered"), [format!("recovered claims {}", faults.len())]);
        assert!(working.health.is_well());
    }
}

// LH-CLAIM-8
#[tokio::test(start_paused = true)]
async fn where_claims_cannot_be_repeated_a_lost_reply_costs_one_rescue() {
    let stage = Stage::with_features(Features::all() - Features::REPLAY);
    let (ran, told) = (Ran::open(), Told::default());
    let tasks = steps(&stage, 3).await;
    stage.store.fail_next(Verb::Run, [Fault::LostReply]);
    let working = start(&stage, &ran, &told);
    all_succeed(&stage, &tasks).await;
    assert_eq!((stage.store.fired(), ran.ids().len()), (1, 3));
    for task in &tasks {
        assert_eq!(standing(&stage.task(task).await), (State::Succeeded, 2, 0, 1));
    }
    assert!(stage.store.claims(Purpose::Run).iter().all(|claim| claim.ticket.is_none()));
    assert_eq!((working.tally().rescued, working.tally().succeeded), (3, 3));
}

/// LH-COMMIT-4: a repeat is the very same decision.
#[tokio::test(start_paused = true)]
async fn a_commit_without_an_answer_is_repeated_until_it_counts_once() {
    for faults in LOST_ANSWERS {
        let (stage, ran, told) = (Stage::new(), Ran::open(), Told::default());
        let tasks = steps(&stage, 1).await;
        stage.store.fail_next(Verb::Commit, faults.iter().copied());
        let working = start(&stage, &ran, &told);
        stage.until("the verdict came", || !told.of("decided").is_empty()).await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.store.fired(), faults.len());
        assert_eq!(told.of("decided"), ["decided 0 succeeded: applied"], "{faults:?}");
        let task = stage.task(&tasks[0]).await;
        assert_eq!(standing(&task), (State::Succeeded, 1, 0, 0));
        assert_eq!((ran.ids().len(), task.history.records.len()), (1, 1));
        let calls = stage.store.commits();
        assert_eq!(calls.len(), faults.len() + 1);
        let same = |item: &CommitItem| {
            let first = &calls[0][0];
            item.decision == first.decision && item.change == first.change
        };
        assert!(calls.iter().flatten().all(same), "a repeat was another decision");
        let tally = working.tally();
        assert_eq!((tally.succeeded, tally.unknown, tally.stale), (1, 0, 0));
    }
}

/// LH-BUDGET-3: a repeat spends nothing, and the delay was spread once.
#[tokio::test(start_paused = true)]
async fn a_failure_whose_commit_is_repeated_spends_one_retry() {
    for faults in LOST_ANSWERS {
        let stage = Stage::new();
        let tasks = steps(&stage, 1).await;
        stage.store.fail_next(Verb::Commit, faults.iter().copied());
        let fails =
            |_: Step, _: Context| async { Err::<(), _>(Failure::new("no").retry_after(HOUR)) };
        let working = Working::start(Worker::new(&stage.client).handler(fails));
        stage.until("the verdict came", || working.tally().failed == 1).await;
        stage.pass(Duration::from_secs(60)).await;
        let task = stage.task(&tasks[0]).await;
        assert_eq!(standing(&task), (State::Waiting, 1, 1, 0), "{faults:?}");
        assert_eq!(stage.store.fired(), faults.len());
        let record = &task.history.records[0];
        assert_eq!((task.history.records.len(), record.event), (1, Event::Failed));
        assert_eq!(task.due, record.at.after(HOUR));
    }
}

/// LH-COMMIT-3: the decision had counted, but nobody can tell any more: that is unknown, and it
/// must not be called stale, as that would say that it changed nothing.
#[tokio::test(start_paused = true)]
async fn a_decision_that_was_overtaken_before_its_repeat_is_told_as_unknown() {
    let (again, gone) = (Intervention::Redrive, Intervention::Delete);
    let acts = [(again, HOUR, "unknown"), (gone.clone(), HOUR, "unknown")];
    let forgets = (gone, Duration::ZERO, "unknown, and the store does not say");
    for (act, memory, want) in acts.into_iter().chain([forgets]) {
        let (stage, ran, told) = (Stage::new(), Ran::open(), Told::default());
        let configure = Configure::new("default").with_id_memory(memory);
        stage.store.configure(configure).await.expect("memory answers");
        let tasks = steps(&stage, 1).await;
        stage.store.fail_next(Verb::Commit, [Fault::LostReply]);
        let working = start(&stage, &ran, &told);
        settle().await;
        assert_eq!((stage.store.fired(), told.of("decided").len()), (1, 0));
        assert_eq!(stage.task(&tasks[0]).await.state, State::Succeeded);
        let redriven = act == Intervention::Redrive;
        let _ = stage.act(&tasks[0], act).await;
        let decided = if redriven { 2 } else { 1 };
        stage.until("the verdicts came", || told.of("decided").len() == decided).await;
        let mut lines = told.of("decided");
        if redriven {
            // The second run's own decision, whichever of the two went out first.
            lines.sort_unstable();
            assert_eq!(lines.remove(0), "decided 0 succeeded: applied");
            assert_eq!(standing(&stage.task(&tasks[0]).await), (State::Succeeded, 2, 0, 0));
        } else {
            assert!(!matches!(stage.found(&tasks[0]).await, Found::Task(_)));
        }
        assert_eq!(lines, [format!("decided 0 succeeded: {want}")]);
        let tally = working.tally();
        assert_eq!((tally.unknown, tally.stale), (1, 0));
        assert_eq!(tally.succeeded, u64::from(redriven), "an unknown end was called a success");
    }
}

/// Without a lost answer a worker can tell, and does.
#[tokio::test(start_paused = true)]
async fn a_decision_that_was_overtaken_before_its_first_try_is_told_as_stale() {
    let (stage, ran, told) = (Stage::new(), Ran::open(), Told::default());
    let tasks = steps(&stage, 1).await;
    stage.store.hold(Verb::Commit);
    let working = start(&stage, &ran, &told);
    stage.store.reached(Verb::Commit, 1).await;
    let _ = stage.act(&tasks[0], Intervention::Cancel).await;
    stage.store.release(Verb::Commit);
    stage.until("the verdict came", || !told.of("decided").is_empty()).await;
    assert_eq!(told.of("decided"), ["decided 0 succeeded: stale"]);
    assert_eq!(standing(&stage.task(&tasks[0]).await), (State::Cancelled, 1, 0, 0));
    assert_eq!((working.tally().stale, working.tally().succeeded), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn one_decision_that_the_store_refuses_does_not_stop_the_others() {
    let (stage, ran, told) = (Stage::new(), Ran::closed(), Told::default());
    let tasks = steps(&stage, 5).await;
    stage.store.spoil("2", Spoils::Itself, ErrorKind::Corrupt);
    let working = start(&stage, &ran, &told);
    settle().await;
    ran.go.add_permits(5);
    stage.until("all are told", || told.of("decided").len() == 5).await;
    assert_eq!(stage.store.fired(), 1);
    assert_eq!(stage.store.commits()[0].len(), 5, "the five did not go in one call");
    let mut lines = told.of("decided");
    lines.sort_unstable();
    assert_eq!(lines[2], "decided 2 succeeded: refused");
    assert_eq!((working.tally().succeeded, working.tally().refused), (4, 1));
    // Its lease is left to lapse, and so not even this task is lost.
    assert_eq!(stage.task(&tasks[2]).await.state, State::Leased(Purpose::Run));
    stage.store.mend("2");
    ran.go.add_permits(1);
    all_succeed(&stage, &tasks).await;
    assert_eq!(standing(&stage.task(&tasks[2]).await), (State::Succeeded, 2, 0, 1));
    assert_eq!(standing(&stage.task(&tasks[3]).await), (State::Succeeded, 1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn one_decision_without_an_answer_is_asked_again_alone() {
    let (stage, ran, told) = (Stage::new(), Ran::closed(), Told::default());
    let tasks = steps(&stage, 5).await;
    stage.store.spoil("2", Spoils::Itself, ErrorKind::Unavailable);
    let working = start(&stage, &ran, &told);
    settle().await;
    ran.go.add_permits(5);
    stage.until("the others are told", || told.of("decided").len() == 4).await;
    stage.pass(Duration::from_secs(1)).await;
    assert_eq!(told.of("decided").len(), 4);
    stage.store.mend("2");
    all_succeed(&stage, &tasks).await;
    assert_eq!((working.tally().succeeded, ran.ids().len()), (5, 5));
    let calls = stage.store.commits();
    assert!((3..50).contains(&calls.len()), "in a second it was asked {} times", calls.len());
    let decision = calls[1][0].decision;
    let alone = calls[1..].iter().all(|items| items.len() == 1 && items[0].decision == decision);
    assert!(alone, "{calls:?}");
    assert_eq!(standing(&stage.task(&tasks[2]).await), (State::Succeeded, 1, 0, 0));
}

/// A call that fails for one of its decisions must not hold up the others for ever.
#[tokio::test(start_paused = true)]
async fn a_call_that_keeps_failing_is_cut_up_and_the_good_ones_count() {
    // An answer may be lost by chance, so such a call has three tries. A refusal is none.
    for (kind, together) in [(ErrorKind::Unavailable, 3), (ErrorKind::Internal, 1)] {
        let (stage, ran, told) = (Stage::new(), Ran::closed(), Told::default());
        let tasks = steps(&stage, 5).await;
        stage.store.spoil("2", Spoils::ItsCall, kind);
        let working = start(&stage, &ran, &told);
        settle().await;
        ran.go.add_permits(5);
        stage.until("the good ones count", || working.tally().succeeded == 4).await;
        stage.pass(Duration::from_secs(1)).await;
        let sizes: Vec<_> = stage.store.commits().iter().map(Vec::len).collect();
        assert_eq!(sizes[..together], [5].repeat(together), "{sizes:?}");
        assert!(sizes[together..].iter().all(|size| *size == 1), "{sizes:?}");
        for task in tasks.iter().filter(|task| task.id != "2") {
            assert_eq!(standing(&stage.task(task).await), (State::Succeeded, 1, 0, 0));
        }
        assert_eq!(stage.task(&tasks[2]).await.state, State::Leased(Purpose::Run));
        // Whether an internal error left something behind nobody can say.
        let unknown = u64::from(kind == ErrorKind::Internal);
        assert_eq!((working.tally().unknown, working.tally().refused), (unknown, 0));
        stage.store.mend("2");
        ran.go.add_permits(1);
        all_succeed(&stage, &tasks).await;
        let runs = if unknown == 1 { 2 } else { 1 };
        assert_eq!(stage.task(&tasks[2]).await.attempt, runs);
        assert_eq!(working.tally().succeeded, 5);
    }
}

// LH-COMMIT-11
#[tokio::test(start_paused = true)]
async fn two_decisions_about_one_task_never_go_in_one_call() {
    let (stage, ran, told) = (Stage::new(), Ran::closed(), Told::default());
    let tasks = steps(&stage, 2).await;
    let working = start(&stage, &ran, &told);
    stage.pass(Duration::from_secs(5)).await;
    // The first task's commit is out for so long that decisions about the second one gather.
    stage.store.hold(Verb::Rescue);
    stage.store.hold(Verb::Commit);
    ran.go.add_permits(1);
    stage.store.reached(Verb::Commit, 1).await;
    let _ = stage.act(&tasks[1], Intervention::Requeue(OnLeased::Revoke)).await;
    let report = || working.health.report();
    stage.until("the first run has heard of it", || report().running == 0).await;
    // The second run is given to the same process, and ends while the first still waits.
    stage.pass_in_store(Duration::from_secs(31));
    stage.until("the second run has begun", || ran.ids().len() == 3).await;
    ran.go.add_permits(1);
    stage.until("the second run has ended", || report().running == 0).await;
    assert_eq!((stage.store.calls(Verb::Commit), told.of("decided").len()), (1, 0));
    stage.store.release(Verb::Commit);
    stage.until("all are told", || told.of("decided").len() == 3).await;
    let want = [
        "decided 0 succeeded: applied overdue",
        "decided 1 succeeded: stale",
        "decided 1 succeeded: applied",
    ];
    assert_eq!(told.of("decided"), want);
    let sizes: Vec<_> = stage.store.commits().iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 1, 1]);
    assert_eq!(standing(&stage.task(&tasks[1]).await), (State::Succeeded, 2, 0, 0));
    let tally = working.tally();
    assert_eq!((tally.claimed, tally.succeeded, tally.stale), (3, 2, 1));
}
