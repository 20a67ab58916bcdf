//! The answer to a commit is true: Applied, Stale and Gone, and Invalid for its item alone.

use leasehold_core::clause::{
    COMMIT_1, COMMIT_2, COMMIT_3, COMMIT_7, COMMIT_8, COMMIT_10, RENEW_2, TIME_6,
};
use leasehold_core::{
    Bounds, Budget, Change, CommitItem, CommitVerdict, Configure, DeadReason, Delivery, Edit,
    Event, Fence, Guard, NewTask, Payload, RenewVerdict, Role, State, TaskRef, To, When,
};
use std::time::Duration;

use crate::context::{Context, Stop};
use crate::expect::KEPT;
use crate::moves::{self, Move, RESCUES};
use crate::scene::{Cast, Place, Scene, newest};

/// C15: with the current fence, an old one, one that never was, one of another task; each answer
/// is told by its own name, and only the first has an effect.
pub(crate) async fn verdict_true(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("verdicts", Delivery::at_least_once()).await?;
    let enqueued = scene.task().await?.fence;
    let (old, lapsed) = scene.rescued(cx).await?;
    let run = scene.run(cx, &scene.cast.second).await?;
    let mut wrong = vec![enqueued, old.fence, lapsed.fence];
    wrong.extend([0, run.fence.value() + 1, run.fence.value() + 1_000_000].map(Fence::new));
    let born = scene.task().await?.born;
    for fence in wrong {
        for mut end in moves::endings(&run) {
            end.item.guard.fence = fence;
            match fence < born {
                true => scene.gone(cx, COMMIT_8, &end).await?,
                false => scene.refused(cx, COMMIT_3, &end).await?,
            }
        }
    }
    scene.lands(cx, COMMIT_3, &moves::ending(&run, "failure")?).await?;
    scene.refused(cx, COMMIT_3, &moves::ending(&run, "failure")?).await
}

/// A fence says nothing about another task, whatever it is worth for its own.
pub(crate) async fn foreign_fence(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("t", Delivery::at_least_once()).await?;
    // The other task has moved more often, so that its fence is another one also in a store
    // that counts them by task.
    let other = NewTask::new("kind", "other", Delivery::at_least_once()).with_id("u");
    let operator = scene.cast.operator.clone();
    let run = scene.run(cx, &scene.cast.worker).await?;
    operator.enqueue(other).await?;
    let first = scene.cast.second.run_one().await?;
    let verdict = scene
        .cast
        .second
        .end(&first, leasehold_core::Outcome::Released(leasehold_core::Entered::No))
        .await?;
    crate::actor::applied(verdict)?;
    let theirs = scene.cast.second.run_one().await?;
    if theirs.fence == run.fence {
        return Err(Stop::because("two tasks that moved differently have one fence"));
    }
    let before = operator.get("u").await?;
    for mut end in moves::endings(&run) {
        end.item.guard.fence = theirs.fence;
        scene.refused(cx, COMMIT_1, &end).await?;
    }
    cx.check_untouched(COMMIT_1, "the task whose fence was shown", &operator, &before).await?;
    scene.lands(cx, COMMIT_1, &moves::ending(&run, "success")?).await?;
    cx.check_untouched(COMMIT_1, "the other task", &operator, &before).await
}

/// No such task, in a queue that has others and in one that nobody has named.
pub(crate) async fn gone_if_it_never_was(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("others", RESCUES[0].1).await?;
    let seen = scene.task().await?;
    let (run, lapsed) = scene.lapsed(cx).await?;
    let mut all = moves::endings(&run);
    all.push(moves::rescue(&lapsed));
    all.extend(moves::acts(&seen));
    for (queue, id) in [("others", "nobody"), ("nowhere", "t")] {
        let seen = scene.see().await?;
        for mut one in all.clone() {
            one.item.guard.task = TaskRef::new(queue, id);
            let told = scene.cast.operator.commit(one.item.guard, one.item.change).await?;
            cx.check(COMMIT_8, &format!("{} of {queue}/{id}", one.name), told, CommitVerdict::Gone);
        }
        let after = scene.see().await?;
        cx.check(COMMIT_8, "the other task", after.task, seen.task);
        cx.check(COMMIT_8, "the counts", after.counts, seen.counts);
    }
    Ok(())
}

/// A task that left, and a younger one under its id: what the old one's claims decide is Gone,
/// a repeat of what was applied to it as well, and the younger one is not touched.
pub(crate) async fn gone_below_born(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for memory in ["by default", "none"] {
        let new = || NewTask::new("kind", "payload", Delivery::at_least_once());
        let mut scene = cast.stage_with(memory, new()).await?;
        if memory == "none" {
            let none = Configure::new(memory).with_id_memory(Duration::ZERO);
            scene.cast.operator.configure(none).await?;
        }
        let (run, lapsed) = scene.rescued(cx).await?;
        let success = moves::ending(&run, "success")?;
        scene.lands(cx, COMMIT_8, &success).await?;
        if memory == "by default" {
            scene.shift(cx, 60_000).await?;
        }
        scene.gone(cx, COMMIT_8, &success).await?;
        let born = scene.cast.operator.enqueue(new().with_id("t")).await?;
        cx.check_that(COMMIT_8, "the younger one's first fence", born > lapsed.fence, born);
        let mut all = moves::endings(&run);
        all.extend([moves::rescue(&lapsed), success]);
        for old in &all {
            scene.gone(cx, COMMIT_8, old).await?;
        }
        let younger = scene.cast.second.run_one().await?;
        for old in &all {
            scene.gone(cx, COMMIT_8, old).await?;
        }
        scene.lands(cx, COMMIT_1, &moves::ending(&younger, "failure")?).await?;
    }
    Ok(())
}

/// Every change of a run, a rescuer or an operator is applied after the lease has passed if
/// nobody came, and costs what it would have cost in time.
pub(crate) async fn overdue_applies(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for name in moves::ENDINGS {
        let mut cost = Vec::new();
        for place in [Place::Running, Place::Lapsed] {
            let (mut scene, run) = cast.stage_at(cx, name, place).await?;
            let end = moves::ending(newest(&run)?, name)?;
            scene.lands(cx, COMMIT_7, &end).await?;
            let task = scene.task().await?;
            cost.push((task.state, task.attempt, task.failures, task.rescues));
            scene.claimable(cx, COMMIT_7).await?;
        }
        cx.check(COMMIT_7, &format!("{name}: overdue and in time"), cost[1], cost[0]);
    }
    for (rescue, delivery) in RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (_, lapsed) = scene.lapsed(cx).await?;
        scene.lapse(cx).await?;
        scene.lands(cx, COMMIT_7, &moves::rescue(&lapsed)).await?;
    }
    for act in ["cancel", "bury", "revoke", "delete"] {
        let (mut scene, _) = cast.stage_at(cx, &format!("act: {act}"), Place::Lapsed).await?;
        scene.lands(cx, COMMIT_7, &moves::act(&scene.task().await?, act)?).await?;
    }
    Ok(())
}

/// C14: no run, no rescuer and no act but delete, redrive and the edit of a dead letter moves a
/// finished task, though its current fence is shown; nor does a claim or a renew.
pub(crate) async fn finished_never_changes(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in Place::FINISHED {
        let (scene, run) = cast.stage_at(cx, "finished", place).await?;
        let seen = scene.task().await?;
        for end in moves::endings(newest(&run)?) {
            if (place, end.name) != (Place::Lost, "success") {
                scene.refused(cx, COMMIT_10, &end).await?;
            }
        }
        unfit(cx, &scene).await?;
        let mut current = newest(&run)?.clone();
        current.fence = seen.fence;
        let told = scene.cast.worker.renew(&current).await?;
        let lost = matches!(told, RenewVerdict::Lost(_));
        cx.check_that(RENEW_2, "a renew that shows the current fence", lost, &told);
        let operator = &scene.cast.operator;
        cx.check_untouched(COMMIT_10, "a finished task after all that", operator, &seen).await?;
    }
    Ok(())
}

/// What the state does not admit is Invalid, for a task that is not finished as well.
pub(crate) async fn wrong_state_is_invalid(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in Place::ALL {
        let (scene, _) = cast.stage_at(cx, "wrong", place).await?;
        unfit(cx, &scene).await?;
        scene.claimable(cx, COMMIT_3).await?;
    }
    Ok(())
}

/// Commits, with the current fence, every change that the task's state does not admit.
async fn unfit(cx: &mut Context, scene: &Scene) -> Result<(), Stop> {
    let seen = scene.task().await?;
    let guard = Guard::new(seen.task_ref.clone(), seen.fence);
    let again = To::Waiting(When::After(Duration::ZERO));
    let lost = To::Dead(DeadReason::Lost);
    let change = |by, to, event| Change::new(by, to, event);
    let mut edit = change(Role::Operator, To::Same, Event::Edited);
    edit.edit = Some(Box::new(Edit::default()));
    let redrive = change(Role::Operator, again, Event::Redriven).with_budget(Budget::Reset);
    let all = [
        ("a success", change(Role::Worker, To::Succeeded, Event::Succeeded)),
        ("a failure", change(Role::Worker, again, Event::Failed)),
        ("a release", change(Role::Worker, To::Waiting(When::Unchanged), Event::Released)),
        ("a fatal failure", change(Role::Worker, To::Dead(DeadReason::Rejected), Event::Rejected)),
        ("a cancel by the handler", change(Role::Worker, To::Cancelled, Event::Cancelled)),
        ("a rescue", change(Role::Rescuer, again, Event::Lapsed).with_budget(Budget::SpendRescue)),
        ("a rescue that buries", change(Role::Rescuer, lost, Event::Lapsed)),
        ("a cancel", change(Role::Operator, To::Cancelled, Event::Cancelled)),
        ("a bury", change(Role::Operator, To::Dead(DeadReason::Operator), Event::Buried)),
        ("a requeue", change(Role::Operator, again, Event::Requeued)),
        ("an edit", edit),
        ("a redrive", redrive),
    ];
    for (name, change) in all {
        if !admits(seen.state, change.by, change.to, change.is_redrive()) {
            let item = CommitItem::new(guard.clone(), change);
            scene.invalid(cx, &Move { name, to: seen.state, item }).await?;
        }
    }
    Ok(())
}

/// The table of moves: who may take a task from `state` where to; a requeue without `revoke`.
fn admits(state: State, by: Role, to: To, redrive: bool) -> bool {
    use leasehold_core::Purpose::{Rescue, Run};
    match (state, by, to) {
        (State::Leased(Run), Role::Worker, _) | (State::Leased(Rescue), Role::Rescuer, _) => true,
        (_, Role::Worker | Role::Rescuer, _) => false,
        (State::Waiting | State::Dead(_), Role::Operator, To::Same) => true,
        (_, Role::Operator, To::Same) => false,
        (_, Role::Operator, To::Waiting(_)) if redrive => state.is_finished(),
        (State::Leased(Run), Role::Operator, To::Waiting(_)) => false,
        _ => !state.is_finished(),
    }
}

/// A change whose parts do not go together is Invalid, with the current fence as well.
pub(crate) async fn ill_formed_is_invalid(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let (mut scene, run) = cast.stage_at(cx, "ill-formed", Place::Running).await?;
    let run = newest(&run)?.clone();
    let again = |delay| To::Waiting(When::After(delay));
    let worker = |to, event| Change::new(Role::Worker, to, event);
    let mut result = worker(again(Duration::ZERO), Event::Failed);
    result.result = Some("a result".into());
    let mut edit = worker(To::Succeeded, Event::Succeeded);
    edit.edit = Some(Box::new(Edit::default()));
    let bytes = scene.cast.operator.backend().capabilities().bounds.payload_bytes_max + 1;
    let mut large = worker(To::Succeeded, Event::Succeeded);
    large.result = Some(vec![0; bytes].into());
    let far = Bounds::DELAY_MAX + Duration::from_millis(1);
    let reset = worker(again(Duration::ZERO), Event::Failed).with_budget(Budget::Reset);
    for (name, change) in [
        ("a worker's delete", worker(To::Gone, Event::Deleted)),
        ("a worker's edit", worker(To::Same, Event::Edited)),
        ("a rescuer's success", Change::new(Role::Rescuer, To::Succeeded, Event::Succeeded)),
        ("an operator's success", Change::new(Role::Operator, To::Succeeded, Event::Succeeded)),
        ("a failure with a result", result),
        ("a success with an edit", edit),
        ("a result too large", large),
        ("a failure that resets budgets", reset),
        ("a delay too long", worker(again(far), Event::Snoozed)),
    ] {
        let item = CommitItem::new(run.guard(), change);
        scene.invalid(cx, &Move { name, to: State::Waiting, item }).await?;
    }
    let item = CommitItem::new(run.guard(), worker(again(Bounds::DELAY_MAX), Event::Snoozed));
    scene.lands(cx, TIME_6, &Move { name: "the longest delay", to: State::Waiting, item }).await
}

/// The result comes back with every bit, an empty one too, and a late reader sees it.
pub(crate) async fn result_is_kept(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let max = cast.operator.backend().capabilities().bounds.payload_bytes_max;
    let results: [(&str, Option<Payload>); 4] = [
        ("none", None),
        ("empty", Some("".into())),
        ("bytes", Some(vec![0, 0xff, b'"', 0xc3, 0x28, b'\n'].into())),
        ("largest", Some(vec![0xa5; max].into())),
    ];
    for (what, result) in results {
        let new = NewTask::new("kind", "payload", Delivery::at_least_once()).with_retention(KEPT);
        let mut scene = cast.stage_with(what, new).await?;
        let run = scene.run(cx, &scene.cast.worker).await?;
        let mut success = moves::ending(&run, "success")?;
        success.item.change.result.clone_from(&result);
        scene.lands(cx, COMMIT_2, &success).await?;
        scene.shift(cx, 24 * 60 * 60 * 1_000).await?;
        let task = scene.task().await?;
        cx.check(COMMIT_2, what, &task.result, &result);
        scene.lands(cx, COMMIT_2, &moves::act(&task, "redrive")?).await?;
        let task = scene.task().await?;
        cx.check(COMMIT_2, &format!("{what}, after a redrive"), &task.result, &None);

        // Nothing of it is left when the task leaves, either.
        let run = scene.run(cx, &scene.cast.worker).await?;
        let mut success = moves::ending(&run, "success")?;
        success.item.change.result = result;
        scene.lands(cx, COMMIT_2, &success).await?;
        scene.lands(cx, COMMIT_2, &moves::act(&scene.task().await?, "delete")?).await?;
    }
    Ok(())
}
