//! A decision is applied once: its repeat is Replayed, another one on the same fence is Stale.

use leasehold_core::clause::{COMMIT_4, COMMIT_5, COMMIT_6, COMMIT_8};
use leasehold_core::{CommitItem, Delivery, NewTask};

use crate::context::{Context, Stop};
use crate::expect::KEPT;
use crate::moves::{self, Move, RESCUES};
use crate::scene::{Cast, Place, newest};

/// The same decision again: the same id and the same change.
fn another(one: &Move) -> Move {
    let item = CommitItem::new(one.item.guard.clone(), one.item.change.clone());
    Move { item, ..one.clone() }
}

/// The reply was lost: each ending of a run, in time and overdue, is Replayed however often it
/// is sent again, and the very same change under another decision id is stale.
pub(crate) async fn every_ending_applies_once(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in [Place::Running, Place::Lapsed] {
        for name in moves::ENDINGS {
            let (mut scene, run) = cast.stage_at(cx, name, place).await?;
            let end = moves::ending(newest(&run)?, name)?;
            scene.lands(cx, COMMIT_4, &end).await?;
            scene.replayed(cx, COMMIT_4, &end).await?;
            scene.refused(cx, COMMIT_6, &another(&end)).await?;
            scene.replayed(cx, COMMIT_4, &end).await?;
            scene.claimable(cx, COMMIT_4).await?;
        }
    }
    Ok(())
}

pub(crate) async fn every_rescue_applies_once(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (_, lapsed) = scene.lapsed(cx).await?;
        let decision = moves::rescue(&lapsed);
        scene.lands(cx, COMMIT_4, &decision).await?;
        scene.replayed(cx, COMMIT_4, &decision).await?;
        scene.refused(cx, COMMIT_6, &another(&decision)).await?;
        scene.replayed(cx, COMMIT_4, &decision).await?;
        scene.claimable(cx, COMMIT_4).await?;
    }
    Ok(())
}

pub(crate) async fn every_act_applies_once(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in Place::ALL {
        for name in moves::ACTS {
            let (mut scene, _) = cast.stage_at(cx, name, place).await?;
            let acts = moves::acts(&scene.task().await?);
            let Some(act) = acts.into_iter().find(|act| act.name == name) else { continue };
            scene.lands(cx, COMMIT_4, &act).await?;
            scene.replayed(cx, COMMIT_4, &act).await?;
            scene.refused(cx, COMMIT_6, &another(&act)).await?;
            scene.replayed(cx, COMMIT_4, &act).await?;
            scene.claimable(cx, COMMIT_4).await?;
        }
    }
    Ok(())
}

/// The next run, its lapse, its rescue and a takeover are claims, not commits: the repeat is
/// Replayed through all of them, and touches none of them.
pub(crate) async fn replay_lasts_through_later_claims(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for name in ["failure with a delay", "snooze", "release"] {
        let mut scene = cast.stage(name, Delivery::at_least_once()).await?;
        let old = scene.run(cx, &scene.cast.worker).await?;
        let end = moves::ending(&old, name)?;
        scene.lands(cx, COMMIT_5, &end).await?;
        scene.shift(cx, 9_000).await?;
        let run = scene.run(cx, &scene.cast.second).await?;
        scene.replayed(cx, COMMIT_5, &end).await?;
        scene.lapse(cx).await?;
        scene.replayed(cx, COMMIT_5, &end).await?;
        scene.rescue(cx, &scene.cast.rescuer).await?;
        scene.replayed(cx, COMMIT_5, &end).await?;
        scene.lapse(cx).await?;
        let lapsed = scene.rescue(cx, &scene.cast.other).await?;
        scene.replayed(cx, COMMIT_5, &end).await?;
        scene.refused(cx, COMMIT_6, &another(&end)).await?;
        scene.lands(cx, COMMIT_5, &moves::rescue(&lapsed)).await?;
        scene.lands(cx, COMMIT_5, &moves::ending(&run, "success")?).await?;
    }
    Ok(())
}

/// The same for a rescuer whose reply was lost while the next run has begun and has lapsed.
pub(crate) async fn a_rescue_is_replayed_through_later_claims(
    cx: &mut Context,
) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("rescue", Delivery::at_least_once()).await?;
    let (_, lapsed) = scene.lapsed(cx).await?;
    let decision = moves::rescue(&lapsed);
    scene.lands(cx, COMMIT_5, &decision).await?;
    scene.run(cx, &scene.cast.second).await?;
    scene.replayed(cx, COMMIT_5, &decision).await?;
    scene.lapse(cx).await?;
    scene.rescue(cx, &scene.cast.other).await?;
    scene.replayed(cx, COMMIT_5, &decision).await?;
    scene.refused(cx, COMMIT_6, &another(&decision)).await
}

/// What is remembered of a task that left tells Replayed from Stale for 60 s, then Gone.
pub(crate) async fn replay_after_the_task_left(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for leaves in ["success", "delete"] {
        let new = NewTask::new("kind", "payload", Delivery::at_least_once());
        let mut scene = cast.stage_with(leaves, new).await?;
        let run = scene.run(cx, &scene.cast.worker).await?;
        let last = match leaves {
            "success" => moves::ending(&run, "success")?,
            _ => {
                scene.lands(cx, COMMIT_4, &moves::ending(&run, "release")?).await?;
                moves::act(&scene.task().await?, "delete")?
            }
        };
        scene.lands(cx, COMMIT_4, &last).await?;
        cx.check(COMMIT_8, "the task that left", scene.see().await?.task, None);
        for after_ms in [0, 59_999] {
            scene.shift(cx, after_ms).await?;
            scene.replayed(cx, COMMIT_8, &last).await?;
            scene.refused(cx, COMMIT_8, &another(&last)).await?;
            scene.refused(cx, COMMIT_8, &moves::ending(&run, "failure")?).await?;
        }
        scene.shift(cx, 1).await?;
        scene.gone(cx, COMMIT_8, &last).await?;
        scene.gone(cx, COMMIT_8, &another(&last)).await?;
    }
    Ok(())
}

/// A repeat with other contents is Replayed too, and they are not written.
pub(crate) async fn replay_compares_no_contents(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let (mut scene, run) = cast.stage_at(cx, "contents", Place::Running).await?;
    let end = moves::ending(newest(&run)?, "failure")?;
    scene.lands(cx, COMMIT_4, &end).await?;
    for mut other in moves::endings(newest(&run)?) {
        other.item.decision = end.item.decision;
        scene.replayed(cx, COMMIT_4, &other).await?;
    }
    Ok(())
}

/// Replayed takes both, the fence that was shown and the decision: with the id of one and the
/// fence of another claim, or of another task, the answer is Stale.
pub(crate) async fn replay_is_not_for_anybody(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("mine", Delivery::at_least_once()).await?;
    let (old, lapsed) = scene.rescued(cx).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    let end = moves::ending(&run, "release")?;
    scene.lands(cx, COMMIT_4, &end).await?;
    for mut wrong in moves::endings(&old) {
        wrong.item.decision = end.item.decision;
        scene.refused(cx, COMMIT_6, &wrong).await?;
    }
    let mut wrong = moves::rescue(&lapsed);
    wrong.item.decision = end.item.decision;
    scene.refused(cx, COMMIT_6, &wrong).await?;

    let new = NewTask::new("kind", "payload", Delivery::at_least_once()).with_retention(KEPT);
    let theirs = cast.stage_with("theirs", new).await?;
    let other = theirs.run(cx, &theirs.cast.worker).await?;
    let current = theirs.task().await?.fence;
    let mut wrong = moves::ending(&other, "release")?;
    wrong.item.decision = end.item.decision;
    wrong.item.guard.fence = leasehold_core::Fence::new(current.value() + 1_000_000);
    theirs.refused(cx, COMMIT_6, &wrong).await?;

    // The decision that was the last one to be applied, shown with another fence.
    for mut wrong in moves::endings(&run) {
        wrong.item.decision = end.item.decision;
        wrong.item.guard.fence = leasehold_core::Fence::new(old.fence.value());
        scene.refused(cx, COMMIT_4, &wrong).await?;
    }
    scene.claimable(cx, COMMIT_6).await
}
