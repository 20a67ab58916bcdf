//! The claim of a [`Model`].

use std::time::Duration;

use leasehold_core::{Claim, Claimed, Lease, LimitKey, Purpose, State, StoredTask, Ticket};

use super::play::Play;
use super::queue::{Grant, Kept, Model, Recorded};
use super::rules::Draw;

impl Play<'_> {
    pub fn claim(&mut self, claim: &Claim) -> Claimed {
        let recorded = claim.ticket.and_then(|t| Some((t, self.model.claims.get(&t.claimer)?)));
        match recorded {
            Some((ticket, record)) if ticket.seq < record.seq => return Claimed::superseded(),
            Some((ticket, record)) if ticket.seq == record.seq => {
                let granted = record.granted.clone();
                return self.repeated(&granted);
            }
            _ => {}
        }
        self.skip_newer(claim.purpose);
        let mut leases = Vec::new();
        let mut full = Vec::new();
        while leases.len() < claim.max && !self.chosen(leases.len()) {
            let first = self.next(claim, &mut full);
            let Some(id) = self.picked(claim, leases.len()).or(first) else { break };
            leases.push(self.grant(&id, claim));
        }
        if let (Some(Ticket { claimer, seq }), false) = (claim.ticket, leases.is_empty()) {
            let granted = leases.iter().map(|lease| (lease.task_ref.id.clone(), lease.fence));
            let record = Recorded { seq, granted: granted.collect(), at: self.model.now };
            self.model.claims.insert(claimer, record);
        }
        // A claim that the store cut short has to say that there is more (LH-CLAIM-4).
        let more = leases.len() == claim.max || self.next(claim, &mut full).is_some();
        Claimed::new(leases, more)
    }

    /// Whether the store has granted as many as it chose to.
    fn chosen(&self, granted: usize) -> bool {
        self.choices.grants.as_ref().is_some_and(|chosen| chosen.len() <= granted)
    }

    /// What a store grants next that may choose the order, if the claim may take it.
    fn picked(&self, claim: &Claim, granted: usize) -> Option<String> {
        let chosen = self.choices.grants.as_ref().filter(|_| self.choices.free_order)?;
        let id = chosen.get(granted)?;
        self.may_take(claim, self.model.task(id)?).then(|| id.clone())
    }

    /// A repeat tells what still goes on, and grants nothing (LH-CLAIM-9).
    fn repeated(&self, granted: &[(String, leasehold_core::Fence)]) -> Claimed {
        let going = granted.iter().filter_map(|(id, fence)| {
            let task = self.model.task(id).filter(|task| task.fence == *fence)?;
            let guard = leasehold_core::Guard::new(task.task_ref.clone(), *fence);
            let over = self.rules.lost(self.model, task, &guard).is_some();
            (!over).then(|| Lease::of(task.clone(), self.model.now))
        });
        Claimed::new(going.collect(), false)
    }

    fn skip_newer(&mut self, purpose: Purpose) {
        let Model { newer, tasks, now, .. } = &*self.model;
        let newer = newer.iter().filter_map(|id| tasks.get(id)).map(|kept| &kept.task);
        let want = match purpose {
            Purpose::Run => leasehold_core::Status::Ready,
            Purpose::Rescue => leasehold_core::Status::Lapsed,
        };
        let skipped = newer.filter(|task| task.status(*now) == want).count();
        self.model.events.skipped_newer += skipped as u64;
    }

    /// The task that the claim takes next; keys that are met full are noted once.
    fn next(&mut self, claim: &Claim, full: &mut Vec<LimitKey>) -> Option<String> {
        loop {
            let (id, limit) = self.first(claim, full)?;
            let Some(key) = limit.filter(|_| claim.purpose == Purpose::Run) else {
                return Some(id);
            };
            self.model.sweep(&key);
            if self.rules.has_room(self.model, &key) {
                return Some(id);
            }
            self.model.events.blocked_by_limit += 1;
            full.push(key);
        }
    }

    fn first(&self, claim: &Claim, full: &[LimitKey]) -> Option<(String, Option<LimitKey>)> {
        let tasks = self.model.tasks.values().filter(|kept| self.may_take(claim, &kept.task));
        let open = tasks.filter(|kept| {
            claim.purpose == Purpose::Rescue
                || !kept.task.limit.as_ref().is_some_and(|key| full.contains(key))
        });
        let first = open.min_by_key(|kept| order(claim.purpose, kept))?;
        Some((first.task.task_ref.id.clone(), first.task.limit.clone()))
    }

    /// Whether the claim may take the task, limits apart.
    pub fn may_take(&self, claim: &Claim, task: &StoredTask) -> bool {
        let of_kind = claim.kinds.as_ref().is_none_or(|kinds| kinds.contains(&task.kind));
        let known = !self.model.newer.contains(&task.task_ref.id);
        let due = match claim.purpose {
            Purpose::Run => !self.model.settings.paused && self.rules.claimable(self.model, task),
            Purpose::Rescue => self.rules.lapsed(self.model, task),
        };
        of_kind && known && due
    }

    /// Gives the task away (LH-CLAIM-5, LH-LAPSE-2).
    pub fn grant(&mut self, id: &str, claim: &Claim) -> Lease {
        let fence = self.draw(id, Draw::Claim(claim.purpose));
        let now = self.model.now;
        let until = now.after(claim.ttl);
        let member = self.rules.slot_of(id, fence);
        let Model { tasks, slots, events, grants, .. } = &mut *self.model;
        let task = &mut tasks.get_mut(id).expect("a claim takes what is there").task;
        match claim.purpose {
            Purpose::Run => {
                task.run = Some(fence);
                task.attempt += 1;
                if let Some(key) = &task.limit {
                    slots.entry(key.clone()).or_default().insert(member, until);
                }
            }
            Purpose::Rescue if task.state == State::Leased(Purpose::Rescue) => {
                task.takeovers += 1;
                events.takeovers += 1;
            }
            Purpose::Rescue => events.lapsed += 1,
        }
        task.state = State::Leased(claim.purpose);
        task.fence = fence;
        task.until = Some(until);
        task.holder = Some(claim.holder.clone());
        let grant = Grant { holder: claim.holder.clone(), task: task.clone(), at: now };
        grants.insert((id.to_owned(), fence), grant);
        Lease::of(task.clone(), now)
    }

    /// Forgets claims that were recorded an hour ago and whose leases have ended.
    pub fn forget_claims(&mut self) {
        let over = self.model.claims.iter().filter(|(_, record)| {
            record.at.after(RECORD_MIN) <= self.model.now
                && self.repeated(&record.granted).leases.is_empty()
        });
        let over: Vec<_> = over.map(|(claimer, _)| *claimer).collect();
        for claimer in over {
            self.model.claims.remove(&claimer);
        }
    }
}

/// The order of service (LH-CLAIM-3), and for a rescue that of the leases' ends.
fn order(purpose: Purpose, kept: &Kept) -> (u8, leasehold_core::Timestamp, u64) {
    let task = &kept.task;
    match purpose {
        Purpose::Run => (9 - task.priority.level(), task.ready_at(), kept.seq),
        Purpose::Rescue => (0, task.until.unwrap_or(task.due), kept.seq),
    }
}

/// How long a claim is recorded at least (LH-CLAIM-9).
const RECORD_MIN: Duration = Duration::from_secs(60 * 60);
