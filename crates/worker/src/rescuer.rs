//! Decides about lapsed leases, whoever held them.

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{Claim, ClaimerId, Features, Purpose};
use tokio::select;
use tokio::sync::mpsc;

use crate::clock;
use crate::commits::Decision;
use crate::health::{Loop, Phase};
use crate::serving::{Body, Serving, becomes, spread};

/// Most lapsed leases of one claim.
const BATCH_MAX: usize = 100;

pub(crate) struct Rescuer {
    serving: Arc<Serving>,
    claimer: ClaimerId,
    seq: u64,
    /// A claim that has had no answer, to be asked again under the same number.
    open: Option<Claim>,
    decided: mpsc::Sender<Decision>,
}

impl Rescuer {
    pub(crate) fn new(serving: Arc<Serving>, decided: mpsc::Sender<Decision>) -> Self {
        Self { serving, claimer: ClaimerId::fresh(), seq: 0, open: None, decided }
    }

    /// Claims what has lapsed and hands its decisions on. Tells how long to wait before the
    /// next pass; not at all when there is more.
    async fn pass(&mut self) -> Option<Duration> {
        let serving = self.serving.clone();
        let claim = self.open.take().unwrap_or_else(|| self.next());
        self.open = Some(claim.clone());
        let claimed = match serving.call(Loop::Rescuer, serving.store.claim(claim)).await {
            Ok(claimed) => claimed,
            Err(trouble) => return Some(trouble.pause()),
        };
        self.open = None;
        if claimed.superseded {
            // Somebody else counts on under this loop's id: a new one is ours alone.
            self.claimer = ClaimerId::fresh();
        }
        for lease in claimed.leases {
            // The channel is closed only when the worker is gone.
            let _ = self.decided.send(Decision::of_rescue(lease)).await;
        }
        (!claimed.more).then(|| spread(serving.settings.rescue_every))
    }

    fn next(&mut self) -> Claim {
        let Serving { queue, settings, capabilities, .. } = &*self.serving;
        let max = BATCH_MAX.min(capabilities.bounds.claim_max);
        let (ttl, holder) = (settings.lease, settings.holder.as_str());
        let claim = Claim::new(queue.as_str(), Purpose::Rescue, max, ttl, holder);
        if !capabilities.features.contains(Features::REPLAY) {
            return claim;
        }
        self.seq += 1;
        claim.with_ticket(self.claimer, self.seq)
    }
}

impl Body for Rescuer {
    const NAME: Loop = Loop::Rescuer;

    /// Ends when the worker stops, and never between a claim and its decision: a rescue that
    /// lapses in its turn costs the task one of its few takeovers (LH-LAPSE-9).
    async fn run(&mut self) {
        let serving = self.serving.clone();
        while !serving.is_stopping() {
            let pause = self.pass().await;
            let ready = async {
                if let Some(pause) = pause {
                    clock::pause(pause).await;
                }
                // What cannot be written would lapse as well.
                becomes(&serving.writable, true).await;
            };
            select! {
                () = serving.reached(Phase::Stopping) => {}
                () = ready => {}
            }
        }
    }
}
