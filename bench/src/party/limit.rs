//! What the server allows at best: a plain loop of claim, lease, fence check and commit, and
//! nothing else. No order by time or priority, no repeats, no rescue, no limits, no records.

use std::time::Duration;

use redis::Script;
use redis::aio::MultiplexedConnection;

use super::{BULK, CONCURRENCY, Step};
use crate::Fault;
use crate::clock::Start;
use crate::tally::Tally;
use crate::task::Nothing;

const READY: &str = "{limit}";
const LEASED: &str = "{limit}:leased";
const FENCE: &str = "{limit}:fence";

/// A lease's length, in ms.
const TTL_MS: u64 = 30_000;

/// The scripts of one loop.
pub struct Scripts {
    enqueue: &'static str,
    claim: &'static str,
    commit: &'static str,
}

/// A hash for each task.
pub const PLAIN: Scripts = Scripts {
    enqueue: include_str!("../../lua/plain_enqueue.lua"),
    claim: include_str!("../../lua/plain_claim.lua"),
    commit: include_str!("../../lua/plain_commit.lua"),
};

/// One hash for all tasks.
pub const VARIADIC: Scripts = Scripts {
    enqueue: include_str!("../../lua/variadic_enqueue.lua"),
    claim: include_str!("../../lua/variadic_claim.lua"),
    commit: include_str!("../../lua/variadic_commit.lua"),
};

/// Fills or drains by these scripts.
pub async fn run(scripts: Scripts, url: &str, step: Step, count: u64) -> Result<Duration, Fault> {
    let mut server = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    match step {
        Step::Fill(_) => fill(&scripts, &mut server, count).await,
        Step::Drain => drain(&scripts, &mut server, count).await,
    }
}

async fn fill(
    scripts: &Scripts,
    server: &mut MultiplexedConnection,
    count: u64,
) -> Result<Duration, Fault> {
    let script = Script::new(scripts.enqueue);
    let begun = Start::now();
    let tasks: Vec<Nothing> = Nothing::many(count).collect();
    for (call, tasks) in tasks.chunks(BULK).enumerate() {
        let mut run = script.key(READY);
        for (at, task) in tasks.iter().enumerate() {
            // As long as the ids of real ones are.
            run.arg(format!("{:032x}", call * BULK + at)).arg(serde_json::to_vec(task)?);
        }
        let stored: usize = run.invoke_async(server).await?;
        if stored != tasks.len() {
            return Err(format!("{stored} of {} tasks were stored", tasks.len()).into());
        }
    }
    Ok(begun.elapsed())
}

async fn drain(
    scripts: &Scripts,
    server: &mut MultiplexedConnection,
    count: u64,
) -> Result<Duration, Fault> {
    let (claim, commit) = (Script::new(scripts.claim), Script::new(scripts.commit));
    let tally = Tally::begin(count);
    let mut left = count;
    while left > 0 {
        let mut run = claim.key(READY);
        run.key(LEASED).key(FENCE).arg(CONCURRENCY).arg(TTL_MS);
        let claimed: Vec<Vec<u8>> = run.invoke_async(server).await?;
        let (fence, leases) = claimed.split_first().ok_or("a claim without a fence")?;
        let mut run = commit.key(READY);
        run.key(LEASED).arg(fence);
        for lease in leases.chunks(2) {
            let _: Nothing = serde_json::from_slice(&lease[1])?;
            tally.handled();
            run.arg(&lease[0]);
        }
        let committed: usize = run.invoke_async(server).await?;
        if committed == 0 || committed != leases.len() / 2 {
            return Err(format!("{committed} of {} commits counted", leases.len() / 2).into());
        }
        left = left.saturating_sub(committed as u64);
    }
    tally.took()
}
