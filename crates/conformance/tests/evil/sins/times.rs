//! Whose clock counts, and what happens to the millisecond.

use std::sync::Arc;

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{Clock, Error, Guard, LostReason, RenewVerdict, State, StoredTask, Timestamp};

use crate::charge::Charge;
use crate::sin::{Sin, after, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 34,
        name: "due by the caller's clock",
        what: "a claim compares due times with the clock of its own process",
        met: "an instant made by the worker",
        sin: || ruled(CallersClock),
        killed_by: &[("time/only_the_stores_clock_counts", clause::TIME_1)],
        also: "dropped time fence enq ctl claim obs race late commit renew lapse retry give \
               budget mode oper held dead purge limit uniq follow replay",
        ..Charge::NONE
    },
    Charge {
        no: 35,
        name: "due is off by one",
        what: "a task due at t can be claimed after t",
        met: "> for >=",
        sin: || ruled(AfterDue),
        killed_by: &[("time/due_is_exact", clause::CLAIM_1)],
        also: "dropped time fence enq ctl claim obs race late commit renew lapse retry give \
               budget mode oper held dead limit follow replay",
        ..Charge::NONE
    },
    Charge {
        no: 35,
        name: "lapse is off by one",
        what: "a lease until t can be rescued after t",
        met: "> for >=",
        sin: || ruled(AfterLapse),
        killed_by: &[("time/lapse_is_exact", clause::TIME_3)],
        also: "dropped time fence enq ctl claim obs race late commit renew lapse budget mode \
               oper held dead purge limit uniq follow replay",
        ..Charge::NONE
    },
    Charge {
        no: 35,
        name: "renew is off by one",
        what: "a lease until t can be renewed at t",
        met: "< for <=",
        sin: || ruled(AtTheEnd),
        killed_by: &[("time/lapse_is_exact", clause::RENEW_2)],
        also: "obs renew replay",
        ..Charge::NONE
    },
    Charge {
        name: "a clock of seconds",
        what: "the store's clock shows whole seconds",
        sin: || Arc::new(Seconds),
        killed_by: &[("time/lapse_is_exact", clause::TIME_3)],
        also: "time race renew lapse retry give limit replay",
        ..Charge::NONE
    },
    Charge {
        name: "a lease too long to be true",
        what: "a lease that lasts longer than it could is taken for lapsed",
        met: "a check against a broken clock",
        sin: || ruled(TooLong),
        killed_by: &[("time/a_clock_set_back_keeps_the_claim", clause::LAPSE_1)],
        ..Charge::NONE
    },
    Charge {
        name: "left from the call",
        what: "a renew tells the ttl that was asked for as what is left",
        sin: || {
            after(|_, _, op, reply| {
                if let (Op::Renew(item), Reply::Renewed(RenewVerdict::Held { ttl_left })) =
                    (op, reply)
                {
                    *ttl_left = item.ttl;
                }
            })
        },
        killed_by: &[("time/ttl_left_is_told_and_never_shortened", clause::TIME_5)],
        also: "time renew limit",
        ..Charge::NONE
    },
    Charge {
        name: "any length of lease",
        what: "a claim takes a ttl beyond the bounds",
        sin: || Arc::new(AnyLength),
        killed_by: &[("time/ttl_has_bounds", clause::TIME_5)],
        ..Charge::NONE
    },
];

struct CallersClock;

impl Rules for CallersClock {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        let here = Clock::default().now();
        // Whoever is due by both clocks is due, so that a task for now can start.
        Contract.claimable(model, task) && (task.due <= here || task.due == task.enqueued_at)
    }
}

struct AfterDue;

impl Rules for AfterDue {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        let at_once = task.due == task.enqueued_at;
        Contract.claimable(model, task) && (task.due < model.now || at_once)
    }
}

struct AfterLapse;

impl Rules for AfterLapse {
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        Contract.lapsed(model, task) && task.until < Some(model.now)
    }
}

struct AtTheEnd;

impl Rules for AtTheEnd {
    fn lost(&self, model: &Model, task: &StoredTask, guard: &Guard) -> Option<LostReason> {
        let at_the_end = task.until == Some(model.now);
        let lost = Contract.lost(model, task, guard);
        lost.filter(|reason| !at_the_end || *reason != LostReason::Lapsed)
    }
}

struct Seconds;

impl Sin for Seconds {
    fn now(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_millis(now.as_millis().div_euclid(1_000) * 1_000)
    }
}

struct TooLong;

impl Rules for TooLong {
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        let bound = model.now.after(std::time::Duration::from_secs(60 * 60));
        let leased = matches!(task.state, State::Leased(_));
        Contract.lapsed(model, task) || (leased && task.until > Some(bound))
    }
}

struct AnyLength;

impl Sin for AnyLength {
    fn admit(&self, verb: &str, admitted: Result<(), Error>) -> Result<(), Error> {
        if verb == "claim" { Ok(()) } else { admitted }
    }
}
