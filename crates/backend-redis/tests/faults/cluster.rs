//! A node of a cluster ends: its queues wait for it or for its replica, and all others go on.

use std::time::Duration;

use futures_util::future::join_all;
use leasehold_conformance::servers::redis::{Cluster, ClusterOptions, Fsync, Product};

use crate::callers::Callers;
use crate::shared::{Store, cluster, cluster_url, opened, until_true};

/// Far below the time in which the node is missed or replaced, and below every time-out.
const CALL_MAX: Duration = Duration::from_millis(900);

/// A queue that is worked on.
struct Worked {
    queue: String,
    callers: Callers,
}

/// Queues on each master, two for each, by the number of their master.
async fn six(cluster: &Cluster, store: &Store) -> [Vec<Worked>; 3] {
    let mut worked = [Vec::new(), Vec::new(), Vec::new()];
    let mut number = 0;
    while worked.iter().any(|queues| queues.len() < 2) {
        let queue = format!("q{number}");
        number += 1;
        let slot = cluster.hash_slot(&format!("lh:{{{queue}}}:queue")).await.expect("it serves");
        let queues = &mut worked[cluster.master_of(slot).await.expect("they agree")];
        if queues.len() < 2 {
            let callers = Callers::begin(store, &queue, 4, 2).await;
            queues.push(Worked { queue, callers });
        }
    }
    worked
}

async fn all_step(queues: &[Worked], times: u64) {
    join_all(queues.iter().map(|one| one.callers.all_step(times))).await;
}

/// The node's queues are Unavailable, and those of the others go on at their usual pace.
async fn only_those_wait(hit: &[Worked], others: &[Worked]) {
    for Worked { queue, callers } in hit {
        until_true("its queues wait", async || callers.book().told("not sent") > 20).await;
        let book = callers.book();
        assert!(book.told("may have been applied") > 0, "{queue}: {:?}", book.unavailable);
    }
    for one in others {
        one.callers.slowest();
    }
    all_step(others, 20).await;
    for Worked { queue, callers } in others {
        let slowest = callers.slowest();
        assert!(slowest < CALL_MAX, "a call on {queue} took {slowest:?}");
        assert!(callers.book().unavailable.is_empty(), "{queue}: {:?}", callers.book());
    }
}

#[tokio::test]
async fn a_node_that_comes_back_before_its_replica_takes_over_has_lost_nothing() {
    let mut options = ClusterOptions::new(Product::Redis);
    options.member = options.member.with_fsync(Fsync::Always);
    // Longer than the node is away.
    let options = options.with_arguments(&["--cluster-node-timeout", "15000"]);
    let cluster = cluster(options).await;
    let store = opened(&cluster_url(&cluster)).await;
    let [first, hit, last] = six(&cluster, &store).await;
    let others: Vec<_> = first.into_iter().chain(last).collect();
    all_step(&hit, 3).await;

    cluster.nodes()[1].kill().expect("it runs");
    only_those_wait(&hit, &others).await;
    cluster.nodes()[1].start().await.unwrap_or_else(|error| panic!("{error}"));
    all_step(&hit, 3).await;
    let role = cluster.nodes()[1].info("replication", "role").await.expect("it runs");
    assert_eq!(role, "master");
    for Worked { queue, callers } in hit.into_iter().chain(others) {
        callers.finish().await.assert_exact(&store, &queue).await;
    }
}

#[tokio::test]
async fn a_replica_takes_the_queues_of_its_master_over() {
    let options = ClusterOptions::new(Product::Redis);
    let options = options.with_arguments(&["--cluster-require-full-coverage", "no"]);
    let cluster = cluster(options).await;
    let store = opened(&cluster_url(&cluster)).await;
    let [first, hit, last] = six(&cluster, &store).await;
    let others: Vec<_> = first.into_iter().chain(last).collect();
    all_step(&hit, 3).await;

    cluster.nodes()[1].kill().expect("it runs");
    only_those_wait(&hit, &others).await;
    let (new, ()) = tokio::join!(cluster.failover(1), all_step(&others, 20));
    assert_eq!(new.unwrap_or_else(|error| panic!("{error}")), 4);
    all_step(&hit, 3).await;
    for Worked { queue, callers } in hit {
        callers.finish().await.assert_prefix(&store, &queue).await;
    }
    for Worked { queue, callers } in others {
        let book = callers.finish().await;
        assert!(book.unavailable.is_empty(), "{queue}: {:?}", book.unavailable);
        book.assert_exact(&store, &queue).await;
    }
}
