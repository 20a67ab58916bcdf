//! Which tasks a claim grants, in which order, and what it says of the rest.

use std::sync::{Arc, Mutex, PoisonError};

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{Priority, Purpose, State, StoredTask};

use super::task;
use crate::charge::Charge;
use crate::sin::{Sin, after, before, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        name: "last in, first out",
        what: "of equals the newest is served first",
        sin: || Arc::new(Backwards),
        killed_by: &[("claim/order_of_service", clause::CLAIM_3)],
        also: "verbs time enq read ctl claim late commit renew limit uniq follow replay",
        ..Charge::NONE
    },
    Charge {
        name: "the lowest priority first",
        what: "priority 0 is served before 9",
        sin: || Arc::new(LowestFirst),
        killed_by: &[("claim/order_of_service", clause::CLAIM_3)],
        also: "claim give oper limit",
        ..Charge::NONE
    },
    Charge {
        name: "more than asked",
        what: "a claim grants one task more than it may",
        sin: || {
            before(|_, op| {
                if let Op::Claim(claim) = op {
                    claim.max += 1;
                }
            })
        },
        killed_by: &[("claim/at_most_as_many_as_asked", clause::CLAIM_4)],
        also: "time ctl claim obs limit follow replay",
        ..Charge::NONE
    },
    Charge {
        no: 36,
        name: "a false end",
        what: "a claim that was cut short says that there is no more",
        met: "a window of rows",
        sin: || Arc::new(FalseEnd),
        killed_by: &[("claim/no_false_empty", clause::CLAIM_4)],
        also: "claim",
        ..Charge::NONE
    },
    Charge {
        name: "granted twice",
        what: "a claim takes what another holder has begun to run",
        met: "a read without a lock",
        sin: || Arc::new(AlsoLeased::default()),
        killed_by: &[("time/a_clock_set_back_keeps_the_claim", clause::CLAIM_2)],
        also: "renew mode time enq commit limit replay",
        elsewhere: "lanes",
        ..Charge::NONE
    },
    Charge {
        name: "a claim takes lapsed leases",
        what: "a run claim takes what a lost worker left, with no rescue between",
        met: "visibility timeouts",
        sin: || ruled(AlsoLapsed),
        killed_by: &[("claim/purposes_do_not_mix", clause::CLAIM_6)],
        also: "ctl claim renew mode oper purge limit replay",
        ..Charge::NONE
    },
    Charge {
        name: "claims before the due time",
        what: "a claim takes what is due within a second",
        met: "a poll rounded down",
        sin: || ruled(Early),
        killed_by: &[("time/due_is_exact", clause::TIME_3)],
        also: "claim obs race retry give limit",
        ..Charge::NONE
    },
    Charge {
        name: "attempt is not counted",
        what: "a claim leaves the attempt as it was",
        sin: || {
            after(|before, next, op, reply| {
                granted(op, reply, next, |task| {
                    task.attempt = before.task(&task.task_ref.id).map_or(0, |old| old.attempt);
                })
            })
        },
        killed_by: &[("claim/a_grant_is_one_step", clause::CLAIM_5)],
        also: "dropped time fence claim obs race late commit renew lapse retry give budget \
               mode held dead limit",
        ..Charge::NONE
    },
    Charge {
        name: "the run is not noted",
        what: "a claim does not set which run is the newest",
        sin: || after(|_, next, op, reply| granted(op, reply, next, |task| task.run = None)),
        killed_by: &[("claim/a_grant_is_one_step", clause::CLAIM_5)],
        also: "dropped time fence ctl obs race late commit renew lapse retry give budget \
               mode dead purge limit uniq follow replay",
        ..Charge::NONE
    },
    Charge {
        name: "leases of one length",
        what: "a claim's ttl is not looked at",
        sin: || {
            before(|_, op| {
                if let Op::Claim(claim) = op {
                    claim.ttl = std::time::Duration::from_secs(30);
                }
            })
        },
        killed_by: &[
            ("time/ttl_has_bounds", clause::TIME_5),
            ("lapse/rescue_lease_has_its_own_length", clause::LAPSE_2),
        ],
        also: "replay limit",
        ..Charge::NONE
    },
    Charge {
        name: "a pause is not kept to",
        what: "a paused queue grants runs",
        sin: || Arc::new(Unpaused),
        killed_by: &[("ctl/a_pause_stops_every_run", clause::CLAIM_7)],
        also: "ctl late replay",
        ..Charge::NONE
    },
    Charge {
        name: "a pause stops rescues",
        what: "a paused queue grants nothing at all",
        sin: || {
            before(|model, op| {
                if let Op::Claim(claim) = op
                    && model.settings.paused
                    && claim.ticket.is_none()
                {
                    claim.kinds = Some(Vec::new());
                }
            })
        },
        killed_by: &[("ctl/a_pause_stops_nothing_else", clause::CLAIM_7)],
        also: "ctl",
        ..Charge::NONE
    },
    Charge {
        name: "kinds are not looked at",
        what: "a claim of some kinds is granted any",
        sin: || {
            before(|_, op| {
                if let Op::Claim(claim) = op {
                    claim.kinds = None;
                }
            })
        },
        killed_by: &[("claim/kinds_are_all_that_is_granted", clause::CLAIM_10)],
        also: "limit",
        ..Charge::NONE
    },
];

/// Does `fault` to each task that a run claim was just granted.
fn granted(op: &Op, reply: &mut Reply, next: &mut Model, fault: impl Fn(&mut StoredTask)) {
    if let (Op::Claim(claim), Reply::Claimed(claimed)) = (op, reply)
        && claim.purpose == Purpose::Run
    {
        for lease in &mut claimed.leases {
            if let Some(task) = task(next, &lease.task_ref.id) {
                fault(task);
                (lease.run, lease.attempt) = (task.run, task.attempt);
            }
        }
    }
}

struct Backwards;

fn turn(model: &mut Model, op: &Op) {
    if matches!(op, Op::Claim(_)) {
        for kept in model.tasks.values_mut() {
            kept.seq = u64::MAX / 2 - kept.seq;
        }
    }
}

impl Sin for Backwards {
    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        turn(model, op);
    }

    fn after(&self, _: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
        turn(next, op);
    }
}

struct LowestFirst;

fn upside_down(model: &mut Model, op: &Op) {
    if matches!(op, Op::Claim(_)) {
        for kept in model.tasks.values_mut() {
            kept.task.priority = Priority::new(9 - kept.task.priority.level());
        }
    }
}

impl Sin for LowestFirst {
    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        upside_down(model, op);
    }

    fn after(&self, _: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        upside_down(next, op);
        if let Reply::Claimed(claimed) = reply {
            for lease in &mut claimed.leases {
                lease.priority = Priority::new(9 - lease.priority.level());
            }
        }
    }
}

struct FalseEnd;

impl Sin for FalseEnd {
    fn before(&self, _by: usize, _model: &mut Model, op: &mut Op) {
        if let Op::Claim(claim) = op {
            claim.max = claim.max.min(10);
        }
    }

    fn after(&self, _: &Model, _: &mut Model, _: &Op, reply: &mut Reply) {
        if let Reply::Claimed(claimed) = reply {
            claimed.more = false;
        }
    }
}

/// Who claims.
#[derive(Default)]
struct AlsoLeased(Mutex<String>);

impl Sin for AlsoLeased {
    fn rules(&self) -> &dyn Rules {
        self
    }

    fn before(&self, _by: usize, _model: &mut Model, op: &mut Op) {
        if let Op::Claim(claim) = op {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = claim.holder.clone();
        }
    }
}

impl Rules for AlsoLeased {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        let claimer = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Once, or two holders would take it from each other without end.
        let first = task.state == State::Leased(Purpose::Run) && task.attempt == 1;
        Contract.claimable(model, task) || (first && task.holder != Some(claimer))
    }
}

struct AlsoLapsed;

impl Rules for AlsoLapsed {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        Contract.claimable(model, task) || self.lapsed(model, task)
    }
}

struct Early;

impl Rules for Early {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        let mut ahead = task.clone();
        if task.due > model.now && task.due.since(model.now) <= std::time::Duration::from_secs(1) {
            ahead.due = model.now;
        }
        Contract.claimable(model, &ahead)
    }
}

struct Unpaused;

impl Sin for Unpaused {
    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        if matches!(op, Op::Claim(_)) && model.settings.paused {
            model.settings.paused = false;
            model.settings.limits.insert("was paused".to_owned(), 0);
        }
    }

    fn after(&self, _: &Model, next: &mut Model, _: &Op, _: &mut Reply) {
        if next.settings.limits.remove("was paused").is_some() {
            next.settings.paused = true;
        }
    }
}
