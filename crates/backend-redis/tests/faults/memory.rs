//! A server whose memory is full: each call is done whole or refused whole.

use leasehold_conformance::servers::redis::{Product, Redis, RedisOptions};
use leasehold_core::{Configure, Enqueue};

use crate::held::Held;
use crate::shared::{BOTH, Store, assert_unavailable, opened, refusals, started, tell};
use crate::stage::{Stage, Verb, task};

/// As many as one commit may bring.
const BRINGS: usize = 100;

/// What a call may still use when it begins, in bytes: less than nothing; next to nothing, so that
/// its own words fill the memory; and more in steps, so that it is full at any time in the call.
fn left(verb: Verb) -> impl Iterator<Item = i64> {
    let steps = if matches!(verb, Verb::Enqueue | Verb::Follow) { 40 } else { 4 };
    [-100_000, 300].into_iter().chain((1..=steps).map(|step| step * 4_000)).chain([1_000_000])
}

async fn used(server: &Redis) -> i64 {
    server.info("memory", "used_memory").await.expect("it runs").parse().expect("a number")
}

async fn leave(server: &Redis, bytes: i64) -> i64 {
    let limit = used(server).await + bytes;
    tell(server, &["CONFIG", "SET", "maxmemory", &limit.to_string()]).await;
    limit
}

async fn leave_enough(server: &Redis) {
    tell(server, &["CONFIG", "SET", "maxmemory", "0"]).await;
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Refused,
    Done,
    /// Memory was full when it had been done, and was not when it began.
    Filled,
}

/// One call of a verb with so much memory left: whole, or refused without a trace and then, with
/// enough, whole.
async fn call(server: &Redis, store: &Store, verb: Verb, left: i64) -> Seen {
    let queue = format!("{verb:?}{left}");
    let stage = Stage::set(store, &queue, BRINGS).await;
    let before = Held::on(server, &queue).await;
    let refusals_before = refusals(server, "OOM").await;
    let limit = leave(server, left).await;
    let reply = stage.call(verb).await;
    let is_full = used(server).await > limit;
    leave_enough(server).await;
    let after = Held::on(server, &queue).await;
    if let Err(error) = reply {
        assert_unavailable(&error, "the server has no memory left");
        assert!(refusals(server, "OOM").await > refusals_before, "{error:?}");
        after.assert_same(&before, &format!("{verb:?} was refused with {left} bytes left"));
        stage.call(verb).await.unwrap_or_else(|error| panic!("{verb:?} again: {error:?}"));
        return Seen::Refused;
    }
    assert_eq!(refusals(server, "OOM").await, refusals_before, "{verb:?} {left}");
    assert!(before != after || !Verb::WRITES.contains(&verb), "{verb:?} did nothing");
    if is_full && left > 0 { Seen::Filled } else { Seen::Done }
}

async fn all_calls(product: Product) {
    let server = started(RedisOptions::new(product)).await;
    let store = opened(&server.url()).await;
    for verb in Verb::all() {
        let mut seen = Vec::new();
        for left in left(verb) {
            seen.push(call(&server, &store, verb, left).await);
        }
        // Only what brings tasks from outside is refused: what ends tasks makes room.
        let refused = if verb == Verb::Enqueue { Seen::Refused } else { Seen::Done };
        assert_eq!(seen[0], refused, "{verb:?} with full memory");
        assert_eq!(seen.last(), Some(&Seen::Done), "{verb:?} with memory left");
        let brings = matches!(verb, Verb::Enqueue | Verb::Follow);
        assert!(!brings || seen.contains(&Seen::Filled), "{verb:?} never filled it: {seen:?}");
    }
}

#[tokio::test]
async fn each_call_is_whole_or_refused_whole_by_redis() {
    all_calls(Product::Redis).await;
}

#[tokio::test]
async fn each_call_is_whole_or_refused_whole_by_valkey() {
    all_calls(Product::Valkey).await;
}

/// The name of a queue lies under a key of its own, which is written first.
#[tokio::test]
async fn a_first_enqueue_to_a_queue_is_refused_without_a_trace() {
    for product in BOTH {
        let server = started(RedisOptions::new(product)).await;
        let store = opened(&server.url()).await;
        leave(&server, -100_000).await;
        let enqueue = Enqueue::new("q", vec![task("new", "a")]);
        let error = store.enqueue(enqueue).await.expect_err("memory is full");
        assert_unavailable(&error, "memory");
        assert_eq!(tell(&server, &["DBSIZE"]).await, "1", "the layout alone");
    }
}

/// Which is when an operator may want to pause a queue, by a handle of their own.
#[tokio::test]
async fn settings_are_taken_from_a_new_handle() {
    for product in BOTH {
        let server = started(RedisOptions::new(product)).await;
        let store = opened(&server.url()).await;
        let _stage = Stage::set(&store, "q", BRINGS).await;
        let operator = opened(&server.url()).await;
        leave(&server, -100_000).await;
        let settings = operator.configure(Configure::new("q").pause()).await;
        assert!(settings.expect("it is no new queue").paused);
        let enqueue = Enqueue::new("q", vec![task("new", "a")]);
        let error = operator.enqueue(enqueue).await.expect_err("memory is full");
        assert_unavailable(&error, "memory");
    }
}
