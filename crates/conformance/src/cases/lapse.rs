//! What follows a lease that passed its end (LH-LAPSE).

use std::collections::BTreeSet;

use futures_util::future::join_all;
use leasehold_core::clause::{
    CLAIM_6, CLAIM_11, GEN_2, LAPSE_1, LAPSE_2, LAPSE_3, LAPSE_4, LAPSE_5, LAPSE_6, LAPSE_7,
    LAPSE_9,
};
use leasehold_core::{
    BackendExt, Claim, Commit, CommitItem, CommitVerdict, Count, DeadReason, Delivery, NewTask,
    Payload, Purpose, RenewItem, State, Status, TaskRef, decide,
};

use crate::actor::{Actor, applied};
use crate::context::{Context, Stop};
use crate::demand;
use crate::expect::KEPT;
use crate::harness::PlantedRecord;
use crate::moves::{self, Move, RESCUES};
use crate::scene::{Cast, Place};
use crate::staged::{stale, take};

/// C23: nothing but its own end makes a lease lapse, on the millisecond, whoever sweeps first.
pub(crate) async fn live_is_safe(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for purpose in ["run", "rescue"] {
        let mut scene = cast.stage(purpose, Delivery::at_least_once()).await?;
        match purpose {
            "run" => drop(scene.run(cx, &scene.cast.worker).await?),
            _ => drop(scene.lapsed(cx).await?),
        }
        let before = scene.see().await?;
        for after_ms in [0, 1, 15_000, 14_998] {
            scene.shift(cx, after_ms).await?;
            let none = scene.cast.other.rescue(10).await?;
            cx.check(LAPSE_1, "rescues of a live lease", (none.leases, none.more), (vec![], false));
        }
        let after = scene.see().await?;
        cx.check(LAPSE_1, "the task under a live lease", after.task, before.task);
        cx.check(LAPSE_1, "the counts", after.counts, before.counts);
        scene.shift(cx, 1).await?;
        scene.rescue(cx, &scene.cast.other).await?;
    }
    Ok(())
}

/// A lease that is renewed in time outlives a hundred sweeps.
pub(crate) async fn live_is_safe_under_sweep(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("sweeps", Delivery::at_least_once()).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    for _ in 0..50 {
        for _ in 0..10 {
            let none = scene.cast.rescuer.rescue(100).await?.leases;
            cx.check(LAPSE_1, "rescues of a live lease", none, []);
            scene.shift(cx, 999).await?;
        }
        let item = RenewItem::new(run.guard(), Actor::TTL);
        let told = scene.cast.worker.backend().renew_one(item).await?;
        let held = matches!(told, leasehold_core::RenewVerdict::Held { .. });
        cx.check_that(LAPSE_1, "a renew between sweeps", held, told);
    }
    cx.check(LAPSE_1, "the fence after all sweeps", scene.task().await?.fence, run.fence);
    scene.lands(cx, LAPSE_1, &moves::ending(&run, "success")?).await
}

/// Whoever rescues may hold leases itself: its own live ones are as safe as any.
pub(crate) async fn own_is_safe(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("own", Delivery::at_least_once()).await?;
    let older = scene.run(cx, &scene.cast.worker).await?;
    scene.shift(cx, 20_000).await?;
    let new = NewTask::new("kind", "payload", Delivery::at_least_once()).with_id("u");
    scene.cast.worker.enqueue(new).await?;
    let own = scene.cast.worker.run_one().await?;
    scene.shift(cx, 10_000).await?;
    let before = scene.cast.worker.get("u").await?;
    let rescues = scene.cast.worker.rescue(10).await?.leases;
    let ids: Vec<_> = rescues.iter().map(|lease| &lease.task_ref.id).collect();
    cx.check(LAPSE_1, "what a worker's own sweep takes", ids, vec!["t"]);
    cx.check_untouched(LAPSE_1, "the worker's live lease", &scene.cast.worker, &before).await?;
    let none = scene.cast.worker.rescue(10).await?.leases;
    cx.check(LAPSE_1, "what its next sweep takes", none, []);
    let held = scene.cast.worker.renew(&own).await?;
    let holds = matches!(held, leasehold_core::RenewVerdict::Held { .. });
    cx.check_that(LAPSE_1, "a renew after the sweep", holds, &held);
    scene.lands(cx, LAPSE_2, &moves::ending(&older, "success")?).await
}

/// A rescue claim takes leases only: no task that waits, and none that has finished.
pub(crate) async fn only_leases_are_rescued(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in Place::ALL {
        let (mut scene, _) = cast.stage_at(cx, "sweep", place).await?;
        scene.lapse(cx).await?;
        let before = scene.task().await?;
        let leased = matches!(before.state, State::Leased(_));
        let rescues = scene.cast.other.rescue(10).await?.leases.len();
        cx.check(CLAIM_6, &format!("rescues at {place:?}"), rescues, usize::from(leased));
        if !leased {
            let operator = &scene.cast.operator;
            cx.check_untouched(CLAIM_6, "what no rescue takes", operator, &before).await?;
        }
    }
    Ok(())
}

/// The rescuer has a lease of its own: it renews it, and decides when it likes. A rescue keeps
/// `run` (checked by the scene), and what was put back is ready at once, its retries unspent.
pub(crate) async fn rescue_has_a_lease(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (rescue, delivery) in RESCUES {
        let mut scene = cast.stage(rescue, delivery).await?;
        let (run, lapsed) = scene.lapsed(cx).await?;
        cx.check(LAPSE_2, "the run of the rescue's lease", lapsed.run, Some(run.fence));
        for _ in 0..3 {
            scene.shift(cx, 29_999).await?;
            let told = scene.cast.rescuer.renew(&lapsed).await?;
            let held = matches!(told, leasehold_core::RenewVerdict::Held { .. });
            cx.check_that(LAPSE_2, "a rescuer's renew", held, &told);
        }
        scene.lands(cx, LAPSE_2, &moves::rescue(&lapsed)).await?;
        let task = scene.task().await?;
        cx.check(LAPSE_2, "failures after a rescue", task.failures, 0);
        cx.check(LAPSE_2, "ready at once", task.ready_at() <= scene.now(), true);
        scene.claimable(cx, LAPSE_2).await?;
    }
    Ok(())
}

/// C22: each lost worker is followed by a rescue as soon as its lease has passed, however many
/// there were before; after the budget's last the task is buried.
pub(crate) async fn lapses_in_a_row(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("row", Delivery::AtLeastOnce { max_rescues: 5 }).await?;
    for lost in 1..=6_u32 {
        scene.rescued(cx).await?;
        let task = scene.task().await?;
        let want = match lost {
            6 => (State::Dead(DeadReason::Lost), 6, 5),
            _ => (State::Waiting, lost, lost),
        };
        let seen = (task.state, task.attempt, task.rescues);
        cx.check(LAPSE_2, &format!("state, attempt, rescues after {lost} lapses"), seen, want);
    }
    scene.claimable(cx, LAPSE_2).await
}

/// A rescuer that never decides, four times in a row: each costs the length of its lease, and
/// the fifth one's decision is the task's.
pub(crate) async fn dropped_decision_costs_a_delay(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("dropped", Delivery::at_least_once()).await?;
    let (_, mut lapsed) = scene.lapsed(cx).await?;
    for takeovers in 1..5_u32 {
        scene.shift(cx, Actor::TTL_MS - 1).await?;
        let none = scene.cast.other.rescue(10).await?.leases;
        cx.check(LAPSE_4, "takeovers before the end of a rescue's lease", none, []);
        scene.shift(cx, 1).await?;
        let claimed = scene.cast.other.rescue(1).await?;
        lapsed = demand::lease(cx, LAPSE_4, "a takeover at that end", claimed)?;
        cx.check(LAPSE_4, "the takeovers told", lapsed.takeovers, takeovers);
    }
    scene.lands(cx, LAPSE_4, &moves::rescue(&lapsed)).await?;
    let run = scene.run(cx, &scene.cast.second).await?;
    cx.check(LAPSE_3, "the takeovers of the next run", run.takeovers, 0);
    let task = scene.task().await?;
    cx.check(LAPSE_4, "rescues and attempts", (task.rescues, task.attempt), (1, 2));
    let events = scene.see().await?.counts.events;
    cx.check(LAPSE_3, "lapses and takeovers", (events.lapsed, events.takeovers), (1, 4));
    scene.lands(cx, LAPSE_4, &moves::ending(&run, "success")?).await
}

/// A name, a process or a host decides nothing: leases lapse under any name of a holder, and
/// a rescuer may have the very name of who was lost.
pub(crate) async fn any_holder_name(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let long = "h".repeat(200);
    for name in ["w", "worker:1/pid 7@höst", "*", "{a}'\"%_\\", long.as_str()] {
        let what: String = name.chars().take(20).collect();
        let mut scene = cast.stage(&what, Delivery::at_least_once()).await?;
        let holder = cx.actor(name).await?.on(&what);
        let run = scene.run(cx, &holder).await?;
        cx.check(LAPSE_5, "the holder", scene.task().await?.holder.as_deref(), Some(name));
        scene.lapse(cx).await?;
        let claimed = holder.rescue(1).await?;
        let lapsed = demand::lease(cx, LAPSE_5, "a rescue by that name", claimed)?;
        scene.lands(cx, LAPSE_5, &moves::rescue(&lapsed)).await?;
        scene.lands(cx, LAPSE_5, &moves::ending(&run, "success")?).await?;
    }
    Ok(())
}

/// Every lapsed task is granted once in a number of calls that its share of a claim gives.
pub(crate) async fn recovery_takes_bounded_calls(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    let ids: BTreeSet<_> = (0..25).map(|n| format!("t{n:02}")).collect();
    for id in &ids {
        worker.enqueue(Actor::task(id)).await?;
    }
    worker.enqueue(Actor::task("live").with_priority(leasehold_core::Priority::LOWEST)).await?;
    cx.check(LAPSE_6, "runs granted", worker.claim(25).await?.leases.len(), 25);
    cx.shift(20_000).await?;
    let live = worker.run_one().await?;
    cx.shift(10_000).await?;
    let mut rescued = Vec::new();
    for _ in 0..25 {
        let claimed = rescuer.rescue(10).await?;
        let enough = claimed.leases.len() == 10 || claimed.more || rescued.len() >= 20;
        cx.check_that(LAPSE_6, "fewer than asked for, and no more", enough, &claimed);
        for lease in claimed.leases {
            applied(rescuer.give_back(&lease).await?)?;
            rescued.push(lease.task_ref.id);
        }
    }
    cx.check(LAPSE_6, "a call after the last", rescuer.rescue(10).await?.leases.len(), 0);
    cx.check(LAPSE_7, "rescues of tasks", rescued.len(), 25);
    cx.check(LAPSE_6, "the tasks rescued", rescued.into_iter().collect::<BTreeSet<_>>(), ids);
    let counts = rescuer.backend().counts(Count::new(Context::QUEUE)).await?;
    let seen = (counts.of(Status::Ready), counts.of(Status::Leased), counts.of(Status::Lapsed));
    cx.check(LAPSE_6, "ready, leased and lapsed tasks", seen, (25, 1, 0));
    cx.check(
        LAPSE_7,
        "lapses and rescues",
        (counts.events.lapsed, counts.events.rescued),
        (25, 25),
    );
    applied(worker.succeed(&live).await?)?;
    Ok(())
}

/// Payloads that no handler can read, and of any size, lapse and are rescued like others: the
/// rescue never looks inside.
pub(crate) async fn undecodable_does_not_block(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    let payloads: [Payload; 4] =
        ["".into(), vec![0xff, 0xfe, 0].into(), "{\"cut".into(), vec![7; 100_000].into()];
    for (n, payload) in payloads.iter().enumerate() {
        let new = NewTask::new("kind", payload.clone(), Delivery::at_least_once());
        worker.enqueue(new.with_id(format!("t{n}"))).await?;
    }
    cx.check(LAPSE_6, "runs granted", worker.claim(10).await?.leases.len(), 4);
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = rescuer.rescue(10).await?.leases;
    cx.check(LAPSE_6, "rescues granted", lapsed.len(), 4);
    for lease in &lapsed {
        let n: usize = lease.task_ref.id[1..].parse().unwrap_or(0);
        cx.check(LAPSE_6, "the payload told", &lease.payload, &payloads[n]);
        applied(rescuer.give_back(lease).await?)?;
    }
    let runs = worker.claim(10).await?.leases;
    cx.check(LAPSE_6, "runs after the rescue", runs.len(), 4);
    Ok(())
}

/// C54: a stored record that cannot be read lapses with its worker, is granted among the others
/// as raw bytes, and is buried by what is known of it.
pub(crate) async fn poison_does_not_block(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    for id in ["before", "poison", "after"] {
        worker.enqueue(Actor::task(id)).await?;
    }
    cx.check(LAPSE_6, "runs granted", worker.claim(10).await?.leases.len(), 3);
    let poison = TaskRef::new(Context::QUEUE, "poison");
    cx.planting()?.plant(&poison, PlantedRecord::Broken(vec![0xff, 0, 1])).await?;
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = rescuer.rescue(10).await?.leases;
    cx.check(LAPSE_6, "rescues granted", lapsed.len(), 3);
    for lease in &lapsed {
        let broken = lease.task_ref == poison;
        cx.check(CLAIM_11, "marked corrupt", lease.corrupt.is_some(), broken);
        applied(rescuer.give_back(lease).await?)?;
    }
    let counts = rescuer.backend().counts(Count::new(Context::QUEUE)).await?;
    let seen = (counts.of(Status::Ready), counts.of(Status::Dead), counts.of(Status::Lapsed));
    cx.check(LAPSE_6, "ready, dead and lapsed tasks", seen, (2, 1, 0));
    Ok(())
}

/// A task that takes every rescuer down with it: at the fifth takeover, and after it, the rescue
/// buries, whatever the policy and the payload are.
pub(crate) async fn fifth_takeover_buries(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for takeovers in [5, 6] {
        let delivery = Delivery::AtLeastOnce { max_rescues: 1_000 };
        let mut scene = cast.stage(&format!("{takeovers} takeovers"), delivery).await?;
        let (run, mut lapsed) = scene.lapsed(cx).await?;
        for _ in 0..takeovers {
            scene.lapse(cx).await?;
            lapsed = scene.rescue(cx, &scene.cast.other).await?;
        }
        cx.check(LAPSE_9, "the takeovers told", lapsed.takeovers, takeovers);
        let events = scene.see().await?.counts.events;
        let seen = (events.lapsed, events.takeovers);
        cx.check(LAPSE_9, "lapses and takeovers", seen, (1, u64::from(takeovers)));
        lapsed.corrupt = Some("not read".into());
        let decision = moves::rescue(&lapsed);
        scene.lands(cx, LAPSE_9, &decision).await?;
        let task = scene.task().await?;
        let seen = (task.state, task.rescues, task.payload);
        let want = (State::Dead(DeadReason::Lost), 0, "payload".into());
        cx.check(LAPSE_9, "state, rescues, payload", seen, want);
        scene.lands(cx, LAPSE_9, &moves::ending(&run, "success")?).await?;
    }
    Ok(())
}

/// The same for a record that cannot be read: nobody gets so far as to read its policy.
pub(crate) async fn fifth_takeover_buries_poison(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("poison", Delivery::at_least_once()).await?;
    scene.lapsed(cx).await?;
    let poison = TaskRef::new("poison", "t");
    cx.planting()?.plant(&poison, PlantedRecord::Broken(vec![0xff])).await?;
    let mut lapsed = None;
    for _ in 0..5 {
        scene.lapse(cx).await?;
        lapsed = Some(scene.cast.other.rescue_one().await?);
    }
    let lapsed = lapsed.ok_or_else(|| Stop::because("no rescue"))?;
    cx.check(LAPSE_9, "the takeovers told", lapsed.takeovers, 5);
    applied(scene.cast.other.commit(lapsed.guard(), decide::rescue(&lapsed)).await?)?;
    let state = scene.task().await?.state;
    cx.check(LAPSE_9, "the state", state, State::Dead(DeadReason::Lost));
    Ok(())
}

/// C16: however many rescuers sweep at once, one of them gets each lapse, and the lapse costs
/// one rescue, also when all of them commit what they would decide.
pub(crate) async fn one_lapse_one_decision(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("ten", Delivery::at_least_once()).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    scene.lapse(cx).await?;
    let mut granted = Vec::new();
    for n in 0..10 {
        let rescuer = cx.actor(&format!("rescuer {n}")).await?.on("ten");
        granted.extend(rescuer.rescue(10).await?.leases);
    }
    cx.check(LAPSE_7, "rescues granted to ten rescuers", granted.len(), 1);
    let lapsed = granted.pop().ok_or_else(|| Stop::because("nobody got the lapsed lease"))?;
    let decision = moves::rescue(&lapsed);
    scene.lands(cx, LAPSE_7, &decision).await?;
    for _ in 0..9 {
        scene.refused(cx, LAPSE_7, &moves::rescue(&lapsed)).await?;
    }
    scene.replayed(cx, LAPSE_7, &decision).await?;
    cx.check(LAPSE_7, "rescues spent", scene.task().await?.rescues, 1);
    scene.lands(cx, LAPSE_7, &moves::ending(&run, "success")?).await
}

/// C16 and C19: many rescuers sweep in the same moment, round after round. Each lapsed lease goes
/// to one of them, is decided about once and costs one rescue, and none is left behind.
pub(crate) async fn a_herd_shares_nothing(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let mut herd = Vec::new();
    for n in 0..16 {
        herd.push(cx.actor(&format!("rescuer {n}")).await?);
    }
    let _ = worker.enqueue_all((0..40).map(|n| Actor::task(&format!("t{n}"))).collect()).await?;
    for round in 1..=3_u32 {
        cx.check(LAPSE_1, "runs granted", take(&worker, 40).await?.len(), 40);
        cx.shift(Actor::TTL_MS).await?;
        let mut grants = Vec::new();
        for _ in 0..40 {
            let before = grants.len();
            for (rescuer, claimed) in
                herd.iter().zip(join_all(herd.iter().map(|one| one.rescue(4))).await)
            {
                grants.extend(claimed?.leases.into_iter().map(|lease| (rescuer, lease)));
            }
            if grants.len() == before {
                break;
            }
        }
        let tasks: BTreeSet<_> = grants.iter().map(|(_, lease)| &lease.task_ref.id).collect();
        let got = (grants.len(), tasks.len());
        cx.check(LAPSE_7, "grants, and tasks that were granted", got, (40, 40));
        let ends = join_all(grants.iter().map(|(by, lease)| by.give_back(lease))).await;
        for ((by, lease), end) in grants.iter().zip(ends) {
            applied(end?)?;
            let task = by.get(&lease.task_ref.id).await?;
            let seen = (task.state, task.attempt, task.rescues);
            let want = (State::Waiting, round, round);
            cx.check(LAPSE_7, "state, attempt and rescues of a task", seen, want);
        }
        let events = worker.backend().counts(Count::new(Context::QUEUE)).await?.events;
        let seen = (events.lapsed, events.rescued, events.takeovers, events.stale_commits);
        let all = u64::from(round) * 40;
        let what = "lapses, rescues, takeovers and stale commits counted";
        cx.check(LAPSE_7, what, seen, (all, all, 0, 0));
    }
    Ok(())
}

/// C11: the decisions of one sweep are written by one call, and one of its tasks has succeeded
/// late in between. That one stays as its success has left it, and the others are rescued.
pub(crate) async fn one_overtaken_hurts_no_other(cx: &mut Context) -> Result<(), Stop> {
    for (rescue, delivery) in RESCUES {
        let worker = cx.actor("worker").await?.on(rescue);
        let rescuer = cx.actor("rescuer").await?.on(rescue);
        for id in ["a", "b", "slow", "c", "d"] {
            let new = NewTask::new("kind", "payload", delivery).with_id(id);
            worker.enqueue(new.with_retention(KEPT)).await?;
        }
        let runs = take(&worker, 5).await?;
        cx.shift(Actor::TTL_MS).await?;
        let lapsed = rescuer.rescue(5).await?.leases;
        let slow = runs.iter().find(|lease| lease.task_ref.id == "slow");
        let slow = slow.ok_or_else(|| Stop::because("the slow one does not run"))?;
        applied(worker.succeed(slow).await?)?;
        let done = worker.get("slow").await?;

        let decided =
            lapsed.iter().map(|lease| CommitItem::new(lease.guard(), decide::rescue(lease)));
        let told = rescuer.backend().commit(Commit::new(decided.collect())).await?;
        cx.check(GEN_2, "answers", (lapsed.len(), told.len()), (5, 5));
        for (lease, told) in lapsed.iter().zip(told) {
            let (id, told) = (lease.task_ref.id.as_str(), told?);
            if id == "slow" {
                cx.check(LAPSE_7, "the rescue of the one that succeeded", told, stale(&done));
                continue;
            }
            applied(told)?;
            let task = worker.get(id).await?;
            let want = match rescue {
                "bury" => (State::Dead(DeadReason::Lost), 0),
                _ => (State::Waiting, 1),
            };
            cx.check(GEN_2, "state and rescues of another", (task.state, task.rescues), want);
        }
        cx.check_untouched(LAPSE_7, "the one that succeeded", &worker, &done).await?;
    }
    Ok(())
}

/// The holder's own decision came first: the lease has passed, but there is nothing to rescue.
pub(crate) async fn decided_is_not_rescued(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for place in [Place::Running, Place::Lapsed] {
        for name in moves::ENDINGS {
            let (mut scene, run) = cast.stage_at(cx, name, place).await?;
            let run = run.ok_or_else(|| Stop::because("no run"))?;
            let end: Move = moves::ending(&run, name)?;
            scene.lands(cx, LAPSE_1, &end).await?;
            scene.lapse(cx).await?;
            let none = scene.cast.rescuer.rescue(10).await?.leases;
            cx.check(LAPSE_1, &format!("rescues after {name}"), none, []);
            let lapsed = scene.see().await?.counts.of(Status::Lapsed);
            cx.check(LAPSE_1, &format!("lapsed tasks after {name}"), lapsed, 0);
        }
    }
    Ok(())
}

/// Whoever claims may be anybody: the same rescue is granted to a claim under another ttl, and
/// its lease ends by that.
pub(crate) async fn rescue_lease_has_its_own_length(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("length", Delivery::at_least_once()).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    scene.lapse(cx).await?;
    let short = std::time::Duration::from_millis(100);
    let claim = Claim::new("length", Purpose::Rescue, 1, short, "short");
    let claimed = scene.cast.rescuer.backend().claim(claim).await?.leases;
    let [first] = claimed.as_slice() else {
        return Err(Stop::because("a lapsed lease was not granted"));
    };
    cx.check(LAPSE_2, "what is left of it", first.ttl_left, short);
    scene.shift(cx, 99).await?;
    cx.check(LAPSE_3, "a takeover too soon", scene.cast.other.rescue(1).await?.leases, []);
    scene.shift(cx, 1).await?;
    let second = scene.rescue(cx, &scene.cast.other).await?;
    scene.refused(cx, LAPSE_3, &moves::rescue(first)).await?;
    let told: CommitVerdict = scene.cast.other.give_back(&second).await?;
    applied(told)?;
    scene.lands(cx, LAPSE_3, &moves::ending(&run, "success")?).await
}
