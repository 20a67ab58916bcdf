//! A connection that is cut in the middle of the calls of many: each gets its own reply or none.

use futures_util::future::join_all;
use leasehold_conformance::servers::redis::{Product, Redis, RedisOptions};
use leasehold_conformance::{Gate, Way};
use leasehold_core::{BackendExt, Delivery, Enqueue, EnqueueVerdict, Error, NewTask, TaskRef};

use crate::shared::{Store, assert_unavailable, opened, started, until_answered};

const CALLERS: usize = 64;

async fn gated() -> (Redis, Gate, Store) {
    let server = started(RedisOptions::new(Product::Redis)).await;
    let gate = Gate::open(server.address()).await.expect("a port is free");
    let store = opened(&format!("redis://{}", gate.address())).await;
    // Whose first call to a queue is two commands.
    enqueue(&store, "warm", 1).await.expect("it is up");
    (server, gate, store)
}

/// Enqueues three tasks in one call, the last one with a payload that tells whose they are.
async fn enqueue(store: &Store, name: &str, bytes: usize) -> Result<Vec<EnqueueVerdict>, Error> {
    let new = |n| {
        let payload = name.repeat(bytes);
        NewTask::named(format!("{name}-{n}"), "work", payload, Delivery::at_least_once())
    };
    store.enqueue(Enqueue::new("q", (0..3).map(new).collect())).await
}

fn name(caller: usize) -> String {
    format!("caller-{caller:02}")
}

/// What all callers got whose connection was cut after so many bytes that way.
async fn enqueued_through(
    gate: &Gate,
    store: &Store,
    way: Way,
    bytes: usize,
) -> Vec<Result<Vec<EnqueueVerdict>, Error>> {
    gate.cut_after(way, bytes);
    let calls = (0..CALLERS).map(|caller| async move { enqueue(store, &name(caller), 10).await });
    // What is sent again, if anything is, gets through.
    let open_again = async {
        gate.stopped(way).await;
        gate.release();
    };
    let (replies, ()) = tokio::join!(join_all(calls), open_again);
    assert!(gate.fired(way) > 0, "nothing was lost");
    replies
}

/// Each reply is the caller's own, and what got none was done whole or not at all.
async fn judge(store: &Store, replies: &[Result<Vec<EnqueueVerdict>, Error>]) -> [usize; 3] {
    let (mut answered, mut done, mut undone) = (0, 0, 0);
    for (caller, reply) in replies.iter().enumerate() {
        let mut born = Vec::new();
        for n in 0..3 {
            let task = TaskRef::new("q", format!("{}-{n}", name(caller)));
            let task = until_answered("it is back", || store.task(&task)).await;
            assert!(task.as_ref().is_none_or(|task| {
                task.payload.as_bytes().starts_with(name(caller).as_bytes())
            }));
            born.extend(task.map(|task| task.born));
        }
        match reply {
            Ok(verdicts) => {
                let told: Vec<_> = verdicts.iter().map(fence_of).collect();
                assert_eq!(told, born, "{}", name(caller));
                answered += 1;
            }
            Err(error) => {
                assert_unavailable(error, "enqueue");
                assert!(born.is_empty() || born.len() == 3, "{} is half done", name(caller));
                if born.is_empty() { undone += 1 } else { done += 1 }
            }
        }
    }
    [answered, done, undone]
}

fn fence_of(verdict: &EnqueueVerdict) -> leasehold_core::Fence {
    let EnqueueVerdict::Enqueued { fence } = verdict else { panic!("{verdict:?}") };
    *fence
}

#[tokio::test]
async fn a_cut_among_the_replies_costs_nobody_elses() {
    let (_server, gate, store) = gated().await;
    // A reply has some 100 bytes: it ends within one of them.
    let replies = enqueued_through(&gate, &store, Way::Replies, 1_750).await;
    let [answered, done, undone] = judge(&store, &replies).await;
    assert!(answered > 0 && done > 0, "{answered} {done} {undone}");
}

#[tokio::test]
async fn a_cut_among_the_requests_leaves_none_half_done() {
    let (_server, gate, store) = gated().await;
    // A request has some 500 bytes: the server gets a part of one of them.
    let replies = enqueued_through(&gate, &store, Way::Requests, 20_123).await;
    let [answered, done, undone] = judge(&store, &replies).await;
    assert!(answered + done > 0 && undone > 0, "{answered} {done} {undone}");
}

#[tokio::test]
async fn each_reader_gets_its_own_task_or_nothing() {
    let (_server, gate, store) = gated().await;
    for caller in 0..CALLERS {
        let verdicts = enqueue(&store, &name(caller), caller + 1).await.expect("it is up");
        assert_eq!(verdicts.len(), 3);
    }
    let (mut answered, mut lost) = (0, 0);
    for bytes in [900, 9_000, 16_000] {
        gate.cut_after(Way::Replies, bytes);
        let fired = gate.fired(Way::Replies);
        let store = &store;
        let reads = (0..CALLERS).map(|caller| async move {
            store.task(&TaskRef::new("q", format!("{}-0", name(caller)))).await
        });
        for (caller, reply) in join_all(reads).await.into_iter().enumerate() {
            match reply {
                Ok(task) => {
                    let task = task.expect("it was enqueued");
                    let payload = name(caller).repeat(caller + 1);
                    assert_eq!(task.payload.as_bytes(), payload.as_bytes());
                    answered += 1;
                }
                Err(error) => {
                    assert_unavailable(&error, "get");
                    lost += 1;
                }
            }
        }
        assert!(gate.fired(Way::Replies) > fired, "nothing was lost");
        gate.release();
        let warm = TaskRef::new("q", "warm-0");
        until_answered("it is back", || store.task(&warm)).await;
    }
    assert!(answered > 0 && lost > 0, "{answered} {lost}");
}
