//! Unique keys: who takes one, who frees it, and what the next holder waits for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use leasehold_conformance::model::{Model, Op, Reply};
use leasehold_core::clause;
use leasehold_core::{
    CommitVerdict, DeadReason, DuplicateCause, EnqueueVerdict, Role, State, StoredTask,
};

use super::applied;
use crate::charge::Charge;
use crate::sin::{Sin, after, before};

pub const ALL: &[Charge] = &[
    Charge {
        name: "keys are not looked at",
        what: "two unfinished tasks may have one key",
        sin: || Arc::new(Hidden(|_| true)),
        killed_by: &[
            ("model/sequential_histories", clause::UNIQ_2),
            ("uniq/second_is_duplicate", clause::UNIQ_2),
        ],
        also: "enq late retry dead uniq",
        ..Charge::NONE
    },
    Charge {
        no: 28,
        name: "claim frees the key",
        what: "a key is held only while its task waits",
        met: "a key deleted by its name alone",
        sin: || Arc::new(Hidden(|task| matches!(task.state, State::Leased(_)))),
        killed_by: &[("uniq/kept_by_what_goes_on", clause::UNIQ_3)],
        also: "late uniq",
        ..Charge::NONE
    },
    Charge {
        no: 28,
        name: "retry frees the key",
        what: "a task that failed once and waits has lost its key",
        met: "a key deleted by its name alone",
        sin: || Arc::new(Hidden(|task| task.failures > 0 && task.state == State::Waiting)),
        killed_by: &[
            ("uniq/kept_by_what_goes_on", clause::UNIQ_5),
            ("retry/keeps_the_unique_key", clause::UNIQ_5),
        ],
        ..Charge::NONE
    },
    Charge {
        no: 28,
        name: "rescue frees the key",
        what: "a task that a rescue put back has lost its key",
        sin: || Arc::new(Hidden(|task| task.rescues > 0 && task.state == State::Waiting)),
        killed_by: &[("uniq/kept_by_what_goes_on", clause::UNIQ_5)],
        also: "late uniq",
        ..Charge::NONE
    },
    Charge {
        no: 28,
        name: "success keeps the key",
        what: "the key of a task that succeeded is never freed",
        met: "a lock that only its time ends",
        sin: || Arc::new(Kept(|state| state == State::Succeeded)),
        killed_by: &[
            ("model/sequential_histories", clause::ENQ_2),
            ("uniq/freed_by_each_outcome_that_finishes", clause::UNIQ_3),
        ],
        also: "late uniq",
        ..Charge::NONE
    },
    Charge {
        no: 28,
        name: "cancel keeps the key",
        what: "the key of a task that was cancelled is never freed",
        met: "a lock that only its time ends",
        sin: || Arc::new(Kept(|state| state == State::Cancelled)),
        killed_by: &[("uniq/freed_by_acts_and_loss", clause::UNIQ_3)],
        also: "uniq",
        ..Charge::NONE
    },
    Charge {
        no: 28,
        name: "the lost keep the key",
        what: "the key of a task that a rescue buried is never freed",
        sin: || Arc::new(Kept(|state| state == State::Dead(DeadReason::Lost))),
        killed_by: &[("uniq/freed_by_acts_and_loss", clause::UNIQ_5)],
        also: "late uniq",
        ..Charge::NONE
    },
    Charge {
        name: "the old holder frees the key",
        what: "a late success frees its key by name, though another task has it",
        met: "mutant, 13 steps",
        sin: || after(|b, n, o, r| frees_by_name(b, n, o, r, Role::Worker)),
        killed_by: &[("uniq/old_holder_frees_nothing", clause::UNIQ_3)],
        also: "late",
        ..Charge::NONE
    },
    Charge {
        no: 28,
        name: "acts on the old holder free the key",
        what: "an act on a finished task frees its key by name, though another task has it",
        met: "a key deleted by its name alone",
        sin: || after(|b, n, o, r| frees_by_name(b, n, o, r, Role::Operator)),
        killed_by: &[("uniq/acts_on_old_holder_free_nothing", clause::UNIQ_3)],
        ..Charge::NONE
    },
    Charge {
        name: "a key passes on at once",
        what: "the next holder of a key does not wait for the last one's lease",
        met: "mutant, 6 steps",
        sin: || before(|model, _| model.held_keys.clear()),
        killed_by: &[
            ("uniq/next_holder_inherits_held_until", clause::UNIQ_3),
            ("uniq/inherits_through_others", clause::OPER_11),
            ("orders/a_unique_key_between_two_tasks", clause::CLAIM_1),
        ],
        ..Charge::NONE
    },
    Charge {
        name: "redrive takes a key twice",
        what: "a redrive does not look who has its key now",
        sin: || Arc::new(Redrives),
        killed_by: &[
            ("model/sequential_histories", clause::UNIQ_4),
            ("uniq/redrive_conflicts_with_another", clause::UNIQ_4),
        ],
        also: "uniq",
        ..Charge::NONE
    },
    Charge {
        name: "redrive conflicts with itself",
        what: "a redrive finds its own key taken by its own task",
        sin: || after(own_conflict),
        killed_by: &[("uniq/redrive_takes_the_key_again", clause::UNIQ_4)],
        also: "dead uniq",
        ..Charge::NONE
    },
    Charge {
        name: "a key twice in a batch",
        what: "an enqueue looks at the keys from before the call",
        met: "one statement for all rows",
        sin: || Arc::new(Batch::default()),
        killed_by: &[("uniq/second_in_a_batch_is_duplicate", clause::UNIQ_1)],
        ..Charge::NONE
    },
    Charge {
        name: "keys of all queues",
        what: "a key that another queue has is taken",
        sin: || Arc::new(AllQueues::default()),
        killed_by: &[
            ("model/sequential_histories", clause::ENQ_1),
            ("uniq/keys_belong_to_a_queue", clause::UNIQ_1),
        ],
        also: "late uniq",
        ..Charge::NONE
    },
    Charge {
        name: "key before id",
        what: "an enqueue looks at the key first, so that a repeat is told the key's holder",
        sin: || after(key_before_id),
        killed_by: &[("enq/id_is_looked_at_before_the_key", clause::ENQ_2)],
        also: "enq uniq",
        ..Charge::NONE
    },
];

const MARK: &str = "hidden ";

/// Does not see the keys of such tasks when it looks for a holder.
struct Hidden(fn(&StoredTask) -> bool);

impl Sin for Hidden {
    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        if matches!(op, Op::Enqueue(_)) {
            hide(model, self.0);
        }
    }

    fn after(&self, _: &Model, next: &mut Model, _: &Op, _: &mut Reply) {
        unhide(next);
    }
}

fn hide(model: &mut Model, which: impl Fn(&StoredTask) -> bool) {
    let tasks = model.tasks.values_mut().map(|kept| &mut kept.task);
    for task in tasks.filter(|task| !task.state.is_finished() && which(task)) {
        task.unique = task.unique.take().map(|key| format!("{MARK}{key}"));
    }
}

fn unhide(model: &mut Model) {
    for task in model.tasks.values_mut().map(|kept| &mut kept.task) {
        let key = task.unique.as_deref().and_then(|key| key.strip_prefix(MARK));
        if let Some(key) = key.map(str::to_owned) {
            task.unique = Some(key);
        }
    }
}

/// Keeps the keys of tasks that are finished so.
struct Kept(fn(State) -> bool);

impl Sin for Kept {
    fn after(&self, before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        let (Op::Enqueue(tasks), Reply::Enqueued(_)) = (op, &*reply) else { return };
        let [new] = tasks.as_slice() else { return };
        let mut holders = before.tasks.values().map(|kept| &kept.task);
        let holder = holders
            .find(|task| task.unique.is_some() && task.unique == new.unique && self.0(task.state));
        if let Some(holder) = holder.filter(|holder| holder.task_ref.id != new.id) {
            *reply = Reply::Enqueued(vec![duplicate(DuplicateCause::Key, holder)]);
            next.clone_from(before);
        }
    }
}

fn duplicate(cause: DuplicateCause, task: &StoredTask) -> EnqueueVerdict {
    let holder = task.task_ref.clone();
    EnqueueVerdict::Duplicate { cause, holder, state: Some(task.state) }
}

fn frees_by_name(before: &Model, next: &mut Model, op: &Op, reply: &Reply, by: Role) {
    let (Op::Commit(item), Reply::Committed(CommitVerdict::Applied(_))) = (op, reply) else {
        return;
    };
    let id = &item.guard.task.id;
    let Some(old) = before.task(id).filter(|old| item.change.by == by && old.state.is_finished())
    else {
        return;
    };
    let tasks = next.tasks.values_mut().map(|kept| &mut kept.task);
    for task in tasks.filter(|task| task.task_ref.id != *id && task.unique == old.unique) {
        task.unique = None;
    }
}

struct Redrives;

impl Sin for Redrives {
    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        if matches!(op, Op::Commit(item) if item.change.is_redrive()) {
            hide(model, |_| true);
        }
    }

    fn after(&self, _: &Model, next: &mut Model, _: &Op, _: &mut Reply) {
        unhide(next);
    }
}

fn own_conflict(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && item.change.is_redrive()
        && task.unique.is_some()
    {
        *reply = Reply::Committed(CommitVerdict::Conflict(item.guard.task.clone()));
        next.clone_from(before);
    }
}

/// The keys that a batch repeats, by the ids that do.
#[derive(Default)]
struct Batch(Mutex<BTreeMap<String, String>>);

impl Sin for Batch {
    fn before(&self, _by: usize, _model: &mut Model, op: &mut Op) {
        let Op::Enqueue(tasks) = op else { return };
        let mut again = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = Vec::new();
        for new in tasks {
            let Some(key) = new.unique.clone() else { continue };
            if seen.contains(&key) {
                new.unique = None;
                again.insert(new.id.clone(), key);
            } else {
                seen.push(key);
            }
        }
    }

    fn after(&self, _: &Model, next: &mut Model, _: &Op, _: &mut Reply) {
        let mut again = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, key) in std::mem::take(&mut *again) {
            if let Some(task) = super::task(next, &id) {
                task.unique = Some(key);
            }
        }
    }
}

/// Which queue a key was first seen in.
#[derive(Default)]
struct AllQueues(Mutex<BTreeMap<String, String>>);

impl Sin for AllQueues {
    fn after(&self, before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        let Op::Enqueue(tasks) = op else { return };
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for key in tasks.iter().filter_map(|new| new.unique.clone()) {
            let queue = first.entry(key).or_insert_with(|| next.queue.clone());
            if *queue != next.queue {
                let holder = leasehold_core::TaskRef::new(queue.clone(), "elsewhere");
                let (cause, state) = (DuplicateCause::Key, Some(State::Waiting));
                let told = EnqueueVerdict::Duplicate { cause, holder, state };
                *reply = Reply::Enqueued(vec![told; tasks.len()]);
                next.clone_from(before);
                return;
            }
        }
    }
}

fn key_before_id(before: &Model, _: &mut Model, op: &Op, reply: &mut Reply) {
    let (Op::Enqueue(tasks), Reply::Enqueued(verdicts)) = (op, reply) else { return };
    for (new, verdict) in tasks.iter().zip(verdicts) {
        let holder = new.unique.as_ref().and_then(|key| before.key_holder(key));
        if let (Some(holder), EnqueueVerdict::Duplicate { .. }) = (holder, &*verdict) {
            *verdict = duplicate(DuplicateCause::Key, holder);
        }
    }
}
