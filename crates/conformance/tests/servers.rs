//! The private servers of tests: that they are what a test takes them for, and that none stays.
#![cfg(unix)]

use leasehold_conformance::servers::redis::{
    Cluster, ClusterOptions, Connection, Found, Fsync, Product, Redis, RedisOptions, Reply,
    Sentinels,
};
use leasehold_conformance::servers::{State, until};

#[path = "servers/alone.rs"]
mod alone;
#[path = "servers/cluster.rs"]
mod cluster;
#[path = "servers/owner.rs"]
mod owner;
#[path = "servers/sentinels.rs"]
mod sentinels;

use std::time::Duration;

/// Far above what anything here takes.
const LIMIT: Duration = Duration::from_secs(30);

const BOTH: [Product; 2] = [Product::Redis, Product::Valkey];

async fn started(options: RedisOptions) -> Redis {
    Redis::start_new(options).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A command that must be taken, and what people read of its reply.
async fn tell(server: &Redis, command: &str) -> String {
    let words: Vec<_> = command.split(' ').collect();
    let reply = server.command(&words).await;
    reply.unwrap_or_else(|error| panic!("{error}")).text()
}

/// A write that is not only the master's when this comes back.
async fn write(master: &Redis, command: &str) {
    let words: Vec<_> = command.split(' ').collect();
    // A master waits for what the same connection wrote.
    let mut connection = Connection::open(master.address()).await.expect("it listens");
    let reply = connection.ask(&words).await.expect("it serves");
    assert_eq!(reply, Reply::Simple("OK".to_owned()));
    let replicas = connection.ask(&["WAIT", "1", "10000"]).await.expect("it serves");
    assert_eq!(replicas, Reply::Integer(1));
}

/// A command that must be refused, and the refusal.
async fn refused(server: &Redis, command: &str) -> String {
    let words: Vec<_> = command.split(' ').collect();
    server.command(&words).await.expect_err(command).to_string()
}

/// A harness gives these to async functions that any thread may go on with, so that this has to
/// compile; it is not there to be called.
#[expect(dead_code, reason = "only its types matter")]
fn may_go_on_anywhere<'a>(cluster: &'a Cluster, all: &'a Sentinels, server: &'a Redis) {
    fn goes(_: impl Future + Send) {}
    goes(Cluster::start_new(ClusterOptions::new(Product::Redis)));
    goes(cluster.failover(0));
    goes(cluster.settled());
    goes(cluster.move_hash_slot(0, 1));
    goes(Sentinels::start_new(Product::Redis));
    goes(all.failover());
    goes(all.settled());
    goes(server.start());
    goes(server.stop());
    goes(server.command(&["PING"]));
}
