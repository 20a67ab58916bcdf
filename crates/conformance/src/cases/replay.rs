//! A claim that is repeated returns what it holds and never grants (LH-CLAIM-9).

use std::time::Duration;

use leasehold_core::clause::{CLAIM_9, LIMIT_1};
use leasehold_core::decide::Intervention;
use leasehold_core::{
    Claim, Claimed, ClaimerId, Configure, Lease, LimitKey, Priority, Purpose, RenewVerdict,
    StoredTask,
};

use crate::actor::{Actor, applied, failure};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::{ids, purge_all};

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// A claiming loop: it names its claims.
const LOOP: ClaimerId = ClaimerId::from_bits(7);

fn named(by: &Actor, purpose: Purpose, max: usize, seq: u64) -> Claim {
    by.request(purpose, max).with_ticket(LOOP, seq)
}

async fn claim(by: &Actor, max: usize, seq: u64) -> Result<Claimed, Stop> {
    Ok(by.backend().claim(named(by, Purpose::Run, max, seq)).await?)
}

async fn enqueue(by: &Actor, ids: &[&str]) -> Result<(), Stop> {
    for id in ids {
        by.enqueue(Actor::task(id)).await?;
    }
    Ok(())
}

/// The same leases, with what is left of them now.
fn aged(leases: &[Lease], ttl_left: Duration) -> Vec<Lease> {
    let age = |lease: &Lease| {
        let mut lease = lease.clone();
        lease.ttl_left = ttl_left;
        lease
    };
    leases.iter().map(age).collect()
}

async fn tasks(by: &Actor, ids: &[&str]) -> Result<Vec<StoredTask>, Stop> {
    let mut tasks = Vec::new();
    for id in ids {
        tasks.push(by.get(id).await?);
    }
    Ok(tasks)
}

async fn untouched(
    cx: &mut Context,
    what: &str,
    by: &Actor,
    before: &[StoredTask],
) -> Result<(), Stop> {
    for task in before {
        cx.check_untouched(CLAIM_9, &format!("{} {what}", task.task_ref.id), by, task).await?;
    }
    Ok(())
}

/// Nothing is granted again, though tasks are ready and the repeat asks for more.
pub(crate) async fn returns_what_it_holds(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["a", "b", "c"]).await?;
    let first = claim(&worker, 2, 1).await?;
    cx.check(CLAIM_9, "the claim", ids(&first.leases), ["a", "b"]);
    let before = tasks(&worker, &["a", "b", "c"]).await?;
    for (wait, left) in [(0, 30_000), (10_000, 20_000), (19_999, 1)] {
        cx.shift(wait).await?;
        for max in [2, 3] {
            let again = claim(&worker, max, 1).await?;
            let want = aged(&first.leases, Duration::from_millis(left));
            let what = format!("a repeat with {left} ms left, for {max}");
            cx.check(CLAIM_9, &what, again.leases, want);
            cx.check(CLAIM_9, "whether it is superseded", again.superseded, false);
        }
        untouched(cx, "after a repeat", &worker, &before).await?;
    }
    let next = claim(&worker, 2, 2).await?;
    cx.check(CLAIM_9, "the next claim", ids(&next.leases), ["c"]);
    Ok(())
}

/// What has ended or gone to another is not returned, also not under its new fence.
pub(crate) async fn returns_only_the_rest(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = (cx.actor("worker").await?, cx.actor("other").await?);
    let names = ["done", "failed", "called off", "lapsed", "taken", "held", "renewed"];
    enqueue(&worker, &names).await?;
    let leases = claim(&worker, 7, 1).await?.leases;
    cx.check(CLAIM_9, "the claim", ids(&leases), names);
    applied(worker.succeed(&leases[0]).await?)?;
    applied(worker.fail(&leases[1]).await?)?;
    let seen = other.get("called off").await?;
    applied(other.act(&seen, Intervention::Cancel).await?)?;
    let rest = claim(&worker, 7, 1).await?.leases;
    cx.check(CLAIM_9, "the rest of it", ids(&rest), names[3..].to_vec());

    cx.shift(20_000).await?;
    let again = other.run_one().await?;
    cx.check(CLAIM_9, "who runs again", again.task_ref.id.as_str(), "failed");
    for lease in &leases[5..] {
        let held = RenewVerdict::Held { ttl_left: Actor::TTL };
        cx.check(CLAIM_9, "a renew", worker.renew(lease).await?, held);
    }
    cx.shift(10_000).await?;
    let lapsed = other.rescue(9).await?.leases;
    cx.check(CLAIM_9, "what has lapsed", ids(&lapsed), ["lapsed", "taken"]);
    applied(other.give_back(demand::nth(&lapsed, 1)?).await?)?;
    other.run_one().await?;
    let before = tasks(&worker, &["failed", "lapsed", "taken", "held", "renewed"]).await?;
    let rest = claim(&worker, 7, 1).await?.leases;
    let want = aged(&leases[5..], Duration::from_secs(20));
    cx.check(CLAIM_9, "the rest of it", rest, want);
    untouched(cx, "after the repeat", &worker, &before).await?;
    Ok(())
}

/// A lease that has lapsed is not returned, though nobody has come for it.
pub(crate) async fn returns_nothing_lapsed(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["a", "b"]).await?;
    let run = claim(&worker, 1, 1).await?.leases;
    cx.check(CLAIM_9, "the claim", ids(&run), ["a"]);
    let before = tasks(&worker, &["a", "b"]).await?;
    cx.shift(Actor::TTL_MS).await?;
    let again = claim(&worker, 1, 1).await?;
    cx.check(CLAIM_9, "a repeat at the lease's end", again.leases, Vec::new());
    untouched(cx, "after the repeat", &worker, &before).await?;
    let next = claim(&worker, 1, 2).await?;
    cx.check(CLAIM_9, "the next claim", ids(&next.leases), ["b"]);
    Ok(())
}

/// All of it is committed: the repeat is empty, whatever waits, and not superseded.
pub(crate) async fn never_grants_anew(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["a", "b", "c"]).await?;
    let leases = claim(&worker, 2, 1).await?.leases;
    applied(worker.succeed(&leases[0]).await?)?;
    applied(worker.fail(&leases[1]).await?)?;
    cx.shift(10_000).await?;
    let before = tasks(&worker, &["b", "c"]).await?;
    for _ in 0..2 {
        let again = claim(&worker, 2, 1).await?;
        let got = (again.leases, again.superseded);
        cx.check(CLAIM_9, "a repeat of what is done", got, (Vec::new(), false));
        untouched(cx, "after the repeat", &worker, &before).await?;
    }
    let next = claim(&worker, 2, 2).await?;
    cx.check(CLAIM_9, "the next claim", ids(&next.leases), ["c", "b"]);
    Ok(())
}

/// A smaller seq gets nothing, is told so, and takes nothing from the newer one.
pub(crate) async fn smaller_seq_is_superseded(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["a", "b", "c"]).await?;
    let older = claim(&worker, 1, 4).await?;
    let newer = claim(&worker, 1, 9).await?;
    cx.check(CLAIM_9, "two claims", [older.leases.len(), newer.leases.len()], [1, 1]);
    let before = tasks(&worker, &["a", "b", "c"]).await?;
    for seq in [4, 8, 0] {
        for purpose in [Purpose::Run, Purpose::Rescue] {
            let old = worker.backend().claim(named(&worker, purpose, 2, seq)).await?;
            let got = (old.leases, old.superseded);
            cx.check(CLAIM_9, &format!("seq {seq} after 9"), got, (Vec::new(), true));
            untouched(cx, "after a smaller seq", &worker, &before).await?;
        }
    }
    let again = claim(&worker, 1, 9).await?;
    cx.check(CLAIM_9, "a repeat of the newer", again.leases, newer.leases);
    let next = claim(&worker, 1, 10).await?;
    cx.check(CLAIM_9, "the next claim", ids(&next.leases), ["c"]);
    Ok(())
}

/// A pause stops grants, and a repeat is none.
pub(crate) async fn repeats_in_a_paused_queue(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["a", "b"]).await?;
    let first = claim(&worker, 1, 1).await?;
    worker.configure(Configure::new(Context::QUEUE).pause()).await?;
    let again = claim(&worker, 1, 1).await?;
    cx.check(CLAIM_9, "a repeat while paused", &again.leases, &first.leases);
    let next = claim(&worker, 1, 2).await?;
    cx.check(CLAIM_9, "a new claim while paused", next.leases, Vec::new());
    worker.configure(Configure::new(Context::QUEUE).resume()).await?;
    let next = claim(&worker, 1, 3).await?;
    cx.check(CLAIM_9, "a new claim afterwards", ids(&next.leases), ["b"]);
    Ok(())
}

/// The claims of a rescuer are named as well, and what another took over is not returned.
pub(crate) async fn rescue_claims_repeat(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = (cx.actor("worker").await?, cx.actor("other").await?);
    enqueue(&worker, &["a", "b", "c"]).await?;
    let runs = worker.claim(3).await?.leases;
    cx.shift(Actor::TTL_MS).await?;
    let rescue = async |max, seq| {
        let claim = named(&other, Purpose::Rescue, max, seq);
        Ok::<_, Stop>(other.backend().claim(claim).await?)
    };
    let first = rescue(2, 1).await?;
    cx.check(CLAIM_9, "the claim", ids(&first.leases), ["a", "b"]);
    let before = tasks(&worker, &["a", "b", "c"]).await?;
    cx.shift(5_000).await?;
    let again = rescue(3, 1).await?;
    let want = aged(&first.leases, Duration::from_secs(25));
    cx.check(CLAIM_9, "a repeat", again.leases, want);
    untouched(cx, "after the repeat", &worker, &before).await?;
    applied(other.give_back(demand::nth(&first.leases, 0)?).await?)?;
    applied(worker.succeed(demand::nth(&runs, 1)?).await?)?;
    let again = rescue(3, 1).await?;
    cx.check(CLAIM_9, "a repeat after both have ended", again.leases, Vec::new());
    let next = rescue(3, 2).await?;
    cx.check(CLAIM_9, "the next claim", ids(&next.leases), ["c"]);
    cx.shift(Actor::TTL_MS).await?;
    let taken = worker.rescue_one().await?;
    let again = rescue(3, 2).await?;
    cx.check(CLAIM_9, "a repeat after the takeover", again.leases, Vec::new());
    applied(worker.give_back(&taken).await?)?;
    Ok(())
}

/// The same seq of another loop is that loop's own, also under one holder's name.
pub(crate) async fn another_loop_has_its_own(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["a", "b", "c"]).await?;
    let first = claim(&worker, 1, 5).await?;
    let other = async |seq| {
        let claim = worker.request(Purpose::Run, 1).with_ticket(ClaimerId::from_bits(8), seq);
        Ok::<_, Stop>(worker.backend().claim(claim).await?)
    };
    let second = other(5).await?;
    cx.check(CLAIM_9, "the other loop's claim", ids(&second.leases), ["b"]);
    let (mine, theirs) = (claim(&worker, 1, 5).await?, other(5).await?);
    cx.check(CLAIM_9, "a repeat of mine", mine.leases, first.leases);
    cx.check(CLAIM_9, "a repeat of theirs", theirs.leases, second.leases);
    let old = other(4).await?;
    cx.check(CLAIM_9, "theirs with a smaller seq", (old.leases.len(), old.superseded), (0, true));
    let unnamed = worker.claim(1).await?;
    cx.check(CLAIM_9, "a claim without a name", ids(&unnamed.leases), ["c"]);
    Ok(())
}

/// The record outlives the hour while a pair holds, and the task of another that has left.
pub(crate) async fn kept_until_its_pairs_have_ended(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["a", "b", "c"]).await?;
    let mut request = named(&worker, Purpose::Run, 2, 1);
    request.ttl = Duration::from_secs(24 * 60 * 60);
    let leases = worker.backend().claim(request.clone()).await?.leases;
    applied(worker.succeed(&leases[0]).await?)?;
    for hours in [2, 21] {
        cx.shift(hours * HOUR_MS).await?;
        purge_all(&worker).await?;
        let again = worker.backend().claim(request.clone()).await?;
        cx.check(CLAIM_9, "a repeat after hours", ids(&again.leases), ["b"]);
        let old = claim(&worker, 1, 0).await?;
        cx.check(CLAIM_9, "a smaller seq after hours", old.superseded, true);
    }
    let left = Duration::from_secs(60 * 60);
    let again = worker.backend().claim(request).await?;
    cx.check(CLAIM_9, "a repeat after hours", again.leases, aged(&leases[1..], left));
    applied(worker.succeed(&leases[1]).await?)?;
    Ok(())
}

/// The record is kept for an hour although all of its tasks have left; once it may be
/// forgotten, what it granted is as it was.
pub(crate) async fn kept_for_an_hour_at_least(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["a", "b"]).await?;
    let lease = claim(&worker, 1, 3).await?.leases;
    applied(worker.succeed(&lease[0]).await?)?;
    let before = tasks(&worker, &["b"]).await?;
    for wait in [0, HOUR_MS - 1] {
        cx.shift(wait).await?;
        purge_all(&worker).await?;
        let again = claim(&worker, 1, 3).await?;
        let got = (again.leases, again.superseded);
        cx.check(CLAIM_9, "a repeat within the hour", got, (Vec::new(), false));
        let old = claim(&worker, 1, 2).await?;
        cx.check(CLAIM_9, "a smaller seq within the hour", old.superseded, true);
        untouched(cx, "within the hour", &worker, &before).await?;
    }
    cx.shift(1).await?;
    purge_all(&worker).await?;
    untouched(cx, "after the hour", &worker, &before).await?;
    let next = claim(&worker, 1, 4).await?;
    cx.check(CLAIM_9, "the next claim", ids(&next.leases), ["b"]);
    applied(worker.end(demand::nth(&next.leases, 0)?, failure()).await?)?;
    Ok(())
}

/// A claim that granted nothing need not be recorded: repeated, it may grant or not, and
/// what it grants it returns from then on.
pub(crate) async fn empty_claim_may_grant_later(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    enqueue(&worker, &["z"]).await?;
    let old = claim(&worker, 1, 1).await?.leases;
    let empty = claim(&worker, 1, 2).await?;
    cx.check(CLAIM_9, "a claim while nothing is ready", empty.leases, Vec::new());
    worker.enqueue(Actor::task("a").with_priority(Priority::HIGHEST)).await?;
    let again = claim(&worker, 1, 2).await?;
    cx.check(CLAIM_9, "whether the repeat is superseded", again.superseded, false);
    if !again.leases.is_empty() {
        cx.check(CLAIM_9, "what the repeat is granted", ids(&again.leases), ["a"]);
        let third = claim(&worker, 1, 2).await?;
        cx.check(CLAIM_9, "a third time", third.leases, again.leases.clone());
    }
    worker.enqueue(Actor::task("b")).await?;
    let next = claim(&worker, 2, 3).await?;
    let want = if again.leases.is_empty() { vec!["a", "b"] } else { vec!["b"] };
    cx.check(CLAIM_9, "the next claim", ids(&next.leases), want);
    let held = RenewVerdict::Held { ttl_left: Actor::TTL };
    cx.check(CLAIM_9, "the lease of the first claim", worker.renew(&old[0]).await?, held);
    Ok(())
}

/// A lease whose slot was swept for another task is over, though a clock that went back makes
/// it look alive: a repeat that returned it would start a second run under a limit of one.
pub(crate) async fn no_lease_without_its_slot(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let other = cx.actor("other").await?;
    worker.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    for id in ["a", "b"] {
        let limit = LimitKey::new("g", "k");
        worker.enqueue(Actor::task(id).with_limit(limit)).await?;
    }
    let first = claim(&worker, 1, 1).await?;
    cx.check(CLAIM_9, "what the first claim got", ids(&first.leases), ["a"]);
    let again = claim(&worker, 1, 1).await?;
    cx.check(CLAIM_9, "a repeat while the slot stands", again.leases, first.leases);
    cx.shift(Actor::TTL_MS).await?;
    let next = other.run_one().await?;
    cx.check(CLAIM_9, "who took the slot", next.task_ref.id.as_str(), "b");
    cx.shift(-Actor::TTL_MS / 2).await?;
    let again = claim(&worker, 1, 1).await?;
    cx.check(CLAIM_9, "a repeat after the slot was swept", again.leases, []);
    Ok(())
}

/// A repeat counts no slot twice, and leaves none behind.
pub(crate) async fn repeat_takes_no_slot(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.configure(Configure::new(Context::QUEUE).with_limit("g", 2)).await?;
    for id in ["a", "b", "c", "d"] {
        let limit = LimitKey::new("g", "k");
        worker.enqueue(Actor::task(id).with_limit(limit)).await?;
    }
    let first = claim(&worker, 1, 1).await?;
    for _ in 0..3 {
        let again = claim(&worker, 1, 1).await?;
        cx.check(CLAIM_9, "a repeat", &again.leases, &first.leases);
    }
    let second = claim(&worker, 2, 2).await?;
    cx.check(LIMIT_1, "what fits beside it", ids(&second.leases), ["b"]);
    applied(worker.succeed(&first.leases[0]).await?)?;
    let again = claim(&worker, 2, 2).await?;
    cx.check(CLAIM_9, "a repeat while a slot is free", again.leases, second.leases);
    let third = claim(&worker, 2, 3).await?;
    cx.check(LIMIT_1, "what fits then", ids(&third.leases), ["c"]);
    Ok(())
}
