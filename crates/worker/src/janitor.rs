//! Purges finished tasks whose retention has passed, and lets the store mend its indexes.

use std::sync::Arc;
use std::time::Duration;

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
        let mut pause = spread(self.0.settings.purge_every);
        loop {
            clock::pause(pause).await;
            pause = self.purge().await;
        }
    }
}

impl Janitor {
    /// Tells how long to wait before the next one.
    async fn purge(&self) -> Duration {
        let serving = &self.0;
        let queue = serving.queue.as_str();
        let max = BATCH_MAX.min(serving.capabilities.bounds.batch_max);
        let call = serving.store.purge(Purge::new(queue, max));
        let purged = match serving.call(Loop::Janitor, call).await {
            Ok(purged) => purged,
            Err(trouble) => return trouble.pause(),
        };
        if purged.tasks > 0 {
            serving.notice(&Notice::Purged { queue, tasks: purged.tasks });
        }
        if purged.more { Duration::ZERO } else { spread(serving.settings.purge_every) }
    }
}
