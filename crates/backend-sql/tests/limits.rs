//! What is this store's own about limits: parking, its bounds, and the mending of its marks.

#[path = "shared/residue.rs"]
mod residue;
#[path = "shared/world.rs"]
mod world;

use leasehold_core::decide;
use leasehold_core::{
    Backend, BackendExt, Bounds, Claim, CommitVerdict, Configure, Delivery, LimitKey, NewTask,
    Priority, Purge, Purpose,
};

use crate::world::{TTL, World, ids, limited, task};

/// LH-CLAIM-12, LH-CLAIM-4: a claim that meets many tasks behind a full key sets a bounded
/// number aside and says `more`; what was set aside is not met again.
#[tokio::test]
async fn tasks_behind_a_full_key_are_met_once() {
    let mut world = World::new(Bounds::default()).await;
    let front = (0..4_500).map(|n| limited(n.to_string(), "k").with_priority(Priority::HIGHEST));
    world.enqueue(front.chain([task("behind")])).await;
    assert_eq!(ids(&world.claim(1).await), ["0"]);
    let mut calls = 0;
    let found = loop {
        calls += 1;
        let claimed = world.claim(5).await;
        if !claimed.leases.is_empty() {
            break claimed;
        }
        assert!(claimed.more, "an empty reply while a task is claimable");
    };
    assert_eq!((ids(&found), found.more, calls), (vec!["behind"], false, 3));
    assert_eq!(world.number("select count(*) from task where parked = 1").await, 4_499);
    let again = world.claim(5).await;
    assert_eq!((again.leases.len(), again.more), (0, false));
    world.check_residue().await;
}

/// LH-CLAIM-3: the end of a run brings back the next in the order of service, whatever was
/// parked first; and for each kind, so that a claim for some kinds is not starved.
#[tokio::test]
async fn a_freed_slot_goes_to_the_best_task_of_the_kinds_asked_for() {
    let mut world = World::new(Bounds::default()).await;
    let kind = |id: &str, kind: &str, level| {
        let new = NewTask::named(id, kind, "payload", Delivery::NotAfterLoss);
        new.with_limit(LimitKey::new("g", "k")).with_priority(Priority::new(level))
    };
    world.enqueue([kind("runs", "x", 9)]).await;
    let runs = world.claim(1).await;
    world.enqueue([kind("x1", "x", 5), kind("x2", "x", 6), kind("y1", "y", 1)]).await;
    assert_eq!(ids(&world.claim(9).await), [""; 0]);
    assert_eq!(world.number("select count(*) from task where parked = 1").await, 3);

    world.succeed(&runs.leases[0]).await;
    let only_y = Claim::new("q", Purpose::Run, 9, TTL, "holder").with_kinds(["y"]);
    let y = world.claim_as(only_y).await;
    assert_eq!(ids(&y), ["y1"]);
    world.succeed(&y.leases[0]).await;
    assert_eq!(ids(&world.claim(9).await), ["x2"]);
    world.check_residue().await;
}

/// LH-CLAIM-4: more keys than one claim looks at again are looked at by the next ones, and
/// until then the answer is `more`, though nothing was found.
#[tokio::test]
async fn many_freed_keys_are_woken_some_at_a_time() {
    let mut world = World::new(Bounds::default()).await;
    // Keys of one wake-up are looked at in the order of their names.
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
    assert_eq!(world.number("select count(*) from task where parked = 1").await, 1_200);

    world.clock.shift(30_000);
    let rare = || Claim::new("q", Purpose::Run, 5, TTL, "holder").with_kinds(["rare"]);
    let first = world.claim_as(rare()).await;
    assert_eq!((ids(&first), first.more), (vec![], true));
    let second = world.claim_as(rare()).await;
    assert_eq!((ids(&second), second.more), (vec!["b1199"], false));
    assert_eq!(world.claim(1_000).await.leases.len(), 1_000);
    assert_eq!(world.claim(1_000).await.leases.len(), 199);
    world.check_residue().await;
}

/// LH-TIME-4: tasks that were parked at a later time than now are claimable when they are
/// ready, in their order, though the clock has gone back in between.
#[tokio::test]
async fn a_clock_that_goes_back_leaves_no_parked_task_behind() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([limited("runs", "k")]).await;
    let runs = world.claim(1).await;
    for id in ["early", "late"] {
        world.clock.shift(1_000);
        world.enqueue([limited(id, "k")]).await;
    }
    assert_eq!(ids(&world.claim(9).await), [""; 0]);
    assert_eq!(world.number("select count(*) from task where parked = 1").await, 2);

    world.clock.shift(-1_500);
    world.succeed(&runs.leases[0]).await;
    assert_eq!(ids(&world.claim(9).await), [""; 0], "neither is ready yet");
    world.clock.shift(500);
    let early = world.claim(9).await;
    assert_eq!(ids(&early), ["early"]);
    world.succeed(&early.leases[0]).await;
    assert_eq!(ids(&world.claim(9).await), [""; 0], "the other is not ready yet");
    world.clock.shift(1_000);
    assert_eq!(ids(&world.claim(9).await), ["late"]);
    world.check_residue().await;
}

/// LH-LAPSE-8: what disagrees with the task records is found, mended and counted, and no task
/// is touched by that.
#[tokio::test]
async fn what_disagrees_is_mended_and_counted() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([limited("runs", "k"), limited("waits", "k")]).await;
    let runs = world.claim(2).await;
    assert_eq!(ids(&runs), ["runs"]);
    let (running, waiting) = (world.task("runs").await, world.task("waits").await);
    assert_eq!(world.mended().await, 0, "all is well");

    world.sql("delete from limit_key").await;
    assert_eq!(world.mended().await, 1, "a parked task that nobody would look at");
    assert_eq!(ids(&world.claim(1).await), [""; 0], "the key is full");
    world.sql("update limit_key set wake_at = 9000000000000000").await;
    assert_eq!(world.mended().await, 1, "a key that is looked at too late");
    world.sql("insert into limit_key select queue, 'g', 'idle', 9e15, 0 from queue").await;
    assert_eq!(world.mended().await, 1, "a key without a parked task");
    world.sql("insert into slot select queue, 'g', 'k', 'nobody', 7, 9e15 from queue").await;
    assert_eq!(world.mended().await, 1, "a slot that nothing explains");
    assert_eq!(world.mended().await, 0, "all is well again");
    assert_eq!((world.task("runs").await, world.task("waits").await), (running, waiting));
    world.check_residue().await;

    world.succeed(&runs.leases[0]).await;
    assert_eq!(ids(&world.claim(2).await), ["waits"]);
}

/// LH-OPER-11: a slot under held until is no surplus.
#[tokio::test]
async fn a_held_slot_is_left_alone() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([limited("runs", "k"), limited("waits", "k")]).await;
    assert_eq!(world.claim(1).await.leases.len(), 1);
    let by = decide::Operator::new("ada", "because");
    let act = decide::Intervention::Delete;
    let verdict = world.store.intervene(&world.task("runs").await, act, &by).await;
    assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");
    assert_eq!(world.mended().await, 0);
    assert_eq!(ids(&world.claim(2).await), [""; 0]);
    world.clock.shift(30_000);
    assert_eq!(ids(&world.claim(2).await), ["waits"]);
    world.store.purge(Purge::new("q", 10)).await.expect("purged");
    world.check_residue().await;
}

/// LH-TIME-4, LH-CLAIM-4: also when places had been left for better tasks which, by the
/// clock's new reading, are not ready yet.
#[tokio::test]
async fn a_clock_that_goes_back_leaves_no_place_for_a_task_that_is_not_ready() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([limited("first", "k"), limited("runs", "k")]).await;
    assert_eq!(ids(&world.claim(1).await), ["first"]);
    world.clock.shift(1_000);
    world.enqueue([limited("better", "k").with_priority(Priority::HIGHEST)]).await;
    assert_eq!(ids(&world.claim(9).await), [""; 0]);
    // The slot has ended; a claim for another kind brings the better task back and grants none.
    world.clock.shift(30_000);
    let other = Claim::new("q", Purpose::Run, 1, TTL, "holder").with_kinds(["other"]);
    assert_eq!(ids(&world.claim_as(other).await), [""; 0]);
    assert_eq!(world.number("select count(*) from task where parked = 1").await, 1);

    world.clock.shift(-30_500);
    assert_eq!(ids(&world.claim(9).await), ["runs"]);
    world.check_residue().await;
}

/// LH-CTL-1, LH-LIMIT-6: a greater number brings back what it has room for, some at a time.
#[tokio::test]
async fn a_raised_number_brings_back_the_parked_tasks() {
    let mut world = World::new(Bounds::default()).await;
    let queue = |max| Configure::new("q").with_limit("g", max);
    world.store.configure(queue(0)).await.expect("configured");
    world.enqueue((0..2_500).map(|n| limited(n.to_string(), "k"))).await;
    while world.claim(1).await.more {}
    assert_eq!(world.number("select count(*) from task where parked = 1").await, 2_500);
    assert_eq!(world.number("select count(*) from limit_key where wake_at > 9e18").await, 1);

    world.store.configure(queue(5_000)).await.expect("configured");
    let (mut granted, mut more) = (0, true);
    while more {
        let claimed = world.claim(900).await;
        granted += claimed.leases.len();
        more = claimed.more;
    }
    assert_eq!(granted, 2_500);
    assert_eq!(world.number("select count(*) from limit_key").await, 0);
    world.check_residue().await;
}

/// LH-CLAIM-11, LH-CLAIM-3: a parked record of a newer version takes no place of those that
/// this build can claim.
#[tokio::test]
async fn a_parked_record_of_a_newer_version_takes_nobodys_place() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([limited("runs", "k")]).await;
    let runs = world.claim(1).await;
    let newer = limited("newer", "k").with_priority(Priority::HIGHEST);
    world.enqueue([newer, limited("known", "k")]).await;
    assert_eq!(ids(&world.claim(9).await), [""; 0]);
    world.sql("update task set format = 2 where id = 'newer'").await;
    assert_eq!(world.number("select count(*) from task where parked = 1").await, 2);

    world.succeed(&runs.leases[0]).await;
    assert_eq!(ids(&world.claim(9).await), ["known"]);
    assert_eq!(world.number("select count(*) from task where parked = 1").await, 1);
}
