//! claim: the only way a task changes hands.

use std::time::Duration;

use super::Source;
use super::queue::{Entry, Queue, place_of};
use crate::{Claim, Claimed, Fence, Lease, LimitKey, Purpose, State, Status, Ticket, Timestamp};

/// The newest claim of one claiming loop (LH-CLAIM-9).
pub(crate) struct ClaimRecord {
    seq: u64,
    granted: Vec<(String, Fence)>,
    at: Timestamp,
}

/// How long a claim is recorded at least.
const RECORD_MIN: Duration = Duration::from_secs(60 * 60);

impl Queue {
    pub fn claim(&mut self, request: &Claim, now: Timestamp, source: &mut Source) -> Claimed {
        let record = request.ticket.and_then(|t| Some((t, self.claims.get(&t.claimer)?)));
        match record {
            Some((ticket, record)) if ticket.seq < record.seq => return Claimed::superseded(),
            Some((ticket, record)) if ticket.seq == record.seq => return self.repeat(record, now),
            _ => {}
        }
        let want = match request.purpose {
            Purpose::Run => Status::Ready,
            Purpose::Rescue => Status::Lapsed,
        };
        let newer = self.newer.iter().filter_map(|id| self.tasks.get(id));
        let skipped = newer.filter(|entry| entry.task.status(now) == want).count();
        self.events.skipped_newer += skipped as u64;
        let claimed = match request.purpose {
            Purpose::Run if self.settings.paused => Claimed::default(),
            Purpose::Run => self.claim_ready(request, now, source),
            Purpose::Rescue => self.claim_lapsed(request, now, source),
        };
        if let (Some(Ticket { claimer, seq }), false) = (request.ticket, claimed.leases.is_empty())
        {
            let pairs = claimed.leases.iter().map(|l| (l.task_ref.id.clone(), l.fence));
            self.claims.insert(claimer, ClaimRecord { seq, granted: pairs.collect(), at: now });
        }
        claimed
    }

    /// A repeat returns what it still holds and never grants.
    fn repeat(&self, record: &ClaimRecord, now: Timestamp) -> Claimed {
        let held = record.granted.iter().filter_map(|(id, fence)| self.held(id, *fence, now));
        Claimed::new(held.collect(), false)
    }

    /// The lease of a claim that still goes on.
    fn held(&self, id: &str, fence: Fence, now: Timestamp) -> Option<Lease> {
        let task = &self.tasks.get(id)?.task;
        self.lost(task, fence, now).is_none().then(|| Lease::of(task.clone(), now))
    }

    pub fn forget_claims(&mut self, now: Timestamp) {
        let mut claims = std::mem::take(&mut self.claims);
        claims.retain(|_, record| {
            record.at.after(RECORD_MIN) > now
                || record.granted.iter().any(|(id, fence)| self.held(id, *fence, now).is_some())
        });
        self.claims = claims;
    }

    fn claim_ready(&mut self, request: &Claim, now: Timestamp, source: &mut Source) -> Claimed {
        let mut leases = Vec::new();
        let mut full = Vec::new();
        while leases.len() < request.max {
            let Some((id, lane)) = self.best(request, &full, now) else { break };
            if lane.as_ref().is_some_and(|key| !self.has_slot(key, now)) {
                self.events.blocked_by_limit += 1;
                full.push(lane);
            } else {
                leases.push(self.grant(&id, request, now, source));
            }
        }
        let more = leases.len() == request.max;
        Claimed::new(leases, more)
    }

    /// The first claimable task in the order of service, and its lane; full lanes apart.
    fn best(
        &self,
        request: &Claim,
        full: &[Option<LimitKey>],
        now: Timestamp,
    ) -> Option<(String, Option<LimitKey>)> {
        let open = self.lanes.iter().filter(|(lane, _)| !full.contains(lane));
        let firsts = open.filter_map(|(lane, places)| {
            // Rank by rank, so that what is not yet due is never looked at.
            let mut ready = (0..=9)
                .flat_map(|rank| places.range((rank, Timestamp::MIN, 0)..=(rank, now, u64::MAX)));
            // An entry that its task does not bear out grants nothing; purge drops it.
            let (place, id) = ready.find(|(place, id)| {
                self.wants(request, id, |e| {
                    e.task.state == State::Waiting && place_of(e) == **place
                })
            })?;
            Some((place, id, lane))
        });
        firsts.min().map(|(_, id, lane)| (id.clone(), lane.clone()))
    }

    /// Whether the claim may take this task: where the index says, of a kind asked for, and not of
    /// a newer version, which is left as it is (LH-LAPSE-8, LH-CLAIM-10, LH-CLAIM-11).
    fn wants(&self, request: &Claim, id: &String, stands: impl Fn(&Entry) -> bool) -> bool {
        let of_kind = |e: &Entry| request.kinds.as_ref().is_none_or(|k| k.contains(&e.task.kind));
        let takes = |entry: &Entry| stands(entry) && of_kind(entry);
        !self.newer.contains(id) && self.tasks.get(id).is_some_and(takes)
    }

    fn claim_lapsed(&mut self, request: &Claim, now: Timestamp, source: &mut Source) -> Claimed {
        let lapsed = self.leases.iter().take_while(|(until, _)| *until <= now);
        let wanted = lapsed.filter(|(until, id)| {
            self.wants(request, id, |entry| entry.task.until == Some(*until))
        });
        let ids: Vec<_> = wanted.take(request.max).map(|(_, id)| id.clone()).collect();
        let leases: Vec<_> = ids.iter().map(|id| self.grant(id, request, now, source)).collect();
        let more = leases.len() == request.max;
        Claimed::new(leases, more)
    }

    /// Fence, run, attempt, lease end and slot in one step (LH-CLAIM-5).
    fn grant(&mut self, id: &str, request: &Claim, now: Timestamp, source: &mut Source) -> Lease {
        self.unplace(id);
        let task = &mut self.tasks.get_mut(id).expect("an index names stored tasks only").task;
        let until = now.after(request.ttl);
        task.fence = source.fence();
        task.until = Some(until);
        task.holder = Some(request.holder.clone());
        match request.purpose {
            Purpose::Run => {
                task.run = Some(task.fence);
                task.attempt = task.attempt.saturating_add(1);
                if let Some(key) = &task.limit {
                    let slots = self.slots.entry(key.clone()).or_default();
                    slots.insert((id.to_owned(), task.fence), until);
                }
            }
            Purpose::Rescue if task.state == State::Leased(Purpose::Rescue) => {
                task.takeovers = task.takeovers.saturating_add(1);
                self.events.takeovers += 1;
            }
            Purpose::Rescue => self.events.lapsed += 1,
        }
        task.state = State::Leased(request.purpose);
        let lease = Lease::of(task.clone(), now);
        self.place(id);
        lease
    }
}
