//! What a store does while a stranger holds its locks, and when it fails in the middle of a step.

use std::time::Duration;

use leasehold_core::clause::{
    COMMIT_2, COMMIT_7, Clause, ENQ_7, ENQ_8, FENCE_2, GEN_4, RENEW_2, TIME_2, TIME_5,
};
use leasehold_core::{
    BackendExt, CommitVerdict, Count, Counts, Error, ErrorKind, Found, Get, RenewVerdict, TaskRef,
};
use tokio::time::timeout;

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};
use crate::harness::Lasting;

/// A call without an answer for so long is taken to wait for a lock.
const BLOCKED: Duration = Duration::from_millis(50);

/// A renew, a commit and a claim wait for a lock while time goes on: each is decided by the
/// clock as it stands when the lock is theirs.
pub async fn a_wait_for_a_lock_ends_with_a_new_reading(cx: &mut Context) -> Result<(), Stop> {
    let by = cx.actor("worker").await?;
    let waited = [
        a_renew_that_waits(cx, &by).await?,
        a_commit_that_waits(cx, &by).await?,
        a_claim_that_waits(cx, &by).await?,
    ];
    if waited.contains(&true) {
        return Ok(());
    }
    Err(Stop::vacuous("no call waited for the lock"))
}

async fn a_renew_that_waits(cx: &mut Context, by: &Actor) -> Result<bool, Stop> {
    by.enqueue(Actor::task("renewed")).await?;
    let lease = by.run_one().await?;
    let before = by.get("renewed").await?;
    let fault = held(cx, "renewed").await?;
    let (waited, told) = behind(cx, fault, by.renew(&lease)).await?;
    if waited {
        // Not to wait is as right: Busy, or Unavailable (LH-RENEW-7).
        let lost = RenewVerdict::Lost(leasehold_core::LostReason::Lapsed);
        let fits = match &told {
            Ok(verdict) => *verdict == lost || *verdict == RenewVerdict::Busy,
            Err(error) => error.kind() == ErrorKind::Unavailable,
        };
        cx.check_that(RENEW_2, "a renew that waited until the lease was over", fits, &told);
    }
    cx.check_untouched(TIME_2, "the lease, which nobody may revive", by, &before).await?;
    applied(by.succeed(&lease).await?)?;
    Ok(waited)
}

async fn a_commit_that_waits(cx: &mut Context, by: &Actor) -> Result<bool, Stop> {
    by.enqueue(Actor::task("committed")).await?;
    let lease = by.run_one().await?;
    let fault = held(cx, "committed").await?;
    let (waited, told) = behind(cx, fault, by.succeed(&lease)).await?;
    match told {
        Ok(CommitVerdict::Applied(applied)) => {
            cx.check(
                COMMIT_7,
                "a commit that waited until the lease was over",
                applied.overdue,
                waited,
            );
        }
        Err(error) if error.kind() == ErrorKind::Unavailable => {}
        other => cx.check_that(COMMIT_7, "a commit that waited for a lock", false, other),
    }
    Ok(waited)
}

async fn a_claim_that_waits(cx: &mut Context, by: &Actor) -> Result<bool, Stop> {
    by.enqueue(Actor::task("claimed")).await?;
    let fault = held(cx, "claimed").await?;
    let (waited, told) = behind(cx, fault, by.claim(1)).await?;
    // What passes over a locked task is as right (LH-CLAIM-4).
    for lease in told.iter().flat_map(|claimed| &claimed.leases) {
        cx.check(TIME_5, "a lease that was waited for", lease.ttl_left, Actor::TTL);
    }
    Ok(waited)
}

/// Makes the call while the lock is held, lets a lease's time pass, and gives the lock back:
/// whether the call waited for it, and its answer.
async fn behind<T>(
    cx: &Context,
    fault: Box<dyn Lasting>,
    call: impl Future<Output = T>,
) -> Result<(bool, T), Stop> {
    let mut call = Box::pin(call);
    let early = timeout(BLOCKED, &mut call).await.ok();
    cx.shift(Actor::TTL_MS).await?;
    fault.lift().await?;
    Ok(match early {
        Some(told) => (false, told),
        None => (true, call.await),
    })
}

/// The store fails in the middle of a step: nothing of the step is left, the handle stays
/// usable, and the same call counts once the fault is over.
pub async fn a_step_that_fails_leaves_nothing(cx: &mut Context) -> Result<(), Stop> {
    let by = cx.actor("worker").await?;
    let batch = || ["a", "b", "refused"].map(Actor::kept).to_vec();
    let fault = refused(cx, "refused").await?;
    let told = by.enqueue_all(batch()).await;
    let victim = TaskRef::new(by.queue(), "refused");
    failed(cx, ENQ_7, "an enqueue of which one task is refused", told.err(), &victim, &by).await?;
    let none = Counts::new(leasehold_core::Events::default());
    let counts = by.backend().counts(Count::new(by.queue())).await?;
    cx.check(ENQ_7, "the tasks counted", counts.tasks, none.tasks);
    for id in ["a", "b", "refused"] {
        let found = by.backend().get(Get::new(TaskRef::new(by.queue(), id))).await?;
        cx.check(ENQ_7, "a task of the failed call", found, Found::Nothing);
    }
    fault.lift().await?;
    let told = by.enqueue_all(batch()).await?;
    cx.check(GEN_4, "the same call after the fault", told.len(), 3);
    a_claim_that_fails(cx, &by).await?;
    a_commit_that_fails(cx, &by).await
}

async fn a_claim_that_fails(cx: &mut Context, by: &Actor) -> Result<(), Stop> {
    let before = by.get("refused").await?;
    let fault = refused(cx, "refused").await?;
    // A claim may give the others away and leave this one, or fail as a whole.
    let told = by.claim(3).await;
    let granted: Vec<_> = told.iter().flat_map(|claimed| &claimed.leases).cloned().collect();
    let took = granted.iter().any(|lease| lease.task_ref == before.task_ref);
    cx.check(FENCE_2, "whether a task was granted that cannot be written", took, false);
    cx.check_untouched(FENCE_2, "a task that cannot be written", by, &before).await?;
    fault.lift().await?;
    let rest = by.claim(3).await?.leases;
    let all = granted.len() + rest.len();
    cx.check(GEN_4, "leases, before and after the fault", all, 3);
    for lease in granted.iter().chain(&rest).filter(|lease| lease.task_ref != before.task_ref) {
        applied(by.succeed(lease).await?)?;
    }
    Ok(())
}

async fn a_commit_that_fails(cx: &mut Context, by: &Actor) -> Result<(), Stop> {
    let before = by.get("refused").await?;
    let lease = leasehold_core::Lease::of(before.clone(), before.enqueued_at);
    let with_follow_up = cx.profile().features.contains(leasehold_core::Features::FOLLOW_UPS);
    let (victim, clause) = match with_follow_up {
        true => ("follow-up", ENQ_8),
        false => ("refused", COMMIT_2),
    };
    let follow_ups: Vec<_> = with_follow_up.then(|| Actor::task("follow-up")).into_iter().collect();
    let change = leasehold_core::decide::run(&lease, success(), 1).with_follow_ups(follow_ups);
    let item = leasehold_core::CommitItem::new(lease.guard(), change);
    let fault = refused(cx, victim).await?;
    let told = by.commit_item(&item).await;
    let made = match with_follow_up {
        true => TaskRef::new(by.queue(), victim),
        // The task is there in any case; the comparison below sees whether it was written.
        false => TaskRef::new(by.queue(), "nobody"),
    };
    failed(cx, clause, "a commit of which one part is refused", told.err(), &made, by).await?;
    cx.check_untouched(COMMIT_2, "the task of a commit that failed", by, &before).await?;
    cx.check_gone(clause, "the follow-up of a commit that failed", by, "follow-up").await?;
    fault.lift().await?;
    let told = by.commit_item(&item).await?;
    let counts = matches!(told, CommitVerdict::Applied(_));
    cx.check_that(GEN_4, "the same commit after the fault", counts, told);
    Ok(())
}

/// A call of which the store failed to write `victim` answers an error that is no word about the
/// request.
async fn failed(
    cx: &mut Context,
    clause: Clause,
    what: &str,
    error: Option<Error>,
    victim: &TaskRef,
    by: &Actor,
) -> Result<(), Stop> {
    let written = by.backend().task(victim).await?.is_some();
    if error.is_none() && written {
        return Err(Stop::vacuous(format!("{what} was carried out: the fault never fired")));
    }
    let kind = error.as_ref().map(Error::kind);
    let of_store =
        kind.is_some_and(|kind| !matches!(kind, ErrorKind::Invalid | ErrorKind::Unsupported));
    cx.check_that(clause, what, of_store, error);
    Ok(())
}

async fn held(cx: &Context, id: &str) -> Result<Box<dyn Lasting>, Stop> {
    let held = cx.planting()?.hold(&TaskRef::new(Context::QUEUE, id)).await?;
    held.ok_or_else(Stop::inapplicable)
}

async fn refused(cx: &Context, id: &str) -> Result<Box<dyn Lasting>, Stop> {
    let refused = cx.planting()?.refuse(&TaskRef::new(Context::QUEUE, id)).await?;
    refused.ok_or_else(Stop::inapplicable)
}
