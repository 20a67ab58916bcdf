//! Who gets which task and in which order (LH-CLAIM); repeats of a claim are elsewhere.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use leasehold_core::clause::{
    CLAIM_1, CLAIM_2, CLAIM_3, CLAIM_4, CLAIM_5, CLAIM_6, CLAIM_8, CLAIM_10, CLAIM_11, CLAIM_12,
    GEN_7, LAPSE_1, LAPSE_2, LIMIT_2, OBS_1,
};
use leasehold_core::{
    Claim, CommitVerdict, Configure, Count, DeadReason, Delivery, Due, Edit, Enqueue, Entered,
    ErrorKind, Intervention, Lease, LimitKey, NewTask, Outcome, Policy, Priority, Purpose, Retry,
    State, Status, StoredTask,
};

use crate::actor::{Actor, applied};
use crate::context::{Context, Stop};
use crate::harness::PlantedRecord;

const SECOND: Duration = Duration::from_secs(1);

/// C71, C82: priority first, then ready time, then the order of enqueue, to the last one.
pub(crate) async fn order_of_service(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let mut places = Vec::new();
    let mut batch = Vec::new();
    for n in 0..60_u64 {
        let (level, delay) = (n * 7 % 12, n * 5 % 3);
        let id = format!("t{}", n * 31 % 60);
        let new = Actor::task(&id)
            .with_priority(Priority::new(u8::try_from(level).unwrap_or_default()))
            .with_due(Due::In(Duration::from_secs(delay)));
        places.push((9 - level.min(9), delay, n, id));
        batch.push(new);
        if n % 4 == 3 {
            let _ = user.backend().enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
            batch = Vec::new();
        }
    }
    places.sort_unstable();
    let want: Vec<_> = places.into_iter().map(|(_, _, _, id)| id).collect();
    cx.shift(2_000).await?;
    let mut served = Vec::new();
    for max in [1, 2, 20] {
        served.extend(ids(&user.claim(max).await?.leases));
    }
    served.extend(ids(&drained(&user, user.request(Purpose::Run, 60)).await?));
    cx.check(CLAIM_3, "the order in which tasks are served", served, want);
    Ok(())
}

/// Who comes back is served by the time at which it became ready again, and not by its age.
pub(crate) async fn who_comes_back_takes_its_place(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for id in ["released", "retried", "snoozed", "lost"] {
        user.enqueue(Actor::task(id)).await?;
    }
    let leases = user.claim(4).await?.leases;
    // Halfway between the due time of the released task and its release.
    cx.shift(500).await?;
    user.enqueue(Actor::task("early")).await?;
    cx.shift(500).await?;
    for lease in &leases {
        let outcome = match lease.task_ref.id.as_str() {
            "released" => Outcome::Released(Entered::No),
            "snoozed" => Outcome::Snoozed(3 * SECOND),
            "retried" => {
                let retry = Retry::After(2 * SECOND);
                Outcome::Failed { message: String::new(), retry }
            }
            _ => continue,
        };
        applied(user.end(lease, outcome).await?)?;
    }
    user.enqueue(Actor::task("between").with_due(Due::In(3 * SECOND))).await?;
    user.enqueue(Actor::task("after").with_due(Due::In(4 * SECOND))).await?;
    cx.shift(Actor::TTL_MS).await?;
    user.enqueue(Actor::task("late")).await?;
    applied(user.give_back(&user.rescue_one().await?).await?)?;
    user.enqueue(Actor::task("last").with_priority(Priority::LOWEST)).await?;
    user.enqueue(Actor::task("first").with_priority(Priority::HIGHEST)).await?;
    let want = [
        "first", "released", "early", "retried", "snoozed", "between", "after", "lost", "late",
        "last",
    ];
    cx.check(CLAIM_3, "the order of service", ids(&user.claim(20).await?.leases), want);
    Ok(())
}

pub(crate) async fn at_most_as_many_as_asked(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let batch = (0..10).map(|n| Actor::task(&format!("t{n}"))).collect();
    let _ = user.backend().enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
    user.enqueue(Actor::task("far").with_due(Due::In(SECOND))).await?;
    let mut got = Vec::new();
    for max in [3, 3, 3, 3, 3] {
        got.push(user.claim(max).await?);
    }
    let sizes: Vec<_> = got.iter().map(|claimed| claimed.leases.len()).collect();
    cx.check(CLAIM_4, "leases of claims for three each", sizes, [3, 3, 3, 1, 0]);
    let more: Vec<_> = got.iter().skip(3).map(|claimed| claimed.more).collect();
    cx.check(CLAIM_4, "whether there is more, once all are leased", more, [false, false]);
    let leased = user.backend().counts(Count::new(Context::QUEUE)).await?.of(Status::Leased);
    cx.check(CLAIM_4, "the tasks that are leased", leased, 10);
    cx.shift(Actor::TTL_MS).await?;
    let sizes = [user.rescue(4).await?.leases.len(), user.rescue(10).await?.leases.len()];
    cx.check(CLAIM_4, "leases of rescues for four and for ten", sizes, [4, 6]);
    Ok(())
}

/// To answer fewer than asked for, and that there is no more, says that nothing is left.
pub(crate) async fn no_false_empty(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let batch = (0..250_u32).map(|n| {
        let priority = Priority::new(u8::try_from(n % 10).unwrap_or_default());
        Actor::task(&format!("t{n}")).with_priority(priority)
    });
    let _ = user.backend().enqueue(Enqueue::new(Context::QUEUE, batch.collect())).await?;
    for purpose in [Purpose::Run, Purpose::Rescue] {
        let mut taken = BTreeSet::new();
        for _ in 0..250 {
            let claimed = user.backend().claim(user.request(purpose, 100)).await?;
            let few = claimed.leases.len() < 100;
            for id in ids(&claimed.leases) {
                let new = taken.insert(id.clone());
                cx.check_that(CLAIM_2, &format!("{id} is granted to {purpose:?}"), new, &claimed);
            }
            if few && !claimed.more {
                break;
            }
        }
        cx.check(CLAIM_4, &format!("tasks granted to {purpose:?}"), taken.len(), 250);
        cx.shift(Actor::TTL_MS).await?;
    }
    Ok(())
}

/// C50: the claim itself counts the attempt, so that no path can forget it.
pub(crate) async fn a_grant_is_one_step(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    worker.enqueue(Actor::task("t").with_header("h", "v")).await?;
    let before = worker.get("t").await?;
    let start = before.enqueued_at;
    let run = worker.run_one().await?;
    let mut want = leased(&before, &run, "worker");
    (want.run, want.attempt) = (Some(run.fence), 1);
    want.until = Some(start.after(Actor::TTL));
    cx.check_untouched(CLAIM_5, "the task after a claim", &worker, &want).await?;
    cx.check(CLAIM_5, "the lease", &run, &Lease::of(want.clone(), start));

    cx.shift(Actor::TTL_MS).await?;
    let lapsed = rescuer.rescue_one().await?;
    let now = start.after(Actor::TTL);
    let mut want = leased(&want, &lapsed, "rescuer");
    want.until = Some(now.after(Actor::TTL));
    cx.check_untouched(LAPSE_2, "the task after a rescue's claim", &worker, &want).await?;
    cx.check(LAPSE_2, "the rescuer's lease", &lapsed, &Lease::of(want.clone(), now));
    applied(rescuer.give_back(&lapsed).await?)?;

    let before = worker.get("t").await?;
    let again = worker.run_one().await?;
    let mut want = leased(&before, &again, "worker");
    (want.run, want.attempt) = (Some(again.fence), 2);
    want.until = Some(now.after(Actor::TTL));
    cx.check_untouched(CLAIM_5, "the task after the next claim", &worker, &want).await?;
    cx.check(CLAIM_5, "the next lease", &again, &Lease::of(want.clone(), now));
    let grows = before.fence < again.fence;
    cx.check_that(CLAIM_5, "its fence is new", grows, (before.fence, again.fence));
    Ok(())
}

/// What a claim of either purpose does to a task; run, attempt and until are the caller's.
fn leased(before: &StoredTask, lease: &Lease, holder: &str) -> StoredTask {
    let mut task = before.clone();
    task.state = State::Leased(lease.purpose);
    task.fence = lease.fence;
    task.holder = Some(holder.to_owned());
    task
}

pub(crate) async fn purposes_do_not_mix(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for id in ["lapsed", "under rescue"] {
        user.enqueue(Actor::task(id).with_priority(Priority::HIGHEST)).await?;
    }
    let _ = user.claim(2).await?;
    cx.shift(Actor::TTL_MS).await?;
    // By the end of its lease, then by what the store likes: either may come first.
    let under = user.rescue_one().await?.task_ref.id;
    user.enqueue(Actor::task("live")).await?;
    user.run_one().await?;
    user.enqueue(Actor::task("waits")).await?;
    user.enqueue(Actor::task("scheduled").with_due(Due::In(SECOND))).await?;
    let lapsed = ["lapsed", "under rescue"].into_iter().find(|id| *id != under);
    let before = user.get("waits").await?;
    let rescued = ids(&user.rescue(10).await?.leases);
    cx.check(LAPSE_1, "what a Rescue claim takes", rescued, Vec::from_iter(lapsed));
    cx.check_untouched(CLAIM_6, "a waiting task", &user, &before).await?;
    cx.shift(Actor::TTL_MS).await?;
    let run = ids(&user.claim(10).await?.leases);
    cx.check(CLAIM_6, "what a Run claim takes", run, ["waits", "scheduled"]);
    cx.shift(Actor::TTL_MS).await?;
    cx.check(CLAIM_1, "a Run claim of lapsed leases", user.claim(10).await?.leases, []);
    let count = user.rescue(10).await?.leases.len();
    cx.check(CLAIM_6, "a Rescue claim of lapsed leases", count, 5);
    Ok(())
}

pub(crate) async fn a_lost_reply_is_recovered(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for n in 0..3 {
        worker.enqueue(Actor::kept(&format!("t{n}"))).await?;
    }
    drop(worker.claim(3).await?);
    cx.check(CLAIM_8, "a claim while the lost leases run", worker.claim(3).await?.leases, []);
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = worker.rescue(3).await?.leases;
    for lease in &lapsed {
        applied(worker.give_back(lease).await?)?;
    }
    let leases = worker.claim(3).await?.leases;
    cx.check(CLAIM_8, "the tasks that run again", ids(&leases), ["t0", "t1", "t2"]);
    for lease in leases {
        let got = (lease.attempt, lease.rescues, lease.failures);
        cx.check(CLAIM_8, "attempt, rescues and failures", got, (2, 1, 0));
        applied(worker.succeed(&lease).await?)?;
    }
    Ok(())
}

/// Many handles claim at once, round after round: no task goes to two of them, none is left.
pub(crate) async fn a_herd_shares_nothing(cx: &mut Context) -> Result<(), Stop> {
    let mut herd = Vec::new();
    for n in 0..32 {
        herd.push(cx.actor(&format!("w{n}")).await?);
    }
    for round in 0..6 {
        let batch = (0..40).map(|n| Actor::kept(&format!("{round}-{n}"))).collect();
        let _ = herd[0].backend().enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
        let mut grants = Vec::new();
        for _ in 0..40 {
            let claims = join_all(herd.iter().map(|worker| worker.claim(2))).await;
            let (mut more, before) = (false, grants.len());
            for (worker, claimed) in herd.iter().zip(claims) {
                let claimed = claimed?;
                more |= claimed.more;
                grants.extend(claimed.leases.into_iter().map(|lease| (worker, lease)));
            }
            if !more && grants.len() == before {
                break;
            }
        }
        let tasks: BTreeSet<_> = grants.iter().map(|(_, lease)| &lease.task_ref.id).collect();
        let got = (grants.len(), tasks.len());
        cx.check(CLAIM_2, "grants, and tasks that were granted", got, (40, 40));
        let ends = join_all(grants.iter().map(|(worker, lease)| worker.succeed(lease))).await;
        for ((worker, lease), end) in grants.iter().zip(ends) {
            let end = end?;
            let sound = matches!(end, CommitVerdict::Applied(_)) && lease.attempt == 1;
            cx.check_that(CLAIM_2, "the only run of a task ends it", sound, (end, lease));
            let done = worker.get(&lease.task_ref.id).await?.state;
            cx.check(CLAIM_2, "the task that it ran", done, State::Succeeded);
        }
    }
    Ok(())
}

/// Thousands that cannot start, each of a better priority, neither hide the one that can nor
/// make a claim say for ever that there is more.
pub(crate) async fn what_cannot_start_hides_nothing(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    let limited = |id: &str| Actor::task(id).with_limit(LimitKey::new("g", "full"));
    user.enqueue(limited("holder")).await?;
    let holder = user.run_one().await?;
    let best = |new: NewTask| new.with_priority(Priority::HIGHEST);
    for thousand in 0..5 {
        let far = |n| Actor::task(&format!("far-{thousand}-{n}")).with_due(Due::In(SECOND * 99));
        let batch = (0..1_000).map(|n| best(far(n))).collect();
        let _ = user.backend().enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
        let batch = (0..1_000).map(|n| best(limited(&format!("behind-{thousand}-{n}")))).collect();
        let _ = user.backend().enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
    }
    let behind = user.get("behind-0-0").await?;
    let other = Actor::task("other").with_limit(LimitKey::new("g", "free"));
    user.enqueue(Actor::task("free").with_priority(Priority::LOWEST)).await?;
    user.enqueue(other.with_priority(Priority::LOWEST)).await?;
    let started = drained(&user, user.request(Purpose::Run, 10)).await?;
    cx.check(CLAIM_12, "what can start", ids(&started), ["free", "other"]);
    cx.check_untouched(LIMIT_2, "the first behind the full key", &user, &behind).await?;
    applied(user.succeed(&holder).await?)?;
    let started = drained(&user, user.request(Purpose::Run, 10)).await?;
    cx.check(LIMIT_2, "what can start next", ids(&started), ["behind-0-0"]);
    Ok(())
}

pub(crate) async fn kinds_are_all_that_is_granted(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let of = |kind: &str, n: usize| {
        let mut new = Actor::task(&format!("{kind}-{n}"));
        kind.clone_into(&mut new.kind);
        new
    };
    let ahead = (0..200).map(|n| of("ahead", n).with_priority(Priority::HIGHEST)).collect();
    let _ = user.backend().enqueue(Enqueue::new(Context::QUEUE, ahead)).await?;
    let rest = vec![of("a", 0), of("b", 0), of("A", 0), of("a", 1), of("ab", 0), of("b", 1)];
    let _ = user.backend().enqueue(Enqueue::new(Context::QUEUE, rest)).await?;
    for (purpose, of_both) in [
        (Purpose::Run, ["a-0", "b-0", "a-1", "b-1"].map(str::to_owned)),
        (Purpose::Rescue, ["a-0", "a-1", "b-0", "b-1"].map(str::to_owned)),
    ] {
        let claim = |kinds: &[&str]| {
            drained(&user, user.request(purpose, 10).with_kinds(kinds.iter().copied()))
        };
        for kinds in [&["none"][..], &["A*", "a%", "?"]] {
            let got = ids(&claim(kinds).await?);
            cx.check(CLAIM_10, "a claim for kinds that nobody has", got, [""; 0]);
        }
        let mut got = ids(&claim(&["b", "a"]).await?);
        if purpose == Purpose::Rescue {
            got.sort_unstable();
        }
        cx.check(CLAIM_10, &format!("a claim for two kinds to {purpose:?}"), got, of_both);
        let last = ids(&claim(&["A"]).await?);
        cx.check(CLAIM_10, &format!("a claim for the kind A to {purpose:?}"), last, ["A-0"]);
        cx.shift(Actor::TTL_MS).await?;
    }
    let ready = user.backend().counts(Count::new(Context::QUEUE)).await?.of(Status::Ready);
    cx.check(CLAIM_10, "the tasks of other kinds", ready, 201);
    Ok(())
}

/// A record that cannot be read comes out as its bytes, among its neighbours, and its holder
/// can bury it, the worker as well as the rescuer.
pub(crate) async fn corrupt_is_granted_raw(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for id in ["a", "broken", "lost", "b"] {
        user.enqueue(Actor::task(id)).await?;
    }
    let raw = b"\0{\xff not a record".to_vec();
    for id in ["broken", "lost"] {
        let task = user.get(id).await?.task_ref;
        cx.planting()?.plant(&task, PlantedRecord::Broken(raw.clone())).await?;
    }
    let leases = user.claim(10).await?.leases;
    cx.check(CLAIM_11, "the leases", ids(&leases), ["a", "broken", "lost", "b"]);
    for lease in &leases {
        let broken = ["broken", "lost"].contains(&lease.task_ref.id.as_str());
        let want = broken.then_some(raw.as_slice());
        let got = lease.corrupt.as_ref().map(leasehold_core::Payload::as_bytes);
        cx.check(CLAIM_11, &format!("the mark of {}", lease.task_ref.id), got, want);
        match lease.task_ref.id.as_str() {
            "lost" => continue,
            "broken" => applied(user.end(lease, Outcome::Corrupt).await?)?,
            _ => applied(user.succeed(lease).await?)?,
        };
    }
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = user.rescue_one().await?;
    let got = lapsed.corrupt.as_ref().map(leasehold_core::Payload::as_bytes);
    cx.check(CLAIM_11, "the mark under rescue", got, Some(raw.as_slice()));
    let change = leasehold_core::decide::rescue(&lapsed);
    let want = leasehold_core::To::Dead(DeadReason::Lost);
    cx.check(CLAIM_11, "what the rescuer decides", change.to, want);
    applied(user.commit(lapsed.guard(), change).await?)?;
    let counts = user.backend().counts(Count::new(Context::QUEUE)).await?;
    let got = (counts.of(Status::Dead), counts.total(), counts.events.buried);
    cx.check(CLAIM_11, "dead letters, tasks and burials", got, (2, 2, 2));
    cx.check(CLAIM_11, "what can start afterwards", user.claim(10).await?.leases, []);
    Ok(())
}

/// What a newer release has written about a task is not replaced by what this one understands
/// of it: an operator's new policy is refused, and the task stays for the newer one.
pub(crate) async fn newer_terms_are_not_rewritten(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::task("t")).await?;
    let seen = user.get("t").await?;
    cx.planting()?.plant(&seen.task_ref, PlantedRecord::Newer).await?;
    let policy = Policy::new(Delivery::NotAfterLoss);
    let edit = Intervention::Edit(Edit::default().with_policy(policy));
    let kind = user.act(&seen, edit).await.map_err(|error| error.kind());
    cx.check(CLAIM_11, "a new policy for it", kind, Err(ErrorKind::Invalid));
    cx.check(CLAIM_11, "what an older worker is granted", user.claim(1).await?.leases, []);

    user.enqueue(Actor::task("sound")).await?;
    let sound = user.get("sound").await?;
    let edit = Intervention::Edit(Edit::default().with_policy(policy));
    applied(user.act(&sound, edit).await?)?;
    let lease = user.run_one().await?;
    cx.check(CLAIM_11, "the policy of a sound one", lease.policy, policy);
    Ok(())
}

/// A record of a newer release is left to a newer worker, waiting or lapsed, at the head of
/// the queue as well.
pub(crate) async fn newer_is_left_and_blocks_nothing(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let first = |id| Actor::task(id).with_priority(Priority::HIGHEST);
    user.enqueue(first("lapsed")).await?;
    user.enqueue(Actor::task("lost")).await?;
    let _ = user.claim(2).await?;
    user.enqueue(first("waits")).await?;
    for id in ["lapsed", "waits"] {
        let task = user.get(id).await?.task_ref;
        cx.planting()?.plant(&task, PlantedRecord::Newer).await?;
    }
    cx.shift(Actor::TTL_MS).await?;
    for id in ["a", "b"] {
        user.enqueue(Actor::task(id)).await?;
    }
    for (purpose, want) in [(Purpose::Run, vec!["a", "b"]), (Purpose::Rescue, vec!["lost"])] {
        let before = user.backend().counts(Count::new(Context::QUEUE)).await?.events.skipped_newer;
        let claimed = user.backend().claim(user.request(purpose, 10)).await?;
        let got = ids(&claimed.leases);
        cx.check(CLAIM_11, &format!("what is granted to {purpose:?}"), got, want);
        cx.check(CLAIM_4, "whether there is more", claimed.more, false);
        let counts = user.backend().counts(Count::new(Context::QUEUE)).await?;
        let skipped = counts.events.skipped_newer;
        let what = format!("newer records skipped for {purpose:?}");
        cx.check_that(OBS_1, &what, skipped > before, (before, skipped));
    }
    let counts = user.backend().counts(Count::new(Context::QUEUE)).await?;
    let got = (counts.of(Status::Ready), counts.of(Status::Lapsed), counts.total());
    cx.check(CLAIM_11, "ready, lapsed and all tasks afterwards", got, (1, 1, 5));
    Ok(())
}

/// A claim for kinds takes what any claim takes, in the same order.
pub(crate) async fn kinds_change_no_other_rule(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let of = |kind: &str, id: &str| {
        let mut new = Actor::task(id).with_priority(Priority::HIGHEST);
        kind.clone_into(&mut new.kind);
        new
    };
    user.on("q2").enqueue(of("a", "elsewhere")).await?;
    user.enqueue(of("a", "runs")).await?;
    user.run_one().await?;
    user.enqueue(of("a", "later").with_due(Due::In(SECOND))).await?;
    for (kind, id) in [("b", "1"), ("a", "2"), ("b", "3"), ("a", "4")] {
        user.enqueue(of(kind, id)).await?;
    }
    let claim = user.request(Purpose::Run, 10).with_kinds(["a", "b"]);
    let got = ids(&drained(&user, claim).await?);
    let has = |id: &str| got.iter().any(|granted| granted == id);
    cx.check(GEN_7, "whether a task of another queue is granted", has("elsewhere"), false);
    cx.check(
        CLAIM_1,
        "whether what runs or is not due is granted",
        has("runs") || has("later"),
        false,
    );
    cx.check(CLAIM_3, "the order of two kinds", &got, &["1", "2", "3", "4"].map(str::to_owned));
    Ok(())
}

/// A claim for kinds passes over a newer record as any claim does.
pub(crate) async fn kinds_pass_over_newer(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::task("newer").with_priority(Priority::HIGHEST)).await?;
    user.enqueue(Actor::task("a")).await?;
    let before = user.get("newer").await?;
    cx.planting()?.plant(&before.task_ref, PlantedRecord::Newer).await?;
    let claim = user.request(Purpose::Run, 10).with_kinds(["kind"]);
    let got = ids(&drained(&user, claim).await?);
    cx.check(CLAIM_11, "what is granted beside a newer record", got, ["a"]);
    Ok(())
}

/// Claims until the store says that there is no more, as a worker does.
async fn drained(user: &Actor, request: Claim) -> Result<Vec<Lease>, Stop> {
    let mut leases = Vec::new();
    for _ in 0..200 {
        let claimed = user.backend().claim(request.clone()).await?;
        let full = claimed.leases.len() == request.max;
        leases.extend(claimed.leases);
        if !full && !claimed.more {
            return Ok(leases);
        }
    }
    Err(Stop::because("200 claims in a row said that there is more"))
}

fn ids(leases: &[Lease]) -> Vec<String> {
    leases.iter().map(|lease| lease.task_ref.id.clone()).collect()
}
