//! LH-LAPSE-8: what disagrees with the records is found, mended and counted, and no task is
//! touched by that.

use leasehold_core::decide::{Intervention, Outcome};
use leasehold_core::{Backend, Configure, Count, Due, Purge, Status};

use super::shared::world::{TTL, World, ids, limited, task};
use super::world;

/// Commands that plant a fault in a queue where `runs` runs under a limit, `parked` waits behind
/// it, `waits` waits for long with a unique key, and `dead` is a dead letter that stays for long.
const PLANTED: &[&[&str]] = &[
    &["ZREM", "leased", "runs"],
    &["ZADD", "leased", "5", "parked"],
    &["DEL", "wait:5:kind"],
    &["ZREM", "lanes", "5:kind"],
    &["ZADD", "lanes", "9000000000000000", "5:kind"],
    &["ZADD", "wait:5:kind", "9000000000000000", "00000000000000000001a0nobody"],
    &["ZREM", "keys", "g\tk"],
    &["ZADD", "keys", "9000000000000000", "g\tk"],
    &["HDEL", "kinds", "g\tk"],
    &["DEL", "done:dead"],
    &["ZADD", "done:dead", "0", "0000000000000000001nobody"],
    &["ZADD", "done:succeeded", "0", "0000000000000000001nobody"],
    &["ZADD", "done:cancelled", "0", "0000000000000000001nobody"],
    &["DEL", "expire"],
    &["ZADD", "expire", "5", "dead"],
    &["ZADD", "expire", "9000000000000000", "dead"],
    &["ZADD", "expire", "5", "runs"],
    &["DEL", "unique"],
    &["HSET", "unique", "of nobody", "nobody"],
    &["HSET", "unique", "of the dead", "dead"],
    &["ZADD", "slots:g\tk", "9000000000000000", "0000000000000000001nobody"],
    &["ZADD", "all", "0", "0000000000000000001nobody"],
];

async fn full() -> World {
    let world = world().await;
    let keep = leasehold_core::Keep::For(TTL * 1_000);
    let keep = leasehold_core::Retention::default().with_dead(keep);
    world.store.configure(Configure::new("q").with_retention(keep)).await.expect("set");
    world.enqueue([task("dead")]).await;
    let dead = world.claim(1).await.leases.remove(0);
    world.end(&dead, Outcome::Undecodable { message: "odd".to_owned() }).await;
    world.enqueue([limited("runs", "k"), limited("parked", "k")]).await;
    world.enqueue([task("waits").with_unique("u").with_due(Due::In(TTL * 9))]).await;
    assert_eq!(ids(&world.claim(9).await), ["runs"]);
    world
}

#[tokio::test]
async fn what_disagrees_is_mended_and_counted() {
    for words in PLANTED {
        let world = full().await;
        assert_eq!(world.mended().await, 0, "all is well");
        let mut before = Vec::new();
        for id in ["dead", "runs", "parked", "waits"] {
            before.push(world.task(id).await);
        }
        let [name, key, rest @ ..] = words else { panic!("a command and a key") };
        let _: i64 = world.ask(name, key, rest).await;
        assert!(!world.residue().await.is_empty(), "{words:?} plants nothing");
        assert!(world.mended().await > 0, "{words:?} is not mended");
        assert_eq!(world.residue().await, [""; 0], "{words:?}");
        assert_eq!(world.mended().await, 0, "{words:?} is mended again");
        for seen in before {
            assert_eq!(world.task(&seen.task_ref.id).await, seen, "{words:?}");
        }
        assert_eq!(ids(&world.claim(9).await), [""; 0], "{words:?}");
        world.clock.shift(30_000);
        assert_eq!(ids(&world.claim(9).await), ["parked"], "{words:?}");
        assert_eq!(ids(&world.rescue(9).await), ["runs"], "{words:?}");
        world.close().await;
    }
}

/// A claim that comes upon such an entry mends it as well, and grants nothing by it.
#[tokio::test]
async fn an_entry_that_is_early_is_put_where_it_belongs() {
    let world = world().await;
    world.enqueue([task("t")]).await;
    let lease = world.claim(1).await.leases.remove(0);
    world.end(&lease, Outcome::Snoozed(TTL)).await;
    let member: Vec<String> = world.ask("ZRANGE", "wait:5:kind", &["0", "0"]).await;
    let now = world.clock.now().as_millis().to_string();
    let _: i64 = world.ask("ZADD", "wait:5:kind", &[&now, &member[0]]).await;
    let _: i64 = world.ask("ZADD", "lanes", &[&now, "5:kind"]).await;
    assert_eq!(ids(&world.claim(9).await), [""; 0]);
    assert_eq!(world.events().await.repaired, 1);
    world.check_residue().await;
    world.clock.shift(30_000);
    assert_eq!(ids(&world.claim(9).await), ["t"]);
    world.close().await;
}

/// LH-OPER-11: a slot under held until is no surplus.
#[tokio::test]
async fn a_held_slot_is_left_alone() {
    let world = world().await;
    world.enqueue([limited("runs", "k"), limited("waits", "k")]).await;
    assert_eq!(world.claim(1).await.leases.len(), 1);
    world.act("runs", Intervention::Delete).await;
    assert_eq!(world.mended().await, 0);
    assert_eq!(ids(&world.claim(2).await), [""; 0]);
    world.clock.shift(30_000);
    assert_eq!(ids(&world.claim(2).await), ["waits"]);
    world.purge().await;
    world.check_residue().await;
    world.close().await;
}

/// However many tasks there are, a purge looks at a bounded number of entries, and the next
/// one goes on.
#[tokio::test]
async fn a_walk_takes_several_purges() {
    let world = world().await;
    world.enqueue((0..1_200).map(|n| task(format!("{n:04}")))).await;
    let last: Vec<String> = world.ask("ZRANGE", "wait:5:kind", &["-1", "-1"]).await;
    let _: i64 = world.ask("ZREM", "wait:5:kind", &[&last[0]]).await;
    let odd = "00000000000000000001a0nobody";
    let _: i64 = world.ask("ZADD", "wait:5:kind", &["9000000000000000", odd]).await;
    let mut mended = Vec::new();
    for _ in 0..4 {
        mended.push(world.mended().await);
    }
    assert_eq!(mended, [0, 0, 2, 0]);
    world.check_residue().await;
    world.close().await;
}

#[tokio::test]
async fn a_purge_of_a_queue_that_does_not_exist_leaves_nothing() {
    let world = world().await;
    world.store.purge(Purge::new("other", 9)).await.expect("purged");
    let prefix = super::shared::harness::key(&world.namespace, "other", "");
    let left = world.raw.keys(&prefix).await.expect("read");
    // The clock that a test steers is none of the store's.
    assert_eq!(left, [format!("{prefix}clock")]);
    world.close().await;
}

/// LH-READ-2, LH-TIME-4: what is parked counts as ready from the instant at which it is, also
/// when others were parked at an earlier reading of the clock.
#[tokio::test]
async fn parked_tasks_are_counted_by_the_clock_as_it_is() {
    let world = world().await;
    world.enqueue([limited("runs", "k"), limited("late", "k").with_due(Due::In(TTL / 3))]).await;
    assert_eq!(world.claim(1).await.leases.len(), 1);
    world.clock.shift(10_000);
    assert_eq!(ids(&world.claim(1).await), [""; 0]);
    world.clock.shift(-8_000);
    world.enqueue([limited("early", "k")]).await;
    assert_eq!(ids(&world.claim(1).await), [""; 0]);
    let counts = world.store.counts(Count::new("q")).await.expect("counted");
    assert_eq!((counts.of(Status::Ready), counts.of(Status::Scheduled)), (1, 1));
    world.check_residue().await;
    world.close().await;
}

/// LH-TIME-4, LH-CLAIM-4: tasks that were parked at a later time than now are claimable when
/// they are ready, in their order, though the clock has gone back in between.
#[tokio::test]
async fn a_clock_that_goes_back_leaves_no_parked_task_behind() {
    let world = world().await;
    world.enqueue([limited("runs", "k")]).await;
    let runs = world.claim(1).await.leases.remove(0);
    for id in ["early", "late"] {
        world.clock.shift(1_000);
        world.enqueue([limited(id, "k")]).await;
    }
    assert_eq!(ids(&world.claim(9).await), [""; 0]);
    world.clock.shift(-1_500);
    world.succeed(&runs).await;
    assert_eq!(ids(&world.claim(9).await), [""; 0], "neither is ready yet");
    world.clock.shift(500);
    let early = world.claim(9).await.leases;
    assert_eq!(early.len(), 1);
    assert_eq!(early[0].task_ref.id, "early");
    world.succeed(&early[0]).await;
    assert_eq!(ids(&world.claim(9).await), [""; 0], "the other is not ready yet");
    world.clock.shift(1_000);
    assert_eq!(ids(&world.claim(9).await), ["late"]);
    world.check_residue().await;
    world.close().await;
}
