//! What an operator took away is held until its lease would have ended (LH-OPER-11).

use std::time::Duration;

use leasehold_core::clause::{LIMIT_3, LIMIT_7, OPER_7, OPER_11};
use leasehold_core::decide::Intervention;
use leasehold_core::{
    BackendExt, CommitVerdict, Configure, DuplicateCause, Edit, EnqueueVerdict, Keep, LimitKey,
    LostReason, OnLeased, Priority, Purpose, RenewVerdict, Retention, State, TaskRef,
};

use crate::actor::{Actor, applied, failure, success};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::{Met, Staged, act, clear, finished, ids, purge_all, stale, take};

const HELD: RenewVerdict = RenewVerdict::Held { ttl_left: Actor::TTL };

fn edit() -> Intervention {
    Intervention::Edit(Edit::default().with_priority(Priority::new(7)))
}

/// A worker and an operator.
async fn two(cx: &Context) -> Result<(Actor, Actor), Stop> {
    Ok((cx.actor("worker").await?, cx.actor("operator").await?))
}

/// Nothing starts before the lease that was taken away would have ended, at its last renewed
/// length, by whatever way the task comes back.
pub(crate) async fn no_run_before_the_old_lease_ended(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    let requeue = Intervention::Requeue(OnLeased::Revoke);
    for (id, first) in
        [("c", Intervention::Cancel), ("b", Intervention::Bury), ("q", requeue.clone())]
    {
        worker.enqueue(Actor::task(id)).await?;
        let run = worker.run_one().await?;
        cx.shift(10_000).await?;
        let renewed = worker.renew(&run).await?;
        cx.check(OPER_11, "renew", renewed, HELD);
        let seen = operator.get(id).await?;
        applied(operator.act(&seen, first.clone()).await?)?;
        let back = match first {
            Intervention::Requeue(_) => requeue.clone(),
            _ => Intervention::Redrive,
        };
        applied(operator.act(&operator.get(id).await?, back).await?)?;
        let now = operator.get(id).await?;
        cx.check(OPER_11, id, now.held_until, seen.until);
        cx.shift(Actor::TTL_MS - 1).await?;
        let early = worker.claim(2).await?.leases;
        cx.check(OPER_11, "leases 1 ms before the old lease's end", ids(&early), [""; 0]);
        cx.check_untouched(OPER_11, id, &operator, &now).await?;
        cx.shift(1).await?;
        let lease = worker.run_one().await?;
        cx.check(OPER_11, "the lease at the old one's end", lease.attempt, 2);
        applied(worker.succeed(&lease).await?)?;
    }
    Ok(())
}

/// A second act, a late renew and a late outcome leave the held time as it is.
pub(crate) async fn until_is_never_extended(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Running).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    for act in [
        Intervention::Requeue(OnLeased::Revoke),
        edit(),
        Intervention::Requeue(OnLeased::Revoke),
        Intervention::Cancel,
        Intervention::Redrive,
        Intervention::Bury,
        edit(),
        Intervention::Redrive,
    ] {
        cx.shift(1_000).await?;
        applied(operator.act(&operator.get("t").await?, act.clone()).await?)?;
        let now = operator.get("t").await?;
        cx.check(OPER_11, &format!("held until after {act:?}"), now.held_until, scene.task.until);
        let told = worker.renew(&run).await?;
        cx.check_that(OPER_11, "renew", matches!(told, RenewVerdict::Lost(_)), &told);
        cx.check(OPER_11, "a failure", worker.end(&run, failure()).await?, stale(&now));
        cx.check_untouched(OPER_11, "the task after its old run", &operator, &now).await?;
    }
    cx.shift(Actor::TTL_MS - 8_000).await?;
    let lease = worker.run_one().await?;
    cx.check(OPER_11, "the run at the end of the first lease", lease.attempt, 2);
    Ok(())
}

/// The deleted task of a live run is Cancelled until the lease would have ended.
pub(crate) async fn deleted_run_leaves_at_its_lease_end(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Running).await?;
    let deleted = act(&operator, &scene.task, Intervention::Delete, scene.now).await?;
    let mut want = finished(deleted, State::Cancelled, scene.now);
    want.held_until = scene.task.until;
    cx.check_untouched(OPER_11, "the deleted task of a run", &worker, &want).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    let lost = RenewVerdict::Lost(LostReason::Cancelled);
    cx.check(OPER_11, "the run's renew", worker.renew(&run).await?, lost);
    cx.check(OPER_11, "the run's success", worker.succeed(&run).await?, stale(&want));

    cx.shift(Actor::TTL_MS - 1).await?;
    cx.check(OPER_11, "purged before the lease's end", purge_all(&operator).await?, 0);
    cx.check_untouched(OPER_11, "1 ms before the lease's end", &worker, &want).await?;
    let taken = EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Id,
        holder: TaskRef::new(Context::QUEUE, "t"),
        state: Some(State::Cancelled),
    };
    cx.check(OPER_11, "the id", worker.try_enqueue(Actor::task("t")).await?, taken);
    cx.shift(1).await?;
    cx.check(OPER_7, "purged at the lease's end", purge_all(&operator).await?, 1);
    cx.check_gone(OPER_7, "the task at the lease's end", &worker, "t").await
}

/// Neither a retention of 0, nor purge, nor a delete removes the record before the time.
pub(crate) async fn record_stays(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    let retention = Retention::default().with_cancelled(Keep::NOT).with_dead(Keep::NOT);
    operator.configure(Configure::new(Context::QUEUE).with_retention(retention)).await?;
    for (id, first) in [("c", Intervention::Cancel), ("b", Intervention::Bury)] {
        for second in [None, Some(Intervention::Delete)] {
            let id = format!("{id}{}", second.is_some());
            let scene = Staged::bring(cx, &worker, Actor::task(&id), Met::Running).await?;
            cx.shift(1_000).await?;
            applied(operator.act(&scene.task, first.clone()).await?)?;
            if let Some(second) = second {
                let now = scene.now.after(Duration::from_secs(1));
                let deleted = act(&operator, &operator.get(&id).await?, second, now).await?;
                let want = finished(deleted, State::Cancelled, now);
                cx.check_untouched(OPER_11, "deleted while held", &operator, &want).await?;
            }
            cx.shift(Actor::TTL_MS - 1_001).await?;
            cx.check(OPER_11, "purged while held", purge_all(&operator).await?, 0);
            let there = operator.backend().task(&scene.task.task_ref).await?.is_some();
            cx.check(OPER_11, "whether the record is there while held", there, true);
            cx.shift(1).await?;
            cx.check(OPER_11, "purged at the end", purge_all(&operator).await?, 1);
            cx.check_gone(OPER_11, "the task at the end", &operator, &id).await?;
        }
    }
    Ok(())
}

/// A lease that has lapsed, or is a rescuer's, leaves nothing to wait for; C93.
pub(crate) async fn nothing_by_a_lapsed_lease(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for met in [Met::Lapsed, Met::Rescuing] {
        for act in
            [Intervention::Cancel, Intervention::Bury, Intervention::Requeue(OnLeased::Revoke)]
        {
            let id = format!("{met:?}{act:?}");
            let scene = Staged::bring(cx, &worker, Actor::task(&id), met).await?;
            applied(operator.act(&scene.task, act.clone()).await?)?;
            let now = operator.get(&id).await?;
            cx.check(OPER_11, &format!("{act:?} of {met:?}: held"), now.held_until, None);
            if now.state.is_finished() {
                applied(operator.act(&now, Intervention::Redrive).await?)?;
            }
            let lease = worker.run_one().await?;
            cx.check(OPER_11, "what is claimed at once", lease.task_ref.id.as_str(), id.as_str());
            cx.check(OPER_11, "its purpose", lease.purpose, Purpose::Run);
            applied(worker.succeed(&lease).await?)?;
        }
    }
    Ok(())
}

/// An operator's act frees nothing: the slot stays until the lease would have ended.
pub(crate) async fn slot_stays_taken(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    worker.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    let one = |id: &str| Actor::task(id).with_limit(LimitKey::new("g", "k"));
    let redrive = Intervention::Redrive;
    for (n, acts) in [
        vec![Intervention::Cancel],
        vec![Intervention::Bury],
        vec![Intervention::Delete],
        vec![Intervention::Requeue(OnLeased::Revoke)],
        vec![Intervention::Cancel, redrive.clone()],
        vec![Intervention::Bury, redrive],
    ]
    .into_iter()
    .enumerate()
    {
        let (id, next) = (format!("t{n}"), format!("n{n}"));
        let run = Staged::bring(cx, &worker, one(&id), Met::Running).await?.run;
        let run = run.ok_or_else(|| Stop::because("a scene without its run"))?;
        worker.enqueue(one(&next).with_priority(Priority::HIGHEST)).await?;
        cx.shift(10_000).await?;
        cx.check(LIMIT_7, "renew", worker.renew(&run).await?, HELD);
        for act in &acts {
            applied(operator.act(&operator.get(&id).await?, act.clone()).await?)?;
            let early = take(&operator, 9).await?;
            cx.check(LIMIT_7, &format!("leases right after {act:?}"), ids(&early), [""; 0]);
        }
        // What the old run still says frees nothing either.
        for outcome in [success(), failure()] {
            let verdict = worker.end(&run, outcome).await?;
            let is_stale = matches!(verdict, CommitVerdict::Stale { .. });
            cx.check_that(LIMIT_3, "the old run's commit", is_stale, &verdict);
        }
        cx.shift(Actor::TTL_MS - 1).await?;
        let early = take(&operator, 9).await?;
        cx.check(LIMIT_7, &format!("leases 1 ms before the end, {acts:?}"), ids(&early), [""; 0]);
        cx.shift(1).await?;
        let leases = take(&operator, 9).await?;
        cx.check(LIMIT_7, "leases at the end", ids(&leases), [next.as_str()]);
        applied(operator.succeed(demand::nth(&leases, 0)?).await?)?;
        if let Some(rest) = operator.backend().task(&run.task_ref).await? {
            clear(&operator, &rest).await?;
        }
    }
    Ok(())
}
