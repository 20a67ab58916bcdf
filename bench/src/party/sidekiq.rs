//! rusty-sidekiq, as its own README writes it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use sidekiq::{Processor, ProcessorConfig, RedisConnectionManager, RedisPool, Worker};

use super::CONCURRENCY;
use crate::Fault;
use crate::clock::Start;
use crate::tally::Tally;
use crate::task::Nothing;

const QUEUE: &str = "bench";

/// Tasks that are enqueued at a time: it has no call for many.
const AT_A_TIME: u64 = 16;

async fn pool(url: &str) -> Result<RedisPool, Fault> {
    let manager = RedisConnectionManager::new(url)?;
    // A connection for each handler, as each waits on its own.
    let size = u32::try_from(CONCURRENCY)?;
    Ok(bb8::Pool::builder().max_size(size).build(manager).await?)
}

#[derive(Clone)]
struct NothingWorker(Arc<Tally>);

#[async_trait]
impl Worker<Nothing> for NothingWorker {
    async fn perform(&self, _: Nothing) -> sidekiq::Result<()> {
        self.0.handled();
        Ok(())
    }
}

/// Enqueues tasks one by one, some at a time.
pub async fn fill(url: &str, count: u64) -> Result<Duration, Fault> {
    let pool = pool(url).await?;
    let begun = Start::now();
    let one = async |first: u64| {
        for n in (first..count).step_by(AT_A_TIME as usize) {
            let (class, queue) = (NothingWorker::class_name(), QUEUE.to_owned());
            sidekiq::perform_async(&pool, class, queue, Nothing::numbered(n)).await?;
        }
        Ok::<(), sidekiq::Error>(())
    };
    try_join_all((0..AT_A_TIME).map(one)).await?;
    Ok(begun.elapsed())
}

/// Runs a processor until it has handled so many tasks.
pub async fn drain(url: &str, count: u64) -> Result<Duration, Fault> {
    let pool = pool(url).await?;
    let tally = Arc::new(Tally::begin(count));
    let config = ProcessorConfig::default().num_workers(CONCURRENCY);
    let mut processor = Processor::new(pool, vec![QUEUE.to_owned()]).with_config(config);
    processor.register(NothingWorker(tally.clone()));
    // It is dropped, not stopped: its handlers wait for two seconds before they look up.
    tokio::select! {
        () = processor.run() => return Err("the processor ended by itself".into()),
        () = tally.over() => {}
    }
    tally.took()
}
