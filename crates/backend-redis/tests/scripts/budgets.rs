//! What one call looks at, at most, and what it costs.

use std::collections::BTreeMap;

use leasehold_core::{
    Backend, Bounds, Claim, Configure, Delivery, Filter, List, NewTask, Priority, Purpose,
};

use super::shared::servers::Redis;
use super::shared::world::{TTL, World, ids, limited, task};
use super::{url, world};

/// LH-CLAIM-12, LH-CLAIM-4: a claim that meets many tasks behind a full key sets 2,000 aside and
/// says `more`; what was set aside is not met again.
#[tokio::test]
async fn tasks_behind_a_full_key_are_met_once() {
    let world = world().await;
    let front = (0..4_500).map(|n| limited(n.to_string(), "k").with_priority(Priority::HIGHEST));
    world.enqueue(front.chain([task("behind")])).await;
    assert_eq!(ids(&world.claim(1).await), ["0"]);
    let mut told = Vec::new();
    for _ in 0..4 {
        let claimed = world.claim(5).await;
        let parked: String = world.ask("GET", "parked", &[]).await;
        told.push((ids(&claimed).concat(), claimed.more, parked.parse().expect("a number")));
    }
    let none = String::new;
    let want = [(none(), true, 2_000), (none(), true, 4_000)];
    assert_eq!(told[..2], want);
    assert_eq!(told[2..], [("behind".to_owned(), false, 4_499), (none(), false, 4_499)]);
    world.check_residue().await;
    world.close().await;
}

/// LH-CLAIM-12: a claim costs the server no more commands beside 100,000 tasks behind a full key
/// than beside one.
#[tokio::test]
async fn many_blocked_tasks_cost_a_claim_nothing() {
    // A server of its own, since all commands of the server are counted.
    let server = Redis::start_new(&[]).await;
    let mut costs = Vec::new();
    for blocked in [1, 100_000] {
        let world = World::new(&server.url(), "q", Bounds::default()).await;
        world.enqueue([limited("runs", "k")]).await;
        assert_eq!(ids(&world.claim(1).await), ["runs"]);
        world.enqueue((0..blocked).map(|n| limited(format!("blocked{n}"), "k"))).await;
        while world.claim(1).await.more {}
        world.enqueue([task("free"), task("other")]).await;
        let before = calls(&world).await;
        assert_eq!(ids(&world.claim(1).await), ["free"]);
        let after = calls(&world).await;
        let spent = after.into_iter().map(|(name, n)| {
            let had = before.get(&name).copied().unwrap_or(0);
            (name, n - had)
        });
        costs.push(spent.filter(|(name, n)| *n > 0 && name != "info").collect::<BTreeMap<_, _>>());
        world.close().await;
    }
    assert!(costs[0].values().sum::<u64>() > 5, "nothing was counted: {costs:?}");
    assert_eq!(costs[0], costs[1]);
}

/// How often the server has carried out each command, those of scripts among them.
async fn calls(world: &World) -> BTreeMap<String, u64> {
    let info: String = world.raw.alone(redis::cmd("INFO").arg("commandstats")).await.expect("told");
    let line = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
    };
    info.lines().filter_map(line).collect()
}

/// A reply is no larger than the bounds say, and goes on where it was cut.
#[tokio::test]
async fn large_payloads_cut_a_claim_and_a_page_short() {
    let mut bounds = Bounds::default();
    bounds.batch_bytes_max = 4_096;
    let world = World::new(&url().await, "q", bounds).await;
    // A record counts as the next power of two of its bytes.
    for (id, size) in [("a", 1_500), ("b", 1_500), ("c", 800), ("d", 3_900), ("e", 0)] {
        let new = NewTask::named(id, "kind", vec![7; size], Delivery::NotAfterLoss);
        world.enqueue([new]).await;
    }
    let mut pages = Vec::new();
    let mut list = List::new("q", Filter::all(), 10);
    loop {
        let page = world.store.list(list.clone()).await.expect("a page");
        pages.push(page.tasks.iter().map(|task| task.task_ref.id.clone()).collect::<String>());
        match page.next {
            Some(next) => list = list.after(next),
            None => break,
        }
    }
    assert_eq!(pages, ["ab", "c", "d", "e"]);
    let mut claims = Vec::new();
    loop {
        let claimed = world.claim(10).await;
        claims.push(ids(&claimed).concat());
        if !claimed.more {
            break;
        }
    }
    assert_eq!(claims, ["ab", "c", "d", "e"]);
    world.clock.shift(30_000);
    let claimed = world.rescue(10).await;
    assert!(claimed.leases.len() < 5 && claimed.more, "{:?}", ids(&claimed));
    world.close().await;
}

/// LH-CLAIM-4: more keys than one claim looks at again are looked at by the next ones, and until
/// then the answer is `more`, though nothing was found.
#[tokio::test]
async fn many_freed_keys_are_woken_some_at_a_time() {
    let world = world().await;
    let key = |n: usize| format!("{n:04}");
    world.enqueue((0..1_200).map(|n| limited(format!("a{n}"), &key(n)))).await;
    let mut running = 0;
    while running < 1_200 {
        running += world.claim(1_000).await.leases.len();
    }
    world
        .enqueue((0..1_200).map(|n| {
            let mut new = limited(format!("b{n}"), &key(n));
            new.kind = if n == 1_199 { "rare" } else { "kind" }.to_owned();
            new
        }))
        .await;
    assert!(!world.claim(1_000).await.more);
    assert_eq!(world.ask::<String>("GET", "parked", &[]).await, "1200");
    world.clock.shift(30_000);
    let rare = || Claim::new("q", Purpose::Run, 5, TTL, "holder").with_kinds(["rare"]);
    let first = world.claim_as(rare()).await;
    assert_eq!((ids(&first), first.more), (vec![], true));
    let second = world.claim_as(rare()).await;
    assert_eq!((ids(&second), second.more), (vec!["b1199"], false));
    world.check_residue().await;
    world.close().await;
}

/// LH-CTL-1, LH-LIMIT-6: a greater number brings back what it has room for, some at a time.
#[tokio::test]
async fn a_raised_number_brings_back_the_parked_tasks() {
    let world = world().await;
    let queue = |max| Configure::new("q").with_limit("g", max);
    world.store.configure(queue(0)).await.expect("configured");
    world.enqueue((0..2_500).map(|n| limited(n.to_string(), "k"))).await;
    while world.claim(1).await.more {}
    assert_eq!(world.ask::<String>("GET", "parked", &[]).await, "2500");
    world.check_residue().await;
    world.store.configure(queue(5_000)).await.expect("configured");
    let (mut granted, mut more) = (0, true);
    while more {
        let claimed = world.claim(900).await;
        granted += claimed.leases.len();
        more = claimed.more;
    }
    assert_eq!(granted, 2_500);
    assert_eq!(world.ask::<String>("GET", "parked", &[]).await, "0");
    world.check_residue().await;
    world.close().await;
}
