//! The server's process is killed in the middle of concurrent calls, and comes back.

use leasehold_conformance::servers::redis::{Fsync, Product, Redis, RedisOptions};

use crate::callers::Callers;
use crate::ledger::Book;
use crate::shared::{Store, opened, started, until_true};

/// What became of 64 callers that enqueue and 8 that run, while their server was killed.
async fn killed(server: &Redis, store: &Store, queue: &str) -> Book {
    let callers = Callers::begin(store, queue, 64, 8).await;
    callers.all_step(3).await;
    server.kill().expect("it runs");
    until_true("calls are not sent any more", async || callers.book().told("not sent") > 100).await;
    let book = callers.book();
    assert!(book.told("may have been applied") > 0, "no call was hit: {:?}", book.unavailable);
    server.start().await.unwrap_or_else(|error| panic!("{error}"));
    callers.all_step(3).await;
    callers.finish().await
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill_when_each_write_is_synced() {
    for product in [Product::Redis, Product::Valkey] {
        let server = started(RedisOptions::new(product).with_fsync(Fsync::Always)).await;
        let store = opened(&server.url()).await;
        assert!(store.capabilities().durability.process_crash);
        let book = killed(&server, &store, "q").await;
        book.assert_exact(&store, "q").await;
    }
}

/// A server that is still syncing what it wrote a second ago puts the next writes off, and answers
/// all the same: so its durability class says that a kill may cost the newest effects.
#[tokio::test]
async fn a_kill_costs_the_newest_effects_at_most_when_writes_are_synced_each_second() {
    let server = started(RedisOptions::new(Product::Redis).with_fsync(Fsync::EverySecond)).await;
    let store = opened(&server.url()).await;
    assert!(!store.capabilities().durability.process_crash);
    let book = killed(&server, &store, "q").await;
    book.assert_prefix(&store, "q").await;
}
