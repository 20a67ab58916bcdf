//! The matching paths: the same orders of time, but nobody came between, so that the guard is
//! still good and the change must be applied.

use leasehold_core::clause::{COMMIT_1, COMMIT_7, LAPSE_3, OPER_1, RETRY_1};

use crate::context::{Context, Stop};
use crate::moves::{self, RESCUES};
use crate::scene::{Cast, Place};

pub(crate) async fn matching_success(cx: &mut Context) -> Result<(), Stop> {
    ends(cx, &["success"]).await
}

pub(crate) async fn matching_fail(cx: &mut Context) -> Result<(), Stop> {
    let fails = ["failure", "failure with a delay", "exhausted", "fatal", "panic", "timeout"];
    ends(cx, &fails).await
}

pub(crate) async fn matching_snooze(cx: &mut Context) -> Result<(), Stop> {
    ends(cx, &["snooze", "unknown waits"]).await
}

pub(crate) async fn matching_release(cx: &mut Context) -> Result<(), Stop> {
    ends(cx, &["release"]).await
}

pub(crate) async fn matching_cancel(cx: &mut Context) -> Result<(), Stop> {
    ends(cx, &["cancel"]).await
}

pub(crate) async fn matching_bury(cx: &mut Context) -> Result<(), Stop> {
    ends(cx, &["undecodable", "unknown", "corrupt"]).await
}

/// A run ends in time, at the last instant of its lease, at its end, and long after it.
async fn ends(cx: &mut Context, names: &[&str]) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for name in names {
        for after_ms in [0, 29_999, 30_000, 90_000] {
            let what = format!("{name} after {after_ms} ms");
            let mut scene = cast.stage(&what, RESCUES[0].1).await?;
            let run = scene.run(cx, &scene.cast.worker).await?;
            scene.shift(cx, after_ms).await?;
            let clause = if after_ms < 30_000 { COMMIT_1 } else { COMMIT_7 };
            let end = moves::ending(&run, name)?;
            scene.lands(cx, clause, &end).await?;
            cx.check(clause, &what, scene.task().await?.state, end.to);
            scene.claimable(cx, clause).await?;
        }
    }
    Ok(())
}

/// A rescuer decides in time, or overdue, when nobody has taken over; also as the one who did.
pub(crate) async fn matching_rescue(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        for (taken_over, after_ms) in [(false, 0), (false, 29_999), (false, 30_000), (true, 90_000)]
        {
            let what = format!("{rescue} after {after_ms} ms, taken over {taken_over}");
            let mut scene = cast.stage(&what, delivery).await?;
            let (_, mut lapsed) = scene.lapsed(cx).await?;
            if taken_over {
                scene.lapse(cx).await?;
                lapsed = scene.rescue(cx, &scene.cast.other).await?;
            }
            scene.shift(cx, after_ms).await?;
            let decision = moves::rescue(&lapsed);
            scene.lands(cx, LAPSE_3, &decision).await?;
            cx.check(LAPSE_3, &what, scene.task().await?.state, decision.to);
            scene.claimable(cx, LAPSE_3).await?;
        }
    }
    Ok(())
}

/// An operator acts on what is still so, in each state and by each act that it admits.
pub(crate) async fn matching_operator(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut acted = 0;
    for place in Place::ALL {
        for name in moves::ACTS {
            let (mut scene, _) = cast.stage_at(cx, name, place).await?;
            let acts = moves::acts(&scene.task().await?);
            let Some(act) = acts.into_iter().find(|act| act.name == name) else { continue };
            acted += 1;
            scene.lands(cx, OPER_1, &act).await?;
            if name != "delete" {
                let what = format!("{name} at {place:?}");
                cx.check(OPER_1, &what, scene.task().await?.state, act.to);
            }
            scene.claimable(cx, OPER_1).await?;
        }
    }
    // Six while Waiting (three such places), four under a Run lease (two), five under a Rescue
    // lease, three for a dead letter (two), two for what else has finished (two).
    cx.check(OPER_1, "acts that some state admits", acted, 18 + 8 + 5 + 6 + 4);
    Ok(())
}

/// The run after a rescue is as good as any: each of its endings is applied.
pub(crate) async fn matching_run_after_rescue(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for name in ["success", "failure", "exhausted", "fatal", "snooze", "release", "cancel"] {
        let mut scene = cast.stage(name, RESCUES[0].1).await?;
        scene.rescued(cx).await?;
        let run = scene.run(cx, &scene.cast.second).await?;
        let end = moves::ending(&run, name)?;
        scene.lands(cx, RETRY_1, &end).await?;
        cx.check(RETRY_1, name, scene.task().await?.state, end.to);
        scene.claimable(cx, RETRY_1).await?;
    }
    Ok(())
}
