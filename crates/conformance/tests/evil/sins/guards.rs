//! What stands in for the fence.

use leasehold_conformance::model::{Admission, Contract, Draw, Model, Rules};
use leasehold_core::clause;
use leasehold_core::{Change, CommitItem, Event, Fence, Purpose, Role, State, StoredTask};

use crate::charge::Charge;
use crate::sin::ruled;

pub const ALL: &[Charge] = &[
    Charge {
        no: 1,
        name: "worker commits by id",
        what: "the commit of a worker shows an id, and its fence is not looked at",
        met: "River, Oban",
        sin: || ruled(ByRole(Role::Worker)),
        killed_by: &[
            ("model/golden_vectors", clause::COMMIT_1),
            ("lanes/histories_are_linearizable", clause::GEN_1),
            ("model/sequential_histories", clause::COMMIT_1),
            ("race/worker_fail_vs_rescue", clause::FENCE_2),
            ("fence/holder_and_state_are_no_fence", clause::FENCE_4),
            ("orders/worker_rescuer_and_operator", clause::COMMIT_1),
        ],
        also: "verbs time fence enq race late commit held dead purge limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        no: 2,
        name: "rescuer commits by id",
        what: "the decision of a rescuer is written whatever became of its claim",
        met: "a reaper that writes by id",
        sin: || ruled(ByRole(Role::Rescuer)),
        killed_by: &[
            ("lanes/histories_are_linearizable", clause::GEN_1),
            ("model/sequential_histories", clause::COMMIT_8),
            ("race/takeover_after_rescue_lapse", clause::FENCE_2),
            ("race/worker_success_vs_rescue_requeue", clause::LATE_3),
            ("orders/two_rescuers_and_a_worker", clause::COMMIT_1),
        ],
        also: "fence obs race late commit lapse budget mode oper dead",
        ..Charge::NONE
    },
    Charge {
        no: 3,
        name: "state as guard",
        what: "a commit is written while its task is leased, by whatever claim",
        met: "River before its change 1373",
        sin: || ruled(ByState),
        killed_by: &[
            ("race/same_state_new_claim", clause::COMMIT_1),
            ("race/same_state_new_rescue", clause::FENCE_4),
            ("orders/two_rescuers_and_a_worker", clause::COMMIT_1),
        ],
        also: "verbs time fence race late commit lapse budget limit follow",
        ..Charge::NONE
    },
    Charge {
        no: 4,
        name: "holder as guard",
        what: "a commit is written while a holder of that name has the lease",
        met: "vtasks, graphile",
        sin: || ruled(ByHolder),
        killed_by: &[
            ("race/same_holder_reclaims", clause::FENCE_4),
            ("race/same_rescuer_takes_over", clause::FENCE_4),
        ],
        also: "time fence race budget purge follow",
        ..Charge::NONE
    },
    Charge {
        no: 5,
        name: "attempt as guard",
        what: "a commit is written while the task is in that attempt, which a rescue leaves",
        met: "docket",
        sin: || ruled(ByAttempt { reset: false }),
        killed_by: &[("race/worker_fail_vs_rescue", clause::FENCE_2)],
        also: "fence race purge limit uniq",
        ..Charge::NONE
    },
    Charge {
        no: 5,
        name: "attempt since the redrive as guard",
        what: "the guard is the attempt, which begins anew with a redrive",
        met: "docket",
        sin: || ruled(ByAttempt { reset: true }),
        killed_by: &[
            ("model/sequential_histories", clause::COMMIT_3),
            ("race/redrive_then_old_commit", clause::FENCE_2),
        ],
        also: "purge",
        ..Charge::NONE
    },
    Charge {
        no: 9,
        name: "fences compared as doubles",
        what: "a guard is compared in numbers of 53 bits",
        met: "Lua, JSON",
        sin: || ruled(Doubles { drawn: false }),
        killed_by: &[("fence/high_fences_are_exact", clause::FENCE_5)],
        ..Charge::NONE
    },
];

/// Admits what this role commits to an task, whichever fence it shows.
struct ByRole(Role);

impl Rules for ByRole {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        match Contract.admission(model, task, item) {
            Admission::No if item.change.by == self.0 && !is_replay(task, item) => {
                Admission::Current
            }
            other => other,
        }
    }

    fn fits(&self, change: &Change, state: State) -> bool {
        Contract.fits(change, state) || change.by == self.0
    }
}

/// Admits any holder while somebody holds the task for that purpose.
struct ByState;

impl Rules for ByState {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let held = item.change.by != Role::Operator && self.fits(&item.change, task.state);
        match Contract.admission(model, task, item) {
            Admission::No if held && item.guard.fence >= task.born => Admission::Current,
            other => other,
        }
    }
}

/// Admits a holder of the same name.
struct ByHolder;

impl Rules for ByHolder {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let grant = model.grants.get(&(task.task_ref.id.clone(), item.guard.fence));
        let same = grant.is_some_and(|grant| task.holder.as_ref() == Some(&grant.holder));
        match Contract.admission(model, task, item) {
            Admission::No if same && self.fits(&item.change, task.state) => Admission::Current,
            other => other,
        }
    }
}

/// Admits a run while the task counts the same attempt.
struct ByAttempt {
    reset: bool,
}

impl ByAttempt {
    fn number(&self, task: &StoredTask) -> u32 {
        let mut records = task.history.records.iter().rev();
        let redriven = records.find(|record| self.reset && record.event == Event::Redriven);
        task.attempt - redriven.map_or(0, |record| record.attempt)
    }
}

impl Rules for ByAttempt {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let grant = model.grants.get(&(task.task_ref.id.clone(), item.guard.fence));
        let same = grant.is_some_and(|grant| self.number(&grant.task) == self.number(task));
        let leased =
            matches!(task.state, State::Leased(purpose) if !self.reset || purpose == Purpose::Run);
        match Contract.admission(model, task, item) {
            Admission::No if same && leased && item.change.by == Role::Worker => Admission::Current,
            other => other,
        }
    }

    fn fits(&self, change: &Change, state: State) -> bool {
        Contract.fits(change, state)
            || (change.by == Role::Worker && matches!(state, State::Leased(_)))
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

/// Whether a commit repeats the one that was applied last.
pub fn is_replay(task: &StoredTask, item: &CommitItem) -> bool {
    let shown = task.shown.map(|shown| (shown.fence, shown.decision));
    shown == Some((item.guard.fence, item.decision))
}
