//! A change of an old claim against the next claim that looks just like it: same state, same
//! holder, same attempt, same instant. Only the fence tells them apart.

use leasehold_core::Delivery;
use leasehold_core::clause::{COMMIT_1, FENCE_1, FENCE_4, LATE_1, LATE_4, OPER_2};

use crate::context::{Context, Stop};
use crate::moves;
use crate::scene::Cast;

/// C13: the first worker comes back while the second one runs, and after that one has decided.
pub(crate) async fn same_state_new_claim(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for ends in ["success", "failure", "snooze", "fatal", "cancel"] {
        let mut scene = cast.stage(ends, Delivery::at_least_once()).await?;
        let (old, lapsed) = scene.rescued(cx).await?;
        let run = scene.run(cx, &scene.cast.second).await?;
        for late in &moves::endings(&old) {
            scene.refused(cx, LATE_1, late).await?;
        }
        scene.refused(cx, FENCE_4, &moves::rescue(&lapsed)).await?;
        scene.lands(cx, COMMIT_1, &moves::ending(&run, ends)?).await?;
        for late in &moves::endings(&old) {
            scene.refused(cx, LATE_1, late).await?;
        }
        scene.claimable(cx, FENCE_4).await?;
    }
    Ok(())
}

/// The same for rescues: the next lapse is rescued by somebody else, and the decision about
/// the lapse before it does not count, nor does the success of the run before.
pub(crate) async fn same_state_new_rescue(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("next lapse", Delivery::at_least_once()).await?;
    let (old, first) = scene.rescued(cx).await?;
    let run = scene.run(cx, &scene.cast.second).await?;
    scene.lapse(cx).await?;
    let second = scene.rescue(cx, &scene.cast.other).await?;
    scene.refused(cx, FENCE_4, &moves::rescue(&first)).await?;
    for late in &moves::endings(&old) {
        scene.refused(cx, LATE_1, late).await?;
    }
    scene.lands(cx, COMMIT_1, &moves::rescue(&second)).await?;
    scene.refused(cx, FENCE_4, &moves::rescue(&first)).await?;
    scene.lands(cx, LATE_1, &moves::ending(&run, "success")?).await?;
    scene.claimable(cx, LATE_1).await
}

/// The holder of the lost run claims the task again: under the same name, not by the same claim.
pub(crate) async fn same_holder_reclaims(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for ends in ["success", "failure", "release", "undecodable"] {
        let mut scene = cast.stage(ends, Delivery::at_least_once()).await?;
        let (old, _) = scene.rescued(cx).await?;
        let run = scene.run(cx, &scene.cast.worker).await?;
        cx.check(FENCE_4, "the holder", scene.task().await?.holder, Some("worker".to_owned()));
        for late in &moves::endings(&old) {
            scene.refused(cx, FENCE_4, late).await?;
        }
        scene.lands(cx, COMMIT_1, &moves::ending(&run, ends)?).await?;
        for late in &moves::endings(&old) {
            scene.refused(cx, FENCE_4, late).await?;
        }
        scene.claimable(cx, FENCE_4).await?;
    }
    Ok(())
}

/// A rescuer takes over from itself: its first decision is stale, as anybody's would be.
pub(crate) async fn same_rescuer_takes_over(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in moves::RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (_, first) = scene.lapsed(cx).await?;
        scene.lapse(cx).await?;
        let second = scene.rescue(cx, &scene.cast.rescuer).await?;
        scene.refused(cx, FENCE_4, &moves::rescue(&first)).await?;
        scene.lands(cx, COMMIT_1, &moves::rescue(&second)).await?;
        scene.refused(cx, FENCE_4, &moves::rescue(&first)).await?;
        scene.claimable(cx, FENCE_4).await?;
    }
    Ok(())
}

/// A dead letter is redriven with fresh budgets and runs again: nothing of the first life
/// counts in the second, be it buried by an operator or by a rescue.
pub(crate) async fn redrive_then_old_commit(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for buried in ["by an operator", "by a rescue"] {
        let mut scene = cast.stage(buried, Delivery::NotAfterLoss).await?;
        let (old, lapsed) = scene.lapsed(cx).await?;
        let bury = match buried {
            "by a rescue" => moves::rescue(&lapsed),
            _ => moves::act(&scene.task().await?, "bury")?,
        };
        scene.lands(cx, COMMIT_1, &bury).await?;
        let redrive = moves::act(&scene.task().await?, "redrive")?;
        scene.lands(cx, OPER_2, &redrive).await?;
        let mut late = moves::endings(&old);
        late.push(moves::rescue(&lapsed));
        for late in &late {
            scene.refused(cx, OPER_2, late).await?;
        }
        let run = scene.run(cx, &scene.cast.second).await?;
        for late in &late {
            scene.refused(cx, OPER_2, late).await?;
        }
        scene.lands(cx, COMMIT_1, &moves::ending(&run, "failure")?).await?;
        for late in &late {
            scene.refused(cx, OPER_2, late).await?;
        }
    }
    Ok(())
}

/// No time passes between a claim, its end and the next claim: their fences differ all the same.
pub(crate) async fn two_claims_same_instant(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for ends in ["success", "failure", "snooze", "cancel"] {
        let mut scene = cast.stage(ends, Delivery::at_least_once()).await?;
        let old = scene.run(cx, &scene.cast.worker).await?;
        scene.lands(cx, COMMIT_1, &moves::ending(&old, "release")?).await?;
        let run = scene.run(cx, &scene.cast.worker).await?;
        cx.check_that(FENCE_1, "the second fence", run.fence > old.fence, (&old, &run));
        for late in &moves::endings(&old) {
            scene.refused(cx, LATE_4, late).await?;
        }
        scene.lands(cx, COMMIT_1, &moves::ending(&run, ends)?).await?;
        for late in &moves::endings(&old) {
            scene.refused(cx, LATE_4, late).await?;
        }
        scene.claimable(cx, COMMIT_1).await?;
    }
    Ok(())
}
