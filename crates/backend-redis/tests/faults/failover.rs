//! A master that is one no more: demoted under a handle, or replaced by its replica.

use leasehold_conformance::servers::redis::{Product, RedisOptions, Sentinels};
use leasehold_core::{
    BackendExt, Claim, CommitItem, CommitVerdict, Delivery, EnqueueVerdict, Lease, NewTask,
    Purpose, State,
};

use crate::callers::Callers;
use crate::held::Held;
use crate::shared::{
    LONG, Store, assert_unavailable, opened, refusals, started, tell, until_answered, until_true,
};
use crate::stage::{Stage, Verb, state_of, success};

#[tokio::test]
async fn a_demoted_server_refuses_every_verb_whole_until_it_leads_again() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    let store = opened(&server.url()).await;
    // It has no copy of its own to send: what the demoted one has stays.
    let gone = started(RedisOptions::new(Product::Redis)).await;
    gone.kill().expect("it runs");
    let port = gone.address().port().to_string();
    for verb in Verb::all() {
        let queue = format!("{verb:?}");
        let stage = Stage::set(&store, &queue, 3).await;
        let before = Held::on(&server, &queue).await;
        tell(&server, &["REPLICAOF", "127.0.0.1", &port]).await;
        // Whoever writes finds the server out, and then nobody reads there any more.
        let finder = if Verb::READS.contains(&verb) { Verb::Renew } else { verb };
        let found = refusals(&server, "READONLY").await;
        for verb in [finder, verb] {
            let error = stage.call(verb).await.expect_err("a replica");
            assert_unavailable(&error, "replica");
        }
        assert!(refusals(&server, "READONLY").await > found, "{finder:?} was not refused");
        tell(&server, &["REPLICAOF", "NO", "ONE"]).await;
        Held::on(&server, &queue).await.assert_same(&before, &queue);
        until_answered("it leads again", || stage.call(Verb::Counts)).await;
        stage.call(verb).await.unwrap_or_else(|error| panic!("{verb:?}: {error:?}"));
    }
}

#[tokio::test]
async fn callers_go_on_by_themselves_after_a_demotion() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    let store = opened(&server.url()).await;
    let gone = started(RedisOptions::new(Product::Redis)).await;
    gone.kill().expect("it runs");
    let callers = Callers::begin(&store, "q", 16, 4).await;
    callers.all_step(3).await;
    let port = gone.address().port().to_string();
    tell(&server, &["REPLICAOF", "127.0.0.1", &port]).await;
    until_true("calls are refused", async || callers.book().told("replica") > 100).await;
    assert!(refusals(&server, "READONLY").await > 0);
    tell(&server, &["REPLICAOF", "NO", "ONE"]).await;
    callers.all_step(3).await;
    callers.finish().await.assert_exact(&store, "q").await;
}

async fn behind_sentinels() -> (Sentinels, Store) {
    let all = Sentinels::start_new(Product::Redis).await.unwrap_or_else(|error| panic!("{error}"));
    let hosts: Vec<_> = all.sentinels().iter().map(|one| one.address().to_string()).collect();
    let url = format!("redis-sentinel://{}/{}", hosts.join(","), Sentinels::SERVICE);
    let store = opened(&url).await;
    assert!(store.capabilities().durability.can_lose_a_claim());
    (all, store)
}

#[tokio::test]
async fn callers_go_on_with_the_replica_and_no_fence_goes_back() {
    let (all, store) = behind_sentinels().await;
    let callers = Callers::begin(&store, "q", 16, 4).await;
    callers.all_step(3).await;
    let [old, new] = all.servers();
    old.kill().expect("it runs");
    until_true("calls are not sent", async || callers.book().told("not sent") > 100).await;
    let leads = all.failover().await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(leads, new.address());
    callers.all_step(3).await;
    callers.finish().await.assert_prefix(&store, "q").await;
}

/// The replica hears nothing more of its master: what is acknowledged from now on is lost when it
/// takes over. Other clients are served as before.
async fn part(all: &Sentinels) {
    let [master, replica] = all.servers();
    replica.in_sync().await.unwrap_or_else(|error| panic!("{error}"));
    tell(master, &["ACL", "SETUSER", "default", "-psync", "-sync"]).await;
    tell(master, &["CLIENT", "KILL", "TYPE", "replica"]).await;
    until_true("they are parted", async || {
        let link = replica.info("replication", "master_link_status").await;
        let count = master.info("replication", "connected_slaves").await;
        link.is_ok_and(|link| link == "down") && count.is_ok_and(|count| count == "0")
    })
    .await;
}

#[tokio::test]
async fn what_was_acknowledged_and_lost_is_stale_and_its_fences_never_come_again() {
    let (all, store) = behind_sentinels().await;
    for id in ["held", "ended", "idle"] {
        enqueued(&store, id).await;
    }
    part(&all).await;
    let [held, ended, idle] = leased(&store).await;
    let commit = success(&ended);
    assert!(matches!(told(&store, &commit).await, CommitVerdict::Applied(_)));
    enqueued(&store, "lost").await;
    all.servers()[0].kill().expect("it runs");
    all.failover().await.unwrap_or_else(|error| panic!("{error}"));

    let lost = leasehold_core::TaskRef::new("q", "lost");
    let found = until_answered("the replica serves", || store.task(&lost)).await;
    assert_eq!(found, None, "nothing was lost");
    assert_eq!(state_of(&store, "q", "ended").await, Some(State::Waiting));
    // First of all, as each other call may draw a fence and so step over those that were lost.
    let [held_again, ended_again] = leased(&store).await;
    assert!(held_again.fence > held.fence && ended_again.fence > ended.fence);
    for old in [&success(&held), &commit, &success(&idle)] {
        let verdict = told(&store, old).await;
        assert!(matches!(verdict, CommitVerdict::Stale { .. }), "{verdict:?}");
    }
    assert_eq!(state_of(&store, "q", "idle").await, Some(State::Waiting));
    for lease in [&held_again, &ended_again] {
        let verdict = told(&store, &success(lease)).await;
        assert!(matches!(verdict, CommitVerdict::Applied(_)), "{verdict:?}");
    }
    enqueued(&store, "lost").await;
}

async fn enqueued(store: &Store, id: &str) {
    let new = NewTask::named(id, "work", "payload", Delivery::at_least_once());
    let verdict = store.enqueue_one("q", new).await.expect("it is up");
    assert!(matches!(verdict, EnqueueVerdict::Enqueued { .. }), "{verdict:?}");
}

/// So many tasks of the queue, in the order of their enqueue.
async fn leased<const N: usize>(store: &Store) -> [Lease; N] {
    let claim = Claim::new("q", Purpose::Run, N, LONG, "worker");
    let leases = store.claim(claim).await.expect("it is up").leases;
    let ids: Vec<_> = leases.iter().map(|lease| &*lease.task_ref.id).collect();
    assert_eq!(ids, ["held", "ended", "idle"][..N]);
    leases.try_into().expect("there are as many")
}

async fn told(store: &Store, item: &CommitItem) -> CommitVerdict {
    store.commit_one(item.clone()).await.expect("it is up")
}
