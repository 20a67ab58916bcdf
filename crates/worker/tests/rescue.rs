//! Leases of lost workers: found in time, decided about once, paid from their own budget.

#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{
    Backend, BackendExt, Claim, CommitItem, CommitVerdict, DeadReason, Delivery, Draft, Event,
    Features, IntoDraft, Outcome, Payload, Purpose, State, Task, TaskRef, decide,
};
use leasehold_worker::{Context, Failure, Worker};
use support::working::{Told, Working, standing};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Notify;

const HOUR: Duration = Duration::from_secs(3_600);
const LEASE: Duration = Duration::from_secs(30);

macro_rules! kind {
    ($type:ident, $kind:literal, $delivery:expr) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct $type;

        impl Task for $type {
            const KIND: &'static str = $kind;
            const DELIVERY: Delivery = $delivery;
            const ACCEPT_LOSS: bool = true;
        }
    };
}

kind!(Work, "work", Delivery::at_least_once());
kind!(NotAgain, "not.again", Delivery::NotAfterLoss);
kind!(Once, "once", Delivery::AtMostOnce);

async fn work(_: Work, _: Context) -> Result<(), Failure> {
    Ok(())
}

async fn enqueue(stage: &Stage, draft: impl IntoDraft) -> TaskRef {
    let draft = draft.into_draft().keep_success(HOUR);
    stage.client.enqueue(draft).await.expect("it is new").task().clone()
}

/// A worker that rescues, and runs nothing: no claim of it is answered.
fn rescuer(stage: &Stage, told: &Told) -> Working {
    stage.store.take_down(Verb::Run, Fault::LostRequest);
    Working::start(Worker::new(&stage.client).handler(work).observer(told.clone()))
}

// LH-LAPSE-1, LH-LAPSE-5, LH-BUDGET-1
#[tokio::test(start_paused = true)]
async fn a_lapsed_lease_is_rescued_within_a_second_and_not_before_its_end() {
    let (stage, told) = (Stage::new(), Told::default());
    let task = enqueue(&stage, Draft::new(&Work).id("t")).await;
    let lost = stage.claim("default", Purpose::Run).await.remove(0);
    let working = Working::start(Worker::new(&stage.client).handler(work).observer(told.clone()));
    stage.pass(LEASE - Duration::from_millis(1)).await;
    let leased = stage.task(&task).await;
    assert_eq!(
        (standing(&leased), leased.fence),
        ((State::Leased(Purpose::Run), 1, 0, 0), lost.fence)
    );
    let done = stage.until_it_is(&task, State::Succeeded).await;
    assert_eq!(standing(&done), (State::Succeeded, 2, 0, 1));
    let lapsed = &done.history.records[0];
    assert_eq!((lapsed.event, lapsed.attempt), (Event::Lapsed, 1));
    let late = lapsed.at.since(leased.until.expect("it was leased"));
    // A spread second, and what the stage's steps take.
    assert!(late <= Duration::from_millis(1_100), "{late:?}");
    assert_eq!(told.lines()[0], "rescued t lapsed: applied");
    let tally = working.tally();
    assert_eq!((tally.rescued, tally.claimed, tally.succeeded), (1, 1, 1));
}

/// Bug corpus: a task that kills its worker comes to rest, and pays from the rescue budget.
#[tokio::test(start_paused = true)]
async fn a_task_that_kills_its_worker_each_time_ends_as_lost() {
    let stage = Stage::new();
    let task = enqueue(&stage, Work).await;
    let entered = Arc::new(Notify::new());
    let kills = |_: Work, cx: Context<Arc<Notify>>| async move {
        cx.state().notify_one();
        std::future::pending::<Result<(), Failure>>().await
    };
    let worker = || Worker::new(&stage.client).state(entered.clone()).handler(kills);
    for run in 1..=4 {
        let working = Working::start(worker());
        let attempts = || stage.now(&task).map_or(0, |task| task.attempt);
        stage.until("it runs", || attempts() == run).await;
        entered.notified().await;
        let seen = standing(&stage.task(&task).await);
        assert_eq!(seen, (State::Leased(Purpose::Run), run, 0, run - 1));
        working.kill().await;
    }
    let working = Working::start(worker());
    let dead = stage.until_it_is(&task, State::Dead(DeadReason::Lost)).await;
    assert_eq!(standing(&dead), (State::Dead(DeadReason::Lost), 4, 0, 3));
    let record = dead.history.records.last().expect("there is one");
    let words = "the lease lapsed and the rescue budget is spent";
    assert_eq!((record.event, record.message.as_str()), (Event::Lapsed, words));
    assert_eq!(dead.payload, Payload::from("null"));
    stage.pass(Duration::from_secs(60)).await;
    assert_eq!(stage.task(&task).await, dead);
    let tally = working.tally();
    assert_eq!((tally.buried, tally.rescued, tally.claimed), (1, 0, 0));
}

// LH-LAPSE-6
#[tokio::test(start_paused = true)]
async fn thousands_of_lapsed_leases_are_rescued_in_bounded_batches() {
    const COUNT: usize = 2_500;
    let (stage, told) = (Stage::new(), Told::default());
    stage.client.enqueue_many((0..COUNT).map(|_| Work)).await.expect("they are new");
    let mut held = 0;
    while held < COUNT {
        held += stage.claim("default", Purpose::Run).await.len();
    }
    stage.pass_in_store(LEASE);
    let working = rescuer(&stage, &told);
    let rescued = || working.tally().rescued;
    stage.until("all are rescued", || rescued() == COUNT as u64).await;
    let claims = stage.store.claims(Purpose::Rescue);
    // One more finds that nothing is left, and none had to wait for the next round.
    assert_eq!(claims.len(), COUNT / 100 + 1);
    assert!(claims.iter().all(|claim| claim.max == 100));
    let commits = stage.store.commits();
    assert_eq!(commits.len(), COUNT / 100);
    assert!(commits.iter().all(|items| items.len() == 100));
    let events = stage.counts("default").events;
    assert_eq!((events.rescued, events.takeovers, events.lapsed), (2_500, 0, 2_500));

    stage.store.restore(Verb::Run);
    stage.until("all are worked", || working.tally().succeeded == COUNT as u64).await;
    assert_eq!(stage.counts("default").unfinished(), 0);
    assert_eq!((working.tally().claimed, working.tally().buried), (2_500, 0));
}

/// C28: how often a worker looks for lapsed leases is set by its interval, not by its claims, and
/// a look that fails stops no claim.
#[tokio::test(start_paused = true)]
async fn lapsed_leases_are_looked_for_once_in_an_interval_whatever_else_happens() {
    const SECONDS: usize = 60;
    let (stage, told) = (Stage::new(), Told::default());
    let worker = Worker::new(&stage.client).handler(work).concurrency(1);
    let working = Working::start(worker.observer(told.clone()));
    let interval = Duration::from_secs(1);
    for (what, done, fails) in [("idle", 0, false), ("busy", 50, false), ("refused", 50, true)] {
        if fails {
            stage.store.take_down(Verb::Rescue, Fault::LostRequest);
        }
        let (looks, claims) = (stage.store.calls(Verb::Rescue), stage.store.calls(Verb::Run));
        let before = working.tally().succeeded;
        for second in 0..SECONDS {
            if second < done {
                stage.client.enqueue_many((0..20).map(|_| Work)).await.expect("they are new");
            }
            stage.pass(interval).await;
        }
        let looks = stage.store.calls(Verb::Rescue) - looks;
        // An interval is spread over its second half, and failures make it longer.
        let least = if fails { SECONDS / 10 } else { SECONDS };
        assert!((least..=2 * SECONDS + 1).contains(&looks), "{what}: {looks} in {SECONDS} s");
        assert_eq!(working.tally().succeeded - before, 20 * done as u64, "{what}");
        let claims = stage.store.calls(Verb::Run) - claims;
        assert!(claims > done * 20, "{what}: {claims} claims");
    }
    assert!(stage.store.fired() > 0, "no look failed");
}

const LOST_ANSWERS: [Fault; 4] =
    [Fault::LostRequest, Fault::LostReply, Fault::Silence, Fault::SilenceAfter];

/// LH-LAPSE-7, LH-LAPSE-9: nor is it taken over, which a task bears five times only.
#[tokio::test(start_paused = true)]
async fn a_rescue_whose_answers_are_lost_is_counted_once() {
    for (verb, fault) in [Verb::Rescue, Verb::Commit]
        .into_iter()
        .flat_map(|verb| LOST_ANSWERS.map(|fault| (verb, fault)))
    {
        let (stage, told) = (Stage::new(), Told::default());
        let task = enqueue(&stage, Draft::new(&Work).id("t")).await;
        assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
        stage.pass_in_store(LEASE);
        stage.store.fail_next(verb, [fault]);
        let working = rescuer(&stage, &told);
        stage.until("the verdict came", || !told.of("rescued").is_empty()).await;
        stage.pass(Duration::from_secs(60)).await;
        let waiting = stage.task(&task).await;
        assert_eq!(standing(&waiting), (State::Waiting, 1, 0, 1), "{verb:?} {fault:?}");
        assert_eq!(waiting.history.records.len(), 1);
        assert_eq!(told.of("rescued"), ["rescued t lapsed: applied"]);
        let events = stage.counts("default").events;
        assert_eq!((events.lapsed, events.rescued, events.takeovers), (1, 1, 0));
        assert_eq!(working.tally().rescued, 1);
        let decisions: Vec<_> =
            stage.store.commits().iter().flatten().map(|item| item.decision).collect();
        assert!(decisions.iter().all(|decision| *decision == decisions[0]));
    }
}

// LH-LAPSE-3, LH-LAPSE-4
#[tokio::test(start_paused = true)]
async fn where_claims_cannot_be_repeated_a_lost_rescue_is_taken_over_and_counted_once() {
    let stage = Stage::with_features(Features::all() - Features::REPLAY);
    let told = Told::default();
    let task = enqueue(&stage, Draft::new(&Work).id("t")).await;
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    stage.pass_in_store(LEASE);
    stage.store.fail_next(Verb::Rescue, [Fault::LostReply]);
    let working = rescuer(&stage, &told);
    let waiting = stage.until_it_is(&task, State::Waiting).await;
    assert_eq!(standing(&waiting), (State::Waiting, 1, 0, 1));
    let events = stage.counts("default").events;
    assert_eq!((events.lapsed, events.rescued, events.takeovers), (1, 1, 1));
    assert_eq!(working.tally().rescued, 1);
}

/// LH-LATE-1: the run was not lost after all, which is good news and no error.
#[tokio::test(start_paused = true)]
async fn a_rescue_that_a_late_success_overtook_is_told_as_stale() {
    let (stage, told) = (Stage::new(), Told::default());
    let task = enqueue(&stage, Draft::new(&Work).id("t")).await;
    let slow = stage.claim("default", Purpose::Run).await.remove(0);
    stage.pass_in_store(LEASE);
    stage.store.hold(Verb::Commit);
    let working = rescuer(&stage, &told);
    stage.store.reached(Verb::Commit, 1).await;
    assert_eq!(stage.task(&task).await.state, State::Leased(Purpose::Rescue));
    let success = Outcome::Succeeded { result: Some("17".into()), follow_ups: Vec::new() };
    let item = CommitItem::new(slow.guard(), decide::run(&slow, success, 7));
    let verdict = stage.store.memory().commit_one(item).await.expect("memory answers");
    assert!(matches!(&verdict, CommitVerdict::Applied(applied) if applied.late), "{verdict:?}");
    let done = stage.task(&task).await;
    stage.store.release(Verb::Commit);
    stage.until("the verdict came", || !told.of("rescued").is_empty()).await;
    assert_eq!(told.of("rescued"), ["rescued t lapsed: stale"]);
    assert_eq!(stage.task(&task).await, done);
    assert_eq!(standing(&done), (State::Succeeded, 1, 0, 0));
    let tally = working.tally();
    assert_eq!((tally.rescued, tally.buried, tally.stale), (0, 0, 0));
    let failing = told.of("failing");
    assert!(failing.iter().all(|line| line.starts_with("failing claims")), "{failing:?}");
}

/// The same, when the rescue's first try had no answer: then nobody can tell.
#[tokio::test(start_paused = true)]
async fn a_rescue_that_may_have_counted_before_it_was_overtaken_is_told_as_unknown() {
    let (stage, told) = (Stage::new(), Told::default());
    let task = enqueue(&stage, Draft::new(&Work).id("t")).await;
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    stage.pass_in_store(LEASE);
    stage.store.fail_next(Verb::Commit, [Fault::LostReply]);
    let working = rescuer(&stage, &told);
    settle().await;
    assert_eq!(standing(&stage.task(&task).await), (State::Waiting, 1, 0, 1));
    let again = stage.claim("default", Purpose::Run).await.remove(0);
    let success = Outcome::Succeeded { result: None, follow_ups: Vec::new() };
    let item = CommitItem::new(again.guard(), decide::run(&again, success, 7));
    let _ = stage.store.memory().commit_one(item).await.expect("memory answers");
    stage.until("the verdict came", || !told.of("rescued").is_empty()).await;
    assert_eq!(told.of("rescued"), ["rescued t lapsed: unknown"]);
    assert_eq!(working.tally().rescued, 0);
}

// LH-MODE-2
#[tokio::test(start_paused = true)]
async fn what_must_not_run_after_a_loss_is_buried_whole_and_never_run_again() {
    let (stage, told) = (Stage::new(), Told::default());
    let tasks = [enqueue(&stage, NotAgain).await, enqueue(&stage, Once).await];
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 2);
    stage.pass_in_store(LEASE);
    let not_again = |_: NotAgain, _: Context| async { Ok::<_, Failure>(()) };
    let once = |_: Once, _: Context| async { Ok::<_, Failure>(()) };
    let worker = Worker::new(&stage.client).handler(not_again).handler(once);
    let working = Working::start(worker.observer(told.clone()));
    for task in &tasks {
        let dead = stage.until_it_is(task, State::Dead(DeadReason::Lost)).await;
        assert_eq!(standing(&dead), (State::Dead(DeadReason::Lost), 1, 0, 0));
        assert_eq!((dead.payload, dead.run.is_some()), (Payload::from("null"), true));
    }
    stage.pass(Duration::from_secs(60)).await;
    let tally = working.tally();
    assert_eq!((tally.buried, tally.claimed, tally.rescued), (2, 0, 0));
    assert_eq!(told.of("rescued").len(), 2);
}

/// LH-LAPSE-9: rescuers may be lost in their turn, but not for ever.
#[tokio::test(start_paused = true)]
async fn a_task_whose_rescuers_are_lost_time_and_again_is_buried() {
    let (stage, told) = (Stage::new(), Told::default());
    let task = enqueue(&stage, Work).await;
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    for _ in 0..5 {
        stage.pass_in_store(LEASE);
        let claim = Claim::new("default", Purpose::Rescue, 1, LEASE, "lost");
        let claimed = stage.store.memory().claim(claim).await.expect("memory answers");
        assert_eq!(claimed.leases.len(), 1);
    }
    stage.pass_in_store(LEASE);
    let _working = rescuer(&stage, &told);
    let dead = stage.until_it_is(&task, State::Dead(DeadReason::Lost)).await;
    assert_eq!(standing(&dead), (State::Dead(DeadReason::Lost), 1, 0, 0));
    let words = "every rescuer of this task was lost in its turn";
    assert_eq!(dead.history.records[0].message, words);
}
