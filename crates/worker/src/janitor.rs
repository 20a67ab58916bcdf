//! Purges finished tasks whose retention has passed, and lets the store mend its indexes.

use std::sync::Arc;

use leasehold_core::Purge;

use crate::clock;
use crate::health::Loop;
use crate::observe::Notice;
use crate::serving::{Body, Serving, spread};

/// Most tasks of one call: it must not hold up a claim for long.
const BATCH_MAX: usize = 500;

pub(crate) struct Janitor(pub(crate) Arc<Serving>);

impl Body for Janitor {
    const NAME: Loop = Loop::Janitor;

    async fn run(&mut self) {
        loop {
            clock::pause(spread(self.0.settings.purge_every)).await;
            while self.purge().await {}
        }
    }
}

impl Janitor {
    /// Tells whether there is more.
    async fn purge(&self) -> bool {
        let serving = &self.0;
        let queue = serving.queue.as_str();
        let max = BATCH_MAX.min(serving.capabilities.bounds.batch_max);
        let call = serving.store.purge(Purge::new(queue, max));
        let Ok(purged) = serving.call(Loop::Janitor, call).await else { return false };
        if purged.tasks > 0 {
            serving.notice(&Notice::Purged { queue, tasks: purged.tasks });
        }
        purged.more
    }
}
