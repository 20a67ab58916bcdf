//! Who takes a slot, and who frees it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{
    Change, CommitVerdict, Guard, LimitKey, LostReason, Purpose, RenewVerdict, Role, State,
    StoredTask, Timestamp,
};

use super::{stale, task};
use crate::charge::Charge;
use crate::sin::{Sin, after, before, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 12,
        name: "stale frees a slot",
        what: "a stale commit counts one slot of its key as free",
        met: "a slot freed in a finally",
        sin: || after(stale_frees_by_count),
        killed_by: &[
            ("limit/stale_commit_keeps_slot", clause::LIMIT_3),
            ("orders/a_slot_between_two_tasks", clause::CLAIM_1),
        ],
        also: "late limit",
        ..Charge::NONE
    },
    Charge {
        no: 13,
        name: "slots by task",
        what: "a slot is named by its task, so that an old run frees the new one's",
        met: "a set of task ids",
        sin: || after(stale_frees_its_tasks),
        killed_by: &[("limit/old_run_cannot_free_new_slot", clause::LIMIT_4)],
        also: "limit",
        ..Charge::NONE
    },
    Charge {
        name: "operator frees the slot",
        what: "a cancel or a delete frees the slot of the run that still goes on",
        met: "mutant, 4 steps",
        sin: || ruled(OperatorFrees),
        killed_by: &[
            ("held/slot_stays_taken", clause::LIMIT_7),
            ("orders/a_slot_between_two_tasks", clause::CLAIM_1),
        ],
        also: "renew limit",
        ..Charge::NONE
    },
    Charge {
        name: "nobody frees a slot",
        what: "a slot lasts until its lease would have ended, also after a commit",
        sin: || ruled(NobodyFrees),
        killed_by: &[
            ("model/sequential_histories", clause::LAPSE_8),
            ("limit/every_change_frees_its_own_slot", clause::LIMIT_3),
        ],
        also: "ctl give dead limit follow replay",
        ..Charge::NONE
    },
    Charge {
        no: 27,
        name: "giving back keeps the slot",
        what: "a snooze or a release leaves the slot taken",
        met: "report C08",
        sin: || ruled(GivesKeep),
        killed_by: &[
            ("model/sequential_histories", clause::OBS_1),
            ("give/frees_the_slot", clause::GIVE_3),
        ],
        ..Charge::NONE
    },
    Charge {
        name: "late success frees by count",
        what: "a late success frees a slot of its key, whosever it is",
        met: "mutant, 9 steps",
        sin: || after(late_frees_by_count),
        killed_by: &[
            ("model/sequential_histories", clause::CLAIM_1),
            ("limit/late_success_frees_nothing_twice", clause::LATE_3),
            ("late/frees_no_slot_twice", clause::LIMIT_3),
        ],
        also: "limit",
        ..Charge::NONE
    },
    Charge {
        name: "overdue commit frees by count",
        what: "an overdue commit frees a slot of its key, whosever it is",
        sin: || after(overdue_frees_by_count),
        killed_by: &[("limit/overdue_commit_frees_only_its_own", clause::LIMIT_3)],
        ..Charge::NONE
    },
    Charge {
        name: "a dead holder keeps its slot",
        what: "only a commit frees a slot, and a lost worker makes none",
        met: "semaphores without a lease",
        sin: || before(slots_never_end),
        killed_by: &[("limit/dead_holder_frees_at_lease_end", clause::LIMIT_6)],
        also: "ctl late renew limit replay",
        ..Charge::NONE
    },
    Charge {
        name: "a lower limit revokes",
        what: "a limit that is lowered takes away slots that were granted",
        sin: || after(lowering_revokes),
        killed_by: &[("limit/lowering_revokes_nothing", clause::LIMIT_5)],
        ..Charge::NONE
    },
    Charge {
        no: 15,
        name: "renew takes a slot again",
        what: "a renew gives a slot back that had been swept",
        met: "an upsert of the slot",
        sin: || Arc::new(TakesAgain),
        killed_by: &[("limit/swept_slot_is_never_given_back", clause::RENEW_8)],
        also: "replay",
        ..Charge::NONE
    },
    Charge {
        name: "a freed slot waits for its heir",
        what: "a slot that is freed is kept for the first task behind it, also when that is gone",
        met: "a hand-over list",
        sin: || Arc::new(Heir::default()),
        killed_by: &[("limit/gone_heir_strands_nobody", clause::LIMIT_6)],
        also: "give limit",
        ..Charge::NONE
    },
];

fn stale_frees_its_tasks(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let freed = stale(next, op, reply).map(|(item, _)| item.guard.task.id.clone());
    for slots in next.slots.values_mut() {
        slots.retain(|(id, _), _| Some(id) != freed.as_ref());
    }
}

fn stale_frees_by_count(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let key = stale(next, op, reply).and_then(|(_, task)| task.limit.clone());
    free_one(next, key);
}

struct OperatorFrees;

impl Rules for OperatorFrees {
    fn frees_slot(&self, change: &Change) -> bool {
        change.by != Role::Rescuer
    }
}

struct NobodyFrees;

impl Rules for NobodyFrees {
    fn frees_slot(&self, _change: &Change) -> bool {
        false
    }
}

struct GivesKeep;

impl Rules for GivesKeep {
    fn frees_slot(&self, change: &Change) -> bool {
        use leasehold_core::Event::{Released, Snoozed};
        Contract.frees_slot(change) && !matches!(change.event, Released | Snoozed)
    }
}

/// Frees the first slot under the key that has not ended.
fn free_one(next: &mut Model, key: Option<LimitKey>) {
    let now = next.now;
    if let Some(slots) = key.and_then(|key| next.slots.get_mut(&key)) {
        slots.retain(|_, until| *until > now);
        slots.pop_first();
    }
}

fn its_key(before: &Model, op: &Op) -> Option<LimitKey> {
    let Op::Commit(item) = op else { return None };
    before.task(&item.guard.task.id)?.limit.clone()
}

fn late_frees_by_count(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if matches!(reply, Reply::Committed(CommitVerdict::Applied(told)) if told.late) {
        free_one(next, its_key(before, op));
    }
}

fn overdue_frees_by_count(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if matches!(reply, Reply::Committed(CommitVerdict::Applied(told)) if told.overdue) {
        free_one(next, its_key(before, op));
    }
}

fn slots_never_end(model: &mut Model, op: &mut Op) {
    if matches!(op, Op::Claim(_)) {
        for until in model.slots.values_mut().flat_map(BTreeMap::values_mut) {
            *until = Timestamp::MAX;
        }
    }
}

fn lowering_revokes(_: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
    if matches!(op, Op::Configure(_)) {
        for (key, slots) in &mut next.slots {
            let max = next.settings.limits.get(&key.group).copied().unwrap_or(0) as usize;
            while slots.len() > max {
                slots.pop_last();
            }
        }
    }
}

struct TakesAgain;

impl Rules for TakesAgain {
    fn lost(&self, model: &Model, task: &StoredTask, guard: &Guard) -> Option<LostReason> {
        let mut unlimited = task.clone();
        unlimited.limit = None;
        Contract.lost(model, &unlimited, guard)
    }
}

impl Sin for TakesAgain {
    fn rules(&self) -> &dyn Rules {
        self
    }

    fn after(&self, _: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        if let (Op::Renew(item), Reply::Renewed(RenewVerdict::Held { .. })) = (op, reply)
            && let Some(task) = task(next, &item.guard.task.id)
            && task.state == State::Leased(Purpose::Run)
            && let (Some(key), Some(until)) = (task.limit.clone(), task.until)
        {
            let member = (item.guard.task.id.clone(), item.guard.fence);
            next.slots.entry(key).or_default().insert(member, until);
        }
    }
}

/// Keeps each freed slot for one task.
#[derive(Default)]
struct Heir(Mutex<BTreeMap<LimitKey, String>>);

impl Rules for Heir {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        let heirs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let heir = task.limit.as_ref().and_then(|key| heirs.get(key));
        Contract.claimable(model, task) && heir.is_none_or(|heir| *heir == task.task_ref.id)
    }
}

impl Sin for Heir {
    fn rules(&self) -> &dyn Rules {
        self
    }

    fn after(&self, before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        let mut heirs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Reply::Claimed(claimed) = &*reply {
            heirs.retain(|_, heir| claimed.leases.iter().all(|lease| lease.task_ref.id != *heir));
        }
        let Op::Commit(item) = op else { return };
        let freed = before.task(&item.guard.task.id).and_then(|task| task.limit.clone());
        let Some(key) = freed.filter(|key| next.slots_taken(key) < before.slots_taken(key)) else {
            return;
        };
        let waiting = next.tasks.values().filter(|kept| {
            kept.task.limit.as_ref() == Some(&key) && Contract.claimable(next, &kept.task)
        });
        if let Some(first) = waiting.min_by_key(|kept| kept.seq) {
            heirs.insert(key, first.task.task_ref.id.clone());
        }
    }
}
