//! A rescuer against the next one: whoever was taken over decides nothing.

use leasehold_core::clause::{FENCE_4, LAPSE_1, LAPSE_3, LAPSE_7};
use leasehold_core::{Count, Guard, RenewVerdict};

use crate::context::{Context, Stop};
use crate::moves::{self, RESCUES};
use crate::scene::Cast;

/// Rescuer 1 stalls past the end of its own lease and comes back before rescuer 2 has decided,
/// after it has, and after the next run has begun.
pub(crate) async fn takeover_after_rescue_lapse(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (_, first) = scene.lapsed(cx).await?;
        let stalled = moves::rescue(&first);
        scene.lapse(cx).await?;
        let second = scene.rescue(cx, &scene.cast.other).await?;
        scene.refused(cx, LAPSE_3, &stalled).await?;
        scene.lands(cx, LAPSE_3, &moves::rescue(&second)).await?;
        scene.refused(cx, LAPSE_3, &stalled).await?;
        scene.refused(cx, LAPSE_3, &moves::rescue(&first)).await?;
        if rescue == "requeue" {
            let run = scene.run(cx, &scene.cast.second).await?;
            scene.refused(cx, LAPSE_3, &stalled).await?;
            scene.lands(cx, LAPSE_3, &moves::ending(&run, "failure")?).await?;
            scene.refused(cx, LAPSE_3, &stalled).await?;
        }
        scene.claimable(cx, LAPSE_3).await?;
    }
    Ok(())
}

/// Whichever it would have chosen: the stalled rescuer has read another policy than the one
/// that took over, and its choice is stale all the same.
pub(crate) async fn takeover_with_the_other_choice(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for [(_, delivery), (other, theirs)] in [RESCUES, [RESCUES[1], RESCUES[0]]] {
        let mut scene = cast.stage(&format!("a stalled {other}"), delivery).await?;
        let (_, mut first) = scene.lapsed(cx).await?;
        first.policy.delivery = theirs;
        let stalled = moves::rescue(&first);
        scene.lapse(cx).await?;
        let second = scene.rescue(cx, &scene.cast.other).await?;
        scene.refused(cx, LAPSE_3, &stalled).await?;
        scene.lands(cx, LAPSE_3, &moves::rescue(&second)).await?;
        scene.refused(cx, LAPSE_3, &stalled).await?;
        scene.claimable(cx, LAPSE_3).await?;
    }
    Ok(())
}

/// Three rescuers, of whom two stalled: only the last decides, and its takeovers are counted.
pub(crate) async fn takeover_of_a_takeover(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (_, first) = scene.lapsed(cx).await?;
        scene.lapse(cx).await?;
        let second = scene.rescue(cx, &scene.cast.other).await?;
        scene.lapse(cx).await?;
        let third = scene.rescue(cx, &scene.cast.rescuer).await?;
        cx.check(LAPSE_3, "takeovers told to the third", third.takeovers, 2);
        for stalled in [&first, &second] {
            scene.refused(cx, LAPSE_3, &moves::rescue(stalled)).await?;
        }
        scene.lands(cx, LAPSE_3, &moves::rescue(&third)).await?;
        for stalled in [&first, &second] {
            scene.refused(cx, LAPSE_3, &moves::rescue(stalled)).await?;
        }
        scene.claimable(cx, LAPSE_3).await?;
    }
    Ok(())
}

/// C16: of two rescuers of one lapse the second gets nothing, and neither a fence of the lost run
/// nor a second decision of the first counts.
pub(crate) async fn two_rescuers(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (run, lapsed) = scene.lapsed(cx).await?;
        let none = scene.cast.other.rescue(10).await?.leases;
        cx.check(LAPSE_1, "leases of a second rescuer", none, []);
        let mut guess = moves::rescue(&lapsed);
        guess.item.guard = Guard::new(run.task_ref.clone(), run.fence);
        scene.refused(cx, FENCE_4, &guess).await?;
        let lost = scene.cast.worker.renew(&run).await?;
        let held = matches!(lost, RenewVerdict::Held { .. });
        cx.check_that(LAPSE_7, "the lost run cannot renew", !held, &lost);
        scene.lands(cx, LAPSE_7, &moves::rescue(&lapsed)).await?;
        scene.refused(cx, LAPSE_7, &moves::rescue(&lapsed)).await?;
        scene.refused(cx, FENCE_4, &guess).await?;
        let events = scene.cast.operator.backend().counts(Count::new(rescue)).await?.events;
        let seen = (events.lapsed, events.takeovers, events.rescued + events.buried);
        cx.check(LAPSE_7, "lapses, takeovers and decisions counted", seen, (1, 0, 1));
        scene.claimable(cx, LAPSE_7).await?;
    }
    Ok(())
}
