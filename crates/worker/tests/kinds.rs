//! A rolling deploy: an old worker meets tasks of a kind that only the new one knows.

#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{
    DeadReason, Delivery, Event, Features, IntoDraft, Payload, Purpose, State, Task, TaskRef,
    Timestamp,
};
use leasehold_worker::{Context, Failure, Worker};
use support::working::{Told, Working, standing};
use support::{Stage, settle};

const HOUR: Duration = Duration::from_secs(3_600);

macro_rules! kind {
    ($type:ident, $kind:literal, $delivery:expr) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct $type {
            n: u32,
        }

        impl Task for $type {
            const KIND: &'static str = $kind;
            const DELIVERY: Delivery = $delivery;
            const ACCEPT_LOSS: bool = true;
        }
    };
}

kind!(Known, "known", Delivery::at_least_once());
kind!(Added, "added", Delivery::at_least_once());
kind!(AddedOnce, "added.once", Delivery::AtMostOnce);

/// Who worked on which task.
type Ran = Arc<Mutex<Vec<(&'static str, String)>>>;

/// The release before: it knows one kind.
fn old(stage: &Stage, ran: &Ran) -> Worker<(Ran, &'static str)> {
    Worker::new(&stage.client).label("old").state((ran.clone(), "old")).handler(known)
}

/// The release after: it knows them all.
fn new(stage: &Stage, ran: &Ran) -> Worker<(Ran, &'static str)> {
    let worker = Worker::new(&stage.client)
        .poll(Duration::from_millis(100))
        .label("new")
        .state((ran.clone(), "new"));
    worker.handler(known).handler(added).handler(added_once)
}

fn note<T>(cx: &Context<(Ran, &'static str)>, _: &T) {
    let (ran, who) = cx.state();
    ran.lock().unwrap().push((who, cx.task().id.clone()));
}

async fn known(task: Known, cx: Context<(Ran, &'static str)>) -> Result<(), Failure> {
    note(&cx, &task);
    Ok(())
}

async fn added(task: Added, cx: Context<(Ran, &'static str)>) -> Result<(), Failure> {
    note(&cx, &task);
    Ok(())
}

async fn added_once(task: AddedOnce, cx: Context<(Ran, &'static str)>) -> Result<(), Failure> {
    note(&cx, &task);
    Ok(())
}

async fn enqueue(stage: &Stage, id: &str, draft: impl IntoDraft) -> TaskRef {
    let draft = draft.into_draft().id(id).keep_success(HOUR);
    stage.client.enqueue(draft).await.expect("it is new").task().clone()
}

fn by(ran: &Ran, id: &str) -> Vec<&'static str> {
    let ran = ran.lock().unwrap();
    ran.iter().filter(|(_, its)| its == id).map(|(who, _)| *who).collect()
}

// LH-CLAIM-10
#[tokio::test(start_paused = true)]
async fn where_the_store_chooses_the_old_worker_never_touches_the_new_kind() {
    let (stage, ran) = (Stage::new(), Ran::default());
    let strange = enqueue(&stage, "strange", Added { n: 1 }).await;
    let once = enqueue(&stage, "once", AddedOnce { n: 1 }).await;
    let common = enqueue(&stage, "common", Known { n: 1 }).await;
    let before = stage.task(&strange).await;
    let old = Working::start(old(&stage, &ran));
    stage.until_it_is(&common, State::Succeeded).await;
    stage.pass(Duration::from_secs(60)).await;
    // It waits under the very fence that it was born with.
    assert_eq!(stage.task(&strange).await, before);
    assert_eq!((before.fence, before.attempt), (before.born, 0));
    let claims = stage.store.claims(Purpose::Run);
    assert!(claims.len() > 60, "the old worker did not look again");
    assert!(claims.iter().all(|claim| claim.kinds.as_deref() == Some(&["known".to_owned()])));

    let new = Working::start(new(&stage, &ran));
    for task in [&strange, &once] {
        let done = stage.until_it_is(task, State::Succeeded).await;
        assert_eq!(standing(&done), (State::Succeeded, 1, 0, 0));
        assert_eq!((done.history.records.len(), by(&ran, &task.id)), (1, vec!["new"]));
    }
    assert_eq!((old.tally().claimed, new.tally().claimed), (1, 2));
    assert_eq!((old.tally().unknown_kinds, old.tally().snoozed), (0, 0));
}

/// It leaves the task, for longer each time, to a worker that knows it.
#[tokio::test(start_paused = true)]
async fn where_the_store_cannot_choose_the_old_worker_leaves_the_new_kind_alone() {
    let stage = Stage::with_features(Features::all() - Features::KINDS);
    let (ran, told) = (Ran::default(), Told::default());
    let strange = enqueue(&stage, "strange", Added { n: 1 }).await;
    // LH-MODE-1: no handler was entered, so not even this one is spent.
    let once = enqueue(&stage, "once", AddedOnce { n: 1 }).await;
    let old = Working::start(old(&stage, &ran).observer(told.clone()));
    let mut met: Vec<Timestamp> = Vec::new();
    for times in 1..=5 {
        let attempts = || stage.now(&strange).map_or(0, |task| task.attempt);
        stage.until("it was met again", || attempts() == times).await;
        settle().await;
        met.push(stage.clock.now());
        for task in [&strange, &once] {
            let task = stage.task(task).await;
            assert_eq!((task.state, task.failures, task.rescues), (State::Waiting, 0, 0));
        }
    }
    let left = stage.task(&strange).await;
    for (at, record) in left.history.records.iter().enumerate() {
        assert_eq!((record.event, record.message.as_str()), (Event::UnknownKind, ""));
        // 1 s, 2 s, 4 s and so on, spread over the second half; it polls once a second.
        let due = if at == 4 { left.due } else { met[at + 1] };
        let (waited, whole) = (due.since(record.at), Duration::from_secs(1 << at));
        let spare = if at == 4 { Duration::ZERO } else { Duration::from_millis(1_200) };
        assert!(waited >= whole / 2 && waited <= whole + spare, "{waited:?} of {whole:?}");
    }
    let tally = old.tally();
    let attempts = [stage.task(&strange).await.attempt, stage.task(&once).await.attempt];
    assert_eq!(tally.unknown_kinds, attempts.iter().map(|met| u64::from(*met)).sum::<u64>());
    assert_eq!(tally.unknown_kinds, tally.claimed);
    assert_eq!((tally.snoozed, tally.failed, tally.buried, tally.succeeded), (0, 0, 0, 0));
    let decided = told.of("decided");
    assert_eq!(decided.len() as u64, tally.unknown_kinds);
    assert!(decided.iter().all(|line| line.ends_with("unknown_kind: applied")), "{decided:?}");

    // Both are at work for a while, and then the old one goes: as long as it is there, it may
    // be faster each time, and the delays double.
    let new = Working::start(new(&stage, &ran));
    let common = enqueue(&stage, "common", Known { n: 1 }).await;
    let fresh = enqueue(&stage, "fresh", Added { n: 1 }).await;
    stage.pass(Duration::from_secs(10)).await;
    old.kill().await;
    for (task, met) in [&strange, &once, &fresh].into_iter().zip([attempts[0], attempts[1], 0]) {
        let done = stage.until_it_is(task, State::Succeeded).await;
        assert_eq!((done.failures, done.rescues, by(&ran, &task.id)), (0, 0, vec!["new"]));
        assert!(done.attempt > met, "attempts are counted on, whoever met the task");
    }
    assert_eq!(standing(&stage.until_it_is(&common, State::Succeeded).await).1, 1);
    assert_eq!(new.tally().unknown_kinds, 0);
    assert!(stage.store.claims(Purpose::Run).iter().all(|claim| claim.kinds.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_worker_told_to_bury_unknown_kinds_buries_them_whole() {
    let stage = Stage::with_features(Features::all() - Features::KINDS);
    let ran = Ran::default();
    let strange = enqueue(&stage, "strange", Added { n: 7 }).await;
    let common = enqueue(&stage, "common", Known { n: 1 }).await;
    let old = Working::start(old(&stage, &ran).bury_unknown_kinds());
    stage.until_it_is(&common, State::Succeeded).await;
    let dead = stage.until_it_is(&strange, State::Dead(DeadReason::UnknownKind)).await;
    assert_eq!(standing(&dead), (State::Dead(DeadReason::UnknownKind), 1, 0, 0));
    assert_eq!(dead.history.records[0].event, Event::UnknownKind);
    assert_eq!((dead.kind.as_str(), dead.payload), ("added", Payload::from(r#"{"n":7}"#)));
    assert!(dead.shown.is_some_and(|shown| shown.fence < dead.fence));
    let tally = old.tally();
    assert_eq!((tally.buried, tally.unknown_kinds, tally.succeeded), (1, 0, 1));
}

/// A kind that is not known where its lease lapsed is nothing to a rescuer: it needs no handler.
#[tokio::test(start_paused = true)]
async fn a_rescuer_puts_back_what_it_has_no_handler_for() {
    let (stage, ran) = (Stage::new(), Ran::default());
    let strange = enqueue(&stage, "strange", Added { n: 1 }).await;
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    stage.pass_in_store(Duration::from_secs(30));
    let old = Working::start(old(&stage, &ran));
    let waiting = stage.until_it_is(&strange, State::Waiting).await;
    assert_eq!(standing(&waiting), (State::Waiting, 1, 0, 1));
    let tally = old.tally();
    assert_eq!((tally.rescued, tally.claimed), (1, 0));
}
