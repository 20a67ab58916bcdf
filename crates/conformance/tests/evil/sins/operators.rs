//! Interventions: what they show, what they take away, and what still waits for the old lease.

use leasehold_conformance::model::{Admission, Contract, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{Change, CommitItem, Event, OnLeased, Purpose, Role, State, StoredTask, To};

use super::applied;
use super::guards::is_replay;
use crate::charge::Charge;
use crate::sin::{after, before, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 10,
        name: "operator unguarded",
        what: "an operator's act is written whatever fence was seen",
        met: "an UPDATE by id from a console",
        sin: || ruled(Unguarded),
        killed_by: &[
            ("race/operator_after_rescue_decision", clause::OPER_1),
            ("race/operator_vs_operator", clause::OPER_1),
            ("race/operator_vs_claim", clause::OPER_1),
            ("oper/stale_act_changes_nothing", clause::OPER_1),
            ("orders/two_operators_and_a_rescuer", clause::OPER_1),
        ],
        also: "fence oper purge",
        ..Charge::NONE
    },
    Charge {
        name: "the rescue wins over the operator",
        what: "a rescuer's decision is written though an operator acted after its claim",
        sin: || ruled(RescueWins),
        killed_by: &[
            ("oper/act_beats_an_undecided_rescue", clause::OPER_8),
            ("orders/two_operators_and_a_rescuer", clause::COMMIT_1),
        ],
        also: "mode",
        ..Charge::NONE
    },
    Charge {
        name: "requeue without revoke",
        what: "a requeue takes a running task though it did not say so",
        sin: || ruled(NeedsNoRevoke),
        killed_by: &[("oper/requeue_without_revoke_spares_the_run", clause::OPER_4)],
        ..Charge::NONE
    },
    Charge {
        name: "edit in any state",
        what: "a running or finished task can be edited",
        sin: || ruled(EditsAny),
        killed_by: &[("oper/other_acts_are_invalid", clause::OPER_5)],
        ..Charge::NONE
    },
    Charge {
        name: "edit drops the due time",
        what: "an edit writes all but the due time",
        sin: || after(edit_without_due),
        killed_by: &[("oper/edit_of_each_part", clause::OPER_5)],
        also: "oper",
        ..Charge::NONE
    },
    Charge {
        name: "cancel is a wish",
        what: "the cancel of a running task is noted, and the task goes on",
        met: "a cancel flag",
        sin: || after(cancel_is_a_wish),
        killed_by: &[("oper/cancel_of_each_state", clause::OPER_3)],
        also: "renew held uniq replay",
        ..Charge::NONE
    },
    Charge {
        name: "bury is a cancel",
        what: "what an operator buries is told as cancelled",
        sin: || after(bury_is_a_cancel),
        killed_by: &[("oper/bury_of_each_state", clause::OPER_6)],
        also: "renew held dead",
        ..Charge::NONE
    },
    Charge {
        name: "delete is a cancel",
        what: "a deleted task stays for as long as a cancelled one",
        sin: || before(delete_is_a_cancel),
        killed_by: &[
            ("model/sequential_histories", clause::ENQ_9),
            ("oper/delete_leaves_nothing", clause::OPER_7),
        ],
        also: "fence enq commit renew oper held uniq",
        ..Charge::NONE
    },
    Charge {
        name: "nobody acted",
        what: "the history does not say who acted",
        sin: || after(nobody_acted),
        killed_by: &[("oper/history_tells_who_and_why", clause::OPER_10)],
        also: "renew mode oper held dead uniq commit",
        ..Charge::NONE
    },
    Charge {
        name: "held until is not stored",
        what: "the end of a lease that an operator took away is forgotten",
        met: "mutant, 4 steps",
        sin: || after(not_held),
        killed_by: &[
            ("held/no_run_before_the_old_lease_ended", clause::OPER_11),
            ("held/record_stays", clause::OPER_11),
        ],
        also: "renew oper held dead limit uniq",
        ..Charge::NONE
    },
    Charge {
        name: "held until is not waited for",
        what: "a revoked or redriven task can be started at once",
        met: "mutant, 4 steps",
        sin: || ruled(StartsAtOnce),
        killed_by: &[
            ("held/no_run_before_the_old_lease_ended", clause::OPER_11),
            ("orders/a_unique_key_between_two_tasks", clause::CLAIM_1),
        ],
        also: "oper uniq",
        ..Charge::NONE
    },
    Charge {
        name: "held until moves on",
        what: "each later act pushes the end of the lost lease ahead",
        sin: || after(held_moves_on),
        killed_by: &[("held/until_is_never_extended", clause::OPER_11)],
        also: "fence held uniq",
        ..Charge::NONE
    },
    Charge {
        name: "held by a lapsed lease",
        what: "an act on a lapsed run makes the task wait for a lease that is over",
        sin: || after(held_by_a_lapsed),
        killed_by: &[("held/nothing_by_a_lapsed_lease", clause::OPER_11)],
        also: "oper",
        ..Charge::NONE
    },
    Charge {
        name: "delete frees the id at once",
        what: "a deleted task leaves while its old run goes on",
        met: "mutant, 7 steps",
        sin: || after(deleted_at_once),
        killed_by: &[("held/deleted_run_leaves_at_its_lease_end", clause::OPER_11)],
        also: "oper held uniq",
        ..Charge::NONE
    },
    Charge {
        name: "purge takes the record at once",
        what: "a purge removes what an operator took away while its old run goes on",
        met: "mutant, 8 steps",
        sin: || after(purged_early),
        killed_by: &[("held/record_stays", clause::OPER_11)],
        also: "held uniq",
        ..Charge::NONE
    },
];

struct Unguarded;

impl Rules for Unguarded {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let act = item.change.by == Role::Operator && self.fits(&item.change, task.state);
        match Contract.admission(model, task, item) {
            Admission::No if act && !is_replay(task, item) => Admission::Current,
            other => other,
        }
    }
}

struct RescueWins;

impl Rules for RescueWins {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let shown = task
            .shown
            .is_some_and(|shown| shown.by == Role::Operator && shown.fence == item.guard.fence);
        match Contract.admission(model, task, item) {
            Admission::No if shown && item.change.by == Role::Rescuer => Admission::Current,
            other => other,
        }
    }

    fn fits(&self, change: &Change, state: State) -> bool {
        Contract.fits(change, state) || change.by == Role::Rescuer
    }
}

struct NeedsNoRevoke;

impl Rules for NeedsNoRevoke {
    fn fits(&self, change: &Change, state: State) -> bool {
        let mut change = change.clone();
        change.on_leased = OnLeased::Revoke;
        Contract.fits(&change, state)
    }
}

struct EditsAny;

impl Rules for EditsAny {
    fn fits(&self, change: &Change, state: State) -> bool {
        Contract.fits(change, state) || change.to == To::Same
    }
}

fn edit_without_due(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.to == To::Same
        && let Some(old) = before.task(&item.guard.task.id)
    {
        task.due = old.due;
    }
}

fn cancel_is_a_wish(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Operator
        && item.change.to == To::Cancelled
        && let Some(old) = before.task(&item.guard.task.id)
        && old.state == State::Leased(Purpose::Run)
    {
        (task.state, task.until, task.finished_at) = (old.state, old.until, None);
        (task.run, task.holder) = (old.run, old.holder.clone());
    }
}

fn bury_is_a_cancel(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Operator
        && matches!(item.change.to, To::Dead(_))
    {
        task.state = State::Cancelled;
    }
}

fn delete_is_a_cancel(model: &mut Model, op: &mut Op) {
    if let Op::Commit(item) = op
        && item.change.to == To::Gone
        && model.task(&item.guard.task.id).is_some_and(|task| !task.state.is_finished())
    {
        item.change.to = To::Cancelled;
    }
}

fn nobody_acted(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((_, task)) = applied(next, op, reply)
        && let Some(last) = task.history.records.last_mut()
    {
        last.actor = None;
    }
}

fn not_held(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Operator
    {
        task.held_until = None;
    }
}

struct StartsAtOnce;

impl Rules for StartsAtOnce {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        task.state == State::Waiting && task.due <= model.now
    }
}

fn held_moves_on(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let now = next.now;
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Operator
        && let Some(held) = before.task(&item.guard.task.id).and_then(|old| old.held_until)
        && held > now
    {
        task.held_until = Some(held.after(std::time::Duration::from_secs(1)));
    }
}

fn held_by_a_lapsed(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let now = next.now;
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Operator
        && let Some(old) = before.task(&item.guard.task.id)
        && old.state == State::Leased(Purpose::Run)
        && old.until.is_some_and(|until| until <= now)
    {
        task.held_until = task.held_until.max(old.until);
    }
}

fn deleted_at_once(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let deleted = |(item, _): (&CommitItem, _)| item.change.event == Event::Deleted;
    if let (true, Op::Commit(item)) = (applied(next, op, reply).is_some_and(deleted), op) {
        next.tasks.remove(&item.guard.task.id);
    }
}

fn purged_early(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let (Op::Purge(_), Reply::Purged(count)) = (op, reply) else { return };
    let (now, there) = (next.now, next.tasks.len());
    next.tasks.retain(|_, kept| {
        let held = kept.task.held_until.is_some_and(|held| held > now);
        !held || !kept.task.state.is_finished() || kept.expires.is_none()
    });
    *count += there - next.tasks.len();
}
