//! The checks against real servers.

use leasehold_core::{Durability, Error, ErrorKind, Failover};

use super::{Found, check};
use crate::config::RedisConfig;
use crate::link::Link;
use crate::servers::{Server, member, trio, until_true};

fn config(url: &str) -> RedisConfig {
    RedisConfig::from_url(url).expect("a good URL")
}

async fn checked(config: &RedisConfig) -> Result<Found, Error> {
    let link = Link::connect(config).await.expect("it connects");
    check(&link, config).await
}

async fn durability(config: &RedisConfig) -> Durability {
    checked(config).await.expect("it is fit").durability
}

#[tokio::test]
async fn a_server_is_taken_for_what_it_says() {
    let table = [
        ("no", "always", (false, false)),
        ("yes", "everysec", (false, false)),
        ("yes", "always", (true, true)),
    ];
    for (appends, fsync, (process, host)) in table {
        let server = Server::start(&["--appendonly", appends, "--appendfsync", fsync]);
        let found = checked(&config(&server.url())).await.expect("it is fit");
        let durability = Durability::new(process, host, Failover::Single);
        assert_eq!(found.durability, durability, "{appends} {fsync}");
        assert_eq!(found.server, "redis");
        assert!(found.version >= (6, 2));
    }
}

#[tokio::test]
async fn a_server_with_a_replica_may_lose_what_it_confirmed() {
    let server = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let port = server.port.to_string();
    let _replica = Server::start(&["--replicaof", "127.0.0.1", &port]);
    until_true("the replica follows", || {
        server.ask(&["INFO", "replication"]).contains("connected_slaves:1")
    })
    .await;
    let expected = Durability::new(true, true, Failover::No);
    assert_eq!(durability(&config(&server.url())).await, expected);
}

#[tokio::test]
async fn a_server_that_throws_tasks_away_is_taken_by_name_only() {
    let server = Server::start(&["--maxmemory-policy", "allkeys-lru"]);
    let config = config(&server.url());
    let error = checked(&config).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    assert!(error.to_string().contains("set noeviction"), "{error}");
    assert_eq!(server.ask(&["DBSIZE"]), "0", "nothing was written");
    assert!(checked(&config.clone().allow_eviction("volatile-lru")).await.is_err());
    assert!(checked(&config.allow_eviction("allkeys-lru")).await.is_ok());
}

#[tokio::test]
async fn the_first_writes_the_layout_and_others_must_read_it() {
    let server = Server::start(&[]);
    let config = config(&server.url());
    for _ in 0..2 {
        checked(&config).await.expect("it is fit");
        assert_eq!(server.ask(&["GET", "lh:layout"]), "1");
    }
    let table = [
        ("2", ErrorKind::Unsupported, "newer release"),
        ("0", ErrorKind::Unsupported, "the release that made them"),
        ("one", ErrorKind::Corrupt, "lh:layout"),
        ("", ErrorKind::Corrupt, "lh:layout"),
    ];
    for (stored, kind, says) in table {
        server.tell(&["SET", "lh:layout", stored]);
        let error = checked(&config).await.expect_err(stored);
        assert_eq!(error.kind(), kind, "{stored:?}: {error:?}");
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(server.ask(&["GET", "lh:layout"]), stored, "it is left as it was");
    }
    server.ask(&["DEL", "lh:layout"]);
    server.ask(&["LPUSH", "lh:layout", "1"]);
    assert_eq!(checked(&config).await.expect_err("a list").kind(), ErrorKind::Corrupt);
    let other = config.with_namespace("other").expect("a good namespace");
    checked(&other).await.expect("a namespace of its own");
}

#[tokio::test]
async fn what_a_user_may_not_know_is_taken_for_the_weaker() {
    let server = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    server.tell(&["ACL", "SETUSER", "ada", "on", ">pw", "~*", "&*", "+@all", "-config"]);
    let url = format!("redis://ada:pw@{}", server.address());
    let expected = Durability::new(false, false, Failover::Single);
    assert_eq!(durability(&config(&url)).await, expected);

    server.tell(&["ACL", "SETUSER", "ada", "-info"]);
    let error = checked(&config(&url)).await.expect_err("nothing is known");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    assert!(error.to_string().contains("let the user run INFO"), "{error}");
    let expected = Durability::new(false, false, Failover::No);
    assert_eq!(durability(&config(&url).allow_eviction("unknown")).await, expected);
}

#[tokio::test]
async fn a_cluster_is_as_good_as_its_weakest_node() {
    let nodes = trio().await;
    let config = config(&format!("redis-cluster://{}", nodes[0].address()));
    for node in &nodes {
        node.tell(&["CONFIG", "SET", "appendonly", "yes"]);
        node.tell(&["CONFIG", "SET", "appendfsync", "no"]);
    }
    let expected = Durability::new(true, false, Failover::Single);
    assert_eq!(durability(&config).await, expected);
    nodes[2].tell(&["CONFIG", "SET", "appendonly", "no"]);
    let expected = Durability::new(false, false, Failover::Single);
    assert_eq!(durability(&config).await, expected);
    nodes[1].tell(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    assert_eq!(checked(&config).await.expect_err("refused").kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn a_cluster_that_does_not_work_is_unavailable() {
    let node = member(&["--cluster-require-full-coverage", "yes"]);
    node.tell(&["CLUSTER", "ADDSLOTSRANGE", "0", "100"]);
    let config = config(&format!("redis-cluster://{}", node.address()));
    let error = checked(&config).await.expect_err("most slots are nobody's");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.to_string().contains("fail"), "{error}");
}
