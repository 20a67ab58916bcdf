//! Whether a task may run again when its worker was lost (LH-MODE).

use leasehold_core::clause::{BUDGET_2, MODE_1, MODE_2, MODE_3};
use leasehold_core::{
    CommitItem, DeadReason, Delivery, Entered, ErrorKind, Intervention, NewTask, OnLeased, Outcome,
    RetryPolicy, State, Unknown, decide,
};

use crate::actor::{Actor, applied, failure, success};
use crate::context::{Context, Stop};
use crate::expect::KEPT;
use crate::moves::{self, Move};
use crate::scene::{Cast, Scene};

/// The run ends by `outcome`, as the delivery of its task makes of it.
async fn ends(cx: &mut Context, scene: &mut Scene, outcome: Outcome) -> Result<State, Stop> {
    let run = scene.run(cx, &scene.cast.worker).await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, outcome, 1));
    scene.lands(cx, MODE_1, &Move { name: "the end", to: State::Waiting, item }).await?;
    Ok(scene.task().await?.state)
}

/// Under `Never` a run without a decision is the last one: no claim, no sweep and no time
/// brings another, and the payload is kept whole, until an operator redrives.
pub(crate) async fn never_buries_what_was_lost(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for delivery in [Delivery::NotAfterLoss, Delivery::AtMostOnce] {
        let mut scene = cast.stage(&format!("{delivery:?}"), delivery).await?;
        scene.run(cx, &scene.cast.worker).await?;
        scene.shift(cx, 24 * 60 * 60 * 1_000).await?;
        let none = scene.cast.second.claim(10).await?.leases;
        cx.check(MODE_2, "runs of a lapsed task", none, []);
        let lapsed = scene.rescue(cx, &scene.cast.rescuer).await?;
        let none = scene.cast.second.claim(10).await?.leases;
        cx.check(MODE_2, "runs while a rescuer decides", none, []);
        scene.lands(cx, MODE_2, &moves::rescue(&lapsed)).await?;
        scene.shift(cx, 24 * 60 * 60 * 1_000).await?;
        scene.claimable(cx, MODE_2).await?;
        let dead = scene.task().await?;
        let seen = (dead.state, dead.attempt, dead.payload.clone());
        let want = (State::Dead(DeadReason::Lost), 1, "payload".into());
        cx.check(MODE_2, "state, attempt, payload", seen, want);
        scene.lands(cx, MODE_2, &moves::act(&dead, "redrive")?).await?;
        let run = scene.run(cx, &scene.cast.worker).await?;
        cx.check(MODE_2, "the payload of the next run", run.payload, "payload".into());
    }
    Ok(())
}

/// What the worker decides itself follows its own rules, in time and overdue: a failure under
/// not-after-loss is retried, a snooze waits.
pub(crate) async fn not_after_loss_still_retries(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for after_ms in [0, 30_000, 3_000_000] {
        for name in ["failure", "snooze", "release", "unknown waits"] {
            let what = format!("{name} after {after_ms} ms");
            let mut scene = cast.stage(&what, Delivery::NotAfterLoss).await?;
            let run = scene.run(cx, &scene.cast.worker).await?;
            scene.shift(cx, after_ms).await?;
            scene.lands(cx, MODE_2, &moves::ending(&run, name)?).await?;
            cx.check(MODE_2, &what, scene.task().await?.state, State::Waiting);
            scene.shift(cx, 10_000).await?;
            let run = scene.run(cx, &scene.cast.second).await?;
            cx.check(MODE_2, "the next run", run.attempt, 2);
        }
    }
    Ok(())
}

/// At-most-once: once the handler was entered no outcome leads to another run, whatever
/// retries the policy names.
pub(crate) async fn at_most_once_never_runs_twice(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let later = std::time::Duration::from_secs(1);
    let why = || "it said so".to_owned();
    let after = leasehold_core::Retry::After(later);
    let dead = State::Dead;
    let outcomes = [
        ("success", success(), State::Succeeded),
        ("failure", failure(), dead(DeadReason::Exhausted)),
        ("delay", Outcome::Failed { message: why(), retry: after }, dead(DeadReason::Exhausted)),
        ("panic", Outcome::Panicked { message: why() }, dead(DeadReason::Exhausted)),
        ("timeout", Outcome::TimedOut, dead(DeadReason::Exhausted)),
        ("snooze", Outcome::Snoozed(later), dead(DeadReason::Rejected)),
        ("release", Outcome::Released(Entered::Yes), dead(DeadReason::Rejected)),
        ("cancel", Outcome::Cancelled { message: why() }, State::Cancelled),
    ];
    for (name, outcome, want) in outcomes {
        let new = NewTask::new("kind", "payload", Delivery::AtMostOnce);
        let new = new.with_retry(RetryPolicy::at_most(5)).with_retention(KEPT);
        let mut scene = cast.stage_with(name, new).await?;
        let state = ends(cx, &mut scene, outcome).await?;
        cx.check(MODE_1, name, state, want);
        let task = scene.task().await?;
        let seen = (task.payload, task.failures, task.attempt);
        cx.check(MODE_1, name, seen, ("payload".into(), 0, 1));
        scene.shift(cx, 24 * 60 * 60 * 1_000).await?;
        scene.claimable(cx, MODE_1).await?;
    }
    Ok(())
}

/// Before the handler is entered nothing has happened: a shutdown releases, an unknown kind
/// waits, and the task runs later.
pub(crate) async fn at_most_once_before_the_handler(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("before", Delivery::AtMostOnce).await?;
    for outcome in [Outcome::Released(Entered::No), Outcome::UnknownKind(Unknown::Wait)] {
        let state = ends(cx, &mut scene, outcome).await?;
        cx.check(MODE_1, "given back before the handler", state, State::Waiting);
        scene.shift(cx, 10_000).await?;
    }
    let state = ends(cx, &mut scene, success()).await?;
    cx.check(MODE_1, "the run that was entered", state, State::Succeeded);
    Ok(())
}

/// At-least-once without a rescue is not what it says: Invalid, and no task comes of it.
pub(crate) async fn at_least_once_says_how_often(cx: &mut Context) -> Result<(), Stop> {
    let producer = cx.actor("producer").await?;
    let new = NewTask::new("kind", "payload", Delivery::AtLeastOnce { max_rescues: 0 });
    let told = producer.try_enqueue(new.with_id("t")).await;
    let kind = told.as_ref().err().map(leasehold_core::Error::kind);
    cx.check(MODE_1, "at-least-once with no rescue", kind, Some(ErrorKind::Invalid));
    cx.check_gone(MODE_1, "the task", &producer, "t").await
}

/// Retries, rescues and gives in any order, and stale, replayed and dropped decisions between
/// them: the starts are 1 + retries + rescues + gives, and then the task is dead.
pub(crate) async fn starts_are_bounded(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let orders: [&[&str]; 3] = [
        &["failure", "lost", "snooze", "lost", "failure", "release", "lost"],
        &["lost", "lost", "snooze", "failure", "failure", "release", "failure"],
        &["release", "snooze", "failure", "lost", "failure", "lost", "lost"],
    ];
    for (n, steps) in orders.into_iter().enumerate() {
        let new = NewTask::new("kind", "payload", Delivery::AtLeastOnce { max_rescues: 2 });
        let new = new.with_retry(RetryPolicy::at_most(2)).with_retention(KEPT);
        let mut scene = cast.stage_with(&format!("order {n}"), new).await?;
        for step in steps {
            if *step == "lost" {
                let (run, lapsed) = scene.lapsed(cx).await?;
                scene.refused(cx, BUDGET_2, &moves::ending(&run, "failure")?).await?;
                scene.lapse(cx).await?;
                let second = scene.rescue(cx, &scene.cast.other).await?;
                scene.refused(cx, BUDGET_2, &moves::rescue(&lapsed)).await?;
                scene.lands(cx, MODE_3, &moves::rescue(&second)).await?;
                continue;
            }
            let run = scene.run(cx, &scene.cast.worker).await?;
            let end = moves::ending(&run, step)?;
            scene.lands(cx, MODE_3, &end).await?;
            scene.replayed(cx, BUDGET_2, &end).await?;
            scene.shift(cx, 10_000).await?;
        }
        let task = scene.task().await?;
        let seen = (task.state.is_finished(), task.failures, task.rescues, task.attempt);
        cx.check(MODE_3, "dead; retries, rescues, starts", seen, (true, 2, 2, 1 + 2 + 2 + 2));
        scene.claimable(cx, MODE_3).await?;
    }
    Ok(())
}

/// Only an operator starts a task again that was lost under `Never`: by a redrive, or by a
/// requeue while the rescuer has not decided.
pub(crate) async fn an_operator_may_run_it_again(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("requeue", Delivery::AtMostOnce).await?;
    let (_, lapsed) = scene.lapsed(cx).await?;
    let seen = scene.task().await?;
    let act = Intervention::Requeue(OnLeased::Refuse);
    let operator: &Actor = &scene.cast.operator;
    applied(operator.act(&seen, act).await?)?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    scene.refused(cx, MODE_2, &moves::rescue(&lapsed)).await?;
    let state = scene.task().await?.state;
    cx.check(MODE_2, "the run", state, State::Leased(leasehold_core::Purpose::Run));
    scene.lands(cx, MODE_2, &moves::ending(&run, "success")?).await
}
