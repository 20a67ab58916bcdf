//! What failures and rescues may cost (LH-BUDGET).

use leasehold_core::clause::{BUDGET_1, BUDGET_2, BUDGET_3, BUDGET_4, LAPSE_7};
use leasehold_core::{DeadReason, Delivery, NewTask, RetryPolicy, State};

use crate::context::{Context, Stop};
use crate::expect::KEPT;
use crate::moves::{self, RESCUES};
use crate::scene::{Cast, Place, Scene, newest};

async fn budgets(scene: &Scene) -> Result<(State, u32, u32), Stop> {
    let task = scene.task().await?;
    Ok((task.state, task.failures, task.rescues))
}

/// The task runs and ends by `name`, or its worker is lost and a rescuer decides.
async fn goes(cx: &mut Context, scene: &mut Scene, name: &str) -> Result<(), Stop> {
    if name == "lost" {
        scene.rescued(cx).await?;
        return Ok(());
    }
    let run = scene.run(cx, &scene.cast.worker).await?;
    scene.lands(cx, BUDGET_1, &moves::ending(&run, name)?).await?;
    scene.shift(cx, 10_000).await
}

/// C48: each order of failures and lost workers is counted apart, and the budget that runs out
/// first buries, be the other one ever so fresh.
pub(crate) async fn two_budgets_are_independent(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let exhausted = State::Dead(DeadReason::Exhausted);
    let lost = State::Dead(DeadReason::Lost);
    let orders = [
        ("failures last", &["failure", "lost", "lost", "failure"][..], (exhausted, 1, 2)),
        ("lapses last", &["lost", "failure", "lost", "lost"], (lost, 1, 2)),
        ("only failures", &["failure", "failure"], (exhausted, 1, 0)),
        ("only lapses", &["lost", "lost", "lost"], (lost, 0, 2)),
        ("both spent", &["lost", "lost", "failure", "lost"], (lost, 1, 2)),
    ];
    for (what, steps, want) in orders {
        let new = NewTask::new("kind", "payload", Delivery::AtLeastOnce { max_rescues: 2 });
        let new = new.with_retry(RetryPolicy::at_most(1)).with_retention(KEPT);
        let mut scene = cast.stage_with(what, new).await?;
        let mut spent = (0, 0);
        for (n, step) in steps.iter().enumerate() {
            goes(cx, &mut scene, step).await?;
            if n + 1 < steps.len() {
                match *step {
                    "lost" => spent.1 += 1,
                    _ => spent.0 += 1,
                }
                let want = (State::Waiting, spent.0, spent.1);
                cx.check(BUDGET_1, &format!("{what}, step {n}"), budgets(&scene).await?, want);
            }
        }
        cx.check(BUDGET_1, what, budgets(&scene).await?, want);
        scene.claimable(cx, BUDGET_1).await?;
    }
    Ok(())
}

/// C25: n rescues give n + 1 runs through lost workers, then the task is buried.
pub(crate) async fn rescues_end_at_their_limit(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (max, delivery) in [
        (0, Delivery::NotAfterLoss),
        (0, Delivery::AtMostOnce),
        (1, Delivery::AtLeastOnce { max_rescues: 1 }),
        (3, Delivery::at_least_once()),
    ] {
        let mut scene = cast.stage(&format!("{delivery:?}"), delivery).await?;
        for rescues in 1..=max {
            goes(cx, &mut scene, "lost").await?;
            let want = (State::Waiting, 0, rescues);
            cx.check(BUDGET_2, "while it lasts", budgets(&scene).await?, want);
        }
        goes(cx, &mut scene, "lost").await?;
        let want = (State::Dead(DeadReason::Lost), 0, max);
        cx.check(BUDGET_2, "when it is spent", budgets(&scene).await?, want);
        cx.check(BUDGET_2, "runs", scene.task().await?.attempt, max + 1);
        scene.claimable(cx, BUDGET_2).await?;
    }
    Ok(())
}

/// Two rescuers have read the same counter: only one of their decisions counts, and the last
/// rescue of the budget is not given twice.
pub(crate) async fn a_stale_read_spends_nothing(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("last", Delivery::AtLeastOnce { max_rescues: 1 }).await?;
    let (_, first) = scene.lapsed(cx).await?;
    scene.lapse(cx).await?;
    let second = scene.rescue(cx, &scene.cast.other).await?;
    scene.refused(cx, BUDGET_2, &moves::rescue(&first)).await?;
    scene.lands(cx, LAPSE_7, &moves::rescue(&second)).await?;
    scene.refused(cx, BUDGET_2, &moves::rescue(&first)).await?;
    cx.check(BUDGET_2, "one rescue", budgets(&scene).await?, (State::Waiting, 0, 1));
    scene.lapsed(cx).await?;
    for stalled in [&first, &second] {
        scene.refused(cx, BUDGET_2, &moves::rescue(stalled)).await?;
    }
    Ok(())
}

/// Neither a snooze, a release nor an unknown kind, neither what is Stale nor what is Replayed,
/// and no success that comes late spends anything.
pub(crate) async fn what_costs_nothing(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for name in ["snooze", "release", "unknown waits"] {
        let (mut scene, run) = cast.stage_at(cx, name, Place::Running).await?;
        let end = moves::ending(newest(&run)?, name)?;
        scene.lands(cx, BUDGET_3, &end).await?;
        cx.check(BUDGET_3, name, budgets(&scene).await?, (State::Waiting, 0, 0));
        scene.replayed(cx, BUDGET_3, &end).await?;
        for late in moves::endings(newest(&run)?) {
            scene.refused(cx, BUDGET_3, &late).await?;
        }
        cx.check(BUDGET_3, "after repeats", budgets(&scene).await?, (State::Waiting, 0, 0));
    }
    let (mut scene, run) = cast.stage_at(cx, "failure", Place::Running).await?;
    let fails = moves::ending(newest(&run)?, "failure")?;
    scene.lands(cx, BUDGET_3, &fails).await?;
    for _ in 0..3 {
        scene.replayed(cx, BUDGET_3, &fails).await?;
    }
    cx.check(BUDGET_3, "one failure", budgets(&scene).await?, (State::Waiting, 1, 0));
    for place in [Place::Rescuing, Place::PutBack, Place::Lost] {
        let (mut scene, run) = cast.stage_at(cx, "late", place).await?;
        let (_, failures, rescues) = budgets(&scene).await?;
        scene.lands(cx, BUDGET_3, &moves::ending(newest(&run)?, "success")?).await?;
        let want = (State::Succeeded, failures, rescues);
        cx.check(BUDGET_3, "a late success", budgets(&scene).await?, want);
    }
    Ok(())
}

/// Whatever was spent, a redrive gives both budgets back whole, and the attempt goes on.
pub(crate) async fn redrive_resets_both(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, _) in RESCUES {
        let new = NewTask::new("kind", "payload", Delivery::AtLeastOnce { max_rescues: 1 });
        let new = new.with_retry(RetryPolicy::at_most(1)).with_retention(KEPT);
        let mut scene = cast.stage_with(rescue, new).await?;
        let last = if rescue == "bury" { "lost" } else { "failure" };
        for life in 1..=2 {
            for step in ["failure", "lost", last] {
                goes(cx, &mut scene, step).await?;
            }
            let task = scene.task().await?;
            let seen = (task.state.is_finished(), task.failures, task.rescues, task.attempt);
            cx.check(BUDGET_4, "finished, both spent", seen, (true, 1, 1, 3 * life));
            scene.lands(cx, BUDGET_4, &moves::act(&task, "redrive")?).await?;
            cx.check(BUDGET_4, "after it", budgets(&scene).await?, (State::Waiting, 0, 0));
            cx.check(BUDGET_4, "the attempt", scene.task().await?.attempt, 3 * life);
        }
        scene.claimable(cx, BUDGET_4).await?;
    }
    Ok(())
}
