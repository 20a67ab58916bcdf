//! [`drained`]: when the work of a worker's queues is done.

use std::sync::Arc;

use leasehold_core::Count;
use leasehold_core::clock::within;
use tokio::time::timeout;

use crate::clock;
use crate::serving::{CALL_DEADLINE, Serving};

/// Comes back when no queue has an unfinished task.
///
/// It looks twice, as a task may make another one in a queue that was counted already, and as
/// counts may lag; what this worker begins in between starts it all over.
pub(crate) async fn drained(servings: Vec<Arc<Serving>>) {
    let Some(first) = servings.first() else { return };
    let mut clean = None;
    loop {
        let idle = first.idle.notified();
        let begun = first.health.report().tally.claimed;
        let is_clean =
            servings.iter().all(|serving| serving.held.count() == 0) && all_clean(&servings).await;
        if is_clean && clean == Some(begun) {
            return;
        }
        clean = is_clean.then_some(begun);
        if is_clean {
            clock::pause(first.capabilities.count_lag).await;
        } else {
            let _ = timeout(first.settings.poll, idle).await;
        }
    }
}

async fn all_clean(servings: &[Arc<Serving>]) -> bool {
    for serving in servings {
        let count = serving.store.counts(Count::new(serving.queue.as_str()));
        match within(CALL_DEADLINE, count).await {
            Ok(counts) if counts.unfinished() == 0 => {}
            Ok(_) => return false,
            Err(error) => {
                tracing::warn!(target: "leasehold", queue = serving.queue, %error,
                    "it is not known whether the queue is done");
                clock::pause(serving.settings.poll).await;
                return false;
            }
        }
    }
    true
}
