//! [`Tickets`]: how a loop claims.

use leasehold_core::{Claim, Claimed, ClaimerId, Features, Purpose};

use crate::health::Loop;
use crate::serving::{Serving, Trouble};

/// Numbers the claims of one loop, so that a repeat returns what was granted and never grants
/// twice (LH-CLAIM-9).
pub(crate) struct Tickets {
    claimer: ClaimerId,
    seq: u64,
    /// A claim that has had no answer, to be asked again under the same number.
    open: Option<Claim>,
}

impl Tickets {
    pub(crate) fn new() -> Self {
        Self { claimer: ClaimerId::fresh(), seq: 0, open: None }
    }

    /// Claims once: what had no answer before, or else up to `max` tasks.
    pub(crate) async fn claim(
        &mut self,
        serving: &Serving,
        name: Loop,
        purpose: Purpose,
        max: usize,
        kinds: Option<&[&'static str]>,
    ) -> Result<Claimed, Trouble> {
        let claim = match &self.open {
            Some(open) => open.clone(),
            None => self.next(serving, purpose, max, kinds),
        };
        let claimed = serving.call(name, serving.store.claim(claim)).await?;
        self.open = None;
        if claimed.superseded {
            // Somebody else counts on under this loop's id: a new one is ours alone.
            *self = Self::new();
        }
        Ok(claimed)
    }

    fn next(
        &mut self,
        serving: &Serving,
        purpose: Purpose,
        max: usize,
        kinds: Option<&[&'static str]>,
    ) -> Claim {
        let Serving { queue, settings, capabilities, .. } = serving;
        let (ttl, holder) = (settings.lease, settings.holder.as_str());
        let mut claim = Claim::new(queue.as_str(), purpose, max, ttl, holder);
        if let Some(kinds) = kinds {
            claim = claim.with_kinds(kinds.iter().copied());
        }
        if capabilities.features.contains(Features::REPLAY) {
            self.seq += 1;
            claim = claim.with_ticket(self.claimer, self.seq);
            self.open = Some(claim.clone());
        }
        claim
    }
}
