//! An operator's act against a worker, a rescuer and another operator.

use leasehold_core::clause::{COMMIT_1, OPER_1, OPER_2, OPER_8, OPER_11};

use crate::context::{Context, Stop};
use crate::moves::{self, RESCUES};
use crate::scene::{Cast, Place, newest};

pub(crate) async fn operator_delete_between_claim_and_decision(
    cx: &mut Context,
) -> Result<(), Stop> {
    between_claim_and_decision(cx, "delete").await
}

pub(crate) async fn operator_requeue_between_claim_and_decision(
    cx: &mut Context,
) -> Result<(), Stop> {
    between_claim_and_decision(cx, "revoke").await
}

pub(crate) async fn operator_cancel_between_claim_and_decision(
    cx: &mut Context,
) -> Result<(), Stop> {
    between_claim_and_decision(cx, "cancel").await
}

pub(crate) async fn operator_bury_between_claim_and_decision(cx: &mut Context) -> Result<(), Stop> {
    between_claim_and_decision(cx, "bury").await
}

/// The operator takes a live or a lapsed run's lease away; every ending of the run, also a
/// success, is stale before that lease would have ended and after it.
async fn between_claim_and_decision(cx: &mut Context, act: &str) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in [Place::Running, Place::Lapsed] {
        let (mut scene, run) = cast.stage_at(cx, act, place).await?;
        let endings = moves::endings(newest(&run)?);
        scene.lands(cx, OPER_2, &moves::act(&scene.task().await?, act)?).await?;
        for end in &endings {
            scene.refused(cx, OPER_2, end).await?;
        }
        if place == Place::Running {
            // Nothing starts, and the record stays, while the run may not have heard.
            scene.claimable(cx, OPER_11).await?;
        }
        scene.lapse(cx).await?;
        for end in &endings {
            scene.refused(cx, OPER_2, end).await?;
        }
        scene.claimable(cx, OPER_11).await?;
    }
    Ok(())
}

/// After a requeue that took the lease away the next run is not the old one's to end.
pub(crate) async fn operator_requeue_then_next_run(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for ends in ["success", "failure", "release"] {
        let (mut scene, old) = cast.stage_at(cx, ends, Place::Running).await?;
        let late = moves::endings(newest(&old)?);
        scene.lands(cx, OPER_2, &moves::act(&scene.task().await?, "revoke")?).await?;
        scene.lapse(cx).await?;
        let run = scene.run(cx, &scene.cast.worker).await?;
        for late in &late {
            scene.refused(cx, OPER_2, late).await?;
        }
        scene.lands(cx, COMMIT_1, &moves::ending(&run, ends)?).await?;
        for late in &late {
            scene.refused(cx, OPER_2, late).await?;
        }
        scene.claimable(cx, OPER_2).await?;
    }
    Ok(())
}

/// The other order: what the operator saw was the claim, and by now the run has ended.
pub(crate) async fn operator_after_decision(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in [Place::Running, Place::Lapsed] {
        for name in moves::ENDINGS {
            let (mut scene, run) = cast.stage_at(cx, name, place).await?;
            let acts = moves::acts(&scene.task().await?);
            scene.lands(cx, OPER_1, &moves::ending(newest(&run)?, name)?).await?;
            for act in &acts {
                scene.refused(cx, OPER_1, act).await?;
            }
            scene.claimable(cx, OPER_1).await?;
        }
    }
    Ok(())
}

/// A claim gives a new fence as well: an act on what was seen before a Run claim or a Rescue
/// claim is stale.
pub(crate) async fn operator_vs_claim(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let (mut scene, _) = cast.stage_at(cx, "claims", Place::Ready).await?;
    let waiting = moves::acts(&scene.task().await?);
    let run = scene.run(cx, &scene.cast.worker).await?;
    let running = moves::acts(&scene.task().await?);
    for act in &waiting {
        scene.refused(cx, OPER_1, act).await?;
    }
    scene.lapse(cx).await?;
    let first = scene.rescue(cx, &scene.cast.rescuer).await?;
    let rescuing = moves::acts(&scene.task().await?);
    for act in waiting.iter().chain(&running) {
        scene.refused(cx, OPER_1, act).await?;
    }
    scene.lapse(cx).await?;
    let second = scene.rescue(cx, &scene.cast.other).await?;
    for act in waiting.iter().chain(&running).chain(&rescuing) {
        scene.refused(cx, OPER_1, act).await?;
    }
    scene.refused(cx, OPER_1, &moves::rescue(&first)).await?;
    scene.lands(cx, OPER_1, &moves::rescue(&second)).await?;
    scene.lands(cx, OPER_1, &moves::ending(&run, "success")?).await?;
    Ok(())
}

/// Every act, while a rescuer decides: it wins, and neither the rescuer's decision nor any
/// ending of the lost run, also the success, counts from then on.
pub(crate) async fn operator_between_rescue_claim_and_decision(
    cx: &mut Context,
) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for act in ["cancel", "bury", "requeue", "revoke", "delete"] {
        for (rescue, delivery) in RESCUES {
            let mut scene = cast.stage(&format!("{act} and {rescue}"), delivery).await?;
            let (run, lapsed) = scene.lapsed(cx).await?;
            scene.lands(cx, OPER_8, &moves::act(&scene.task().await?, act)?).await?;
            scene.refused(cx, OPER_8, &moves::rescue(&lapsed)).await?;
            for end in &moves::endings(&run) {
                scene.refused(cx, OPER_2, end).await?;
            }
            scene.claimable(cx, OPER_8).await?;
        }
    }
    Ok(())
}

/// The other order: what the operator saw was the rescue's claim, and by now it has decided, or
/// the run has succeeded late.
pub(crate) async fn operator_after_rescue_decision(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        for success in [false, true] {
            let what = format!("{rescue}, success {success}");
            let mut scene = cast.stage(&what, delivery).await?;
            let (run, lapsed) = scene.lapsed(cx).await?;
            let acts = moves::acts(&scene.task().await?);
            let decision = match success {
                false => moves::rescue(&lapsed),
                true => moves::ending(&run, "success")?,
            };
            scene.lands(cx, OPER_1, &decision).await?;
            for act in &acts {
                scene.refused(cx, OPER_1, act).await?;
            }
            scene.claimable(cx, OPER_1).await?;
        }
    }
    Ok(())
}

/// Two operators saw the same task, in each of its states: one acts, and every act of the
/// other on the same sight is stale.
pub(crate) async fn operator_vs_operator(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in Place::ALL {
        for name in moves::ACTS {
            let (mut scene, _) = cast.stage_at(cx, name, place).await?;
            let seen = scene.task().await?;
            let Some(first) = moves::acts(&seen).into_iter().find(|act| act.name == name) else {
                continue;
            };
            scene.lands(cx, OPER_1, &first).await?;
            for second in &moves::acts(&seen) {
                scene.refused(cx, OPER_1, second).await?;
            }
            scene.claimable(cx, OPER_1).await?;
        }
    }
    Ok(())
}
