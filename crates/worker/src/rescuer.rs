//! Decides about lapsed leases, whoever held them.

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::Purpose;
use tokio::select;
use tokio::sync::mpsc;

use crate::clock;
use crate::commits::Decision;
use crate::health::{Loop, Phase};
use crate::serving::{Body, Serving, becomes, spread};
use crate::tickets::Tickets;

/// Most lapsed leases of one claim.
const BATCH_MAX: usize = 100;

pub(crate) struct Rescuer {
    serving: Arc<Serving>,
    tickets: Tickets,
    decided: mpsc::Sender<Decision>,
}

impl Rescuer {
    pub(crate) fn new(serving: Arc<Serving>, decided: mpsc::Sender<Decision>) -> Self {
        Self { serving, tickets: Tickets::new(), decided }
    }

    /// Claims what has lapsed and hands its decisions on. Tells how long to wait before the
    /// next pass; not at all when there is more.
    async fn pass(&mut self) -> Option<Duration> {
        let serving = self.serving.clone();
        let max = BATCH_MAX.min(serving.capabilities.bounds.claim_max);
        let claim = self.tickets.claim(&serving, Loop::Rescuer, Purpose::Rescue, max, None);
        let claimed = match claim.await {
            Ok(claimed) => claimed,
            Err(trouble) => return Some(trouble.pause()),
        };
        for lease in claimed.leases {
            // The channel is closed only when the worker is gone.
            let _ = self.decided.send(Decision::of_rescue(lease)).await;
        }
        (!claimed.more).then(|| spread(serving.settings.rescue_every))
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
