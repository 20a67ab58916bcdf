//! Tasks that a run brings along: they come with its success, or not at all.

mod support;

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{
    Backend, Backoff, Configure, DeadReason, Delivery, Draft, Event, Features, Filter, Found,
    Jitter, List, RetryPolicy, State, StoredTask, Task, TaskRef,
};
use leasehold_worker::{Context, Failure, Worker};
use support::working::{Told, Working, at_once, standing};
use support::{Fault, Stage, Verb};

const MINUTE: Duration = Duration::from_secs(60);

#[derive(serde::Serialize, serde::Deserialize)]
struct Parent;

impl Task for Parent {
    const KIND: &'static str = "parent";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const RETRY: RetryPolicy = RetryPolicy::at_most(1)
        .with_backoff(Backoff::Constant { delay: MINUTE })
        .with_jitter(Jitter::None);
}

/// Nobody on this stage works on children, so that they stay to be looked at.
#[derive(serde::Serialize, serde::Deserialize)]
struct Child;

impl Task for Child {
    const KIND: &'static str = "child";
    const DELIVERY: Delivery = Delivery::NotAfterLoss;
    const PRIORITY: leasehold_core::Priority = leasehold_core::Priority::new(7);
}

/// A parent in its store, kept for an hour after a success.
async fn parent(stage: &Stage) -> TaskRef {
    let draft = Draft::new(&Parent).id("p").keep_success(MINUTE * 60);
    stage.client.enqueue(draft).await.expect("it is new").task().clone()
}

fn children(stage: &Stage, queue: &str) -> Vec<StoredTask> {
    let list = List::new(queue, Filter::all().with_kind("child"), 1_000);
    at_once(stage.store.memory().list(list)).expect("memory answers").tasks
}

fn ids(tasks: &[StoredTask]) -> Vec<&str> {
    tasks.iter().map(|task| task.task_ref.id.as_str()).collect()
}

// LH-ENQ-8
#[tokio::test(start_paused = true)]
async fn follow_ups_come_with_the_success_and_not_with_a_failure() {
    let stage = Stage::new();
    let task = parent(&stage).await;
    let handler = |_: Parent, cx: Context| async move {
        let id = format!("of run {}", cx.attempt());
        cx.follow_up(Draft::new(&Child).id(id).delay(MINUTE))?;
        cx.follow_up(Child)?;
        if cx.attempt() == 1 { Err(Failure::new("not yet")) } else { Ok(()) }
    };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.until("the first run failed", || working.tally().failed == 1).await;
    assert_eq!(children(&stage, "default"), []);
    let parent = stage.until_it_is(&task, State::Succeeded).await;
    assert_eq!(standing(&parent), (State::Succeeded, 2, 1, 0));
    let children = children(&stage, "default");
    assert_eq!((children.len(), ids(&children)[0]), (2, "of run 2"));
    for child in &children {
        assert_eq!(standing(child), (State::Waiting, 0, 0, 0));
        assert_eq!(child.enqueued_at, parent.history.records[1].at, "it came by another step");
        assert_eq!((child.priority.level(), child.policy.delivery), (7, Delivery::NotAfterLoss));
    }
    assert_eq!(children[0].due, children[0].enqueued_at.after(MINUTE));
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_that_exists_already_does_not_stop_the_success() {
    let stage = Stage::new();
    let task = parent(&stage).await;
    stage.client.enqueue(Draft::new(&Child).id("first")).await.expect("it is new");
    let handler = |_: Parent, cx: Context| async move {
        cx.follow_up(Draft::new(&Child).id("first"))?;
        cx.follow_up(Draft::new(&Child).id("second"))
    };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.until_it_is(&task, State::Succeeded).await;
    assert_eq!(ids(&children(&stage, "default")), ["first", "second"]);
    assert_eq!(working.tally().succeeded, 1);
}

/// Runs a parent whose handler adds these follow-ups; tells what the failure says.
async fn refused(stage: &Stage, drafts: fn() -> Vec<Draft>) -> String {
    let task = parent(stage).await;
    let handler = move |_: Parent, cx: Context| async move {
        drafts().into_iter().try_for_each(|draft| cx.follow_up(draft))
    };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.until("the run failed", || working.tally().failed == 1).await;
    let parent = stage.task(&task).await;
    assert_eq!(standing(&parent), (State::Waiting, 1, 1, 0));
    let record = parent.history.records.last().expect("there is one");
    assert_eq!(record.event, Event::Failed);
    for queue in ["default", "others"] {
        assert_eq!(children(stage, queue), [], "a refused follow-up came all the same");
    }
    record.message.clone()
}

/// LH-ENQ-10: the handler meets the error, where it can still do something about it.
#[tokio::test(start_paused = true)]
async fn what_cannot_follow_is_an_error_where_it_is_added() {
    let other_queue = || vec![Draft::new(&Child), Draft::new(&Child).queue("others")];
    let words = refused(&Stage::new(), other_queue).await;
    let want = "a follow-up waits in the queue \"default\" of its parent, not in \"others\": \
                enqueue it by the client";
    assert_eq!(words, want);

    let own_id = || vec![Draft::new(&Child).id("p")];
    let words = refused(&Stage::new(), own_id).await;
    assert_eq!(words, "a change makes a follow-up under its own id (task default/p)");

    let too_many = || (0..101).map(|_| Draft::new(&Child)).collect();
    assert_eq!(
        refused(&Stage::new(), too_many).await,
        "the number of follow-ups is 101, more than 100"
    );

    let not_valid = || vec![Draft::new(&Child).id("a\tb")];
    let words = refused(&Stage::new(), not_valid).await;
    assert_eq!(words, "id \"a\\tb\" has a control character");

    let without = Stage::with_features(Features::all() - Features::FOLLOW_UPS);
    let words = refused(&without, || vec![Draft::new(&Child)]).await;
    assert_eq!(words, "memory does not have: follow-ups");
}

#[tokio::test(start_paused = true)]
async fn as_many_follow_ups_as_the_store_takes_all_come() {
    let stage = Stage::new();
    let task = parent(&stage).await;
    let handler = |_: Parent, cx: Context| async move {
        (0..100).try_for_each(|n| cx.follow_up(Draft::new(&Child).id(format!("{n}"))))
    };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.until_it_is(&task, State::Succeeded).await;
    assert_eq!(children(&stage, "default").len(), 100);
    assert_eq!(working.tally().succeeded, 1);
}

/// Only the commit can find this out. The work is done, but it cannot be written as it is: that
/// is a failure, and the task lives on until somebody sets the number.
#[tokio::test(start_paused = true)]
async fn a_limit_group_without_a_number_turns_the_success_into_a_failure() {
    let stage = Stage::new();
    let task = parent(&stage).await;
    let told = Told::default();
    let handler = |_: Parent, cx: Context| async move {
        cx.follow_up(Draft::new(&Child).id("c").limit("tenant", "ada"))
    };
    let worker = Worker::new(&stage.client).handler(handler).observer(told.clone());
    let working = Working::start(worker);
    stage.until("it is decided", || !told.of("decided").is_empty()).await;
    let parent = stage.task(&task).await;
    assert_eq!(standing(&parent), (State::Waiting, 1, 1, 0));
    let record = &parent.history.records[0];
    let words = "the store refused the success: limit group \"tenant\" has no number";
    assert_eq!((record.event, record.message.as_str()), (Event::Failed, words));
    assert_eq!(parent.due, record.at.after(MINUTE));
    assert_eq!(children(&stage, "default"), []);

    let configure = Configure::new("default").with_limit("tenant", 1);
    stage.store.configure(configure).await.expect("memory answers");
    stage.until_it_is(&task, State::Succeeded).await;
    assert_eq!(ids(&children(&stage, "default")), ["c"]);
    assert_eq!(told.of("decided"), ["decided p failed: applied", "decided p succeeded: applied"]);
    let tally = working.tally();
    assert_eq!((tally.failed, tally.succeeded, tally.refused), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_number_that_is_never_set_ends_as_a_dead_letter_that_says_so() {
    let stage = Stage::new();
    let task = parent(&stage).await;
    let handler = |_: Parent, cx: Context| async move {
        cx.follow_up(Draft::new(&Child).limit("tenant", "ada"))
    };
    let _working = Working::start(Worker::new(&stage.client).handler(handler));
    let dead = stage.until_it_is(&task, State::Dead(DeadReason::Exhausted)).await;
    assert_eq!(standing(&dead), (State::Dead(DeadReason::Exhausted), 2, 1, 0));
    let record = dead.history.records.last().expect("there is one");
    assert!(record.message.contains("\"tenant\" has no number"), "{}", record.message);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_commit_brings_its_follow_ups_once() {
    let stage = Stage::new();
    let task = parent(&stage).await;
    stage.store.fail_next(Verb::Commit, [Fault::LostReply, Fault::LostReply]);
    let handler = |_: Parent, cx: Context| async move { cx.follow_up(Child) };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.until("the verdict came", || working.tally().succeeded == 1).await;
    assert_eq!(stage.store.fired(), 2);
    assert_eq!(stage.now(&task).map(|task| task.state), Some(State::Succeeded));
    assert_eq!(children(&stage, "default").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_success_that_comes_too_late_brings_nothing() {
    let stage = Stage::new();
    let task = parent(&stage).await;
    let entered = Arc::new(tokio::sync::Notify::new());
    let enters = entered.clone();
    let handler = move |_: Parent, cx: Context| {
        let enters = enters.clone();
        async move {
            cx.follow_up(Child)?;
            enters.notify_one();
            cx.cancelled().await;
            Ok::<_, Failure>(())
        }
    };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    entered.notified().await;
    let cancelled = stage.act(&task, leasehold_core::Intervention::Delete).await;
    assert!(matches!(cancelled, leasehold_core::CommitVerdict::Applied(_)), "{cancelled:?}");
    stage.until("the verdict came", || working.tally().stale == 1).await;
    assert_eq!(children(&stage, "default"), []);
    assert!(!matches!(stage.found(&task).await, Found::Nothing));
    assert_eq!(working.tally().succeeded, 0);
}
