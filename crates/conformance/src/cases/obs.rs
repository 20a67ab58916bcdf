//! What is counted (LH-OBS-1): each counter grows when its thing happens, and at nothing else.

use std::time::Duration;

use leasehold_core::clause::OBS_1;
use leasehold_core::decide::{self, Entered, Unknown};
use leasehold_core::{
    BackendExt, CommitItem, Configure, Count, Due, Events, Fence, Guard, Intervention, Keep,
    LimitKey, Outcome, Priority, Purge, Retention, Retry, TaskRef,
};

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};
use crate::harness::PlantedRecord;

pub(crate) async fn a_smooth_day_counts_nothing(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let keep = Keep::For(Duration::from_secs(1));
    let brief = Retention::default().with_succeeded(keep).with_cancelled(keep).with_dead(keep);
    user.enqueue(Actor::task("t").with_retention(brief)).await?;
    let _ = user.try_enqueue(Actor::task("t")).await?;
    for outcome in [
        Outcome::Failed { message: String::new(), retry: Retry::After(Duration::ZERO) },
        Outcome::Snoozed(Duration::ZERO),
        Outcome::Released(Entered::No),
        Outcome::Cancelled { message: String::new() },
        success(),
    ] {
        let run = user.run_one().await?;
        let _ = user.claim(1).await?;
        let _ = user.rescue(1).await?;
        cx.shift(1_000).await?;
        let _ = user.renew(&run).await?;
        applied(user.end(&run, outcome).await?)?;
        let seen = user.get("t").await?;
        if seen.state.is_finished() && run.attempt < 5 {
            applied(user.act(&seen, Intervention::Redrive).await?)?;
        }
    }
    cx.shift(1_000).await?;
    let purged = user.backend().purge(Purge::new(Context::QUEUE, 10)).await?;
    cx.check(OBS_1, "what the purge takes", purged.tasks, 1);
    check_grown(cx, &user, "a smooth day", Events::default(), |_| {}).await?;
    Ok(())
}

pub(crate) async fn stale_commits(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::task("t")).await?;
    let run = user.run_one().await?;
    let seen = user.get("t").await?;
    applied(user.succeed(&run).await?)?;
    let before = events(&user).await?;
    let _ = user.fail(&run).await?;
    let _ = user.act(&seen, Intervention::Cancel).await?;
    let one = "a late failure and a late cancel";
    let before = check_grown(cx, &user, one, before, |e| e.stale_commits += 2).await?;
    let nobody = Guard::new(TaskRef::new(Context::QUEUE, "nobody"), Fence::new(1));
    let _ = user.commit(nobody, decide::run(&run, success(), 1)).await?;
    let _ = user.try_enqueue(Actor::task("t")).await?;
    check_grown(cx, &user, "a commit that is gone", before, |_| {}).await?;
    let elsewhere = user.backend().counts(Count::new("elsewhere")).await?.events;
    cx.check(OBS_1, "the counters of another queue", elsewhere, Events::default());
    Ok(())
}

pub(crate) async fn lost_renews(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::task("t")).await?;
    let run = user.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let before = events(&user).await?;
    let _ = user.renew(&run).await?;
    let before = check_grown(cx, &user, "a lapsed renew", before, |e| e.lost_renews += 1).await?;
    let rescue = user.rescue_one().await?;
    let _ = user.renew(&rescue).await?;
    let _ = user.renew(&run).await?;
    let grow = |e: &mut Events| {
        e.lapsed += 1;
        e.lost_renews += 1;
    };
    check_grown(cx, &user, "a renew that was taken", before, grow).await?;
    Ok(())
}

pub(crate) async fn overdue(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let mut before = Events::default();
    user.enqueue(Actor::task("t")).await?;
    let failed = Outcome::Failed { message: String::new(), retry: Retry::After(Duration::ZERO) };
    for outcome in [failed, Outcome::Snoozed(Duration::ZERO), success()] {
        let run = user.run_one().await?;
        cx.shift(Actor::TTL_MS).await?;
        let what = format!("an overdue {outcome:?}");
        applied(user.end(&run, outcome).await?)?;
        before = check_grown(cx, &user, &what, before, |e| e.overdue += 1).await?;
    }
    user.enqueue(Actor::task("first")).await?;
    let run = user.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    applied(user.succeed(&run).await?)?;
    let before = check_grown(cx, &user, "a first run", before, |e| e.overdue += 1).await?;
    user.enqueue(Actor::task("u")).await?;
    user.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let rescue = user.rescue_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    applied(user.give_back(&rescue).await?)?;
    let grow = |e: &mut Events| {
        e.lapsed += 1;
        e.rescued += 1;
        e.overdue += 1;
    };
    check_grown(cx, &user, "a rescue that is overdue itself", before, grow).await?;
    Ok(())
}

pub(crate) async fn late_and_replayed(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::kept("t")).await?;
    let run = user.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let rescue = user.rescue_one().await?;
    let before = check_grown(cx, &user, "a lapse", Events::default(), |e| e.lapsed += 1).await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, success(), 1));
    applied(user.backend().commit_one(item.clone()).await?)?;
    let before = check_grown(cx, &user, "a late success", before, |e| e.late += 1).await?;
    for _ in 0..2 {
        let _ = user.backend().commit_one(item.clone()).await?;
    }
    let before = check_grown(cx, &user, "two repeats", before, |e| e.replayed += 2).await?;
    let _ = user.give_back(&rescue).await?;
    check_grown(cx, &user, "the stale rescue", before, |e| e.stale_commits += 1).await?;
    Ok(())
}

pub(crate) async fn lapses_takeovers_and_rescues(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for id in ["a", "b"] {
        user.enqueue(Actor::task(id)).await?;
    }
    let _ = user.claim(2).await?;
    cx.shift(Actor::TTL_MS).await?;
    let what = "leases that lapsed and nobody rescued";
    let before = check_grown(cx, &user, what, Events::default(), |_| {}).await?;
    let _ = user.rescue(2).await?;
    let before = check_grown(cx, &user, "two lapses", before, |e| e.lapsed += 2).await?;
    cx.shift(Actor::TTL_MS).await?;
    let taken = user.rescue_one().await?;
    let before = check_grown(cx, &user, "a takeover", before, |e| e.takeovers += 1).await?;
    applied(user.give_back(&taken).await?)?;
    let before = check_grown(cx, &user, "a rescue", before, |e| e.rescued += 1).await?;
    let item = user.rescue_one().await?;
    let before = check_grown(cx, &user, "the other one", before, |e| e.takeovers += 1).await?;
    applied(user.commit(item.guard(), bury(&item)).await?)?;
    check_grown(cx, &user, "a rescue that buries", before, |e| e.buried += 1).await?;
    Ok(())
}

fn bury(lease: &leasehold_core::Lease) -> leasehold_core::Change {
    let mut poor = lease.clone();
    poor.rescues = lease.policy.delivery.max_rescues();
    decide::rescue(&poor)
}

pub(crate) async fn burials(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let message = || "it is over".to_owned();
    let mut before = Events::default();
    for (n, outcome) in [
        Outcome::Failed { message: message(), retry: Retry::Never },
        Outcome::Undecodable { message: message() },
        Outcome::UnknownKind(Unknown::Bury),
        Outcome::Corrupt,
    ]
    .into_iter()
    .enumerate()
    {
        user.enqueue(Actor::task(&format!("t{n}"))).await?;
        let what = format!("a burial after {outcome:?}");
        applied(user.end(&user.run_one().await?, outcome).await?)?;
        before = check_grown(cx, &user, &what, before, |e| e.buried += 1).await?;
    }
    user.enqueue(Actor::task("once").with_retry(leasehold_core::RetryPolicy::NONE)).await?;
    applied(user.fail(&user.run_one().await?).await?)?;
    before = check_grown(cx, &user, "a spent budget", before, |e| e.buried += 1).await?;
    applied(user.act(&user.get("once").await?, Intervention::Redrive).await?)?;
    before = check_grown(cx, &user, "a redrive", before, |_| {}).await?;
    applied(user.act(&user.get("once").await?, Intervention::Bury).await?)?;
    before = check_grown(cx, &user, "an operator's bury", before, |e| e.buried += 1).await?;
    applied(user.act(&user.get("once").await?, Intervention::Delete).await?)?;
    check_grown(cx, &user, "a delete", before, |_| {}).await?;
    Ok(())
}

pub(crate) async fn blocked_by_limit(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    let limited = |id| Actor::task(id).with_limit(LimitKey::new("g", "k"));
    user.enqueue(limited("a")).await?;
    user.enqueue(limited("b").with_due(Due::In(Duration::from_secs(1)))).await?;
    let _ = user.claim(1).await?;
    let _ = user.claim(1).await?;
    let what = "a claim while the task behind the key is not yet due";
    let before = check_grown(cx, &user, what, Events::default(), |_| {}).await?;
    cx.shift(1_000).await?;
    let _ = user.claim(1).await?;
    let blocked = events(&user).await?.blocked_by_limit;
    cx.check_that(OBS_1, "a claim that met a full key is counted", blocked > 0, blocked);
    let what = "a claim that met a full key";
    check_grown(cx, &user, what, before, |e| e.blocked_by_limit = blocked).await?;
    Ok(())
}

pub(crate) async fn skipped_newer(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let far = Due::In(Duration::from_secs(1));
    user.enqueue(Actor::task("newer").with_priority(Priority::HIGHEST).with_due(far)).await?;
    let newer = user.get("newer").await?.task_ref;
    cx.planting()?.plant(&newer, PlantedRecord::Newer).await?;
    let _ = user.claim(1).await?;
    let what = "a claim while the newer record is not yet due";
    let before = check_grown(cx, &user, what, Events::default(), |_| {}).await?;
    cx.shift(1_000).await?;
    let _ = user.claim(1).await?;
    let what = "a claim that passed over one newer record";
    check_grown(cx, &user, what, before, |e| e.skipped_newer += 1).await?;
    Ok(())
}

async fn events(user: &Actor) -> Result<Events, Stop> {
    Ok(user.backend().counts(Count::new(Context::QUEUE)).await?.events)
}

/// Reports a fault unless the counters grew by this and nothing else; the counters now.
async fn check_grown(
    cx: &mut Context,
    user: &Actor,
    what: &str,
    before: Events,
    grow: impl FnOnce(&mut Events),
) -> Result<Events, Stop> {
    let (now, mut want) = (events(user).await?, before);
    grow(&mut want);
    cx.check(OBS_1, &format!("the counters after {what}"), now, want);
    Ok(now)
}
