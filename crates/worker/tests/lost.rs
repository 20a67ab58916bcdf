//! A run that loses its lease: its handler is cancelled, and what it still says is told truly.

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{Delivery, Found, State, Task};
use leasehold_worker::{Cancelled, Context, Failure, Loss, Worker};
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Notify;

#[derive(serde::Serialize, serde::Deserialize)]
struct Long;

impl Task for Long {
    const KIND: &'static str = "long";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

#[derive(Default)]
struct Seen {
    started: Notify,
    cancelled: Mutex<Vec<Cancelled>>,
}

/// Works until it is cancelled, and then succeeds at once.
async fn until_cancelled(_: Long, cx: Context<Arc<Seen>>) -> Result<(), Failure> {
    cx.state().started.notify_one();
    let why = cx.cancelled().await;
    cx.state().cancelled.lock().expect("no test panics with it").push(why);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn no_answer_cancels_the_handler_before_the_lease_ends() {
    let stage = Stage::new();
    let receipt = stage.client.enqueue(Long).await.expect("it is new");
    let seen = Arc::new(Seen::default());
    let worker = Worker::new(&stage.client).state(seen.clone()).handler(until_cancelled);
    let health = worker.health();
    let running = tokio::spawn(worker.run_until(std::future::pending()));
    seen.started.notified().await;
    stage.store.take_down(Verb::Renew, Fault::Silence);
    // The store's own end of the lease is 30 s from here at the earliest.
    stage.pass(Duration::from_secs(30)).await;
    settle().await;
    assert_eq!(
        *seen.cancelled.lock().expect("no test panics with it"),
        [Cancelled::Lost(Loss::Unanswered)]
    );
    assert!(stage.store.fired() > 0, "no renew was left without an answer");
    let found = stage.found(receipt.task()).await;
    assert!(matches!(found, Found::Left(left) if left.state == State::Succeeded), "{found:?}");
    assert_eq!(health.report().tally.succeeded, 1);
    running.abort();
}
