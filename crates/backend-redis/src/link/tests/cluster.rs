//! A cluster: routes, slots that move, nodes that end and come back.

use std::time::Duration;

use futures_util::future::join_all;
use leasehold_conformance::{Gate, Way};
use leasehold_core::Wake;
use tokio::time::timeout;

use super::{ask, ask_until, connect, hasty, send};
use crate::error::Fault;
use crate::link::slots::slot;
use crate::servers::{RANGES, SOON, Server, free_port, trio, until_true};

fn url(nodes: &[Server]) -> String {
    format!("redis-cluster://{}", nodes[0].address())
}

/// A tag whose slot the nth node holds.
fn tag(nth: usize) -> String {
    let (first, last) = RANGES[nth];
    let mut tags = (0..).map(|number| format!("{{q{number}}}"));
    tags.find(|tag| (first..=last).contains(&slot(tag.as_bytes()))).expect("enough tags")
}

#[tokio::test]
async fn a_command_goes_to_the_node_of_its_first_key() {
    let nodes = trio().await;
    let link = connect(&url(&nodes)).await;
    assert_eq!(link.masters().len(), 3);
    for (nth, node) in nodes.iter().enumerate() {
        let key = format!("{}a", tag(nth));
        let script = "return redis.call('INCR', KEYS[1])";
        assert_eq!(ask::<u64>(&link, &["EVAL", script, "1", &key]).await, 1);
        assert_eq!(ask::<u64>(&link, &["GET", &key]).await, 1);
        assert_eq!(node.ask(&["GET", &key]), "1");
    }
    assert_eq!(ask::<String>(&link, &["PING"]).await, "PONG");
}

#[tokio::test]
async fn calls_follow_a_slot_that_moves() {
    let nodes = trio().await;
    let link = connect(&url(&nodes)).await;
    let (from, to) = (&nodes[0], &nodes[2]);
    let (old, new) = (format!("{}old", tag(0)), format!("{}new", tag(0)));
    let number = slot(old.as_bytes()).to_string();
    let id = |node: &Server| node.ask(&["CLUSTER", "MYID"]);
    let () = ask(&link, &["SET", &old, "1"]).await;

    to.tell(&["CLUSTER", "SETSLOT", &number, "IMPORTING", &id(from)]);
    from.tell(&["CLUSTER", "SETSLOT", &number, "MIGRATING", &id(to)]);
    // ASK, with others on the same connection all the time.
    let elsewhere = format!("{}a", tag(2));
    let others = async {
        loop {
            let calls = (0..20).map(|_| async { ask::<u64>(&link, &["INCR", &elsewhere]).await });
            join_all(calls).await;
        }
    };
    let incr = ["EVAL", "return redis.call('INCR', KEYS[1])", "1", new.as_str()];
    let asked = async {
        for count in 1..=10 {
            assert_eq!(ask::<u64>(&link, &incr).await, count);
        }
    };
    tokio::select! {
        () = asked => {}
        () = others => {}
    }
    assert!(!to.ask(&["INFO", "errorstats"]).contains("MOVED"), "none came without its ASKING");
    assert_eq!(from.ask(&["EXISTS", &new]), format!("ASK {number} 127.0.0.1:{}", to.port));
    let both = ["EVAL", "return redis.call('INCR', KEYS[1])", "2", old.as_str(), new.as_str()];
    let fault = send(&link, &both).await.expect_err("neither node has both");
    assert_eq!(fault.code(), Some("TRYAGAIN"));

    let port = to.port.to_string();
    from.tell(&["MIGRATE", "127.0.0.1", &port, &old, "0", "1000"]);
    for node in [to, from] {
        node.tell(&["CLUSTER", "SETSLOT", &number, "NODE", &id(to)]);
    }
    // MOVED, and then the map.
    assert_eq!(ask::<u64>(&link, &both).await, 2);
    assert_eq!(ask::<u64>(&link, &incr).await, 11);
    until_true("the map is new", || {
        let owner = link.masters().into_iter().any(|node| node.is_up());
        owner && owner_port(&link, &old) == Some(to.port)
    })
    .await;
}

/// The port to which a key's commands go at first.
fn owner_port(link: &crate::link::Link, key: &str) -> Option<u16> {
    match &link.route {
        crate::link::Route::Cluster(cluster) => Some(cluster.place(slot(key.as_bytes())).port),
        crate::link::Route::One(_) => None,
    }
}

#[tokio::test]
async fn a_node_that_ends_takes_only_its_own_slots_and_brings_them_back() {
    let mut nodes = trio().await;
    let link = connect(&url(&nodes)).await;
    let keys: Vec<_> = (0..3).map(|nth| format!("{}a", tag(nth))).collect();
    for key in &keys {
        let () = ask(&link, &["SET", key, "1"]).await;
    }
    nodes[1].kill();
    until_true("it is missed", || !link.masters().iter().all(|node| node.is_up())).await;
    for _ in 0..20 {
        let call = async { send(&link, &["INCR", &keys[1]]).await };
        let reply = timeout(Duration::from_secs(2), call).await.expect("in time");
        assert!(reply.is_err(), "{reply:?}");
        assert_eq!(ask::<u64>(&link, &["GET", &keys[0]]).await, 1);
        assert_eq!(ask::<u64>(&link, &["GET", &keys[2]]).await, 1);
    }
    nodes[1].restart();
    assert_eq!(ask_until::<u64>(&link, &["INCR", &keys[1]]).await, 1, "it had saved nothing");
}

#[tokio::test]
async fn a_node_that_hangs_holds_nobody_else_up() {
    let nodes = trio().await;
    let link = hasty(&url(&nodes)).await;
    let keys: Vec<_> = (0..3).map(|nth| format!("{}a", tag(nth))).collect();
    nodes[1].freeze();
    let hung = async { send(&link, &["INCR", &keys[1]]).await };
    let others = async {
        for _ in 0..100 {
            ask::<u64>(&link, &["INCR", &keys[0]]).await;
            ask::<u64>(&link, &["INCR", &keys[2]]).await;
        }
    };
    let (hung, ()) = tokio::join!(hung, others);
    assert!(matches!(hung, Err(Fault::Late(_))), "{hung:?}");
    assert_eq!(ask::<u64>(&link, &["GET", &keys[0]]).await, 100);
    nodes[1].thaw();
    let () = ask_until(&link, &["SET", &keys[1], "x"]).await;
}

#[tokio::test]
async fn a_command_whose_reply_was_lost_is_not_sent_again() {
    let (port, bus) = (free_port(), free_port().to_string());
    let gate = Gate::open(([127, 0, 0, 1], port).into()).await.expect("a gate");
    let announced = gate.address().port().to_string();
    let cluster = ["--cluster-enabled", "yes", "--cluster-port", &bus];
    let announce = ["--cluster-announce-port", &announced, "--cluster-announce-bus-port", &bus];
    let announce = [&announce, ["--cluster-announce-ip", "127.0.0.1"].as_slice()].concat();
    let server = Server::start_on(port, &[&cluster, announce.as_slice()].concat());
    server.tell(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    until_true("it is up", || server.ask(&["CLUSTER", "INFO"]).contains("cluster_state:ok")).await;

    let link = connect(&format!("redis-cluster://{}", gate.address())).await;
    assert_eq!(ask::<u64>(&link, &["INCR", "b"]).await, 1);
    gate.hold(Way::Replies);
    let call = async {
        let reply = send(&link, &["INCR", "a"]).await;
        assert!(matches!(reply, Err(Fault::Lost(_))), "{reply:?}");
    };
    let cut = async {
        gate.stopped(Way::Replies).await;
        gate.cut();
    };
    tokio::join!(call, cut);
    assert_eq!(ask_until::<u64>(&link, &["GET", "a"]).await, 1);
    assert_eq!(server.ask(&["GET", "a"]), "1");
}

#[tokio::test]
async fn a_message_from_any_node_wakes() {
    let nodes = trio().await;
    let link = connect(&url(&nodes)).await;
    let channel = format!("{}wake", tag(1));
    assert_eq!(link.wait(&channel, SOON).await, Wake::Woken);
    for node in &nodes {
        let wait = async { timeout(SOON, link.wait(&channel, SOON * 2)).await.expect("it wakes") };
        let publish = async { node.ask(&["PUBLISH", &channel, ""]) };
        assert_eq!(tokio::join!(biased; wait, publish).0, Wake::Woken);
    }
    assert_eq!(nodes[1].ask(&["PUBSUB", "NUMSUB", &channel]), format!("{channel}\n1"));
}
