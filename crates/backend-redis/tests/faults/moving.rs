//! A queue's hash slot moves to another node, key by key: no call works on half a queue.

use futures_util::future::join_all;
use leasehold_conformance::servers::redis::{Cluster, ClusterOptions, Product};

use crate::callers::Callers;
use crate::held::Held;
use crate::shared::{
    Store, assert_unavailable, cluster, cluster_url, opened, refusals, tell, until_answered,
    until_true,
};
use crate::stage::{Stage, Verb};

const MOVING: &str = "the queue is moving between nodes of the cluster";

/// Three masters, a store, the hash slot of the queue `q`, who has it, and who gets it.
async fn before_the_move() -> (Cluster, Store, u16, usize, usize) {
    let cluster = cluster(ClusterOptions::new(Product::Redis).with_replicas(0)).await;
    let store = opened(&cluster_url(&cluster)).await;
    let slot = cluster.hash_slot("lh:{q}:queue").await.expect("it serves");
    let from = cluster.master_of(slot).await.expect("they agree");
    (cluster, store, slot, from, (from + 1) % 3)
}

async fn assert_left_nothing(cluster: &Cluster, node: usize, slot: u16) {
    let words = ["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "100"];
    let keys = cluster.nodes()[node].command(&words).await.expect("it runs");
    assert_eq!(keys.items(), [], "keys that stayed behind");
}

#[tokio::test]
async fn every_verb_waits_for_the_last_key_and_none_is_half_applied() {
    let (cluster, store, slot, from, to) = before_the_move().await;
    let (old, new) = (&cluster.nodes()[from], &cluster.nodes()[to]);
    let stage = Stage::set(&store, "q", 3).await;
    let before = Held::on(old, "q").await;
    assert!(before.len() > 15, "a queue of few keys proves little: {before:?}");

    let moving = cluster.begin_move(slot, to).await.unwrap_or_else(|error| panic!("{error}"));
    let mut moved = 0;
    loop {
        let calls = Verb::all().map(|verb| {
            let stage = &stage;
            async move { (verb, stage.call(verb).await) }
        });
        for (verb, reply) in join_all(calls).await {
            let error = reply.err().unwrap_or_else(|| panic!("{verb:?} after {moved} keys"));
            assert_unavailable(&error, MOVING);
        }
        let on_both = Held::on(old, "q").await.and(Held::on(new, "q").await);
        on_both.assert_same(&before, &format!("half applied after {moved} keys"));
        match moving.move_keys(1).await.unwrap_or_else(|error| panic!("{error}")) {
            0 => break,
            keys => moved += keys,
        }
    }
    assert_eq!(moved, before.len());
    for node in [old, new] {
        assert!(refusals(node, "TRYAGAIN").await > 0, "nobody asked {}", node.address());
    }
    moving.finish().await.unwrap_or_else(|error| panic!("{error}"));
    assert_left_nothing(&cluster, from, slot).await;
    until_answered("it has moved", || stage.call(Verb::Counts)).await;
    Held::on(new, "q").await.assert_same(&before, "it has moved");
    for verb in Verb::all() {
        stage.call(verb).await.unwrap_or_else(|error| panic!("{verb:?}: {error:?}"));
    }
    assert_left_nothing(&cluster, from, slot).await;
}

#[tokio::test]
async fn callers_go_on_by_themselves_after_the_move() {
    let (cluster, store, slot, from, to) = before_the_move().await;
    let callers = Callers::begin(&store, "q", 16, 4).await;
    callers.all_step(3).await;

    let moving = cluster.begin_move(slot, to).await.unwrap_or_else(|error| panic!("{error}"));
    for moved in 0..20 {
        let refused = callers.book().told(MOVING);
        let what = format!("calls are refused after {moved} keys");
        until_true(&what, async || callers.book().told(MOVING) >= refused + 20).await;
        assert_eq!(moving.move_keys(1).await.unwrap_or_else(|error| panic!("{error}")), 1);
    }
    moving.finish().await.unwrap_or_else(|error| panic!("{error}"));
    callers.all_step(3).await;
    let book = callers.finish().await;
    assert_eq!(book.told(MOVING), book.unavailable.values().sum::<u64>(), "{:?}", book.unavailable);
    book.assert_exact(&store, "q").await;
    assert_left_nothing(&cluster, from, slot).await;
    assert!(tell(&cluster.nodes()[to], &["HLEN", "lh:{q}:birth"]).await != "0");
}
