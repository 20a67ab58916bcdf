//! A store that panics or is away for a while: every loop goes on, its health says what is
//! wrong and since when, and all work is done in the end.

#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{Delivery, Draft, IntoDraft, RetryPolicy, State, Task, TaskRef};
use leasehold_worker::{Context, Failing, Failure, Loop, LoopReport, Phase, Worker};
use support::working::{Told, Working, standing};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Semaphore;

const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);

/// Ends at the gate, or when it is cancelled.
#[derive(serde::Serialize, serde::Deserialize)]
struct Heeds;

impl Task for Heeds {
    const KIND: &'static str = "heeds";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const RETRY: RetryPolicy = RetryPolicy::at_most(3);
}

async fn heeds(_: Heeds, cx: Context<Arc<Semaphore>>) -> Result<(), Failure> {
    tokio::select! {
        biased;
        permit = cx.state().acquire() => permit?.forget(),
        _ = cx.cancelled() => {}
    }
    Ok(())
}

/// Ends at the gate only.
#[derive(serde::Serialize, serde::Deserialize)]
struct Stays;

impl Task for Stays {
    const KIND: &'static str = "stays";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

async fn stays(_: Stays, cx: Context<Arc<Semaphore>>) -> Result<(), Failure> {
    cx.state().acquire().await?.forget();
    Ok(())
}

fn start(stage: &Stage, gate: &Arc<Semaphore>, told: &Told) -> Working {
    let worker = Worker::new(&stage.client).concurrency(4).state(gate.clone());
    Working::start(worker.handler(heeds).handler(stays).observer(told.clone()))
}

async fn enqueue(stage: &Stage, draft: impl IntoDraft) -> TaskRef {
    let draft = draft.into_draft();
    let receipt = stage.client.enqueue(draft.keep_success(HOUR)).await.expect("it is new");
    receipt.task().clone()
}

fn report(working: &Working, name: Loop) -> LoopReport {
    let report = working.health.report();
    report.loops.into_iter().find(|it| it.name == name).expect("each loop is there")
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_panics_ends_no_loop() {
    let all = [
        (Verb::Run, Loop::Claims),
        (Verb::Rescue, Loop::Rescuer),
        (Verb::Renew, Loop::Pulse),
        (Verb::Commit, Loop::Commits),
        (Verb::Purge, Loop::Janitor),
    ];
    for (verb, name) in all {
        let (stage, gate, told) = (Stage::new(), Arc::new(Semaphore::new(0)), Told::default());
        let task = enqueue(&stage, Heeds).await;
        stage.store.fail_next(verb, [Fault::Panic, Fault::Panic]);
        let working = start(&stage, &gate, &told);
        if verb == Verb::Commit {
            gate.add_permits(1);
        }
        stage.until("it panicked", || stage.store.fired() == 1).await;
        let failing = report(&working, name).failing.expect("it fails");
        assert_eq!(
            (failing.tries, failing.message),
            (1, format!("the loop {name} panicked: staged"))
        );
        stage.until("it works again", || !told.of("recovered").is_empty()).await;
        gate.add_permits(1);
        let done = stage.until_it_is(&task, State::Succeeded).await;
        assert_eq!(standing(&done), (State::Succeeded, 1, 0, 0), "{name}");
        let failing: Vec<_> = (1..=2).map(|tries| format!("failing {name} {tries}")).collect();
        assert_eq!(told.of("failing"), failing);
        assert_eq!(told.of("recovered"), [format!("recovered {name} 2")]);
        settle().await;
        assert!(working.works() && working.health.is_well(), "{name}");
        let tally = working.tally();
        assert_eq!((tally.claimed, tally.succeeded, tally.unknown), (1, 1, 0), "{name}");
    }
}

/// A commit that panicked may have been applied: its repeat must be able to say so.
#[tokio::test(start_paused = true)]
async fn a_decision_whose_call_panicked_is_sent_again_and_never_called_stale() {
    let (stage, gate, told) = (Stage::new(), Arc::new(Semaphore::new(1)), Told::default());
    let task = enqueue(&stage, Draft::new(&Heeds).id("t")).await;
    stage.store.fail_next(Verb::Commit, [Fault::Panic]);
    let working = start(&stage, &gate, &told);
    settle().await;
    assert_eq!(stage.store.fired(), 1);
    let _ = stage.act(&task, leasehold_core::Intervention::Cancel).await;
    stage.until("the verdict came", || !told.of("decided").is_empty()).await;
    assert_eq!(told.of("decided"), ["decided t succeeded: unknown"]);
    assert_eq!((working.tally().unknown, working.tally().stale), (1, 0));
}

const EVERY_LOOP: [Loop; 5] =
    [Loop::Claims, Loop::Pulse, Loop::Commits, Loop::Rescuer, Loop::Janitor];

const EVERY_VERB: [Verb; 6] =
    [Verb::Run, Verb::Rescue, Verb::Renew, Verb::Commit, Verb::Counts, Verb::Purge];

#[tokio::test(start_paused = true)]
async fn after_a_minute_without_its_store_a_worker_finishes_everything() {
    let (stage, gate, told) = (Stage::new(), Arc::new(Semaphore::new(0)), Told::default());
    let mut tasks = Vec::new();
    for _ in 0..2 {
        tasks.push(enqueue(&stage, Heeds).await);
        tasks.push(enqueue(&stage, Stays).await);
    }
    let working = start(&stage, &gate, &told);
    settle().await;
    assert_eq!(working.health.report().running, 4);
    let loops: Vec<_> = working.health.report().loops.iter().map(|it| it.name).collect();
    assert_eq!(loops, EVERY_LOOP);
    for _ in 0..4 {
        tasks.push(enqueue(&stage, Heeds).await);
    }
    assert!(working.health.is_well());
    for verb in EVERY_VERB {
        stage.store.take_down(verb, Fault::LostRequest);
    }
    stage.pass(Duration::from_secs(20)).await;
    let renews = report(&working, Loop::Pulse).failing.expect("no renew was answered");
    assert!(renews.tries > 1 && !working.health.is_well(), "{renews:?}");
    stage.pass(Duration::from_secs(41)).await;

    assert!(!working.health.is_well() && working.works());
    assert_eq!((working.health.report().phase, working.tally().succeeded), (Phase::Working, 0));
    for name in [Loop::Claims, Loop::Commits, Loop::Rescuer, Loop::Janitor] {
        let LoopReport { errors, failing, .. } = report(&working, name);
        let Failing { since, tries, message, .. } = failing.expect("its last call failed");
        assert_eq!((u64::from(tries), message.as_str()), (errors, "staged"), "{name}");
        assert!(errors >= 1 && since <= MINUTE + Duration::from_secs(1), "{name} {since:?}");
    }
    let since = report(&working, Loop::Rescuer).failing.expect("it fails").since;
    assert!(since >= Duration::from_secs(58), "it failed from the beginning: {since:?}");

    // What waited for its verdict is written as soon as it can be, though its lease is over.
    stage.store.restore(Verb::Commit);
    stage.until("the decisions count", || told.of("decided").len() == 4).await;
    let decided = told.of("decided");
    let overdue = |event: &str| {
        let end = format!("{event}: applied overdue");
        decided.iter().filter(|line| line.ends_with(&end)).count()
    };
    assert_eq!((overdue("succeeded"), overdue("released")), (2, 2), "{decided:?}");
    for verb in EVERY_VERB {
        stage.store.restore(verb);
    }
    gate.add_permits(100);
    let succeeded = |task| stage.now(task).is_some_and(|task| task.state == State::Succeeded);
    stage.until("all have succeeded", || tasks.iter().all(succeeded)).await;
    for (at, task) in tasks.iter().enumerate() {
        // Only the runs that did not heed their cancelling came twice, and no budget was spent.
        let runs = if at == 1 || at == 3 { 2 } else { 1 };
        let want = (State::Succeeded, runs, 0, 0);
        assert_eq!(standing(&stage.task(task).await), want, "task {at}");
    }
    let tally = working.tally();
    assert_eq!((tally.succeeded, tally.lost, tally.buried), (8, 4, 0));
    stage.pass(MINUTE + Duration::from_secs(1)).await;
    assert!(working.health.is_well(), "{:?}", working.health.report());
    assert_eq!(stage.store.memory().residue(), [""; 0]);
}

/// C66, C99 and C107: a task that comes due while the store is away is late by the rest of the
/// outage, one pause and one call that nobody answers any more, and by no more than that.
#[tokio::test(start_paused = true)]
async fn a_task_that_comes_due_in_an_outage_runs_soon_after_it() {
    // The longest pause after a failure; the time after which a call is given up.
    const PAUSE: Duration = Duration::from_secs(5);
    const CALL: Duration = Duration::from_secs(10);
    for (fault, late) in [(Fault::LostRequest, PAUSE), (Fault::Silence, PAUSE + CALL)] {
        let (stage, gate, told) = (Stage::new(), Arc::new(Semaphore::new(9)), Told::default());
        let working = start(&stage, &gate, &told);
        let in_an_outage = enqueue(&stage, Draft::new(&Heeds).delay(MINUTE)).await;
        let afterwards = enqueue(&stage, Draft::new(&Heeds).delay(MINUTE * 3)).await;
        stage.pass(MINUTE / 2).await;
        for verb in EVERY_VERB {
            stage.store.take_down(verb, fault);
        }
        stage.pass(MINUTE).await;
        assert!(!working.health.is_well());
        assert_eq!(standing(&stage.task(&in_an_outage).await), (State::Waiting, 0, 0, 0));
        for verb in EVERY_VERB {
            stage.store.restore(verb);
        }
        let over = stage.clock.now();
        let done = stage.until_it_is(&in_an_outage, State::Succeeded).await;
        let waited = done.history.records[0].at.since(over);
        assert!(waited <= late, "{fault:?}: {waited:?} after the outage");
        assert_eq!(standing(&done), (State::Succeeded, 1, 0, 0));

        // The next one is on time: nothing of the outage is left in the loop.
        let done = stage.until_it_is(&afterwards, State::Succeeded).await;
        let waited = done.history.records[0].at.since(done.due);
        assert!(waited <= Duration::from_millis(1_100), "{fault:?}: {waited:?} after its time");
    }
}

/// What a person reads: the beginning and the end, with all tries counted between them.
#[tokio::test(start_paused = true)]
async fn a_loop_tells_each_try_and_its_recovery_once() {
    let (stage, gate, told) = (Stage::new(), Arc::new(Semaphore::new(0)), Told::default());
    let working = start(&stage, &gate, &told);
    settle().await;
    for outage in 1..=2 {
        stage.store.take_down(Verb::Rescue, Fault::LostRequest);
        stage.pass(MINUTE).await;
        let failing = told.of("failing");
        let want: Vec<_> = (1..=failing.len()).map(|n| format!("failing rescuer {n}")).collect();
        assert!(failing == want && want.len() > 3, "outage {outage}: {failing:?}");
        assert_eq!(told.of("recovered"), [""; 0]);
        stage.store.restore(Verb::Rescue);
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(told.of("failing"), want);
        assert_eq!(told.of("recovered"), [format!("recovered rescuer {}", want.len())]);
        assert_eq!(report(&working, Loop::Rescuer).failing, None);
        told.clear();
    }
    assert!(working.health.is_well());
}

/// No handler runs any more, so no renew is ever asked again: what failed is over.
#[tokio::test(start_paused = true)]
async fn a_pulse_that_has_nothing_left_to_renew_is_well() {
    let (stage, gate, told) = (Stage::new(), Arc::new(Semaphore::new(0)), Told::default());
    let task = enqueue(&stage, Heeds).await;
    let working = start(&stage, &gate, &told);
    settle().await;
    stage.store.take_down(Verb::Renew, Fault::LostRequest);
    stage.pass(Duration::from_secs(11)).await;
    assert!(report(&working, Loop::Pulse).failing.is_some() && !working.health.is_well());
    gate.add_permits(1);
    stage.until_it_is(&task, State::Succeeded).await;
    stage.store.restore(Verb::Renew);
    stage.pass(Duration::from_secs(11)).await;
    assert_eq!(report(&working, Loop::Pulse).failing, None);
    assert!(working.health.is_well());
    assert_eq!(told.of("recovered").len(), 1);
}
