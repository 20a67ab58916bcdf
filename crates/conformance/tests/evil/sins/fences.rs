//! How fences are drawn.

use leasehold_conformance::model::{Admission, Contract, Draw, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{CommitItem, Fence, Purpose, RenewVerdict, Role, State, StoredTask};

use super::task;
use crate::charge::Charge;
use crate::sin::{after, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 6,
        name: "time as fence",
        what: "two runs of one task that begin in one millisecond have one fence",
        met: "a timestamp as a version",
        sin: || ruled(ByTime),
        killed_by: &[
            ("model/sequential_histories", clause::FENCE_1),
            ("race/two_claims_same_instant", clause::FENCE_1),
            ("fence/one_instant_has_many_fences", clause::FENCE_4),
        ],
        also: "fence renew limit",
        ..Charge::NONE
    },
    Charge {
        no: 7,
        name: "rescue claim keeps the fence",
        what: "a rescue claim leaves the fence as it was",
        met: "threadmill's reaper",
        sin: || ruled(Keeps(Draw::Claim(Purpose::Rescue))),
        killed_by: &[
            ("race/two_rescuers", clause::FENCE_1),
            ("budget/a_stale_read_spends_nothing", clause::LAPSE_7),
            ("fence/each_rescue_has_its_own", clause::FENCE_3),
        ],
        also: "time fence obs race late commit renew lapse budget mode limit uniq follow \
               replay",
        ..Charge::NONE
    },
    Charge {
        name: "worker's commit keeps the fence",
        what: "an applied commit of a worker gives no new fence",
        met: "mutant: no fence after a commit",
        sin: || ruled(Keeps(Draw::Commit(Role::Worker))),
        killed_by: &[("fence/strictly_grows", clause::FENCE_1)],
        also: "verbs dropped time fence obs race late commit renew lapse retry give mode \
               dead purge follow",
        ..Charge::NONE
    },
    Charge {
        name: "rescuer's commit keeps the fence",
        what: "an applied decision of a rescuer gives no new fence",
        met: "mutant: no fence after a commit",
        sin: || ruled(Keeps(Draw::Commit(Role::Rescuer))),
        killed_by: &[("race/matching_rescue", clause::FENCE_1)],
        also: "race late commit renew lapse budget mode oper dead",
        ..Charge::NONE
    },
    Charge {
        no: 11,
        name: "operator's act keeps the fence",
        what: "an operator's act revokes no claim and no older sight",
        met: "no new fence for a revoke",
        sin: || ruled(Keeps(Draw::Commit(Role::Operator))),
        killed_by: &[
            ("oper/act_ends_every_older_right", clause::OPER_2),
            ("orders/two_operators_and_a_rescuer", clause::FENCE_1),
        ],
        also: "time fence commit renew mode oper held dead",
        ..Charge::NONE
    },
    Charge {
        no: 8,
        name: "fences begin anew with each task",
        what: "fences are counted in the task's record and are lost with it",
        met: "mutant: the counter lost with the data",
        sin: || ruled(CountedInTheTask),
        killed_by: &[("fence/never_reused_under_one_id", clause::FENCE_1)],
        also: "fence enq renew oper purge follow",
        ..Charge::NONE
    },
    Charge {
        name: "enqueue draws no fence",
        what: "a task is enqueued with a fence of 0",
        met: "mutant: enqueue gives no fence",
        sin: || ruled(NoneAtFirst),
        killed_by: &[("fence/never_reused_under_one_id", clause::FENCE_1)],
        also: "fence enq renew oper purge limit follow",
        ..Charge::NONE
    },
    Charge {
        no: 9,
        name: "fences drawn as doubles",
        what: "a fence passes through a number of 53 bits on its way to the task",
        met: "Lua, JSON",
        sin: || ruled(Doubles { drawn: true }),
        killed_by: &[("fence/high_fences_are_exact", clause::FENCE_5)],
        ..Charge::NONE
    },
    Charge {
        name: "renew gives a new fence",
        what: "each renew moves the fence, so that the holder's is old",
        met: "a version column that every write counts up",
        sin: || after(renew_moves_the_fence),
        killed_by: &[
            ("renew/changes_no_counter", clause::RENEW_4),
            ("fence/strictly_grows", clause::FENCE_3),
        ],
        also: "verbs dropped time read obs renew lapse oper dead limit replay",
        ..Charge::NONE
    },
];

/// Gives the second run of an instant the fence of the first.
struct ByTime;

impl Rules for ByTime {
    fn fence(&self, model: &Model, id: &str, why: Draw, drawn: Fence) -> Fence {
        let mut grants = model.grants.iter().rev();
        let same = grants.find(|((its, _), grant)| {
            its == id && grant.at == model.now && grant.task.state == State::Leased(Purpose::Run)
        });
        match (why, same) {
            (Draw::Claim(Purpose::Run), Some(((_, fence), _))) => *fence,
            _ => drawn,
        }
    }
}

/// Leaves the fence as it is in one kind of step.
struct Keeps(Draw);

impl Rules for Keeps {
    fn fence(&self, model: &Model, id: &str, why: Draw, drawn: Fence) -> Fence {
        let current = model.task(id).filter(|_| why == self.0).map(|task| task.fence);
        current.unwrap_or(drawn)
    }
}

struct CountedInTheTask;

impl Rules for CountedInTheTask {
    fn fence(&self, model: &Model, id: &str, _why: Draw, _drawn: Fence) -> Fence {
        Fence::new(1 + model.task(id).map_or(0, |task| task.fence.value()))
    }
}

struct NoneAtFirst;

impl Rules for NoneAtFirst {
    fn fence(&self, _model: &Model, _id: &str, why: Draw, drawn: Fence) -> Fence {
        if why == Draw::Enqueue { Fence::new(0) } else { drawn }
    }
}

struct Doubles {
    drawn: bool,
}

fn rounded(fence: Fence) -> Fence {
    Fence::new(fence.value() as f64 as u64)
}

impl Rules for Doubles {
    fn fence(&self, _model: &Model, _id: &str, _why: Draw, drawn: Fence) -> Fence {
        if self.drawn { rounded(drawn) } else { drawn }
    }

    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let same = !self.drawn && rounded(item.guard.fence) == rounded(task.fence);
        if same { Admission::Current } else { Contract.admission(model, task, item) }
    }
}

fn renew_moves_the_fence(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let (Op::Renew(item), Reply::Renewed(RenewVerdict::Held { .. })) = (op, reply) else { return };
    let fence = Fence::new(next.fence_max().value() + 1);
    let id = &item.guard.task.id;
    next.fences.insert(id.clone(), fence);
    if let Some(task) = task(next, id) {
        task.fence = fence;
    }
}
