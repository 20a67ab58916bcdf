//! Tasks that a commit brings along.

use std::sync::Arc;

use leasehold_conformance::model::{Model, Op, Reply, predict};
use leasehold_core::clause;
use leasehold_core::{CommitVerdict, EnqueueVerdict, Error, ErrorKind, Purpose, State, To};

use crate::charge::Charge;
use crate::sin::{Answer, Sin, after, before};

pub const ALL: &[Charge] = &[
    Charge {
        name: "a retry brings none",
        what: "follow-ups are made by a success alone",
        sin: || {
            before(|_, op| {
                if let Op::Commit(item) = op
                    && item.change.to != To::Succeeded
                {
                    item.change.follow_ups.clear();
                }
            })
        },
        killed_by: &[
            ("model/sequential_histories", clause::ENQ_8),
            ("follow/every_change_brings_them", clause::ENQ_8),
        ],
        also: "follow",
        ..Charge::NONE
    },
    Charge {
        name: "stale makes follow-ups",
        what: "the follow-ups of a stale commit are made",
        met: "mutant, 3 steps",
        sin: || {
            after(|_, next, op, reply| {
                if matches!(reply, Reply::Committed(CommitVerdict::Stale { .. })) {
                    make(next, op);
                }
            })
        },
        killed_by: &[("follow/stale_and_gone_make_none", clause::ENQ_8)],
        ..Charge::NONE
    },
    Charge {
        name: "a repeat makes follow-ups",
        what: "the follow-ups of a repeated commit are made again",
        met: "mutant, 3 steps",
        sin: || {
            after(|_, next, op, reply| {
                if matches!(reply, Reply::Committed(CommitVerdict::Replayed)) {
                    make(next, op);
                }
            })
        },
        killed_by: &[("follow/replayed_makes_none", clause::ENQ_8)],
        ..Charge::NONE
    },
    Charge {
        name: "late brings none",
        what: "a late success drops its follow-ups",
        met: "mutant, 5 steps",
        sin: || {
            before(|model, op| {
                if let Op::Commit(item) = op
                    && model.task(&item.guard.task.id).is_some_and(|t| t.fence != item.guard.fence)
                {
                    item.change.follow_ups.clear();
                }
            })
        },
        killed_by: &[("follow/overdue_and_late_bring_them", clause::ENQ_8)],
        ..Charge::NONE
    },
    Charge {
        name: "overdue brings none",
        what: "an overdue commit drops its follow-ups",
        sin: || {
            before(|model, op| {
                let now = model.now;
                if let Op::Commit(item) = op
                    && let Some(until) = model.task(&item.guard.task.id).and_then(|task| task.until)
                    && until <= now
                {
                    item.change.follow_ups.clear();
                }
            })
        },
        killed_by: &[("follow/overdue_and_late_bring_them", clause::ENQ_8)],
        ..Charge::NONE
    },
    Charge {
        name: "made before the parent ends",
        what: "follow-ups meet the unique key that their parent still has",
        met: "mutant, 3 steps",
        sin: || Arc::new(BeforeTheEnd),
        killed_by: &[("follow/takes_the_parents_key", clause::ENQ_8)],
        ..Charge::NONE
    },
    Charge {
        name: "a duplicate undoes the commit",
        what: "a commit with a follow-up that exists is refused",
        met: "a unique index in the transaction",
        sin: || {
            after(|before, next, _, reply| {
                let duplicate =
                    |verdict: &EnqueueVerdict| matches!(verdict, EnqueueVerdict::Duplicate { .. });
                if let Reply::Committed(CommitVerdict::Applied(told)) = reply
                    && told.follow_ups.iter().any(duplicate)
                {
                    next.clone_from(before);
                    *reply = Reply::Refused(ErrorKind::Invalid);
                }
            })
        },
        killed_by: &[("follow/duplicate_does_not_undo", clause::ENQ_8)],
        also: "follow",
        ..Charge::NONE
    },
    Charge {
        name: "a call's items see each other half done",
        what: "a follow-up meets a task as leased that another item of its call has ended",
        met: "writes that a script puts off",
        sin: || Arc::new(HalfDone),
        killed_by: &[("follow/one_order_explains_a_call", clause::ENQ_8)],
        ..Charge::NONE
    },
    Charge {
        name: "follow-ups are not told",
        what: "a commit does not say what became of its follow-ups",
        sin: || {
            after(|_, _, _, reply| {
                if let Reply::Committed(CommitVerdict::Applied(told)) = reply {
                    told.follow_ups.clear();
                }
            })
        },
        killed_by: &[("follow/every_change_brings_them", clause::ENQ_8)],
        also: "follow",
        ..Charge::NONE
    },
];

fn make(next: &mut Model, op: &Op) {
    if let Op::Commit(item) = op {
        (*next, _) = predict(next, &Op::Enqueue(item.change.follow_ups.clone()));
    }
}

struct HalfDone;

impl Sin for HalfDone {
    fn batch(&self, mut answers: Vec<Answer>) -> Result<Vec<Answer>, Error> {
        let is_batch = answers.len() > 1;
        for answer in answers.iter_mut().filter(|_| is_batch) {
            let Ok(Reply::Committed(CommitVerdict::Applied(told))) = answer else { continue };
            for verdict in &mut told.follow_ups {
                if let EnqueueVerdict::Duplicate { state: state @ None, .. } = verdict {
                    *state = Some(State::Leased(Purpose::Run));
                }
            }
        }
        Ok(answers)
    }
}

struct BeforeTheEnd;

impl Sin for BeforeTheEnd {
    fn after(&self, before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        let (Op::Commit(item), Reply::Committed(CommitVerdict::Applied(told))) = (op, reply) else {
            return;
        };
        let parent = before.task(&item.guard.task.id);
        let Some(key) = parent.and_then(|task| task.unique.clone()) else { return };
        for (new, verdict) in item.change.follow_ups.iter().zip(&mut told.follow_ups) {
            if new.unique.as_ref() == Some(&key) {
                *verdict = EnqueueVerdict::Duplicate {
                    cause: leasehold_core::DuplicateCause::Key,
                    holder: item.guard.task.clone(),
                    state: parent.map(|task| task.state),
                };
                next.tasks.remove(&new.id);
            }
        }
    }
}
