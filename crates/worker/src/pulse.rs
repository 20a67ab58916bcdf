//! Keeps the leases of what runs.

use std::sync::Arc;

use futures_util::future::join_all;
use leasehold_core::clock::within;
use leasehold_core::{Error, ErrorKind, Guard, LostReason, Renew, RenewItem, RenewVerdict};

use crate::clock::{self, Instant, after, now};
use crate::health::Loop;
use crate::held::{Loss, ends};
use crate::serving::{Body, Serving};

/// Renews every lease of a queue three times in its length, by as few calls as the store
/// takes, and all of these at a time.
pub(crate) struct Pulse(pub(crate) Arc<Serving>);

impl Body for Pulse {
    const NAME: Loop = Loop::Pulse;

    async fn run(&mut self) {
        let third = self.0.settings.lease / 3;
        loop {
            // Counted from before the call, so that a slow answer does not stretch the beat. An
            // unanswered renew is asked again soon: its lease has less left each time.
            let began = now();
            let next =
                if self.beat().await { after(began, third) } else { after(now(), third / 4) };
            clock::until(next).await;
        }
    }
}

impl Pulse {
    /// Tells whether every lease had an answer.
    async fn beat(&self) -> bool {
        let serving = &self.0;
        let items = serving.held.renews(serving.settings.lease);
        let calls = items.chunks(serving.capabilities.bounds.batch_max);
        let answers = join_all(calls.map(|items| self.renew(items.to_vec()))).await;
        match answers.into_iter().find_map(Result::err) {
            Some(error) => {
                serving.trouble(Loop::Pulse, error);
                false
            }
            None => {
                serving.well(Loop::Pulse);
                true
            }
        }
    }

    async fn renew(&self, items: Vec<RenewItem>) -> Result<(), Error> {
        let serving = &self.0;
        let guards: Vec<_> = items.iter().map(|item| item.guard.clone()).collect();
        let asked = now();
        let call = serving.store.renew(Renew::new(items));
        let replies = within(serving.settings.renew_deadline(), call).await?;
        if replies.len() != guards.len() {
            let what = "a backend broke LH-GEN-2: one reply an item";
            return Err(Error::new(ErrorKind::Internal, what));
        }
        let mut all = Ok(());
        for (guard, reply) in guards.iter().zip(replies) {
            all = all.and(self.conclude(guard, asked, reply));
        }
        all
    }

    /// An error means that there is no answer yet.
    fn conclude(
        &self,
        guard: &Guard,
        asked: Instant,
        reply: Result<RenewVerdict, Error>,
    ) -> Result<(), Error> {
        let serving = &self.0;
        match reply? {
            RenewVerdict::Held { ttl_left } => {
                let ends = ends(asked, ttl_left, serving.settings.lease);
                serving.held.extend(guard, ends);
            }
            // Its own commit was faster than this renew: nothing is wrong.
            RenewVerdict::Lost(LostReason::Decided) => {}
            RenewVerdict::Lost(reason) => serving.held.lose(guard, Loss::Told(reason)),
            RenewVerdict::Busy => {
                let what = "somebody else's transaction holds the task";
                return Err(Error::new(ErrorKind::Unavailable, what).with_task(&guard.task));
            }
        }
        Ok(())
    }
}
