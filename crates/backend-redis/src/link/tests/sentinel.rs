//! Behind a Sentinel: the master is found, and found again when it is another.

use leasehold_core::ErrorKind;

use super::{ask, ask_until, connect, refused};
use crate::servers::{Server, until_true};

struct Trio {
    master: Server,
    replica: Server,
    sentinel: Server,
}

async fn trio() -> Trio {
    let master = Server::start(&[]);
    let replica = Server::start(&["--replicaof", "127.0.0.1", &master.port.to_string()]);
    until_true("the replica follows", || {
        master.ask(&["INFO", "replication"]).contains("state=online")
    })
    .await;
    let sentinel = Server::sentinel(&master);
    until_true("the sentinel knows both", || {
        sentinel.ask(&["SENTINEL", "REPLICAS", "m"]).contains("master-link-status\nok")
    })
    .await;
    Trio { master, replica, sentinel }
}

#[tokio::test]
async fn writes_follow_the_master() {
    let Trio { mut master, replica, sentinel } = trio().await;
    let link = connect(&format!("redis-sentinel://{}/m", sentinel.address())).await;
    let () = ask(&link, &["SET", "a", "1"]).await;
    assert_eq!(master.ask(&["GET", "a"]), "1");

    sentinel.tell(&["SENTINEL", "FAILOVER", "m"]);
    until_true("the replica leads", || replica.ask(&["ROLE"]).starts_with("master")).await;
    until_true("the master follows", || master.ask(&["ROLE"]).starts_with("slave")).await;
    let () = ask_until(&link, &["SET", "a", "2"]).await;
    assert_eq!(replica.ask(&["GET", "a"]), "2");
    drop(link);
    master.kill();
}

#[tokio::test]
async fn a_dead_master_is_replaced() {
    let Trio { mut master, replica, sentinel } = trio().await;
    // The first of the list is out of reach.
    let dead = crate::servers::free_port();
    let url = format!("redis-sentinel://127.0.0.1:{dead},{}/m", sentinel.address());
    let link = connect(&url).await;
    let () = ask(&link, &["SET", "a", "1"]).await;
    master.kill();
    let () = ask_until(&link, &["SET", "a", "2"]).await;
    assert_eq!(replica.ask(&["GET", "a"]), "2");
}

#[tokio::test]
async fn a_master_that_nobody_knows_is_unavailable() {
    let master = Server::start(&[]);
    let sentinel = Server::sentinel(&master);
    let error = refused(&format!("redis-sentinel://{}/other", sentinel.address())).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.to_string().contains("knows no such master"), "{error}");
}
