//! How a lease is kept, and how its loss is told.

use leasehold_conformance::model::{Contract, Extended, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{Fence, Guard, LostReason, RenewVerdict, StoredTask, Timestamp};

use super::task;
use crate::charge::Charge;
use crate::sin::{after, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 15,
        name: "renew revives a lapsed lease",
        what: "a renew extends a lease that has passed and that nobody has taken",
        met: "asynq",
        sin: || ruled(Revives),
        killed_by: &[("renew/lapsed_is_lost", clause::RENEW_2)],
        also: "time obs renew replay",
        ..Charge::NONE
    },
    Charge {
        no: 16,
        name: "renew ignores the fence",
        what: "whoever knows the id extends the lease of now",
        met: "asynq",
        sin: || ruled(AnyFence),
        killed_by: &[
            ("renew/foreign_is_lost", clause::RENEW_2),
            ("orders/two_rescuers_and_a_worker", clause::RENEW_2),
        ],
        also: "time fence obs race renew limit replay",
        ..Charge::NONE
    },
    Charge {
        name: "renew by time alone",
        what: "whoever renews before the end that it knew is Held, whatever came since",
        met: "mutant, 5 steps",
        sin: || ruled(ByTimeAlone),
        killed_by: &[("time/a_clock_set_back_keeps_the_claim", clause::TIME_4)],
        also: "limit replay",
        ..Charge::NONE
    },
    Charge {
        name: "renew shortens",
        what: "a renew sets the end to now and the ttl, also if that is sooner",
        sin: || ruled(Extends(|now, _, ttl| now.after(ttl))),
        killed_by: &[
            ("model/sequential_histories", clause::RENEW_1),
            ("renew/never_shortens", clause::RENEW_1),
        ],
        also: "time limit",
        ..Charge::NONE
    },
    Charge {
        name: "renew adds up",
        what: "a renew adds its ttl to the end of the lease",
        sin: || ruled(Extends(|_, until, ttl| until.after(ttl))),
        killed_by: &[("renew/extends_a_live_lease", clause::RENEW_1)],
        also: "verbs dropped time fence read ctl renew oper held limit replay",
        ..Charge::NONE
    },
    Charge {
        name: "renew does nothing",
        what: "a renew is Held and extends nothing",
        sin: || ruled(Extends(|_, until, _| until)),
        killed_by: &[("renew/extends_a_live_lease", clause::RENEW_1)],
        also: "verbs dropped time read ctl renew lapse held limit replay",
        ..Charge::NONE
    },
    Charge {
        no: 14,
        name: "renew leaves the slot",
        what: "a renew extends the lease and not its slot",
        met: "a slot with a time of its own",
        sin: || ruled(LeavesTheSlot),
        killed_by: &[
            ("model/sequential_histories", clause::CLAIM_3),
            ("limit/renew_extends_slot", clause::RENEW_3),
        ],
        also: "held",
        ..Charge::NONE
    },
    Charge {
        name: "no renew in a paused queue",
        what: "a pause lets running leases lapse",
        sin: || ruled(NotPaused),
        killed_by: &[("renew/goes_on_while_paused", clause::RENEW_1)],
        also: "ctl replay",
        ..Charge::NONE
    },
    Charge {
        name: "renew counts an attempt",
        what: "a renew counts up the attempt",
        sin: || after(renew_counts),
        killed_by: &[("renew/changes_no_counter", clause::RENEW_4)],
        also: "verbs dropped time obs renew held dead replay",
        ..Charge::NONE
    },
    Charge {
        name: "cancelled is not told",
        what: "the holder of a cancelled task hears that it was revoked",
        sin: || after(cancelled_as_revoked),
        killed_by: &[("renew/cancelled_is_told", clause::RENEW_6)],
        also: "oper held",
        ..Charge::NONE
    },
    Charge {
        name: "lost is always taken",
        what: "every lost lease is told as taken by the fence of now",
        sin: || after(always_taken),
        killed_by: &[
            ("renew/decided_is_told", clause::RENEW_2),
            ("renew/revoked_is_told", clause::RENEW_2),
        ],
        also: "verbs renew give oper limit",
        ..Charge::NONE
    },
    Charge {
        name: "note of a lost renew",
        what: "a renew that is Lost stores its note",
        sin: || after(note_though_lost),
        killed_by: &[("renew/note_is_stored_if_held", clause::RENEW_9)],
        also: "renew",
        ..Charge::NONE
    },
];

struct Revives;

impl Rules for Revives {
    fn lost(&self, model: &Model, task: &StoredTask, guard: &Guard) -> Option<LostReason> {
        let passed = task.until.is_some_and(|until| until <= model.now);
        match Contract.lost(model, task, guard) {
            Some(LostReason::Lapsed) if passed => None,
            other => other,
        }
    }
}

struct AnyFence;

impl Rules for AnyFence {
    fn lost(&self, model: &Model, task: &StoredTask, guard: &Guard) -> Option<LostReason> {
        let live = task.until.is_some_and(|until| until > model.now);
        Contract.lost(model, task, guard).filter(|_| !live || guard.fence < task.born)
    }
}

struct ByTimeAlone;

impl Rules for ByTimeAlone {
    fn lost(&self, model: &Model, task: &StoredTask, guard: &Guard) -> Option<LostReason> {
        let grant = model.grants.get(&(task.task_ref.id.clone(), guard.fence));
        let known = grant.and_then(|grant| grant.task.until);
        let within = known.is_some_and(|until| until > model.now) && task.until.is_some();
        Contract.lost(model, task, guard).filter(|_| !within)
    }
}

/// Puts the end elsewhere, and the slot's with it.
struct Extends(fn(Timestamp, Timestamp, std::time::Duration) -> Timestamp);

impl Rules for Extends {
    fn extended(&self, now: Timestamp, until: Timestamp, ttl: std::time::Duration) -> Extended {
        let end = self.0(now, until, ttl);
        Extended { lease: end, slot: Some(end) }
    }
}

struct LeavesTheSlot;

impl Rules for LeavesTheSlot {
    fn extended(&self, now: Timestamp, until: Timestamp, ttl: std::time::Duration) -> Extended {
        Extended { slot: None, ..Contract.extended(now, until, ttl) }
    }
}

struct NotPaused;

impl Rules for NotPaused {
    fn lost(&self, model: &Model, task: &StoredTask, guard: &Guard) -> Option<LostReason> {
        let lost = Contract.lost(model, task, guard);
        lost.or_else(|| model.settings.paused.then_some(LostReason::Revoked))
    }
}

fn held<'a>(next: &'a mut Model, op: &Op, reply: &Reply) -> Option<&'a mut StoredTask> {
    let (Op::Renew(item), Reply::Renewed(RenewVerdict::Held { .. })) = (op, reply) else {
        return None;
    };
    task(next, &item.guard.task.id)
}

fn renew_counts(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some(task) = held(next, op, reply) {
        task.attempt += 1;
    }
}

fn cancelled_as_revoked(_: &Model, _: &mut Model, _: &Op, reply: &mut Reply) {
    if let Reply::Renewed(RenewVerdict::Lost(reason @ LostReason::Cancelled)) = reply {
        *reason = LostReason::Revoked;
    }
}

fn always_taken(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let (Op::Renew(item), Reply::Renewed(RenewVerdict::Lost(reason))) = (op, reply)
        && matches!(reason, LostReason::Decided | LostReason::Revoked)
    {
        let now = next.task(&item.guard.task.id).map_or(Fence::new(0), |task| task.fence);
        *reason = LostReason::Taken(now);
    }
}

fn note_though_lost(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let (Op::Renew(item), Reply::Renewed(RenewVerdict::Lost(_))) = (op, reply)
        && let Some(task) = task(next, &item.guard.task.id)
        && item.note.is_some()
    {
        task.note.clone_from(&item.note);
    }
}
