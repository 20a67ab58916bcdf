//! Records that cannot be read, that a newer build wrote, or that were lost.

use leasehold_core::decide::{self, Intervention, Operator, Outcome};
use leasehold_core::{
    Backend, BackendExt, Claim, Commit, CommitItem, CommitVerdict, Configure, Delivery, Edit,
    EnqueueVerdict, ErrorKind, LostReason, Policy, Priority, Purge, Purpose, Renew, RenewItem,
    RenewVerdict,
};

use super::shared::world::{TTL, World, ids, limited, task};
use super::world;

/// LH-GEN-2: a record that cannot be read at all is the error of its own item, whichever of the
/// two it is.
#[tokio::test]
async fn an_unreadable_record_does_not_block_the_batch() {
    for broken in ["odd", ""] {
        let world = world().await;
        world.enqueue([task("broken"), task("sound")]).await;
        let leases = world.claim(2).await.leases;
        let _: i64 = world.ask("HSET", "task", &["broken", broken]).await;
        let items = leases.iter().map(|lease| RenewItem::new(lease.guard(), TTL)).collect();
        let replies = world.store.renew(Renew::new(items)).await.expect("answered");
        let kind = replies[0].as_ref().expect_err("it cannot be read").kind();
        assert_eq!(kind, ErrorKind::Corrupt, "{broken}");
        assert!(matches!(replies[1], Ok(RenewVerdict::Held { .. })), "{replies:?}");

        let items = leases.iter().map(|lease| {
            // With a result, so that it is looked at as a whole.
            let done = Outcome::Succeeded { result: Some("r".into()), follow_ups: vec![] };
            CommitItem::new(lease.guard(), decide::run(lease, done, 0))
        });
        let replies = world.store.commit(Commit::new(items.collect())).await.expect("answered");
        let kind = replies[0].as_ref().expect_err("it cannot be read").kind();
        assert_eq!(kind, ErrorKind::Corrupt, "{broken}");
        assert!(matches!(replies[1], Ok(CommitVerdict::Applied(_))), "{replies:?}");

        // Nor does it keep purge and the claims from the others.
        world.store.purge(Purge::new("q", 9)).await.expect("purged");
        world.enqueue([task("next")]).await;
        assert_eq!(ids(&world.claim(9).await), ["next"]);
        world.clock.shift(60_000);
        // It lapses like any other, and is decided about by what is left of it.
        let lapsed = world.rescue(9).await;
        assert_eq!(ids(&lapsed), ["broken", "next"]);
        let raw = lapsed.leases[0].corrupt.as_ref().expect("it says that it is broken");
        assert_eq!(raw.as_bytes(), broken.as_bytes());
        world.close().await;
    }
}

/// LH-CLAIM-11: what a newer build has written is parked, and comes back for callers that read
/// it; the rest of its records are left as they are.
#[tokio::test]
async fn newer_records_come_back_for_those_who_read_them() {
    let world = world().await;
    world.enqueue([limited("runs", "k")]).await;
    let runs = world.claim(1).await.leases.remove(0);
    let best = |id: &str| limited(id, "k").with_priority(Priority::HIGHEST);
    world.enqueue([best("newer"), task("newest"), limited("known", "k")]).await;
    assert_eq!(ids(&world.claim(1).await), ["newest"]);
    world.clock.shift(60_000);
    let _: Vec<String> = newer(&world, "newer").await;

    // Parked for its limit before it was newer: it is parked for its format as it comes back.
    world.succeed(&runs).await;
    assert_eq!(ids(&world.claim(9).await), ["known"]);
    let parked: Vec<String> = world.ask("ZRANGE", "parked:\tz\tkind", &["0", "-1"]).await;
    assert_eq!(parked.len(), 1);
    let skipped = world.events().await.skipped_newer;
    assert_eq!(ids(&world.claim(9).await), [""; 0]);
    assert_eq!(world.events().await.skipped_newer, skipped + 1);

    // A caller of the newer build: the same script, told that it reads more.
    let told = claim_as(&world, 'z').await;
    assert!(!told.contains(&"newer".to_owned()), "its limit is full: {told:?}");
    world.clock.shift(60_000);
    let told = claim_as(&world, 'z').await;
    assert!(told.contains(&"newer".to_owned()), "{told:?}");
    assert_eq!(world.ask::<i64>("EXISTS", "parked:\tz\tkind", &[]).await, 0);
    world.close().await;
}

/// Marks a waiting task's records and places as of the format `z`.
async fn newer(world: &World, id: &str) -> Vec<String> {
    let birth: String = world.ask("HGET", "birth", &[id]).await;
    let _: i64 = world.ask("HSET", "birth", &[id, &format!("z{}", &birth[1..])]).await;
    for place in ["wait:0:kind", "parked:g\tk\tkind"] {
        let members: Vec<(String, i64)> =
            world.ask("ZRANGE", place, &["0", "-1", "WITHSCORES"]).await;
        for (member, score) in members.iter().filter(|(member, _)| member[22..].starts_with(id)) {
            let _: i64 = world.ask("ZREM", place, &[member]).await;
            let renamed = format!("{}z{}", &member[..19], &member[20..]);
            let _: i64 = world.ask("ZADD", place, &[&score.to_string(), &renamed]).await;
        }
    }
    Vec::new()
}

/// A Run claim by a build that reads records up to `format`; every text of the reply.
async fn claim_as(world: &World, format: char) -> Vec<String> {
    let parts = [
        include_str!("../../lua/part/head.lua"),
        include_str!("../../lua/part/record.lua"),
        include_str!("../../lua/part/limits.lua"),
        include_str!("../../lua/part/chosen.lua"),
        include_str!("../../lua/part/ready.lua"),
        include_str!("../../lua/part/lapsed.lua"),
        include_str!("../../lua/claim.lua"),
    ];
    let clock: String = world.ask("GET", "clock", &[]).await;
    let (tick, _) = clock.split_once(' ').expect("a tick");
    let now = world.clock.now().as_millis();
    let tick = tick.parse::<u64>().expect("a number") + 1;
    let mut eval = redis::cmd("EVAL");
    eval.arg(parts.concat()).arg(1).arg(world.key("queue")).arg(format!("{tick} {now}"));
    eval.arg(format.to_string()).arg("r").arg(9).arg(30_000).arg("holder").arg("").arg("");
    eval.arg(1_000_000);
    let reply: Vec<Vec<u8>> = world.raw.ask(&eval).await.expect("claimed");
    reply.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

/// LH-CLAIM-11: what a newer build has written is not written over in this one's words.
#[tokio::test]
async fn the_terms_of_a_newer_record_are_not_written_over() {
    let world = world().await;
    world.enqueue([task("newer").with_priority(Priority::HIGHEST)]).await;
    newer(&world, "newer").await;
    let by = Operator::new("ada", "because");
    let policy = Policy::new(Delivery::at_least_once());
    let edit = || Intervention::Edit(Edit::default().with_policy(policy));
    let seen = world.task("newer").await;
    let error = world.store.intervene(&seen, edit(), &by).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(world.task("newer").await, seen, "nothing has changed");
    // Other edits leave the terms alone; whoever saw an older state hears of that first.
    world.act("newer", Intervention::Edit(Edit::default().with_payload("other"))).await;
    let verdict = world.store.intervene(&seen, edit(), &by).await;
    assert!(matches!(verdict, Ok(CommitVerdict::Stale { .. })), "{verdict:?}");
    let birth: String = world.ask("HGET", "birth", &["newer"]).await;
    assert!(birth.starts_with('z') && birth.ends_with("other"), "{birth}");
    world.close().await;
}

/// LH-COMMIT-1: no guard is that of a task that has no run and was never shown a fence.
#[tokio::test]
async fn the_fence_of_nobody_guards_nothing() {
    let world = world().await;
    world.enqueue([task("waits")]).await;
    let before = world.task("waits").await;
    let mut lease = leasehold_core::Lease::of(before.clone(), world.clock.now());
    lease.fence = leasehold_core::Fence::new(0);
    let done = Outcome::Succeeded { result: None, follow_ups: vec![] };
    let item = CommitItem::new(lease.guard(), decide::run(&lease, done, 0));
    let verdict = world.store.commit_one(item).await;
    let refused = matches!(verdict, Ok(CommitVerdict::Gone | CommitVerdict::Stale { .. }));
    assert!(refused, "{verdict:?}");
    let item = RenewItem::new(lease.guard(), TTL);
    let verdict = world.store.renew(Renew::new(vec![item])).await.expect("answered").remove(0);
    assert!(matches!(verdict, Ok(RenewVerdict::Lost(_))), "{verdict:?}");
    assert_eq!(world.task("waits").await, before);
    world.close().await;
}

/// LH-RENEW-2: the fence of a task that waits is current, and no lease.
#[tokio::test]
async fn the_current_fence_of_a_waiting_task_is_no_lease() {
    let world = world().await;
    world.enqueue([task("waits")]).await;
    let before = world.task("waits").await;
    let lease = leasehold_core::Lease::of(before.clone(), world.clock.now());
    let item = RenewItem::new(lease.guard(), TTL);
    let verdict = world.store.renew(Renew::new(vec![item])).await.expect("answered").remove(0);
    let lost = matches!(verdict, Ok(RenewVerdict::Lost(reason)) if reason != LostReason::Gone);
    assert!(lost, "{verdict:?}");
    assert_eq!(world.task("waits").await, before);
    world.close().await;
}

/// LH-FENCE-7: after a loss of data, here of the fences' source, none is given again as long as
/// the clock goes forward.
#[tokio::test]
async fn a_lost_fence_is_not_given_again() {
    let world = world().await;
    world.enqueue([task("a"), task("b")]).await;
    let before = world.claim(1).await.leases.remove(0);
    let _: i64 = world.ask("DEL", "fence", &[]).await;
    world.clock.shift(1);
    let after = world.claim(1).await.leases.remove(0);
    assert!(after.fence > before.fence, "{} after {}", after.fence, before.fence);
    world.close().await;
}

/// LH-FENCE-5: fences are exact where one of their halves runs over.
#[tokio::test]
async fn fences_count_on_beyond_a_carry() {
    for (last, first) in [
        ("0009999999999999998", 9_999_999_999_999_999_u64),
        ("0010000000999999997", 10_000_000_999_999_998),
        ("9223372035999999998", 9_223_372_035_999_999_999),
    ] {
        let world = world().await;
        let _: () = world.ask("SET", "fence", &[last]).await;
        world.enqueue((0..3).map(|n| task(n.to_string()))).await;
        let mut fences = Vec::new();
        for n in 0..3 {
            fences.push(world.task(&n.to_string()).await.born.value());
        }
        assert_eq!(fences, [first, first + 1, first + 2]);
        world.close().await;
    }
}

/// LH-ENQ-9, LH-TIME-4: an id that leaves unremembered is free, also when an earlier task of it
/// was remembered and the clock goes back to where that still counted.
#[tokio::test]
async fn an_id_that_leaves_unremembered_is_free_though_the_clock_goes_back() {
    let world = world().await;
    let run = async || {
        world.enqueue([task("t")]).await;
        let lease = world.claim(1).await.leases.remove(0);
        world.succeed(&lease).await;
    };
    run().await;
    world.clock.shift(60_000);
    let forget = Configure::new("q").with_id_memory(std::time::Duration::ZERO);
    world.store.configure(forget).await.expect("set");
    run().await;
    world.clock.shift(-30_000);
    let again = world.store.enqueue_one("q", task("t")).await;
    assert!(matches!(again, Ok(EnqueueVerdict::Enqueued { .. })), "{again:?}");
    world.close().await;
}

/// A line of a history that cannot be read keeps nobody from looking at the task.
#[tokio::test]
async fn a_record_of_the_history_that_cannot_be_read_counts_as_dropped() {
    let world = world().await;
    world.enqueue([task("t")]).await;
    world.act("t", Intervention::Bury).await;
    world.act("t", Intervention::Redrive).await;
    let _: () = world.ask("LSET", "history:t", &["0", "odd"]).await;
    let history = world.task("t").await.history;
    assert_eq!((history.records.len(), history.dropped), (1, 1));
    world.close().await;
}

/// LH-CLAIM-9, LH-RENEW-8: a repeated claim returns no lease whose slot was swept, though the
/// clock has gone back behind its end.
#[tokio::test]
async fn a_repeat_returns_no_lease_without_its_slot() {
    let world = world().await;
    world.enqueue([limited("a", "k"), task("b")]).await;
    let claimer = leasehold_core::ClaimerId::fresh();
    let claim = || Claim::new("q", Purpose::Run, 9, TTL, "holder").with_ticket(claimer, 1);
    assert_eq!(ids(&world.claim_as(claim()).await), ["a", "b"]);
    world.clock.shift(30_000);
    world.purge().await;
    world.clock.shift(-10_000);
    assert_eq!(ids(&world.claim_as(claim()).await), ["b"]);
    world.close().await;
}
