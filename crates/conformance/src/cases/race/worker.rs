//! A worker's commit against the rescue of its lapsed run: only a success counts.

use leasehold_core::clause::{BUDGET_1, LAPSE_2, LATE_1, LATE_2, LATE_3};
use leasehold_core::{Delivery, NewTask};

use crate::context::{Context, Stop};
use crate::expect::KEPT;
use crate::moves::{self, RESCUES};
use crate::scene::Cast;

pub(crate) async fn worker_success_vs_rescue_requeue(cx: &mut Context) -> Result<(), Stop> {
    success_vs_rescue(cx, Delivery::at_least_once()).await
}

pub(crate) async fn worker_success_vs_rescue_bury(cx: &mut Context) -> Result<(), Stop> {
    success_vs_rescue(cx, Delivery::NotAfterLoss).await
}

/// C11, and C18's other order: the success arrives before and after the rescuer's decision, for
/// a task that stays when it has finished and for one that leaves.
async fn success_vs_rescue(cx: &mut Context, delivery: Delivery) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for decided in [false, true] {
        for stays in [true, false] {
            let mut new = NewTask::new("kind", "payload", delivery);
            if stays {
                new = new.with_retention(KEPT);
            }
            let what = format!("decided {decided}, stays {stays}");
            let mut scene = cast.stage_with(&what, new).await?;
            let (run, lapsed) = scene.lapsed(cx).await?;
            let (success, decision) = (moves::ending(&run, "success")?, moves::rescue(&lapsed));
            if decided {
                scene.lands(cx, LAPSE_2, &decision).await?;
            }
            scene.lands(cx, LATE_1, &success).await?;
            if !decided {
                scene.refused(cx, LATE_3, &decision).await?;
            }
            scene.refused(cx, LATE_3, &moves::rescue(&lapsed)).await?;
            scene.claimable(cx, LATE_3).await?;
        }
    }
    Ok(())
}

/// C48: neither order lets the failure count, and the lapse is counted once.
pub(crate) async fn worker_fail_vs_rescue(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        for fails in ["failure", "failure with a delay", "exhausted", "panic", "timeout"] {
            let mut scene = cast.stage(&format!("{fails} and {rescue}"), delivery).await?;
            let (run, lapsed) = scene.lapsed(cx).await?;
            scene.refused(cx, LATE_2, &moves::ending(&run, fails)?).await?;
            scene.lands(cx, LAPSE_2, &moves::rescue(&lapsed)).await?;
            scene.refused(cx, LATE_2, &moves::ending(&run, fails)?).await?;
            let task = scene.task().await?;
            let budgets = (task.failures, task.rescues);
            let want = (0, u32::from(rescue == "requeue"));
            cx.check(BUDGET_1, "failures and rescues after both", budgets, want);
            scene.claimable(cx, LATE_2).await?;
        }
    }
    Ok(())
}

/// Every other ending, too, is stale in every width of the right to a late success, and the
/// success is taken after all of them.
pub(crate) async fn late_changes_but_success_are_stale(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        for decided in [false, true] {
            let what = format!("{rescue}, decided {decided}");
            let mut scene = cast.stage(&what, delivery).await?;
            let (run, lapsed) = scene.lapsed(cx).await?;
            if decided {
                scene.lands(cx, LAPSE_2, &moves::rescue(&lapsed)).await?;
            }
            for late in moves::endings(&run).iter().filter(|end| end.name != "success") {
                scene.refused(cx, LATE_2, late).await?;
            }
            scene.lands(cx, LATE_1, &moves::ending(&run, "success")?).await?;
            scene.claimable(cx, LATE_3).await?;
        }
    }
    Ok(())
}

/// The rescue's matching path beside late changes: after each of them it is still the rescuer
/// who decides, once.
pub(crate) async fn rescue_decides_after_late_changes(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (run, lapsed) = scene.lapsed(cx).await?;
        let late = moves::endings(&run);
        for late in late.iter().filter(|end| end.name != "success") {
            scene.refused(cx, LATE_2, late).await?;
        }
        scene.lands(cx, LAPSE_2, &moves::rescue(&lapsed)).await?;
        scene.claimable(cx, LAPSE_2).await?;
    }
    Ok(())
}
