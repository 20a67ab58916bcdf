//! What a purge removes, and what it leaves.

use std::sync::Arc;
use std::time::Duration;

use leasehold_conformance::model::{Model, Op, Reply};
use leasehold_core::clause;
use leasehold_core::{Purged, State};

use crate::charge::Charge;
use crate::sin::{Sin, after, before};

pub const ALL: &[Charge] = &[
    Charge {
        no: 39,
        name: "purge takes the unfinished",
        what: "a purge takes whatever is older than a day",
        met: "a trim by age",
        sin: || {
            before(|model, op| {
                let day = Duration::from_secs(24 * 60 * 60);
                let now = model.now;
                if matches!(op, Op::Purge(_)) {
                    for kept in model.tasks.values_mut() {
                        if kept.task.state == State::Waiting
                            && kept.task.enqueued_at.after(day) <= now
                        {
                            kept.expires = Some(now);
                        }
                    }
                }
            })
        },
        killed_by: &[("purge/unfinished_never", clause::PURGE_1)],
        also: "enq uniq",
        ..Charge::NONE
    },
    Charge {
        no: 39,
        name: "purge counts and leaves",
        what: "a purge tells what it would remove, and the records stay",
        met: "the index alone is trimmed",
        sin: || {
            after(|before, next, op, _| {
                if matches!(op, Op::Purge(_)) {
                    next.tasks.clone_from(&before.tasks);
                }
            })
        },
        killed_by: &[("purge/counted_and_bounded", clause::PURGE_1)],
        also: "fence enq held dead purge uniq",
        ..Charge::NONE
    },
    Charge {
        name: "purge sees no end",
        what: "a purge that removes nothing tells of more as long as finished tasks stay",
        met: "a look at the index without the time",
        sin: || Arc::new(Endless),
        killed_by: &[("purge/ends_where_all_stay", clause::PURGE_1)],
        also: "purge",
        ..Charge::NONE
    },
    Charge {
        name: "purge has no bound",
        what: "a purge removes more than it was asked for",
        sin: || {
            before(|_, op| {
                if let Op::Purge(max) = op {
                    *max = usize::MAX;
                }
            })
        },
        killed_by: &[("purge/counted_and_bounded", clause::PURGE_1)],
        ..Charge::NONE
    },
    Charge {
        name: "purge forgets the id",
        what: "what a purge removes is not remembered",
        sin: || {
            after(|before, next, op, _| {
                if matches!(op, Op::Purge(_)) {
                    next.left.retain(|id, _| before.left.contains_key(id));
                }
            })
        },
        killed_by: &[("purge/leaves_the_remembered_id", clause::ENQ_9)],
        also: "enq",
        ..Charge::NONE
    },
    Charge {
        name: "purge leaves what was held",
        what: "the next task of a purged id waits for what the old one was held by",
        sin: || after(left_behind),
        killed_by: &[("purge/next_task_owes_the_old_nothing", clause::PURGE_2)],
        also: "fence enq renew",
        ..Charge::NONE
    },
    Charge {
        name: "a task's own retention is not looked at",
        what: "the queue's retention holds for every task",
        sin: || {
            before(|_, op| {
                if let Op::Commit(item) = op {
                    item.change.keep = None;
                }
            })
        },
        killed_by: &[("purge/own_retention_goes_first", clause::PURGE_1)],
        also: "verbs dropped time fence enq read ctl obs race late commit lapse give mode \
               oper dead purge uniq",
        ..Charge::NONE
    },
    Charge {
        name: "retention from the enqueue",
        what: "the time that a finished task stays is counted from its enqueue",
        sin: || after(from_the_enqueue),
        killed_by: &[("purge/counted_from_the_finish", clause::PURGE_1)],
        also: "held dead",
        ..Charge::NONE
    },
    Charge {
        name: "an edit ends what is over",
        what: "an edit of a dead letter that a purge may take removes it",
        met: "the example from outside, in its first form",
        sin: || after(ended_by_an_edit),
        killed_by: &[
            ("model/sequential_histories", clause::READ_1),
            ("purge/an_edit_takes_nothing", clause::PURGE_1),
        ],
        ..Charge::NONE
    },
];

fn ended_by_an_edit(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    use leasehold_core::{CommitVerdict, To};
    let (Op::Commit(item), Reply::Committed(CommitVerdict::Applied(_))) = (op, &*reply) else {
        return;
    };
    let (id, now) = (&item.guard.task.id, next.now);
    let over = next.tasks.get(id).is_some_and(|kept| kept.expires.is_some_and(|at| at <= now));
    if item.change.to == To::Same && over {
        next.tasks.remove(id);
    }
}

fn left_behind(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    use leasehold_core::EnqueueVerdict;
    let (Op::Enqueue(tasks), Reply::Enqueued(verdicts)) = (op, &*reply) else { return };
    for (new, verdict) in tasks.iter().zip(verdicts) {
        let used = before.grants.keys().any(|(id, _)| *id == new.id);
        let now = next.now;
        if let (EnqueueVerdict::Enqueued { .. }, true) = (verdict, used)
            && let Some(task) = super::task(next, &new.id)
        {
            task.held_until = Some(now.after(Duration::from_secs(30)));
        }
    }
}

fn from_the_enqueue(before: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
    let now = next.now;
    if let Op::Commit(item) = op
        && before.task(&item.guard.task.id).is_some_and(|old| !old.state.is_finished())
        && let Some(kept) = next.tasks.get_mut(&item.guard.task.id)
        && kept.task.state.is_finished()
        && let Some(expires) = kept.expires
    {
        kept.expires = Some(kept.task.enqueued_at.after(expires.since(now)));
    }
}

struct Endless;

impl Sin for Endless {
    fn purged(&self, model: &Model, max: usize, purged: &mut Purged) {
        let stay = model.tasks.values().filter(|kept| kept.task.state.is_finished());
        purged.more |= purged.tasks == 0 && stay.count() > max;
    }
}
