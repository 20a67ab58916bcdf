//! Failures, rescues and what costs nothing: what a store writes beside the decision.

use leasehold_conformance::model::{Model, Op, Reply};
use leasehold_core::clause;
use leasehold_core::{
    Budget, CommitItem, CommitVerdict, DeadReason, Delivery, Event, Role, State, StoredTask,
};

use super::{applied, stale, task};
use crate::charge::Charge;
use crate::sin::{after, before};

/// Does `fault` to the task of each applied commit for which `when` holds.
macro_rules! written {
    ($when:expr, $fault:expr) => {
        || {
            after(|before, next, op, reply| {
                let when: fn(&CommitItem, &StoredTask) -> bool = $when;
                let fault: fn(&mut StoredTask, &StoredTask) = $fault;
                let Some((item, task)) = applied(next, op, reply) else { return };
                let Some(old) = before.task(&item.guard.task.id) else { return };
                if when(item, task) {
                    fault(task, old);
                }
            })
        }
    };
}

pub const ALL: &[Charge] = &[
    Charge {
        no: 18,
        name: "a rescue spends a retry",
        what: "a rescue counts as a failure as well",
        met: "one counter for both",
        sin: written!(|item, _| item.change.by == Role::Rescuer, |task, _| task.failures += 1),
        killed_by: &[("budget/two_budgets_are_independent", clause::BUDGET_1)],
        also: "claim race late commit renew lapse budget mode dead",
        ..Charge::NONE
    },
    Charge {
        no: 19,
        name: "a stale rescue spends a rescue",
        what: "the budget is counted before the guard is looked at",
        met: "two rescuers",
        sin: || after(stale_spends),
        killed_by: &[("budget/a_stale_read_spends_nothing", clause::FENCE_2)],
        also: "fence race late commit lapse mode oper dead",
        ..Charge::NONE
    },
    Charge {
        name: "a rescue is not counted",
        what: "a rescue puts the task back for nothing",
        sin: written!(|item, _| item.change.by == Role::Rescuer, |task, old| task.rescues =
            old.rescues),
        killed_by: &[
            ("model/sequential_histories", clause::CLAIM_5),
            ("budget/rescues_end_at_their_limit", clause::BUDGET_2),
            ("mode/starts_are_bounded", clause::MODE_3),
        ],
        also: "dropped fence ctl claim race late commit renew lapse budget dead",
        ..Charge::NONE
    },
    Charge {
        no: 27,
        name: "giving back spends a retry",
        what: "a snooze or a release counts as a failure",
        met: "report C08",
        sin: written!(|item, _| gives(item), |task, _| task.failures += 1),
        killed_by: &[
            ("budget/what_costs_nothing", clause::BUDGET_3),
            ("give/costs_nothing", clause::GIVE_2),
        ],
        also: "race commit renew lapse give mode",
        ..Charge::NONE
    },
    Charge {
        no: 27,
        name: "giving back leaves the lease",
        what: "a task that was snoozed or released is still in the list of leases",
        met: "report C08",
        sin: written!(|item, _| gives(item), |task, old| task.until = old.until),
        killed_by: &[("give/clears_the_lease", clause::GIVE_3)],
        also: "time fence read race commit renew lapse give mode follow",
        ..Charge::NONE
    },
    Charge {
        name: "release is due now",
        what: "a release makes the task due now",
        sin: || after(release_is_due_now),
        killed_by: &[("give/release_keeps_the_due_time", clause::GIVE_1)],
        also: "claim race renew give mode",
        ..Charge::NONE
    },
    Charge {
        name: "a late success spends a retry",
        what: "a success that comes late counts as a failure",
        sin: || after(late_spends),
        killed_by: &[("budget/what_costs_nothing", clause::BUDGET_3)],
        also: "race late commit lapse",
        ..Charge::NONE
    },
    Charge {
        name: "redrive keeps what was spent",
        what: "a task that is sent back has the budgets that it died with",
        sin: written!(|item, _| item.change.budget == Budget::Reset, |task, old| (
            task.failures,
            task.rescues
        ) =
            (old.failures, old.rescues)),
        killed_by: &[("budget/redrive_resets_both", clause::BUDGET_4)],
        also: "renew dead",
        ..Charge::NONE
    },
    Charge {
        name: "a failure is not counted",
        what: "a failure puts the task back for nothing",
        sin: written!(|item, _| item.change.budget == Budget::SpendRetry, |task, old| task
            .failures =
            old.failures),
        killed_by: &[("retry/delay_follows_the_policy", clause::RETRY_1)],
        also: "race late commit renew retry mode dead",
        ..Charge::NONE
    },
    Charge {
        name: "a retry waits from the claim",
        what: "the delay of a retry is counted from the old due time",
        sin: || after(delay_from_due),
        killed_by: &[("retry/delay_counts_from_the_commit", clause::RETRY_1)],
        also: "late retry mode",
        ..Charge::NONE
    },
    Charge {
        name: "the last failure is retried",
        what: "a failure that spends the budget puts the task back",
        sin: written!(|_, task| task.state == State::Dead(DeadReason::Exhausted), |task, _| (
            task.state,
            task.finished_at
        ) =
            (State::Waiting, None)),
        killed_by: &[("retry/exhausted_at_the_budget", clause::RETRY_2)],
        also: "obs lapse retry mode dead",
        ..Charge::NONE
    },
    Charge {
        name: "a fatal failure spends a retry",
        what: "a failure that is not retryable is counted",
        sin: written!(|_, task| task.state == State::Dead(DeadReason::Rejected), |task, _| task
            .failures +=
            1),
        killed_by: &[("retry/fatal_leaves_the_budget", clause::RETRY_3)],
        also: "renew mode dead",
        ..Charge::NONE
    },
    Charge {
        name: "a retry begins anew",
        what: "a retry sets the attempt to 0",
        sin: written!(|item, _| item.change.budget == Budget::SpendRetry, |task, _| task.attempt =
            0),
        killed_by: &[("retry/keeps_what_the_task_is", clause::RETRY_4)],
        also: "obs race late commit renew retry mode dead limit",
        ..Charge::NONE
    },
    Charge {
        name: "history without end",
        what: "no record of the history is ever dropped",
        sin: || before(|model, _| model.capabilities.bounds.history_max = usize::MAX),
        killed_by: &[("retry/history_is_bounded", clause::RETRY_5)],
        ..Charge::NONE
    },
    Charge {
        name: "history loses its first",
        what: "the history keeps the newest records alone",
        sin: written!(|_, task| task.history.dropped > 0, |task, old| {
            task.history = old.history.clone();
            task.history.records.remove(0);
            task.history.dropped += 1;
        }),
        killed_by: &[("retry/history_is_bounded", clause::RETRY_5)],
        ..Charge::NONE
    },
    Charge {
        name: "at most once runs twice",
        what: "a task that may run once is put back when its run fails or gives it back",
        met: "mutant, 4 steps",
        sin: written!(
            |item, task| item.change.by == Role::Worker
                && task.policy.delivery == Delivery::AtMostOnce
                && matches!(task.state, State::Dead(_)),
            |task, _| (task.state, task.finished_at) = (State::Waiting, None)
        ),
        killed_by: &[("mode/at_most_once_never_runs_twice", clause::MODE_1)],
        ..Charge::NONE
    },
    Charge {
        name: "the lost run again",
        what: "a rescue under Never puts the task back",
        met: "mutant, 5 steps",
        sin: written!(
            |item, task| item.change.by == Role::Rescuer
                && task.policy.delivery != Delivery::at_least_once(),
            |task, _| (task.state, task.finished_at) = (State::Waiting, None)
        ),
        killed_by: &[("mode/never_buries_what_was_lost", clause::MODE_2)],
        also: "race late commit lapse budget dead uniq",
        ..Charge::NONE
    },
];

fn gives(item: &CommitItem) -> bool {
    matches!(item.change.event, Event::Snoozed | Event::Released)
}

fn stale_spends(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = stale(next, op, reply)
        && item.change.by == Role::Rescuer
    {
        task.rescues += 1;
    }
}

fn release_is_due_now(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let now = next.now;
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.event == Event::Released
    {
        task.due = now;
    }
}

fn late_spends(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let (Op::Commit(item), Reply::Committed(CommitVerdict::Applied(told))) = (op, reply)
        && told.late
        && let Some(task) = task(next, &item.guard.task.id)
    {
        task.failures += 1;
    }
}

fn delay_from_due(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let now = next.now;
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.budget == Budget::SpendRetry
        && task.state == State::Waiting
        && let Some(old) = before.task(&item.guard.task.id)
    {
        task.due = old.due.after(task.due.since(now));
    }
}
