//! The right to a late success: who has it, where, and until when.

use leasehold_conformance::model::{Admission, Contract, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{CommitItem, CommitVerdict, DeadReason, Purpose, Role, State, StoredTask, To};

use super::applied;
use crate::charge::Charge;
use crate::sin::{after, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 22,
        name: "late after the next run",
        what: "a success of any run is taken, also after the next has begun",
        sin: || ruled(AfterTheNext),
        killed_by: &[
            ("late/ends_at_next_run", clause::LATE_1),
            ("orders/redrive_and_late_success", clause::COMMIT_1),
        ],
        also: "time fence race purge limit follow",
        ..Charge::NONE
    },
    Charge {
        no: 23,
        name: "a late failure is taken",
        what: "a failure of the newest run counts after a rescue claim came",
        met: "a right of the holder that is for every end",
        sin: || ruled(Late(|to| matches!(to, To::Waiting(_) | To::Dead(_)))),
        killed_by: &[
            ("model/sequential_histories", clause::LATE_2),
            ("late/only_success", clause::LATE_2),
            ("late/only_success_beside_a_passed_on_key", clause::LATE_2),
            ("race/worker_fail_vs_rescue", clause::LATE_2),
        ],
        also: "fence race dead limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        no: 23,
        name: "a late cancel is taken",
        what: "a cancel by the newest run counts after a rescue claim came",
        sin: || ruled(Late(|to| to == To::Cancelled)),
        killed_by: &[("late/only_success", clause::LATE_2)],
        also: "race late limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "no late success under a rescue",
        what: "a success is stale as soon as a rescue claim came",
        sin: || ruled(NotIn(|state| state == State::Leased(Purpose::Rescue))),
        killed_by: &[
            ("model/sequential_histories", clause::LATE_1),
            ("late/counts_under_the_undecided_rescue", clause::LATE_1),
        ],
        also: "time obs race late lapse limit uniq follow replay",
        ..Charge::NONE
    },
    Charge {
        name: "no late success in waiting",
        what: "a success is stale once the rescue put the task back",
        sin: || ruled(NotIn(|state| state == State::Waiting)),
        killed_by: &[("late/counts_in_waiting_after_rescue", clause::LATE_1)],
        also: "race late commit lapse limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "no late success of the lost",
        what: "a success is stale once the rescue buried the task",
        sin: || ruled(NotIn(|state| state == State::Dead(DeadReason::Lost))),
        killed_by: &[("late/counts_in_dead_lost", clause::LATE_1)],
        also: "race late lapse purge limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "late success leaves a dead letter",
        what: "the late success is told Applied, and the task stays dead",
        sin: || after(stays_dead),
        killed_by: &[("late/takes_the_dead_letter_off_the_list", clause::LATE_3)],
        also: "race late lapse purge",
        ..Charge::NONE
    },
    Charge {
        name: "late is not told",
        what: "a late success is told as a punctual one",
        sin: || after(late_untold),
        killed_by: &[("late/counts_under_the_undecided_rescue", clause::LATE_1)],
        also: "time race late commit lapse purge limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "redrive keeps the right",
        what: "a run from before a redrive may still succeed",
        met: "mutant, 8 steps",
        sin: || after(|before, next, op, reply| keep_run(before, next, op, reply, true)),
        killed_by: &[("late/ends_at_an_operators_act", clause::LATE_1)],
        also: "mode dead",
        ..Charge::NONE
    },
    Charge {
        name: "operator's acts keep the right",
        what: "a run from before an operator's act may still succeed",
        met: "mutant, 5 steps",
        sin: || after(|before, next, op, reply| keep_run(before, next, op, reply, false)),
        killed_by: &[("late/ends_at_an_operators_act", clause::LATE_1)],
        also: "renew oper held dead",
        ..Charge::NONE
    },
    Charge {
        name: "a committed run keeps the right",
        what: "a run that gave its task back may still succeed",
        sin: || after(committed_keeps_run),
        killed_by: &[("late/a_committed_run_has_no_right", clause::LATE_5)],
        also: "race late commit renew lapse retry give mode",
        ..Charge::NONE
    },
    Charge {
        name: "a rescue ends the right",
        what: "the decision of a rescue takes the right to a late success",
        sin: || after(rescue_drops_run),
        killed_by: &[("late/a_rescue_keeps_the_right", clause::LATE_5)],
        also: "race late commit renew lapse budget mode dead purge limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "a pause ends the right",
        what: "new settings take the right to a late success",
        sin: || after(configure_drops_run),
        killed_by: &[("late/outlives_pause_and_repair", clause::LATE_1)],
        also: "late",
        ..Charge::NONE
    },
    Charge {
        name: "a late success cannot be repeated",
        what: "a late success leaves no mark by which its repeat is known",
        sin: || after(late_unmarked),
        killed_by: &[("late/a_repeat_is_replayed", clause::LATE_1)],
        also: "obs race late commit lapse uniq",
        ..Charge::NONE
    },
];

struct AfterTheNext;

impl Rules for AfterTheNext {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let success = item.change.by == Role::Worker && item.change.to == To::Succeeded;
        let grant = model.grants.get(&(task.task_ref.id.clone(), item.guard.fence));
        let ran = grant.is_some_and(|grant| grant.task.state == State::Leased(Purpose::Run));
        match Contract.admission(model, task, item) {
            Admission::No if success && ran && task.run.is_some() => Admission::Late,
            other => other,
        }
    }
}

/// Lets these ends be late as well.
struct Late(fn(To) -> bool);

impl Rules for Late {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let newest = item.change.by == Role::Worker && task.run == Some(item.guard.fence);
        match Contract.admission(model, task, item) {
            Admission::No if newest && self.0(item.change.to) => Admission::Late,
            other => other,
        }
    }
}

/// Takes no late success in such a state.
struct NotIn(fn(State) -> bool);

impl Rules for NotIn {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        match Contract.admission(model, task, item) {
            Admission::Late if self.0(task.state) => Admission::No,
            other => other,
        }
    }
}

fn stays_dead(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Worker
        && let Some(old) = before.task(&item.guard.task.id)
        && old.state.is_finished()
    {
        task.state = old.state;
    }
}

fn late_untold(_: &Model, _: &mut Model, _: &Op, reply: &mut Reply) {
    if let Reply::Committed(CommitVerdict::Applied(applied)) = reply {
        applied.late = false;
    }
}

fn keep_run(before: &Model, next: &mut Model, op: &Op, reply: &Reply, redrive: bool) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Operator
        && item.change.is_redrive() == redrive
    {
        task.run = before.task(&item.guard.task.id).and_then(|old| old.run);
    }
}

fn committed_keeps_run(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Worker
        && task.state == State::Waiting
    {
        task.run = before.task(&item.guard.task.id).and_then(|old| old.run);
    }
}

fn rescue_drops_run(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Rescuer
    {
        task.run = None;
    }
}

fn configure_drops_run(_: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
    if matches!(op, Op::Configure(_)) {
        for kept in next.tasks.values_mut() {
            if kept.task.state != State::Leased(Purpose::Run) {
                kept.task.run = None;
            }
        }
    }
}

fn late_unmarked(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let late = matches!(reply, Reply::Committed(CommitVerdict::Applied(told)) if told.late);
    if let Some((item, task)) = applied(next, op, reply).filter(|_| late) {
        task.shown = before.task(&item.guard.task.id).and_then(|old| old.shown);
    }
}
