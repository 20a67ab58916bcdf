//! What is rescued, by whom, and what a rescue claim leaves.

use std::sync::{Mutex, PoisonError};

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{Purpose, State, StoredTask, Timestamp};

use super::task;
use crate::charge::Charge;
use crate::sin::{Sin, after, before, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        name: "rescue drops the note",
        what: "a rescue claim drops the note of the run",
        sin: || after(rescue_drops_note),
        killed_by: &[("renew/note_outlives_rescue_and_retry", clause::RENEW_9)],
        ..Charge::NONE
    },
    Charge {
        no: 17,
        name: "rescue takes live leases",
        what: "a rescue claim takes every lease",
        met: "a sweep that does not look at the time",
        sin: || ruled(AllLapsed),
        killed_by: &[
            ("model/sequential_histories", clause::LAPSE_1),
            ("lapse/live_is_safe", clause::LAPSE_1),
        ],
        also: "time claim obs race renew lapse purge replay",
        ..Charge::NONE
    },
    Charge {
        no: 17,
        name: "rescue takes its own leases",
        what: "a claimer gets back what it holds, as after a restart",
        met: "a sweep that does not look at the time",
        sin: || std::sync::Arc::new(Own::default()),
        killed_by: &[("lapse/own_is_safe", clause::LAPSE_1)],
        also: "time claim obs renew lapse purge replay",
        ..Charge::NONE
    },
    Charge {
        no: 17,
        name: "rescue spares its own leases",
        what: "a rescuer does not get lapsed leases that a holder of its name had",
        met: "a reaper that skips itself",
        sin: || std::sync::Arc::new(SparesOwn::default()),
        killed_by: &[
            ("model/sequential_histories", clause::CLAIM_4),
            ("lapse/own_is_safe", clause::LAPSE_1),
        ],
        also: "dropped time fence enq claim obs race renew lapse oper held dead purge limit \
               uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "rescue claim without a lease",
        what: "a rescue claim ends when it begins, so that the next comes at once",
        sin: || after(rescue_without_lease),
        killed_by: &[("lapse/rescue_has_a_lease", clause::LAPSE_2)],
        also: "claim obs race late commit renew lapse budget mode replay",
        ..Charge::NONE
    },
    Charge {
        name: "rescue claim drops the run",
        what: "a rescue claim forgets which run was the newest",
        sin: || after(rescue_claim_drops_run),
        killed_by: &[("lapse/rescue_has_a_lease", clause::LAPSE_2)],
        also: "time claim obs race late commit renew lapse budget mode dead purge limit uniq \
               follow replay",
        ..Charge::NONE
    },
    Charge {
        name: "a rescue never lapses",
        what: "what a rescuer claimed and dropped stays with it for ever",
        met: "a reaper's own table",
        sin: || ruled(OnlyRuns),
        killed_by: &[
            ("lapse/dropped_decision_costs_a_delay", clause::LAPSE_4),
            ("race/takeover_after_rescue_lapse", clause::LAPSE_3),
            ("orders/two_rescuers_and_a_worker", clause::CLAIM_4),
        ],
        also: "fence claim obs race late commit renew lapse budget purge replay",
        ..Charge::NONE
    },
    Charge {
        name: "a rescue buries first",
        what: "a rescue claim buries the task and its decision digs it out",
        sin: || after(rescue_buries_first),
        killed_by: &[("lapse/rescue_has_a_lease", clause::LAPSE_2)],
        also: "dropped time fence enq ctl claim obs race late commit renew lapse budget mode \
               oper held dead purge limit uniq follow replay",
        ..Charge::NONE
    },
    Charge {
        name: "rescue asks for a heartbeat",
        what: "nothing is lapsed whose holder's name claims again",
        met: "River, Faktory",
        sin: || std::sync::Arc::new(Heartbeat::default()),
        killed_by: &[("lapse/any_holder_name", clause::LAPSE_5)],
        also: "dropped time fence enq claim obs race renew lapse oper held dead purge limit \
               uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "one rescue a call",
        what: "a rescue claim grants one lease and says that there is no more",
        sin: || after(one_rescue_a_call),
        killed_by: &[("lapse/recovery_takes_bounded_calls", clause::LAPSE_6)],
        also: "claim obs lapse purge replay",
        ..Charge::NONE
    },
    Charge {
        no: 31,
        name: "poison stops the batch",
        what: "a rescue claim that meets a broken record grants nothing",
        met: "one bad record in a loop without a catch",
        sin: || before(poison_stops),
        killed_by: &[("lapse/poison_does_not_block", clause::LAPSE_6)],
        also: "claim lapse",
        ..Charge::NONE
    },
    Charge {
        name: "takeovers are not counted",
        what: "a rescue that is taken over leaves no trace",
        sin: || after(takeovers_uncounted),
        killed_by: &[
            ("model/sequential_histories", clause::LAPSE_2),
            ("lapse/fifth_takeover_buries", clause::LAPSE_9),
            ("race/takeover_of_a_takeover", clause::LAPSE_2),
        ],
        also: "race late commit renew lapse budget",
        ..Charge::NONE
    },
    Charge {
        no: 40,
        name: "a lease that was never renewed stays",
        what: "a lease whose reply was lost does not lapse",
        met: "report C20",
        sin: || ruled(NeverRenewed),
        killed_by: &[("claim/a_lost_reply_is_recovered", clause::CLAIM_8)],
        also: "dropped time fence enq ctl claim obs race late commit renew lapse budget mode \
               oper held dead purge limit uniq follow replay",
        ..Charge::NONE
    },
];

/// The tasks that a rescue claim was just granted.
fn rescued(next: &mut Model, op: &Op, reply: &Reply, fault: impl Fn(&mut StoredTask)) {
    if let (Op::Claim(claim), Reply::Claimed(claimed)) = (op, reply)
        && claim.purpose == Purpose::Rescue
    {
        for lease in &claimed.leases {
            if let Some(task) = task(next, &lease.task_ref.id) {
                fault(task);
            }
        }
    }
}

fn rescue_drops_note(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    rescued(next, op, reply, |task| task.note = None);
}

fn rescue_without_lease(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let now = next.now;
    rescued(next, op, reply, |task| task.until = Some(now));
}

fn rescue_claim_drops_run(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    rescued(next, op, reply, |task| task.run = None);
}

fn rescue_buries_first(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    rescued(next, op, reply, |task| {
        (task.state, task.until) = (State::Dead(leasehold_core::DeadReason::Lost), None);
    });
}

fn takeovers_uncounted(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    rescued(next, op, reply, |task| task.takeovers = 0);
    if let Reply::Claimed(claimed) = reply {
        for lease in &mut claimed.leases {
            lease.takeovers = 0;
        }
    }
}

struct AllLapsed;

impl Rules for AllLapsed {
    fn lapsed(&self, _model: &Model, task: &StoredTask) -> bool {
        matches!(task.state, State::Leased(_))
    }
}

/// Gives a claimer the leases of holders of its name.
#[derive(Default)]
struct Own(Mutex<String>);

impl Sin for Own {
    fn rules(&self) -> &dyn Rules {
        self
    }

    fn before(&self, _by: usize, _model: &mut Model, op: &mut Op) {
        if let Op::Claim(claim) = op {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = claim.holder.clone();
        }
    }
}

impl Rules for Own {
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        let claimer = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Contract.lapsed(model, task) || task.holder == Some(claimer)
    }
}

/// Gives a claimer no lease of holders of its name.
#[derive(Default)]
struct SparesOwn(Own);

impl Sin for SparesOwn {
    fn rules(&self) -> &dyn Rules {
        self
    }

    fn before(&self, by: usize, model: &mut Model, op: &mut Op) {
        self.0.before(by, model, op);
    }
}

impl Rules for SparesOwn {
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        let claimer = self.0.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Contract.lapsed(model, task) && task.holder != Some(claimer)
    }
}

/// Knows the names that have claimed, and takes them to be alive.
#[derive(Default)]
struct Heartbeat(Mutex<Vec<(String, Timestamp)>>);

impl Sin for Heartbeat {
    fn rules(&self) -> &dyn Rules {
        self
    }

    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        if let Op::Claim(claim) = op {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((claim.holder.clone(), model.now));
        }
    }
}

impl Rules for Heartbeat {
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let alive = |(name, at): &(String, Timestamp)| {
            Some(name) == task.holder.as_ref() && task.until.is_some_and(|until| *at >= until)
        };
        Contract.lapsed(model, task) && !seen.iter().any(alive)
    }
}

struct OnlyRuns;

impl Rules for OnlyRuns {
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        Contract.lapsed(model, task) && task.state == State::Leased(Purpose::Run)
    }
}

struct NeverRenewed;

impl Rules for NeverRenewed {
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        // Whoever never heard of its lease does not come back under another name either.
        let granted = model.grants.get(&(task.task_ref.id.clone(), task.fence));
        let renewed = granted.is_none_or(|grant| grant.task.until != task.until);
        Contract.lapsed(model, task) && (renewed || task.state != State::Leased(Purpose::Run))
    }
}

fn one_rescue_a_call(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let Op::Claim(claim) = op else { return };
    if claim.purpose == Purpose::Rescue && claim.max > 1 {
        let mut one = claim.clone();
        one.max = 1;
        let told;
        (*next, told) = leasehold_conformance::model::predict(before, &Op::Claim(one));
        *reply = told;
        if let Reply::Claimed(claimed) = reply {
            claimed.more = false;
        }
    }
}

fn poison_stops(model: &mut Model, op: &mut Op) {
    let poison = model
        .tasks
        .values()
        .any(|kept| kept.task.corrupt.is_some() && Contract.lapsed(model, &kept.task));
    if let Op::Claim(claim) = op
        && claim.purpose == Purpose::Rescue
        && poison
    {
        claim.kinds = Some(Vec::new());
    }
}
