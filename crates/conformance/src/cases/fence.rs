//! What a fence is worth (LH-FENCE): it only grows, is never used twice, and nothing stands in
//! for it.

use std::time::Duration;

use leasehold_core::clause::{
    COMMIT_1, COMMIT_8, COMMIT_9, FENCE_1, FENCE_2, FENCE_3, FENCE_4, FENCE_5, LAPSE_3, RENEW_2,
    TIME_4,
};
use leasehold_core::decide::{self, Entered, Unknown};
use leasehold_core::{
    BackendExt, Change, CommitItem, CommitVerdict, Configure, Count, Edit, Fence, Guard,
    Intervention, Keep, Lease, LostReason, OnLeased, Operator, Outcome, Priority, Purge, RenewItem,
    RenewVerdict, Retention, Retry, StoredTask,
};

use crate::actor::{Actor, applied, failure, success};
use crate::context::{Context, Stop};

pub(crate) async fn strictly_grows(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let mut fences = vec![worker.enqueue(Actor::kept("t")).await?];
    let born = fences[0];
    let outcomes = [
        Outcome::Failed { message: String::new(), retry: Retry::After(Duration::ZERO) },
        Outcome::Snoozed(Duration::ZERO),
        Outcome::Released(Entered::No),
        Outcome::Failed { message: String::new(), retry: Retry::Never },
    ];
    for outcome in outcomes {
        let run = worker.run_one().await?;
        fences.push(run.fence);
        let _ = worker.renew(&run).await?;
        let now = worker.get("t").await?.fence;
        cx.check(FENCE_3, "the fence after a renew", now, run.fence);
        fences.push(applied(worker.end(&run, outcome).await?)?.fence);
    }
    let acts = [
        Intervention::Edit(Edit::default().with_priority(Priority::HIGHEST)),
        Intervention::Redrive,
        Intervention::Requeue(OnLeased::Refuse),
        Intervention::Bury,
        Intervention::Redrive,
        Intervention::Cancel,
        Intervention::Redrive,
    ];
    for act in acts {
        fences.push(applied(worker.act(&worker.get("t").await?, act).await?)?.fence);
        let now = worker.get("t").await?.fence;
        cx.check(FENCE_1, "the fence that the commit told", Some(&now), fences.last());
    }
    fences.push(worker.run_one().await?.fence);
    for _ in 0..2 {
        cx.shift(Actor::TTL_MS).await?;
        let lapsed = worker.rescue_one().await?;
        fences.push(lapsed.fence);
    }
    let grows = fences.windows(2).all(|pair| pair[0] < pair[1]);
    cx.check_that(FENCE_1, "all fences of one task, in order", grows, &fences);
    cx.check(FENCE_1, "the fence of the enqueue", worker.get("t").await?.born, born);
    Ok(())
}

/// Whichever way a task left: its id comes back with greater fences, and what was decided
/// about the old one does not touch the new one.
pub(crate) async fn never_reused_under_one_id(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let memory = Duration::from_secs(60);
    let keep = Keep::For(Duration::from_secs(1));
    let brief = Retention::default().with_succeeded(keep).with_cancelled(keep).with_dead(keep);
    worker.configure(Configure::new(Context::QUEUE).with_id_memory(memory)).await?;
    let mut highest = worker.enqueue(Actor::task("t").with_retention(brief)).await?;
    for way in ["purge", "delete", "success"] {
        let run = worker.run_one().await?;
        let last = match way {
            "delete" => {
                cx.shift(Actor::TTL_MS).await?;
                let lapsed = worker.rescue_one().await?;
                applied(worker.give_back(&lapsed).await?)?;
                let act = Intervention::Delete;
                applied(worker.act(&worker.get("t").await?, act).await?)?.fence
            }
            _ => applied(worker.succeed(&run).await?)?.fence,
        };
        cx.shift(1_000).await?;
        let _ = worker.backend().purge(Purge::new(Context::QUEUE, 10)).await?;
        cx.check_gone(FENCE_1, &format!("the task after a {way}"), &worker, "t").await?;
        cx.shift(60_000).await?;
        let _ = worker.backend().purge(Purge::new(Context::QUEUE, 10)).await?;

        let retention = if way == "delete" { Retention::default() } else { brief };
        let born = worker.enqueue(Actor::task("t").with_retention(retention)).await?;
        highest = highest.max(last).max(run.fence);
        let what = format!("the fence of the next enqueue after a {way}");
        cx.check_that(FENCE_1, &what, born > highest, (born, highest));
        let before = worker.get("t").await?;
        cx.check(COMMIT_8, "a commit of the old run", worker.succeed(&run).await?, GONE);
        let lost = RenewVerdict::Lost(LostReason::Gone);
        cx.check(RENEW_2, "a renew of the old run", worker.renew(&run).await?, lost);
        cx.check_untouched(FENCE_2, "the younger task", &worker, &before).await?;
    }
    Ok(())
}

const GONE: CommitVerdict = CommitVerdict::Gone;

/// At 2^53 + 1 a floating number and 16 printed digits both lose the last unit.
pub(crate) async fn high_fences_are_exact(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for (id, floor) in [("a", 1 << 53), ("b", (1 << 53) + 1_001)] {
        cx.planting()?.raise_fence(worker.queue(), floor).await?;
        let born = worker.enqueue(Actor::kept(id)).await?;
        let run = worker.run_one().await?;
        cx.check_that(FENCE_5, "the raised fence", born.value() >= floor, born);
        cx.check_that(FENCE_5, "two fences in a row", run.fence > born, (born, run.fence));
        let before = worker.get(id).await?;
        let got = (before.born, before.fence, before.run);
        cx.check(FENCE_5, "the fences as read", got, (born, run.fence, Some(run.fence)));
        for near in [run.fence.value() - 1, run.fence.value() + 1] {
            let guard = Guard::new(run.task_ref.clone(), Fence::new(near));
            let renewed = worker.backend().renew_one(RenewItem::new(guard.clone(), Actor::TTL));
            let lost = RenewVerdict::Lost(LostReason::Taken(run.fence));
            cx.check(FENCE_5, "a renew one beside the fence", renewed.await?, lost);
            let reply = worker.commit(guard, decide::run(&run, failure(), 1)).await?;
            cx.check(FENCE_5, "a commit one beside the fence", reply, stale(&before));
            cx.check_untouched(FENCE_5, "the task of wrong fences", &worker, &before).await?;
        }
        let held = RenewVerdict::Held { ttl_left: Actor::TTL };
        cx.check(FENCE_5, "a renew with the fence", worker.renew(&run).await?, held);
        let item = CommitItem::new(run.guard(), decide::run(&run, success(), 1));
        applied(worker.backend().commit_one(item.clone()).await?)?;
        let again = worker.backend().commit_one(item).await?;
        cx.check(FENCE_5, "the commit repeated", again, CommitVerdict::Replayed);
        let shown = worker.get(id).await?.shown.map(|shown| shown.fence);
        cx.check(FENCE_5, "the fence that was shown", shown, Some(run.fence));
    }
    Ok(())
}

/// C13: the same holder, the same state, the same kind of lease, and yet another claim.
pub(crate) async fn holder_and_state_are_no_fence(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    worker.enqueue(Actor::task("t")).await?;
    let old = worker.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    applied(rescuer.give_back(&rescuer.rescue_one().await?).await?)?;
    let run = worker.run_one().await?;
    let before = worker.get("t").await?;
    cx.check(FENCE_4, "the holder of both runs", before.holder.as_deref(), Some("worker"));
    for change in worker_changes(&old) {
        let what = format!("a {:?} of the older run", change.event);
        let reply = worker.commit(old.guard(), change).await?;
        cx.check(FENCE_4, &what, reply, stale(&before));
        cx.check_untouched(FENCE_4, "the task of the newer run", &worker, &before).await?;
    }
    let lost = RenewVerdict::Lost(LostReason::Taken(run.fence));
    cx.check(FENCE_4, "a renew of the older run", worker.renew(&old).await?, lost);
    cx.check_untouched(FENCE_4, "the task of the newer run", &worker, &before).await?;
    let applied = applied(worker.fail(&run).await?)?;
    cx.check_that(COMMIT_1, "a failure of the newer run", !applied.overdue, applied);
    Ok(())
}

/// A rescue does not count as an attempt, and a redrive does not reset them: neither number
/// tells one claim from another.
pub(crate) async fn attempt_is_no_fence(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    worker.enqueue(Actor::task("t")).await?;
    let run = worker.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = rescuer.rescue_one().await?;
    cx.check(FENCE_4, "the attempt under rescue", lapsed.attempt, run.attempt);
    let before = worker.get("t").await?;
    let reply = worker.fail(&run).await?;
    cx.check(FENCE_4, "a failure of the attempt under rescue", reply, stale(&before));
    cx.check_untouched(FENCE_4, "the task under rescue", &worker, &before).await?;
    applied(rescuer.give_back(&lapsed).await?)?;

    let run = worker.run_one().await?;
    applied(rescuer.act(&worker.get("t").await?, Intervention::Bury).await?)?;
    applied(rescuer.act(&worker.get("t").await?, Intervention::Redrive).await?)?;
    cx.shift(Actor::TTL_MS).await?;
    let redriven = worker.run_one().await?;
    cx.check(FENCE_4, "the attempt after a redrive", redriven.attempt, run.attempt + 1);
    let before = worker.get("t").await?;
    for change in worker_changes(&run) {
        let what = format!("a {:?} of the run before the redrive", change.event);
        let reply = worker.commit(run.guard(), change).await?;
        cx.check(FENCE_4, &what, reply, stale(&before));
        cx.check_untouched(FENCE_4, "the redriven task", &worker, &before).await?;
    }
    applied(worker.succeed(&redriven).await?)?;
    Ok(())
}

pub(crate) async fn one_instant_has_many_fences(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("t")).await?;
    let mut runs: Vec<Lease> = Vec::new();
    for _ in 0..4 {
        let run = worker.run_one().await?;
        let before = worker.get("t").await?;
        for old in &runs {
            cx.check_that(TIME_4, "fences of one instant", old.fence < run.fence, (old, &run));
            let reply = worker.end(old, Outcome::Snoozed(Duration::ZERO)).await?;
            cx.check(FENCE_4, "a snooze of an older run", reply, stale(&before));
        }
        cx.check_untouched(FENCE_4, "the task of the newest run", &worker, &before).await?;
        applied(worker.end(&run, Outcome::Released(Entered::No)).await?)?;
        runs.push(run);
    }
    let same = runs.iter().all(|run| run.due == runs[0].due);
    cx.check_that(FENCE_4, "runs of one instant", same, &runs);
    Ok(())
}

/// C16: a rescuer that was itself taken over holds nothing any more.
pub(crate) async fn each_rescue_has_its_own(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    worker.enqueue(Actor::kept("t")).await?;
    let run = worker.run_one().await?;
    let mut older = Vec::new();
    for _ in 0..2 {
        cx.shift(Actor::TTL_MS).await?;
        older.push(rescuer.rescue_one().await?);
    }
    let newest = older.pop().ok_or_else(|| Stop::because("there was no rescue"))?;
    let before = worker.get("t").await?;
    for old in &older {
        let grows = run.fence < old.fence && old.fence < newest.fence;
        cx.check_that(FENCE_3, "fences of a run and its rescues", grows, (&run, old, &newest));
        let reply = rescuer.give_back(old).await?;
        cx.check(LAPSE_3, "what the first rescuer decides", reply, stale(&before));
        let lost = RenewVerdict::Lost(LostReason::Taken(newest.fence));
        cx.check(LAPSE_3, "its renew", rescuer.renew(old).await?, lost);
        cx.check_untouched(LAPSE_3, "the task of the second rescuer", &worker, &before).await?;
    }
    applied(rescuer.give_back(&newest).await?)?;
    cx.check(LAPSE_3, "the rescues of one lapse", worker.get("t").await?.rescues, 1);
    Ok(())
}

/// A task that has no run has no fence of one: a success that shows the fence of nobody is not
/// late, and changes nothing.
pub(crate) async fn nobody_has_no_fence(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::kept("t")).await?;
    for place in ["never claimed", "given back"] {
        let before = worker.get("t").await?;
        let mut lease = leasehold_core::Lease::of(before.clone(), before.enqueued_at);
        lease.fence = Fence::new(0);
        let told = worker.succeed(&lease).await?;
        let refused = matches!(told, CommitVerdict::Stale { .. } | CommitVerdict::Gone);
        cx.check_that(COMMIT_1, &format!("a success by the fence 0, {place}"), refused, told);
        cx.check_untouched(FENCE_2, &format!("the task, {place}"), &worker, &before).await?;
        let run = worker.run_one().await?;
        applied(worker.end(&run, Outcome::Released(Entered::No)).await?)?;
    }
    Ok(())
}

/// Every kind of change, of everybody, with every fence but the right one.
pub(crate) async fn a_foreign_fence_changes_nothing(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("t")).await?;
    let first = worker.run_one().await?;
    applied(worker.end(&first, Outcome::Released(Entered::No)).await?)?;
    let run = worker.run_one().await?;
    let before = worker.get("t").await?;
    let by = Operator::new("operator", "a case of the suite");
    let mut changes = worker_changes(&run);
    for act in [
        Intervention::Cancel,
        Intervention::Bury,
        Intervention::Requeue(OnLeased::Revoke),
        Intervention::Delete,
    ] {
        changes.push(decide::intervene(&before, act, &by)?);
    }
    changes.push(decide::rescue(&run));
    let (born, now) = (before.born.value(), run.fence.value());
    let mut stale_count =
        worker.backend().counts(Count::new(Context::QUEUE)).await?.events.stale_commits;
    for change in changes {
        for fence in [0, born.saturating_sub(1), born, first.fence.value(), now + 1, u64::MAX >> 1]
        {
            let what = format!("a {:?} by the {:?} with fence {fence}", change.event, change.by);
            let guard = Guard::new(run.task_ref.clone(), Fence::new(fence));
            let reply = worker.commit(guard, change.clone()).await?;
            let want = if fence < born { GONE } else { stale(&before) };
            cx.check(COMMIT_1, &what, reply, want);
            cx.check_untouched(FENCE_2, &format!("the task after {what}"), &worker, &before)
                .await?;
            stale_count += u64::from(fence >= born);
        }
    }
    let counted = worker.backend().counts(Count::new(Context::QUEUE)).await?.events.stale_commits;
    cx.check(COMMIT_9, "the stale commits that are counted", counted, stale_count);
    applied(worker.succeed(&run).await?)?;
    Ok(())
}

/// Every kind of change that the holder of a run may commit.
fn worker_changes(lease: &Lease) -> Vec<Change> {
    let message = || "it is over".to_owned();
    let outcomes = [
        success(),
        failure(),
        Outcome::Failed { message: message(), retry: Retry::Never },
        Outcome::Panicked { message: message() },
        Outcome::TimedOut,
        Outcome::Snoozed(Duration::ZERO),
        Outcome::Released(Entered::Yes),
        Outcome::Cancelled { message: message() },
        Outcome::Undecodable { message: message() },
        Outcome::UnknownKind(Unknown::Bury),
        Outcome::UnknownKind(Unknown::Wait),
        Outcome::Corrupt,
    ];
    outcomes.into_iter().map(|outcome| decide::run(lease, outcome, 1)).collect()
}

fn stale(now: &StoredTask) -> CommitVerdict {
    CommitVerdict::Stale { fence: now.fence, state: Some(now.state) }
}
