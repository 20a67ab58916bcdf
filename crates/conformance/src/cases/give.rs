//! How a run ends without an outcome (LH-GIVE).

use std::time::Duration;

use leasehold_core::clause::{GIVE_1, GIVE_2, GIVE_3, LIMIT_3, RENEW_2, TIME_6};
use leasehold_core::{
    Bounds, CommitItem, Configure, Delivery, Due, Entered, LimitKey, LostReason, NewTask, Outcome,
    RenewVerdict, State, Status, Timestamp, Unknown, decide,
};

use crate::context::{Context, Stop};
use crate::demand;
use crate::expect::KEPT;
use crate::moves::{self, Move};
use crate::scene::{Cast, Place, Scene, newest};

/// The task runs and is given back by `outcome`.
async fn give(cx: &mut Context, scene: &mut Scene, outcome: Outcome) -> Result<(), Stop> {
    let run = scene.run(cx, &scene.cast.worker).await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, outcome, 1));
    scene.lands(cx, GIVE_2, &Move { name: "a give back", to: State::Waiting, item }).await
}

/// A release leaves the due time as it was, however long ago that is, and the task is ready.
pub(crate) async fn release_keeps_the_due_time(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for due in [Due::Now, Due::In(Duration::from_secs(60)), Due::At(Timestamp::from_millis(1))] {
        for entered in [Entered::No, Entered::Yes] {
            let new = NewTask::new("kind", "payload", Delivery::at_least_once()).with_due(due);
            let mut scene = cast.stage_with(&format!("{due:?}, {entered:?}"), new).await?;
            let before = scene.task().await?;
            scene.shift(cx, 90_000).await?;
            give(cx, &mut scene, Outcome::Released(entered)).await?;
            let task = scene.task().await?;
            cx.check(GIVE_1, "the due time", task.due, before.due);
            let budgets = (task.state, task.failures, task.rescues, task.attempt);
            cx.check(GIVE_1, "state and budgets", budgets, (State::Waiting, 0, 0, 1));
            scene.claimable(cx, GIVE_1).await?;
        }
    }
    Ok(())
}

/// A snooze waits for its delay from the commit on, to the millisecond.
pub(crate) async fn snooze_waits_its_delay(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (what, ms) in [("none", 0), ("1 ms", 1), ("an hour", 3_600_000)] {
        let mut scene = cast.stage(what, Delivery::NotAfterLoss).await?;
        give(cx, &mut scene, Outcome::Snoozed(Duration::from_millis(ms))).await?;
        let task = scene.task().await?;
        let want = scene.now().after(Duration::from_millis(ms));
        cx.check(GIVE_2, "the due time", task.due, want);
        cx.check(GIVE_2, "failures and rescues", (task.failures, task.rescues), (0, 0));
        if ms > 0 {
            scene.shift(cx, i64::try_from(ms).unwrap_or(0) - 1).await?;
            scene.claimable(cx, GIVE_2).await?;
            scene.shift(cx, 1).await?;
        }
        scene.claimable(cx, GIVE_2).await?;
    }
    Ok(())
}

/// A handler's greater number is cut to 100 years and noted; the task neither fails nor is lost.
pub(crate) async fn snooze_is_clamped(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let longest = Bounds::DELAY_MAX;
    for (what, delay, cut) in [
        ("longest", longest, false),
        ("over", longest + Duration::from_millis(1), true),
        ("ever", Duration::MAX, true),
    ] {
        let mut scene = cast.stage(what, Delivery::at_least_once()).await?;
        give(cx, &mut scene, Outcome::Snoozed(delay)).await?;
        let task = scene.task().await?;
        cx.check(TIME_6, "the due time", task.due, scene.now().after(longest));
        let noted = task.history.records.last().is_some_and(|last| !last.message.is_empty());
        cx.check(TIME_6, &format!("{what}: noted"), noted, cut);
        scene.claimable(cx, GIVE_2).await?;
    }
    Ok(())
}

/// A kind that this worker does not know waits for another worker, longer each time.
pub(crate) async fn unknown_kind_waits(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for delivery in [Delivery::at_least_once(), Delivery::AtMostOnce] {
        let mut scene = cast.stage(&format!("{delivery:?}"), delivery).await?;
        for ceiling in [1_000, 2_000, 4_000, 8_000] {
            give(cx, &mut scene, Outcome::UnknownKind(Unknown::Wait)).await?;
            let task = scene.task().await?;
            let delay = i64::try_from(task.due.since(scene.now()).as_millis()).unwrap_or(0);
            let within = (ceiling / 2..=ceiling).contains(&delay);
            cx.check_that(GIVE_1, "half to all of the delay in ms", within, (delay, ceiling));
            cx.check(GIVE_1, "failures and rescues", (task.failures, task.rescues), (0, 0));
            scene.shift(cx, delay).await?;
        }
        scene.claimable(cx, GIVE_1).await?;
    }
    Ok(())
}

/// C08: what was given back has no lease: nothing lapses, nothing is rescued, and the old
/// holder's renew is lost.
pub(crate) async fn clears_the_lease(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in [Place::Running, Place::Lapsed] {
        for name in ["snooze", "release", "unknown waits"] {
            let (mut scene, run) = cast.stage_at(cx, name, place).await?;
            let run = newest(&run)?;
            scene.lands(cx, GIVE_3, &moves::ending(run, name)?).await?;
            let task = scene.task().await?;
            let cleared = (task.until, task.holder, task.run, task.held_until);
            cx.check(GIVE_3, "lease, holder, run, held until", cleared, (None, None, None, None));
            let told = scene.cast.worker.renew(run).await?;
            cx.check(RENEW_2, "a renew", told, RenewVerdict::Lost(LostReason::Decided));
            scene.shift(cx, 10 * 60 * 1_000).await?;
            let counts = scene.see().await?.counts;
            let seen = (counts.of(Status::Ready), counts.of(Status::Lapsed), counts.events.lapsed);
            cx.check(GIVE_3, "ready, lapsed, lapses", seen, (1, 0, 0));
            scene.claimable(cx, GIVE_3).await?;
        }
    }
    Ok(())
}

/// The slot is free for the next task in the same step.
pub(crate) async fn frees_the_slot(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for name in ["snooze", "release", "unknown waits"] {
        let operator = cast.operator.on(name);
        operator.configure(Configure::new(name).with_limit("g", 1)).await?;
        let limited = || {
            let new = NewTask::new("kind", "payload", Delivery::at_least_once());
            new.with_retention(KEPT).with_limit(LimitKey::new("g", "k"))
        };
        let mut scene = cast.stage_with(name, limited()).await?;
        operator
            .enqueue(limited().with_id("u").with_priority(leasehold_core::Priority::HIGHEST))
            .await?;
        let first = scene.cast.second.run_one().await?;
        cx.check(LIMIT_3, "who runs first", first.task_ref.id.as_str(), "u");
        let none = scene.cast.worker.claim(1).await?.leases;
        cx.check(LIMIT_3, "runs beside it", none, []);
        let end = moves::ending(&first, name)?;
        crate::actor::applied(scene.cast.second.commit_item(&end.item).await?)?;
        if name == "release" {
            let claimed = scene.cast.second.claim(1).await?;
            let again = demand::lease(cx, GIVE_3, "a claim after a release", claimed)?;
            cx.check(GIVE_3, "who runs next", again.task_ref.id.as_str(), "u");
        } else {
            let claimed = scene.cast.worker.claim(1).await?;
            let run = demand::lease(cx, GIVE_3, &format!("a claim after {name}"), claimed)?;
            scene.lands(cx, GIVE_3, &moves::ending(&run, "success")?).await?;
        }
    }
    Ok(())
}

/// However often: thirty snoozes and thirty releases spend nothing, and only attempts go on.
pub(crate) async fn costs_nothing(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("free", Delivery::NotAfterLoss).await?;
    for n in 1..=60 {
        let outcome = match n % 2 {
            0 => Outcome::Snoozed(Duration::ZERO),
            _ => Outcome::Released(Entered::Yes),
        };
        give(cx, &mut scene, outcome).await?;
        let task = scene.task().await?;
        let seen = (task.state, task.failures, task.rescues, task.attempt);
        cx.check(GIVE_2, "state, budgets, attempt", seen, (State::Waiting, 0, 0, n));
    }
    scene.claimable(cx, GIVE_2).await
}
