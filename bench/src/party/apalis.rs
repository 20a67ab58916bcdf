//! apalis-redis, as its own README writes it.

use std::sync::Arc;
use std::time::Duration;

use apalis::prelude::{
    BackendExt, BoxDynError, Data, TaskSink, WorkerBuilder, WorkerBuilderExt, WorkerError,
};
use apalis_redis::{Config, RedisStorage};

use super::{BULK, CONCURRENCY};
use crate::Fault;
use crate::clock::Start;
use crate::tally::Tally;
use crate::task::Nothing;

/// Tasks of one fetch. Its default of 10 served it worse, and so did 500.
const BATCH: usize = 100;

/// How often it looks for tasks; it has no wake-up.
const POLL: Duration = Duration::from_millis(10);

async fn storage(url: &str, locks: bool) -> Result<RedisStorage<Nothing>, Fault> {
    let server = apalis_redis::connect(url).await?;
    let config = Config::default().queue("bench").batch_size(BATCH).lock_tasks(locks);
    Ok(RedisStorage::new(server).with_config(config))
}

/// Pushes tasks, in calls of as many as the other parties put into one.
pub async fn fill(url: &str, count: u64) -> Result<Duration, Fault> {
    let mut storage = storage(url, true).await?;
    let begun = Start::now();
    let tasks: Vec<Nothing> = Nothing::many(count).collect();
    for tasks in tasks.chunks(BULK) {
        storage.push_bulk(tasks.to_vec()).await?;
    }
    Ok(begun.elapsed())
}

async fn nothing(_: Nothing, tally: Data<Arc<Tally>>) -> Result<(), BoxDynError> {
    tally.handled();
    Ok(())
}

/// Runs a worker until it has handled so many tasks.
pub async fn drain(url: &str, count: u64, locks: bool) -> Result<Duration, Fault> {
    let storage = storage(url, locks).await?;
    let tally = Arc::new(Tally::begin(count));
    let over = tally.clone();
    let worker = WorkerBuilder::new("bench")
        .backend(storage.poll_with_interval(POLL))
        .concurrency(CONCURRENCY)
        .data(tally.clone())
        .build(nothing);
    let stop = async move {
        over.over().await;
        Ok::<(), WorkerError>(())
    };
    worker.run_until(stop).await?;
    tally.took()
}
