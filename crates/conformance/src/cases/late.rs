//! The late success: when it still counts, and that nothing else does (LH-LATE).

use leasehold_core::clause::{LATE_1, LATE_2, LATE_3, LATE_4, LATE_5, LIMIT_3, UNIQ_3};
use leasehold_core::{
    Configure, DeadReason, Delivery, DuplicateCause, EnqueueVerdict, Filter, LimitKey, List,
    LostReason, NewTask, Purge, RenewVerdict, State, Status, TaskRef,
};

use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::expect::KEPT;
use crate::moves::{self, Move};
use crate::scene::{Cast, Place, Scene, newest};

/// Where a late success counts.
const WIDTHS: [Place; 3] = [Place::Rescuing, Place::PutBack, Place::Lost];

pub(crate) async fn counts_under_the_undecided_rescue(cx: &mut Context) -> Result<(), Stop> {
    counts_at(cx, Place::Rescuing, State::Leased(leasehold_core::Purpose::Rescue)).await
}

pub(crate) async fn counts_in_waiting_after_rescue(cx: &mut Context) -> Result<(), Stop> {
    counts_at(cx, Place::PutBack, State::Waiting).await
}

pub(crate) async fn counts_in_dead_lost(cx: &mut Context) -> Result<(), Stop> {
    counts_at(cx, Place::Lost, State::Dead(DeadReason::Lost)).await
}

/// At once and years later; the success brings its result along.
async fn counts_at(cx: &mut Context, place: Place, state: State) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for days in [0, 400] {
        let (mut scene, run) = cast.stage_at(cx, &format!("{days} days"), place).await?;
        cx.check(LATE_1, "the state before", scene.task().await?.state, state);
        scene.shift(cx, days * 24 * 60 * 60 * 1_000).await?;
        let mut success = moves::ending(newest(&run)?, "success")?;
        success.item.change.result = Some("done".into());
        scene.lands(cx, LATE_1, &success).await?;
        let task = scene.task().await?;
        cx.check(LATE_1, "the state after", task.state, State::Succeeded);
        cx.check(LATE_5, "the right to a late success after it", task.run, None);
        scene.claimable(cx, LATE_1).await?;
    }
    Ok(())
}

/// The same step takes it off the dead list; a later success by another decision is stale.
pub(crate) async fn takes_the_dead_letter_off_the_list(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let (mut scene, run) = cast.stage_at(cx, "list", Place::Lost).await?;
    let lost = Filter::all().with_reason(DeadReason::Lost);
    cx.check(LATE_3, "dead letters before", listed(&scene, lost.clone()).await?, 1);
    scene.lands(cx, LATE_3, &moves::ending(newest(&run)?, "success")?).await?;
    for gone in [lost, Filter::all().with_status(Status::Dead)] {
        cx.check(LATE_3, "dead letters after", listed(&scene, gone).await?, 0);
    }
    let succeeded = Filter::all().with_status(Status::Succeeded);
    cx.check(LATE_3, "succeeded tasks after", listed(&scene, succeeded).await?, 1);
    let seen = scene.see().await?;
    let counted = (seen.counts.of(Status::Dead), seen.counts.of(Status::Succeeded));
    cx.check(LATE_3, "dead and succeeded tasks counted", counted, (0, 1));
    scene.refused(cx, LATE_4, &moves::ending(newest(&run)?, "success")?).await
}

async fn listed(scene: &Scene, filter: Filter) -> Result<usize, Stop> {
    let operator = &scene.cast.operator;
    let page = operator.backend().list(List::new(operator.queue(), filter, 10)).await?;
    Ok(page.tasks.len())
}

/// From the next run's start to its end the old run's success is stale, and only the newest
/// of two lost runs has the right.
pub(crate) async fn ends_at_next_run(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for ends in ["success", "failure"] {
        let mut scene = cast.stage(ends, Delivery::at_least_once()).await?;
        let (old, _) = scene.rescued(cx).await?;
        let run = scene.run(cx, &scene.cast.second).await?;
        scene.refused(cx, LATE_1, &moves::ending(&old, "success")?).await?;
        scene.lapse(cx).await?;
        scene.refused(cx, LATE_1, &moves::ending(&old, "success")?).await?;
        if ends == "success" {
            let lapsed = scene.rescue(cx, &scene.cast.other).await?;
            scene.refused(cx, LATE_1, &moves::ending(&old, "success")?).await?;
            scene.lands(cx, LATE_1, &moves::rescue(&lapsed)).await?;
            scene.refused(cx, LATE_1, &moves::ending(&old, "success")?).await?;
        }
        scene.lands(cx, LATE_1, &moves::ending(&run, ends)?).await?;
        scene.refused(cx, LATE_1, &moves::ending(&old, "success")?).await?;
        scene.claimable(cx, LATE_1).await?;
    }
    Ok(())
}

pub(crate) async fn ends_at_an_operators_act(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut acted = 0;
    for place in WIDTHS {
        for name in moves::ACTS {
            let (mut scene, run) = cast.stage_at(cx, name, place).await?;
            let acts = moves::acts(&scene.task().await?);
            let Some(act) = acts.into_iter().find(|act| act.name == name) else { continue };
            acted += 1;
            scene.lands(cx, LATE_5, &act).await?;
            scene.refused(cx, LATE_1, &moves::ending(newest(&run)?, "success")?).await?;
            scene.claimable(cx, LATE_1).await?;
        }
    }
    // Five acts under a rescue, six in Waiting with edit, three for a dead letter.
    cx.check(LATE_1, "acts that the three places admit", acted, 5 + 6 + 3);
    Ok(())
}

/// To pause, to purge, to read: no act on the task.
pub(crate) async fn outlives_pause_and_repair(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in WIDTHS {
        let (mut scene, run) = cast.stage_at(cx, "settings", place).await?;
        let operator = scene.cast.operator.clone();
        operator.configure(Configure::new(operator.queue()).pause()).await?;
        let purged = operator.backend().purge(Purge::new(operator.queue(), 100)).await?;
        cx.check(LATE_1, "tasks that a purge removed", purged.tasks, 0);
        let none = scene.cast.second.claim(10).await?.leases;
        cx.check(LATE_1, "runs granted while paused", none, []);
        operator.configure(Configure::new(operator.queue()).with_retention(KEPT)).await?;
        scene.lands(cx, LATE_1, &moves::ending(newest(&run)?, "success")?).await?;
    }
    Ok(())
}

/// To change the number of its limit group: no act on the task either.
pub(crate) async fn outlives_a_limit(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in moves::RESCUES {
        let operator = cast.operator.on(rescue);
        operator.configure(Configure::new(rescue).with_limit("g", 1)).await?;
        let new = NewTask::new("kind", "payload", delivery).with_retention(KEPT);
        let new = new.with_limit(LimitKey::new("g", "k"));
        let mut scene = cast.stage_with(rescue, new).await?;
        let (run, _) = scene.rescued(cx).await?;
        operator.configure(Configure::new(rescue).with_limit("g", 0)).await?;
        scene.lands(cx, LATE_1, &moves::ending(&run, "success")?).await?;
    }
    Ok(())
}

/// A late renew is Lost and every late ending but the success is stale, in each width; the
/// rescuer's renew goes on.
pub(crate) async fn only_success(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in WIDTHS {
        let (mut scene, run) = cast.stage_at(cx, "late", place).await?;
        let before = scene.task().await?;
        let told = scene.cast.worker.renew(newest(&run)?).await?;
        let want = RenewVerdict::Lost(LostReason::Taken(before.fence));
        cx.check(LATE_2, "a late renew", told, want);
        cx.check_untouched(LATE_2, "after a late renew", &scene.cast.worker, &before).await?;
        for late in moves::endings(newest(&run)?).iter().filter(|end| end.name != "success") {
            scene.refused(cx, LATE_2, late).await?;
        }
        scene.lands(cx, LATE_1, &moves::ending(newest(&run)?, "success")?).await?;
    }
    Ok(())
}

/// What a late failure would break under `Never`: the key of the buried task has gone to
/// another one, and two unfinished tasks would share it.
pub(crate) async fn only_success_beside_a_passed_on_key(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let (mut scene, run) = lost_with_key(cx, &cast, "key").await?;
    let rival = NewTask::new("kind", "rival", Delivery::NotAfterLoss).with_id("u");
    scene.cast.operator.enqueue(rival.with_unique("k")).await?;
    let before = scene.cast.operator.get("u").await?;
    for late in moves::endings(&run).iter().filter(|end| end.name != "success") {
        scene.refused(cx, LATE_2, late).await?;
    }
    scene.lands(cx, LATE_1, &moves::ending(&run, "success")?).await?;
    cx.check_untouched(LATE_3, "who holds the key now", &scene.cast.operator, &before).await?;
    let third = NewTask::new("kind", "third", Delivery::NotAfterLoss).with_unique("k");
    let verdict = scene.cast.operator.try_enqueue(third.with_id("v")).await?;
    let want = EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Key,
        holder: TaskRef::new(scene.cast.operator.queue(), "u"),
        state: Some(State::Waiting),
    };
    cx.check(UNIQ_3, "a third task for the key that the second one holds", verdict, want);
    Ok(())
}

async fn lost_with_key(
    cx: &mut Context,
    cast: &Cast,
    what: &str,
) -> Result<(Scene, leasehold_core::Lease), Stop> {
    let new = NewTask::new("kind", "payload", Delivery::NotAfterLoss).with_retention(KEPT);
    let mut scene = cast.stage_with(what, new.with_unique("k")).await?;
    let (run, _) = scene.rescued(cx).await?;
    Ok((scene, run))
}

/// A rescue that put the task back has kept its key, and the late success frees it.
pub(crate) async fn frees_its_own_key(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for decided in [false, true] {
        let new = NewTask::new("kind", "payload", Delivery::at_least_once()).with_retention(KEPT);
        let new = new.with_unique("k");
        let mut scene = cast.stage_with(&format!("decided {decided}"), new).await?;
        let (run, _) = if decided { scene.rescued(cx).await? } else { scene.lapsed(cx).await? };
        let rival = || NewTask::new("kind", "rival", Delivery::NotAfterLoss).with_unique("k");
        let verdict = scene.cast.operator.try_enqueue(rival().with_id("u")).await?;
        let held = matches!(verdict, EnqueueVerdict::Duplicate { .. });
        cx.check_that(UNIQ_3, "a rival before the success", held, &verdict);
        scene.lands(cx, LATE_3, &moves::ending(&run, "success")?).await?;
        let verdict = scene.cast.operator.try_enqueue(rival().with_id("v")).await?;
        let free = matches!(verdict, EnqueueVerdict::Enqueued { .. });
        cx.check_that(UNIQ_3, "a rival after the success", free, &verdict);
    }
    Ok(())
}

/// The slot ended with the lease: the next holder's is not freed in its place.
pub(crate) async fn frees_no_slot_twice(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in moves::RESCUES {
        let operator = cast.operator.on(rescue);
        operator.configure(Configure::new(rescue).with_limit("g", 1)).await?;
        let limited = |id: &str| {
            let new = NewTask::new("kind", "payload", delivery).with_retention(KEPT);
            new.with_id(id).with_limit(LimitKey::new("g", "k"))
        };
        let mut scene = cast.stage_with(rescue, limited("t")).await?;
        let (run, lapsed) = scene.lapsed(cx).await?;
        for id in ["u", "v"] {
            operator.enqueue(limited(id)).await?;
        }
        let next = scene.cast.second.run_one().await?;
        cx.check(LIMIT_3, "who has the slot now", next.task_ref.id.as_str(), "u");
        scene.lands(cx, LATE_3, &moves::ending(&run, "success")?).await?;
        let none = scene.cast.worker.claim(10).await?.leases;
        cx.check(LIMIT_3, "runs beside the one that the limit allows", none, []);
        scene.refused(cx, LATE_3, &moves::rescue(&lapsed)).await?;
        let none = scene.cast.worker.claim(10).await?.leases;
        cx.check(LIMIT_3, "runs after the stale rescue", none, []);
    }
    Ok(())
}

/// A run that has committed, in time or overdue, cannot take its word back by a success.
pub(crate) async fn a_committed_run_has_no_right(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in [Place::Running, Place::Lapsed] {
        for name in moves::ENDINGS {
            let (mut scene, run) = cast.stage_at(cx, name, place).await?;
            scene.lands(cx, LATE_4, &moves::ending(newest(&run)?, name)?).await?;
            cx.check(LATE_5, "the right after a commit", scene.task().await?.run, None);
            scene.refused(cx, LATE_4, &moves::ending(newest(&run)?, "success")?).await?;
            scene.claimable(cx, LATE_4).await?;
        }
    }
    Ok(())
}

/// A rescue alone keeps the right, also one that took over from another.
pub(crate) async fn a_rescue_keeps_the_right(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in moves::RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (run, first) = scene.lapsed(cx).await?;
        cx.check(LATE_5, "the run told to a rescuer", first.run, Some(run.fence));
        scene.lapse(cx).await?;
        let second = scene.rescue(cx, &scene.cast.other).await?;
        cx.check(LATE_5, "the run told to the next", second.run, Some(run.fence));
        scene.lands(cx, LATE_5, &moves::rescue(&second)).await?;
        cx.check(LATE_5, "the run after both", scene.task().await?.run, Some(run.fence));
        scene.lands(cx, LATE_1, &moves::ending(&run, "success")?).await?;
    }
    Ok(())
}

/// A repeat of the late success after a lost reply is Replayed, for a task that stays and for
/// one that has left.
pub(crate) async fn a_repeat_is_replayed(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for retention in [KEPT, leasehold_core::Retention::default()] {
        let new = NewTask::new("kind", "payload", Delivery::NotAfterLoss).with_retention(retention);
        let mut scene = cast.stage_with(&format!("{:?}", retention.succeeded), new).await?;
        let (run, _) = scene.rescued(cx).await?;
        let success: Move = moves::ending(&run, "success")?;
        scene.lands(cx, LATE_1, &success).await?;
        scene.replayed(cx, LATE_1, &success).await?;
        scene.shift(cx, Actor::TTL_MS).await?;
        scene.replayed(cx, LATE_1, &success).await?;
    }
    Ok(())
}
