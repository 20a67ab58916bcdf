//! Claims that are repeated: what is recorded, for how long, and what a repeat returns.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use leasehold_conformance::model::{Model, Op, Reply};
use leasehold_core::clause;
use leasehold_core::{Claim, Claimed, ClaimerId, LimitKey, Purpose, Ticket};

use super::task;
use crate::charge::Charge;
use crate::sin::{Sin, after, before};

pub const ALL: &[Charge] = &[
    Charge {
        name: "a repeat grants again",
        what: "a claim's name is not looked at",
        sin: || before(unnamed),
        killed_by: &[
            ("model/sequential_histories", clause::CLAIM_9),
            ("replay/returns_what_it_holds", clause::CLAIM_9),
            ("replay/never_grants_anew", clause::CLAIM_9),
        ],
        also: "replay",
        ..Charge::NONE
    },
    Charge {
        name: "a repeat returns a stored reply",
        what: "a repeat is answered with the leases as they were granted",
        met: "mutant, 3 steps",
        sin: || Arc::new(Stored::default()),
        killed_by: &[
            ("replay/returns_only_the_rest", clause::CLAIM_9),
            ("replay/returns_nothing_lapsed", clause::CLAIM_9),
        ],
        also: "replay",
        ..Charge::NONE
    },
    Charge {
        name: "claims are recorded in the lease",
        what: "a claim whose leases have all ended is forgotten, and its repeat grants",
        met: "mutant, 3 steps",
        sin: || before(recorded_in_the_lease),
        killed_by: &[("replay/never_grants_anew", clause::CLAIM_9)],
        also: "replay",
        ..Charge::NONE
    },
    Charge {
        name: "claims leave with their tasks",
        what: "a claim whose tasks have left is forgotten, and its repeat grants",
        met: "mutant, 4 steps",
        sin: || before(recorded_in_the_task),
        killed_by: &[("replay/kept_for_an_hour_at_least", clause::CLAIM_9)],
        ..Charge::NONE
    },
    Charge {
        name: "claims are recorded for a minute",
        what: "the record of a claim is dropped after a minute",
        sin: || {
            before(|model, _| {
                let minute = std::time::Duration::from_secs(60);
                let now = model.now;
                model.claims.retain(|_, record| record.at.after(minute) > now);
            })
        },
        killed_by: &[
            ("replay/kept_for_an_hour_at_least", clause::CLAIM_9),
            ("replay/kept_until_its_pairs_have_ended", clause::CLAIM_9),
        ],
        ..Charge::NONE
    },
    Charge {
        name: "an older claim grants",
        what: "a smaller number than the recorded one is a new claim",
        sin: || before(older_is_new),
        killed_by: &[("replay/smaller_seq_is_superseded", clause::CLAIM_9)],
        also: "replay",
        ..Charge::NONE
    },
    Charge {
        name: "superseded is not told",
        what: "a smaller number gets nothing and is not told why",
        sin: || {
            after(|_, _, _, reply| {
                if let Reply::Claimed(claimed) = reply {
                    claimed.superseded = false;
                }
            })
        },
        killed_by: &[("replay/smaller_seq_is_superseded", clause::CLAIM_9)],
        also: "replay",
        ..Charge::NONE
    },
    Charge {
        name: "no repeat in a paused queue",
        what: "a paused queue answers a repeat with nothing",
        sin: || {
            after(|before, _, op, reply| {
                if let (Op::Claim(claim), Reply::Claimed(claimed)) = (op, reply)
                    && claim.purpose == Purpose::Run
                    && before.settings.paused
                {
                    claimed.leases.clear();
                }
            })
        },
        killed_by: &[("replay/repeats_in_a_paused_queue", clause::CLAIM_9)],
        ..Charge::NONE
    },
    Charge {
        name: "loops share their record",
        what: "claims are recorded by their holder's name",
        sin: || {
            before(|_, op| {
                if let Op::Claim(Claim { ticket: Some(ticket), .. }) = op {
                    ticket.claimer = ClaimerId::from_bits(0);
                }
            })
        },
        killed_by: &[("replay/another_loop_has_its_own", clause::CLAIM_9)],
        ..Charge::NONE
    },
    Charge {
        name: "rescue claims are not recorded",
        what: "a rescuer's repeat grants again",
        sin: || {
            before(|model, op| {
                if matches!(op, Op::Claim(claim) if claim.purpose == Purpose::Rescue) {
                    unnamed(model, op);
                }
            })
        },
        killed_by: &[("replay/rescue_claims_repeat", clause::CLAIM_9)],
        also: "replay",
        ..Charge::NONE
    },
    Charge {
        name: "a repeat returns leases without slots",
        what: "a repeat does not look whether the slots still stand",
        sin: || Arc::new(NoSlots::default()),
        killed_by: &[("replay/no_lease_without_its_slot", clause::CLAIM_9)],
        ..Charge::NONE
    },
    Charge {
        name: "a repeat extends",
        what: "a repeat begins the leases anew",
        sin: || after(repeat_extends),
        killed_by: &[("replay/returns_what_it_holds", clause::CLAIM_9)],
        also: "replay",
        ..Charge::NONE
    },
];

fn unnamed(_: &mut Model, op: &mut Op) {
    if let Op::Claim(claim) = op {
        claim.ticket = None;
    }
}

/// The replies of claims by their names.
#[derive(Default)]
struct Stored(Mutex<BTreeMap<(ClaimerId, u64), Claimed>>);

impl Sin for Stored {
    fn after(&self, before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        let (Op::Claim(claim), Reply::Claimed(claimed)) = (op, reply) else { return };
        let Some(Ticket { claimer, seq }) = claim.ticket else { return };
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if before.claims.get(&claimer).is_some_and(|record| record.seq == seq) {
            if let Some(first) = stored.get(&(claimer, seq)) {
                claimed.clone_from(first);
            }
        } else if next.claims.contains_key(&claimer) {
            stored.insert((claimer, seq), claimed.clone());
        }
    }
}

fn recorded_in_the_lease(model: &mut Model, op: &mut Op) {
    if matches!(op, Op::Claim(_)) {
        let Model { claims, tasks, .. } = model;
        claims.retain(|_, record| {
            record
                .granted
                .iter()
                .any(|(id, fence)| tasks.get(id).is_some_and(|kept| kept.task.fence == *fence))
        });
    }
}

fn recorded_in_the_task(model: &mut Model, op: &mut Op) {
    if matches!(op, Op::Claim(_)) {
        let Model { claims, tasks, .. } = model;
        claims.retain(|_, record| record.granted.iter().any(|(id, _)| tasks.contains_key(id)));
    }
}

fn older_is_new(model: &mut Model, op: &mut Op) {
    if let Op::Claim(Claim { ticket: Some(ticket), .. }) = op
        && model.claims.get(&ticket.claimer).is_some_and(|record| record.seq > ticket.seq)
    {
        model.claims.remove(&ticket.claimer);
    }
}

/// The limit keys that a repeat does not look at, by their tasks.
#[derive(Default)]
struct NoSlots(Mutex<BTreeMap<String, LimitKey>>);

impl Sin for NoSlots {
    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        let Op::Claim(Claim { ticket: Some(ticket), .. }) = op else { return };
        let Model { claims, tasks, .. } = model;
        let record = claims.get(&ticket.claimer).filter(|record| record.seq == ticket.seq);
        let mut hidden = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, _) in record.into_iter().flat_map(|record| &record.granted) {
            let key = tasks.get_mut(id).and_then(|kept| kept.task.limit.take());
            hidden.extend(key.map(|key| (id.clone(), key)));
        }
    }

    fn after(&self, _: &Model, next: &mut Model, _: &Op, reply: &mut Reply) {
        let mut hidden = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, key) in std::mem::take(&mut *hidden) {
            if let Reply::Claimed(claimed) = &mut *reply {
                let leases = claimed.leases.iter_mut();
                for lease in leases.filter(|lease| lease.task_ref.id == id) {
                    lease.limit = Some(key.clone());
                }
            }
            if let Some(task) = task(next, &id) {
                task.limit = Some(key);
            }
        }
    }
}

fn repeat_extends(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let (Op::Claim(claim), Reply::Claimed(claimed)) = (op, reply) else { return };
    let Some(Ticket { claimer, seq }) = claim.ticket else { return };
    if before.claims.get(&claimer).is_some_and(|record| record.seq == seq) {
        let until = next.now.after(claim.ttl);
        for lease in &mut claimed.leases {
            lease.ttl_left = claim.ttl;
            if let Some(task) = task(next, &lease.task_ref.id) {
                task.until = Some(until);
            }
        }
    }
}
