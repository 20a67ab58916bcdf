//! A cluster: it serves, a hash slot moves, a replica takes over.

use super::*;

async fn cluster(options: ClusterOptions) -> Cluster {
    Cluster::start_new(options).await.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn a_replica_takes_over_and_the_dead_master_comes_back_as_one() {
    for product in BOTH {
        let cluster = cluster(ClusterOptions::new(product)).await;
        assert_eq!(cluster.nodes().len(), 6);
        let slot = cluster.hash_slot("{a}1").await.expect("it serves");
        let master = cluster.master_of(slot).await.expect("it serves");
        assert!(master < 3);
        write(&cluster.nodes()[master], "SET {a}1 kept").await;

        cluster.nodes()[master].kill().expect("it runs");
        let new = cluster.failover(master).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(new, master + 3);
        assert_eq!(cluster.master_of(slot).await.expect("they agree"), new);
        assert_eq!(tell(&cluster.nodes()[new], "GET {a}1").await, "kept");

        let old = &cluster.nodes()[master];
        old.start().await.unwrap_or_else(|error| panic!("{error}"));
        cluster.settled().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(old.info("replication", "role").await.expect("it runs"), "slave");

        // In order, and back again.
        let back = cluster.failover(new).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(back, master);
        assert_eq!(tell(old, "GET {a}1").await, "kept");
    }
}

#[tokio::test]
async fn a_hash_slot_moves_in_steps() {
    let cluster = cluster(ClusterOptions::new(Product::Redis).with_replicas(0)).await;
    assert_eq!(cluster.nodes().len(), 3);
    let slot = cluster.hash_slot("{a}").await.expect("it serves");
    let from = cluster.master_of(slot).await.expect("it serves");
    let to = (from + 1) % 3;
    let (old, new) = (&cluster.nodes()[from], &cluster.nodes()[to]);
    for key in ["{a}1", "{a}2", "{a}3"] {
        tell(old, &format!("SET {key} kept")).await;
    }
    assert!(refused(new, "GET {a}1").await.contains(&format!("MOVED {slot}")));

    let moving = cluster.begin_move(slot, to).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((moving.from(), moving.to()), (from, to));
    assert_eq!(moving.move_keys(2).await.expect("both run"), 2);
    assert_eq!(tell(old, &format!("CLUSTER COUNTKEYSINSLOT {slot}")).await, "1");
    assert_eq!(tell(new, &format!("CLUSTER COUNTKEYSINSLOT {slot}")).await, "2");
    // The old master is still the one to ask, and sends for what it has not.
    assert_eq!(cluster.master_of(slot).await.expect("they agree"), from);
    assert!(refused(old, "GET {a}4").await.contains(&format!("ASK {slot}")));

    moving.finish().await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(cluster.master_of(slot).await.expect("they agree"), to);
    for key in ["{a}1", "{a}2", "{a}3"] {
        assert_eq!(tell(new, &format!("GET {key}")).await, "kept");
        assert!(refused(old, &format!("GET {key}")).await.contains(&format!("MOVED {slot}")));
    }

    cluster.begin_move(slot, to).await.expect_err("it is there already");
    cluster.move_hash_slot(slot, from).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(tell(old, "GET {a}3").await, "kept");
}
