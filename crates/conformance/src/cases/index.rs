//! The records are the source of every index: what disagrees is found and mended, and no task is
//! touched by that.

use std::time::Duration;

use leasehold_core::clause::{CLAIM_2, CLAIM_6, LAPSE_1, LAPSE_8};
use leasehold_core::decide::Outcome;
use leasehold_core::{Configure, Count, Counts, Events, Purge, Status, TaskRef};

use crate::actor::{Actor, applied};
use crate::context::{Context, Stop};
use crate::harness::PlantedIndex;
use crate::staged::{ids, take};

/// In so many purges a queue of a few tasks has to be looked at as a whole.
const PURGES: usize = 10;

/// A lease that nobody would look for when it has lapsed is found by purge, and rescued.
pub(crate) async fn missing_lease_is_found(cx: &mut Context) -> Result<(), Stop> {
    let (worker, rescuer) = (cx.actor("worker").await?, cx.actor("rescuer").await?);
    worker.enqueue_all(["runs", "other"].map(Actor::task).into()).await?;
    let runs = take(&worker, 2).await?;
    plant(cx, "runs", PlantedIndex::LapseMissing).await?;
    let before = worker.get("runs").await?;
    mends(cx, &worker, "a lease that the index misses").await?;
    cx.check_untouched(LAPSE_8, "the task after the repair", &worker, &before).await?;
    cx.check(LAPSE_8, "rescues of a live lease", rescuer.rescue(9).await?.leases, []);

    plant(cx, "other", PlantedIndex::LapseMissing).await?;
    cx.shift(Actor::TTL_MS).await?;
    mends(cx, &worker, "a lapsed lease that the index misses").await?;
    let lapsed = rescuer.rescue(9).await?.leases;
    let mut rescued = ids(&lapsed);
    rescued.sort_unstable();
    cx.check(LAPSE_8, "rescues after the repair", rescued, ["other", "runs"].to_vec());
    for lease in &lapsed {
        applied(rescuer.give_back(lease).await?)?;
    }
    for lease in &runs {
        applied(worker.succeed(lease).await?)?;
    }
    Ok(())
}

/// An entry of the lapse index that no lapsed lease explains grants nobody a rescue and is
/// dropped, by whoever comes upon it.
pub(crate) async fn surplus_lease_is_dropped(cx: &mut Context) -> Result<(), Stop> {
    let (worker, rescuer) = (cx.actor("worker").await?, cx.actor("rescuer").await?);
    let lease = stage(&worker).await?;
    for claims_first in [true, false] {
        for id in ["waits", "runs", "done", "nobody"] {
            let before = repaired(&worker).await?;
            let seen = if id == "nobody" { None } else { Some(worker.get(id).await?) };
            plant(cx, id, PlantedIndex::LapseSurplus).await?;
            if claims_first {
                let clause = if id == "runs" { LAPSE_1 } else { CLAIM_6 };
                let what = format!("rescues by a surplus entry of {id}");
                cx.check(clause, &what, rescuer.rescue(9).await?.leases, []);
            }
            purges(&worker).await?;
            // Whoever looks at a lease by its record has no need to mend an entry that is early.
            if id != "runs" || claims_first {
                counted(cx, &worker, before, &format!("a surplus lease of {id}")).await?;
            }
            if let Some(seen) = seen {
                cx.check_untouched(LAPSE_8, "the task after the repair", &worker, &seen).await?;
            }
        }
    }
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = rescuer.rescue(9).await?.leases;
    cx.check(LAPSE_8, "rescues of what has lapsed", ids(&lapsed), ["runs"].to_vec());
    applied(worker.succeed(&lease).await?)?;
    Ok(())
}

/// A lease that stands too early is no lapsed one, and is one as soon as it has lapsed: nobody
/// has to mend anything in between.
pub(crate) async fn early_lease_is_rescued_in_time(cx: &mut Context) -> Result<(), Stop> {
    let (worker, rescuer) = (cx.actor("worker").await?, cx.actor("rescuer").await?);
    worker.enqueue(Actor::task("runs")).await?;
    let lease = worker.run_one().await?;
    plant(cx, "runs", PlantedIndex::LapseSurplus).await?;
    cx.check(LAPSE_1, "rescues of a live lease", rescuer.rescue(9).await?.leases, []);
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = rescuer.rescue(9).await?.leases;
    cx.check(LAPSE_8, "rescues once it has lapsed", ids(&lapsed), ["runs"].to_vec());
    purges(&worker).await?;
    applied(worker.succeed(&lease).await?)?;
    Ok(())
}

/// A waiting task that no claim would look at is found by purge: one that never ran, and one
/// that was given back.
pub(crate) async fn missing_ready_is_found(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("back")).await?;
    let lease = worker.run_one().await?;
    applied(worker.end(&lease, Outcome::Snoozed(Duration::ZERO)).await?)?;
    worker.enqueue(Actor::task("new")).await?;
    for id in ["back", "new"] {
        let before = worker.get(id).await?;
        plant(cx, id, PlantedIndex::ReadyMissing).await?;
        mends(cx, &worker, &format!("the waiting task {id} that the index misses")).await?;
        cx.check_untouched(LAPSE_8, "the task after the repair", &worker, &before).await?;
    }
    let runs = take(&worker, 9).await?;
    cx.check(LAPSE_8, "runs after the repair", ids(&runs), ["back", "new"].to_vec());
    for lease in &runs {
        applied(worker.succeed(lease).await?)?;
    }
    Ok(())
}

/// An entry of the ready index whose task does not wait grants nobody a run and is dropped, by
/// whoever comes upon it.
pub(crate) async fn surplus_ready_is_dropped(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = (cx.actor("worker").await?, cx.actor("other").await?);
    let lease = stage(&worker).await?;
    let waited = worker.run_one().await?;
    for claims_first in [true, false] {
        for id in ["runs", "done", "nobody"] {
            let before = repaired(&worker).await?;
            let seen = if id == "nobody" { None } else { Some(worker.get(id).await?) };
            plant(cx, id, PlantedIndex::ReadySurplus).await?;
            if claims_first {
                let what = format!("runs by a surplus entry of {id}");
                cx.check(CLAIM_2, &what, other.claim(9).await?.leases, []);
            }
            purges(&worker).await?;
            counted(cx, &worker, before, &format!("a surplus entry of {id}")).await?;
            let ready = counts(&worker).await?.of(Status::Ready);
            cx.check(LAPSE_8, "ready tasks after the repair", ready, 0);
            if let Some(seen) = seen {
                cx.check_untouched(LAPSE_8, "the task after the repair", &worker, &seen).await?;
            }
        }
    }
    for lease in [lease, waited] {
        applied(worker.succeed(&lease).await?)?;
    }
    Ok(())
}

/// An entry that a task left behind does not let the next task of its id run twice.
pub(crate) async fn entry_of_an_earlier_life_grants_nothing(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.configure(Configure::new(Context::QUEUE).with_id_memory(Duration::ZERO)).await?;
    for purged in [false, true] {
        worker.enqueue(Actor::task("t")).await?;
        let lease = worker.run_one().await?;
        plant(cx, "t", PlantedIndex::ReadySurplus).await?;
        applied(worker.succeed(&lease).await?)?;
        cx.shift(1).await?;
        worker.enqueue(Actor::task("t")).await?;
        let before = repaired(&worker).await?;
        if purged {
            purges(&worker).await?;
        }
        let runs = take(&worker, 9).await?;
        cx.check(CLAIM_2, "runs of the next task", ids(&runs), ["t"].to_vec());
        purges(&worker).await?;
        counted(cx, &worker, before, "an entry of an earlier task").await?;
        for lease in &runs {
            applied(worker.succeed(lease).await?)?;
        }
    }
    Ok(())
}

/// A task that is done and kept, one that runs, and one that waits.
async fn stage(worker: &Actor) -> Result<leasehold_core::Lease, Stop> {
    worker.enqueue(Actor::kept("done")).await?;
    let done = worker.run_one().await?;
    applied(worker.succeed(&done).await?)?;
    worker.enqueue(Actor::task("runs")).await?;
    let lease = worker.run_one().await?;
    worker.enqueue(Actor::task("waits")).await?;
    Ok(lease)
}

async fn plant(cx: &Context, id: &str, planted: PlantedIndex) -> Result<(), Stop> {
    let task = TaskRef::new(Context::QUEUE, id);
    cx.planting()?.plant_index(&task, planted).await?.ok_or_else(Stop::inapplicable)
}

async fn counts(by: &Actor) -> Result<Counts, Stop> {
    Ok(by.backend().counts(Count::new(Context::QUEUE)).await?)
}

async fn repaired(by: &Actor) -> Result<u64, Stop> {
    let Events { repaired, .. } = counts(by).await?.events;
    Ok(repaired)
}

async fn purges(by: &Actor) -> Result<(), Stop> {
    for _ in 0..PURGES {
        by.backend().purge(Purge::new(Context::QUEUE, 9)).await?;
    }
    Ok(())
}

/// A repair is counted, and there is nothing left to mend.
async fn counted(cx: &mut Context, by: &Actor, before: u64, what: &str) -> Result<(), Stop> {
    let after = repaired(by).await?;
    cx.check_that(LAPSE_8, &format!("{what} is mended and counted"), after > before, after);
    purges(by).await?;
    cx.check(LAPSE_8, &format!("repairs once {what} is mended"), repaired(by).await?, after);
    Ok(())
}

async fn mends(cx: &mut Context, by: &Actor, what: &str) -> Result<(), Stop> {
    let before = repaired(by).await?;
    purges(by).await?;
    counted(cx, by, before, what).await
}
