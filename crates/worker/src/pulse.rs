//! Keeps the leases of what runs.

use std::sync::Arc;

use leasehold_core::{Error, Guard, LostReason, Renew, RenewItem, RenewVerdict};

use crate::clock::{self, Instant, after, now};
use crate::health::Loop;
use crate::held::Loss;
use crate::serving::{Body, Serving};

/// Renews every lease of a queue three times in its length, all of them by one call.
pub(crate) struct Pulse(pub(crate) Arc<Serving>);

impl Body for Pulse {
    const NAME: Loop = Loop::Pulse;

    async fn run(&mut self) {
        let third = self.0.settings.lease / 3;
        loop {
            // An unanswered renew is asked again soon: its lease has less left each time.
            let pause = if self.beat().await { third } else { third / 4 };
            clock::pause(pause).await;
        }
    }
}

impl Pulse {
    /// Tells whether every lease had an answer.
    async fn beat(&self) -> bool {
        let serving = &self.0;
        let items = serving.held.renews(serving.settings.lease);
        let mut answered = true;
        for items in items.chunks(serving.capabilities.bounds.batch_max) {
            answered &= self.renew(items.to_vec()).await;
        }
        answered
    }

    async fn renew(&self, items: Vec<RenewItem>) -> bool {
        let serving = &self.0;
        let guards: Vec<_> = items.iter().map(|item| item.guard.clone()).collect();
        let asked = now();
        let Ok(replies) = serving.call(Loop::Pulse, serving.store.renew(Renew::new(items))).await
        else {
            return false;
        };
        let mut answered = guards.len() == replies.len();
        for (guard, reply) in guards.iter().zip(replies) {
            answered &= self.conclude(guard, asked, reply);
        }
        answered
    }

    fn conclude(&self, guard: &Guard, asked: Instant, reply: Result<RenewVerdict, Error>) -> bool {
        match reply {
            Ok(RenewVerdict::Held { ttl_left }) => {
                self.0.held.extend(guard, after(asked, ttl_left));
                true
            }
            // Its own commit was faster than this renew: nothing is wrong.
            Ok(RenewVerdict::Lost(LostReason::Decided)) => true,
            Ok(RenewVerdict::Lost(reason)) => {
                self.0.held.lose(guard, Loss::Told(reason));
                true
            }
            Ok(RenewVerdict::Busy) => false,
            Err(error) => {
                self.0.trouble(Loop::Pulse, error);
                false
            }
        }
    }
}
