//! Slots beside others of their key: what ends one leaves the others as they are.

use std::time::Duration;

use leasehold_core::clause::{
    CLAIM_4, CLAIM_11, LAPSE_8, LIMIT_2, LIMIT_3, LIMIT_6, LIMIT_7, RENEW_3, TIME_4,
};
use leasehold_core::decide::Intervention;
use leasehold_core::{Claim, Configure, Count, Lease, LimitKey, Priority, Purpose, Status};

use super::{HELD, claimable, one, under};
use crate::actor::{Actor, applied};
use crate::context::{Context, Stop};
use crate::harness::PlantedRecord;
use crate::staged::{ids, purge_all, take, take_as};

fn nth(leases: &[Lease], n: usize) -> Result<&Lease, Stop> {
    leases.get(n).ok_or_else(|| Stop::because(format!("no lease number {n}")))
}

/// Leases of one call may share their fence: each has its slot even so, which no end and no
/// renew of another one touches.
pub(crate) async fn leases_of_one_call_have_a_slot_each(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 3, &["a", "b", "c", "d", "e", "f"]).await?;
    let leases = take(&worker, 3).await?;
    let (a, c) = (nth(&leases, 0)?, nth(&leases, 2)?);
    applied(worker.succeed(a).await?)?;
    claimable(cx, LIMIT_3, "after one of three has ended", &other, &["d"]).await?;
    cx.shift(10_000).await?;
    cx.check(RENEW_3, "the renew of another", worker.renew(c).await?, HELD);
    cx.shift(Actor::TTL_MS - 10_000).await?;
    // The slots of b and d have ended with their leases; that of c was renewed.
    claimable(cx, LIMIT_3, "when the other two leases have ended", &other, &["e", "f"]).await?;
    Ok(())
}

/// A purge sweeps what has ended, and nothing that a lease or a held until explains.
pub(crate) async fn a_purge_frees_no_slot(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = under(cx, 1, &["a", "b"]).await?;
    let run = worker.run_one().await?;
    purge_all(&worker).await?;
    claimable(cx, LIMIT_3, "after a purge beside the lease", &operator, &[]).await?;
    cx.check(LIMIT_3, "the renew after a purge", worker.renew(&run).await?, HELD);
    applied(operator.act(&operator.get("a").await?, Intervention::Cancel).await?)?;
    purge_all(&worker).await?;
    claimable(cx, LIMIT_7, "after a purge beside the held until", &operator, &[]).await?;
    cx.shift(Actor::TTL_MS).await?;
    purge_all(&worker).await?;
    claimable(cx, LIMIT_7, "at the end of what was held", &operator, &["b"]).await?;
    Ok(())
}

/// A key is looked at again when the first of its slots ends, also once a later one is taken.
pub(crate) async fn the_first_end_counts(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 2, &["a"]).await?;
    worker.run_one().await?;
    cx.shift(10_000).await?;
    worker.enqueue_all(["b", "c", "d"].map(one).into()).await?;
    let b = worker.run_one().await?;
    claimable(cx, LIMIT_6, "behind two", &other, &[]).await?;
    applied(worker.succeed(&b).await?)?;
    claimable(cx, LIMIT_6, "after one has ended", &other, &["c"]).await?;
    cx.shift(Actor::TTL_MS - 10_001).await?;
    claimable(cx, LIMIT_6, "1 ms before the first lease's end", &other, &[]).await?;
    cx.shift(1).await?;
    claimable(cx, LIMIT_6, "at the first lease's end", &other, &["d"]).await?;
    Ok(())
}

/// A key is looked at when a shorter lease of it ends, though others were parked behind longer
/// ones.
pub(crate) async fn a_shorter_lease_is_waited_for(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 2, &["a", "b", "c", "d"]).await?;
    let leases = take(&worker, 2).await?;
    claimable(cx, LIMIT_6, "behind two", &other, &[]).await?;
    applied(worker.succeed(nth(&leases, 0)?).await?)?;
    let short = Duration::from_millis(1_000);
    let claim = Claim::new(worker.queue(), Purpose::Run, 9, short, "short");
    let taken = take_as(&worker, claim).await?;
    cx.check(LIMIT_6, "runs in the place that was freed", ids(&taken), ["c"].to_vec());
    cx.shift(999).await?;
    claimable(cx, LIMIT_6, "1 ms before the short lease's end", &other, &[]).await?;
    cx.shift(1).await?;
    claimable(cx, LIMIT_6, "at the short lease's end", &other, &["d"]).await?;
    Ok(())
}

/// Tasks that were met behind a full key at a later instant than now are claimable as soon as they
/// are ready by the clock as it is.
pub(crate) async fn a_clock_set_back_hides_no_blocked_task(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["runs"]).await?;
    let run = worker.run_one().await?;
    // The one that is served first is ready last.
    for (id, priority) in [("low", Priority::LOWEST), ("high", Priority::HIGHEST)] {
        cx.shift(1_000).await?;
        worker.enqueue(one(id).with_priority(priority)).await?;
    }
    claimable(cx, TIME_4, "behind the run", &other, &[]).await?;
    cx.shift(-1_500).await?;
    applied(worker.succeed(&run).await?)?;
    claimable(cx, TIME_4, "before any is ready", &other, &[]).await?;
    cx.shift(500).await?;
    let low = claimable(cx, CLAIM_4, "as the first is ready again", &other, &["low"]).await?;
    applied(other.succeed(nth(&low, 0)?).await?)?;
    claimable(cx, TIME_4, "before the other is ready", &other, &[]).await?;
    cx.shift(1_000).await?;
    claimable(cx, CLAIM_4, "as the other is ready again", &other, &["high"]).await?;
    Ok(())
}

/// However many tasks are met behind a full key, a claim goes on to what is claimable, or says
/// that there is more.
pub(crate) async fn many_blocked_never_end_the_search(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["runs"]).await?;
    worker.run_one().await?;
    for batch in 0..45 {
        let blocked = (0..100).map(|n| one(&format!("{batch}-{n}")));
        worker
            .enqueue_all(blocked.map(|new| new.with_priority(Priority::HIGHEST)).collect())
            .await?;
    }
    worker.enqueue(Actor::task("free")).await?;
    let mut granted = Vec::new();
    for _ in 0..100 {
        let claimed = other.claim(2).await?;
        granted.extend(claimed.leases);
        if !claimed.more {
            break;
        }
    }
    cx.check(
        CLAIM_4,
        "runs until a claim says that there are no more",
        ids(&granted),
        ["free"].to_vec(),
    );
    let counts = other.backend().counts(Count::new(Context::QUEUE)).await?;
    cx.check(LIMIT_2, "tasks that wait", counts.of(Status::Ready), 4_500);
    Ok(())
}

/// A record that this build cannot read takes no place from one that it can.
pub(crate) async fn newer_takes_no_place(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["a"]).await?;
    let run = worker.run_one().await?;
    worker.enqueue(one("newer").with_priority(Priority::HIGHEST)).await?;
    worker.enqueue(one("b")).await?;
    claimable(cx, LIMIT_6, "behind the run", &other, &[]).await?;
    let newer = worker.get("newer").await?.task_ref;
    cx.planting()?.plant(&newer, PlantedRecord::Newer).await?;
    cx.shift(1_000).await?;
    applied(worker.succeed(&run).await?)?;
    claimable(cx, CLAIM_11, "beside a newer record", &other, &["b"]).await?;
    Ok(())
}

/// A slot that no lease explains, as a store's fault may leave one, does not block its key
/// for good: a purge finds and drops it.
pub(crate) async fn surplus_slot_is_mended(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let key = LimitKey::new("g", "k");
    worker.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    worker.enqueue(Actor::task("t").with_limit(key.clone())).await?;
    cx.planting()?.plant_slot(Context::QUEUE, &key).await?;
    let blocked = worker.claim(1).await?.leases;
    cx.check(LIMIT_3, "what the surplus slot lets start", blocked, []);
    let before = worker.get("t").await?;

    purge_all(&worker).await?;
    cx.check_untouched(LAPSE_8, "the task after the repair", &worker, &before).await?;
    let counts = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    let repaired = counts.events.repaired;
    cx.check_that(LAPSE_8, "what was mended is counted", repaired >= 1, repaired);
    let runs = claimable(cx, LAPSE_8, "after the repair", &worker, &["t"]).await?;
    let run = nth(&runs, 0)?;

    purge_all(&worker).await?;
    let counts = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    cx.check(LAPSE_8, "a live slot is no surplus", counts.events.repaired, repaired);
    cx.check(LAPSE_8, "the lease goes on", worker.renew(run).await?, HELD);
    Ok(())
}

/// Beside a live slot, too: what waits behind the surplus one starts at once, and not only when
/// the live one has ended.
pub(crate) async fn surplus_slot_beside_a_live_one_is_mended(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 2, &["a", "b", "c"]).await?;
    let run = worker.run_one().await?;
    cx.planting()?.plant_slot(Context::QUEUE, &LimitKey::new("g", "k")).await?;
    claimable(cx, LIMIT_3, "behind a surplus slot", &other, &[]).await?;
    purge_all(&worker).await?;
    claimable(cx, LAPSE_8, "after the repair", &other, &["b"]).await?;
    cx.check(LAPSE_8, "the lease goes on", worker.renew(&run).await?, HELD);
    Ok(())
}
