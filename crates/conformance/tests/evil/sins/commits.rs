//! What a commit is answered, and what it writes.

use leasehold_conformance::model::{Admission, Contract, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{
    Applied, Change, CommitItem, CommitVerdict, ErrorKind, Payload, Role, State, StoredTask,
};

use super::guards::is_replay;
use super::{applied, stale};
use crate::charge::Charge;
use crate::sin::{after, before, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 20,
        name: "stale told as applied",
        what: "whoever lost is told Applied",
        met: "a verdict that is dropped",
        sin: || after(stale_as_applied),
        killed_by: &[("commit/verdict_true", clause::COMMIT_3)],
        also: "verbs time fence enq race late commit lapse budget mode oper held dead purge \
               limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        no: 20,
        name: "stale leaves a record",
        what: "a commit that is told Stale is written into the history all the same",
        met: "a log written before the guard",
        sin: || after(stale_leaves_a_record),
        killed_by: &[
            ("model/sequential_histories", clause::READ_1),
            ("race/worker_fail_vs_rescue", clause::FENCE_2),
        ],
        also: "verbs time fence race late commit lapse budget mode oper held dead limit \
               follow",
        ..Charge::NONE
    },
    Charge {
        name: "stale tells an old fence",
        what: "Stale tells the fence that was shown last and not the one of now",
        met: "an answer from the guard's own read",
        sin: || after(stale_tells_the_shown),
        killed_by: &[
            ("model/sequential_histories", clause::COMMIT_9),
            ("commit/one_bad_item_does_not_hurt", clause::COMMIT_9),
        ],
        also: "fence race late commit lapse budget mode oper held dead purge limit uniq \
               follow",
        ..Charge::NONE
    },
    Charge {
        name: "a lost race is an error",
        what: "a stale commit fails the call's item",
        met: "backends that fail when no row was changed",
        sin: || after(stale_is_an_error),
        killed_by: &[("verbs/a_lost_race_is_a_value", clause::GEN_8)],
        also: "verbs time fence enq obs race late commit lapse budget mode oper held dead \
               purge limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        no: 23,
        name: "overdue is refused",
        what: "a commit whose lease has passed is stale, though nobody came",
        met: "the time of the lease in the guard",
        sin: || ruled(NoOverdue),
        killed_by: &[
            ("model/sequential_histories", clause::COMMIT_7),
            ("commit/overdue_applies", clause::COMMIT_7),
        ],
        also: "time read obs race late retry give mode purge follow",
        ..Charge::NONE
    },
    Charge {
        name: "overdue is not told",
        what: "an overdue commit is told as a punctual one",
        sin: || after(overdue_untold),
        killed_by: &[("commit/overdue_applies", clause::COMMIT_7)],
        also: "time read race late renew retry give mode follow",
        ..Charge::NONE
    },
    Charge {
        name: "result is not kept",
        what: "a success drops its result",
        sin: || after(no_result),
        killed_by: &[("commit/result_is_kept", clause::COMMIT_2)],
        also: "verbs late",
        ..Charge::NONE
    },
    Charge {
        name: "history is not written",
        what: "an applied commit of a worker leaves no record",
        met: "the log in a second statement",
        sin: || after(no_record),
        killed_by: &[("race/matching_fail", clause::COMMIT_2)],
        also: "verbs dropped time race late commit renew lapse retry give mode dead",
        ..Charge::NONE
    },
    Charge {
        name: "state is not looked at",
        what: "a current fence admits any change in any unfinished state",
        met: "the guard alone in the WHERE",
        sin: || ruled(AnyState),
        killed_by: &[("commit/wrong_state_is_invalid", clause::COMMIT_3)],
        also: "commit",
        ..Charge::NONE
    },
    Charge {
        name: "a finished task is decided again",
        what: "the holder of the last lease may end a finished task once more",
        met: "an upsert",
        sin: || ruled(FinishedAgain),
        killed_by: &[
            ("commit/finished_never_changes", clause::COMMIT_10),
            ("late/takes_the_dead_letter_off_the_list", clause::LATE_4),
        ],
        also: "verbs race commit held dead purge follow",
        ..Charge::NONE
    },
    Charge {
        name: "messages are dropped",
        what: "a change is written without its message",
        sin: || before(no_message),
        killed_by: &[("race/matching_fail", clause::COMMIT_2)],
        also: "verbs time race late commit renew lapse retry give budget mode oper held dead \
               uniq",
        ..Charge::NONE
    },
];

fn stale_as_applied(_: &Model, _: &mut Model, _: &Op, reply: &mut Reply) {
    if let Reply::Committed(CommitVerdict::Stale { fence, .. }) = reply {
        *reply = Reply::Committed(CommitVerdict::Applied(Applied::new(*fence)));
    }
}

fn stale_leaves_a_record(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let now = next.now;
    if let Some((item, task)) = stale(next, op, reply) {
        let record = item.change.record(now, item.guard.fence, task.attempt);
        task.history.push(record, usize::MAX);
    }
}

fn stale_tells_the_shown(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let shown = stale(next, op, reply).and_then(|(_, task)| task.shown);
    if let (Reply::Committed(CommitVerdict::Stale { fence, .. }), Some(shown)) = (reply, shown) {
        *fence = shown.fence;
    }
}

fn stale_is_an_error(_: &Model, _: &mut Model, _: &Op, reply: &mut Reply) {
    if let Reply::Committed(CommitVerdict::Stale { .. }) = reply {
        *reply = Reply::Refused(ErrorKind::Internal);
    }
}

struct NoOverdue;

impl Rules for NoOverdue {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let holder = item.change.by == Role::Worker;
        let passed = task.until.is_some_and(|until| until <= model.now);
        match Contract.admission(model, task, item) {
            Admission::Current if holder && passed => Admission::No,
            other => other,
        }
    }
}

fn overdue_untold(_: &Model, _: &mut Model, _: &Op, reply: &mut Reply) {
    if let Reply::Committed(CommitVerdict::Applied(applied)) = reply {
        applied.overdue = false;
    }
}

fn no_result(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((_, task)) = applied(next, op, reply) {
        task.result = None::<Payload>;
    }
}

fn no_record(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.by == Role::Worker
    {
        task.history.records.pop();
    }
}

struct AnyState;

impl Rules for AnyState {
    fn fits(&self, change: &Change, state: State) -> bool {
        Contract.fits(change, state) || (change.by != Role::Operator && !state.is_finished())
    }
}

struct FinishedAgain;

impl Rules for FinishedAgain {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let shown = task.shown.is_some_and(|shown| shown.fence == item.guard.fence);
        let again = shown && task.state.is_finished() && !is_replay(task, item);
        match Contract.admission(model, task, item) {
            Admission::No if again && item.change.by != Role::Operator => Admission::Current,
            other => other,
        }
    }

    fn fits(&self, change: &Change, state: State) -> bool {
        Contract.fits(change, state) || (change.by != Role::Operator && state.is_finished())
    }
}

fn no_message(_: &mut Model, op: &mut Op) {
    if let Op::Commit(item) = op {
        item.change.message.clear();
    }
}
