//! Leasehold, as a user writes it.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{Claim, Client, Configure, Context, Draft, Failure, Purpose, Receipt, Worker};
use leasehold_redis::{RedisBackend, RedisConfig};

use super::{Backlog, CONCURRENCY};
use crate::Fault;
use crate::clock::Start;
use crate::tally::Tally;
use crate::task::Nothing;

const QUEUE: &str = "bench";
const GROUP: &str = "bench";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn client(url: &str) -> Result<Client, Fault> {
    let config = RedisConfig::from_url(url)?;
    Ok(Client::new(Arc::new(RedisBackend::connect(config).await?)))
}

/// Enqueues tasks in one go.
pub async fn fill(url: &str, count: u64, backlog: Backlog) -> Result<Duration, Fault> {
    let client = client(url).await?;
    match backlog {
        Backlog::Ready => ready(&client, count).await,
        Backlog::Scheduled => scheduled(&client, count).await,
        Backlog::Blocked => blocked(&client, count).await,
    }
}

async fn ready(client: &Client, count: u64) -> Result<Duration, Fault> {
    let begun = Start::now();
    let receipts = client.enqueue_many(Nothing::many(count)).await?;
    let took = begun.elapsed();
    all_new(&receipts)?;
    Ok(took)
}

async fn scheduled(client: &Client, count: u64) -> Result<Duration, Fault> {
    let begun = Start::now();
    for from in (0..count).step_by(10_000) {
        let tasks = (from..count.min(from + 10_000)).map(Nothing::numbered);
        let drafts = tasks.map(|task| Draft::new(&task).delay(DAY));
        all_new(&client.enqueue_many(drafts).await?)?;
    }
    Ok(begun.elapsed())
}

/// Takes the only slot of a key for as long as a lease may last, puts the tasks behind it, and
/// claims until all of them are parked.
async fn blocked(client: &Client, count: u64) -> Result<Duration, Fault> {
    let store = client.store();
    store.configure(Configure::new(QUEUE).with_limit(GROUP, 1)).await?;
    let limited = |n| Draft::new(&Nothing::numbered(n)).limit(GROUP, "full");
    all_new(&client.enqueue_many([limited(0)]).await?)?;
    let one = Claim::new(QUEUE, Purpose::Run, 1, DAY, "bench");
    if store.claim(one.clone()).await?.leases.len() != 1 {
        return Err("the slot of the full key could not be taken".into());
    }
    for from in (1..=count).step_by(10_000) {
        all_new(&client.enqueue_many((from..=count.min(from + 9_999)).map(limited)).await?)?;
    }
    let begun = Start::now();
    loop {
        let claimed = store.claim(one.clone()).await?;
        match (claimed.leases.is_empty(), claimed.more) {
            (true, true) => {}
            (true, false) => return Ok(begun.elapsed()),
            (false, _) => return Err("the full key let a task through".into()),
        }
    }
}

fn all_new(receipts: &[Receipt]) -> Result<(), Fault> {
    let is_new = |receipt: &Receipt| matches!(receipt, Receipt::Enqueued(_));
    if receipts.iter().all(is_new) { Ok(()) } else { Err("a task was there already".into()) }
}

async fn nothing(_: Nothing, cx: Context<Arc<Tally>>) -> Result<(), Failure> {
    cx.state().handled();
    Ok(())
}

/// Runs a worker until it has handled so many tasks.
pub async fn drain(url: &str, count: u64) -> Result<Duration, Fault> {
    let client = client(url).await?;
    let tally = Arc::new(Tally::begin(count));
    let worker = Worker::new(&client).concurrency(CONCURRENCY).state(tally.clone());
    let report = worker.handler(nothing).run_until(tally.over()).await?;
    if report.tally.succeeded != count {
        return Err(format!("{} of {count} tasks succeeded", report.tally.succeeded).into());
    }
    tally.took()
}
