//! Decides about lapsed leases, whoever held them.

use std::sync::Arc;

use leasehold_core::{
    Claim, ClaimerId, Commit, CommitItem, Error, ErrorKind, Features, Lease, Purpose, decide,
};

use crate::clock;
use crate::health::Loop;
use crate::observe::{Notice, Verdict};
use crate::serving::{Body, Serving, spread};

/// Most lapsed leases of one claim.
const BATCH_MAX: usize = 100;

pub(crate) struct Rescuer {
    serving: Arc<Serving>,
    claimer: ClaimerId,
    seq: u64,
    /// The last claim had no answer: it is asked again under the same number.
    repeats: bool,
}

impl Rescuer {
    pub(crate) fn new(serving: Arc<Serving>) -> Self {
        Self { serving, claimer: ClaimerId::fresh(), seq: 0, repeats: false }
    }

    /// Claims what has lapsed and decides about it; tells whether there is more.
    async fn pass(&mut self) -> bool {
        let serving = self.serving.clone();
        let claimed = serving.call(Loop::Rescuer, serving.store.claim(self.claim())).await;
        self.repeats = claimed.is_err();
        let Ok(claimed) = claimed else { return false };
        if claimed.superseded {
            *self = Self::new(serving);
            return true;
        }
        let decisions: Vec<_> = claimed.leases.into_iter().map(decision).collect();
        self.commit(decisions).await;
        claimed.more
    }

    fn claim(&mut self) -> Claim {
        let Serving { queue, settings, capabilities, .. } = &*self.serving;
        let max = BATCH_MAX.min(capabilities.bounds.claim_max).min(capabilities.bounds.batch_max);
        let (ttl, holder) = (settings.lease, settings.holder.as_str());
        let claim = Claim::new(queue.as_str(), Purpose::Rescue, max, ttl, holder);
        if !capabilities.features.contains(Features::REPLAY) {
            return claim;
        }
        self.seq += u64::from(!self.repeats);
        claim.with_ticket(self.claimer, self.seq.max(1))
    }

    /// Asks until each has its verdict: a rescue that lapses in its turn costs the task one of
    /// its few takeovers (LH-LAPSE-9).
    async fn commit(&self, mut decisions: Vec<(Lease, CommitItem)>) {
        let serving = &self.serving;
        let mut unanswered = false;
        while !decisions.is_empty() {
            let items = decisions.iter().map(|(_, item)| item.clone()).collect();
            let call = serving.store.commit(Commit::new(items));
            let replies = match serving.call(Loop::Rescuer, call).await {
                Ok(replies) => replies,
                Err(trouble) if trouble.error.kind() == ErrorKind::Unavailable => {
                    unanswered = true;
                    clock::pause(trouble.pause()).await;
                    continue;
                }
                // What cannot be written lapses, and the next pass takes it over.
                Err(_) => return,
            };
            let mut again = Vec::new();
            for ((lease, item), reply) in decisions.into_iter().zip(replies) {
                match reply {
                    Ok(reply) => {
                        let verdict = Verdict::of(reply, lease.fence, unanswered);
                        self.tell(&lease, &item, &verdict);
                    }
                    Err(error) if error.kind() == ErrorKind::Unavailable => {
                        again.push((lease, item));
                    }
                    Err(error) => self.refused(&lease, &item, error),
                }
            }
            decisions = again;
            if !decisions.is_empty() {
                unanswered = true;
                clock::pause(spread(serving.settings.rescue_every)).await;
            }
        }
    }

    fn refused(&self, lease: &Lease, item: &CommitItem, error: Error) {
        self.tell(lease, item, &Verdict::Refused(error));
    }

    fn tell(&self, lease: &Lease, item: &CommitItem, verdict: &Verdict) {
        self.serving.notice(&Notice::Rescued { lease, change: &item.change, verdict });
    }
}

fn decision(lease: Lease) -> (Lease, CommitItem) {
    let item = CommitItem::new(lease.guard(), decide::rescue(&lease));
    (lease, item)
}

impl Body for Rescuer {
    const NAME: Loop = Loop::Rescuer;

    async fn run(&mut self) {
        loop {
            while self.pass().await {}
            clock::pause(spread(self.serving.settings.rescue_every)).await;
        }
    }
}
