//! How slots are counted, and what a full key does to those behind it.

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{LimitKey, Purpose, State, StoredTask};

use crate::charge::Charge;
use crate::sin::{after, before, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        name: "no slot is looked at",
        what: "a claim grants whatever the limit says",
        met: "mutant: claim ignores slots",
        sin: || ruled(Room(|_, _| true)),
        killed_by: &[("limit/never_above_the_number", clause::LIMIT_1)],
        also: "enq ctl obs late renew give dead limit follow replay",
        ..Charge::NONE
    },
    Charge {
        name: "one too many",
        what: "a claim grants one more than the limit says",
        sin: || ruled(Room(|model, key| model.slots_taken(key) <= number(model, key))),
        killed_by: &[("limit/never_above_the_number", clause::LIMIT_1)],
        also: "enq ctl obs late renew give dead limit follow replay",
        ..Charge::NONE
    },
    Charge {
        name: "zero is no limit",
        what: "a limit of 0 lets everything run",
        sin: || ruled(Room(|model, key| number(model, key) == 0 || Contract.has_room(model, key))),
        killed_by: &[("limit/zero_stops_the_group", clause::LIMIT_1)],
        also: "enq",
        ..Charge::NONE
    },
    Charge {
        name: "one number for the group",
        what: "the keys of a group share its slots",
        sin: || {
            ruled(Room(|model, key| {
                let same = model.slots.keys().filter(|other| other.group == key.group);
                same.map(|key| model.slots_taken(key)).sum::<usize>() < number(model, key)
            }))
        },
        killed_by: &[("limit/keys_and_groups_are_apart", clause::LIMIT_1)],
        also: "limit",
        ..Charge::NONE
    },
    Charge {
        name: "leased tasks as slots",
        what: "the tasks that are leased to run are counted, and what an operator took is not",
        met: "SELECT count(*) over the running",
        sin: || {
            ruled(Room(|model, key| {
                let tasks = model.tasks.values().map(|kept| &kept.task);
                let running = tasks.filter(|task| {
                    task.limit.as_ref() == Some(key) && task.state == State::Leased(Purpose::Run)
                });
                running.count() < number(model, key)
            }))
        },
        killed_by: &[("held/slot_stays_taken", clause::LIMIT_7)],
        also: "ctl renew limit replay",
        ..Charge::NONE
    },
    Charge {
        no: 37,
        name: "a full key hides the queue",
        what: "a claim ends at the first task whose key is full",
        met: "a window of the head",
        sin: || ruled(HeadBlocks),
        killed_by: &[
            ("limit/thousand_blocked_hide_nothing", clause::CLAIM_12),
            ("limit/blocked_waits_unspent", clause::LIMIT_2),
        ],
        also: "limit",
        ..Charge::NONE
    },
    Charge {
        name: "blocked tasks lose their place",
        what: "a task that met a full key is put behind the others",
        met: "a snooze of what is blocked",
        sin: || after(blocked_lose_place),
        killed_by: &[("limit/blocked_waits_unspent", clause::LIMIT_2)],
        also: "limit",
        ..Charge::NONE
    },
    Charge {
        name: "an unset group has no limit",
        what: "a task of a group that has no number is taken",
        sin: || before(unset_is_unlimited),
        killed_by: &[
            ("model/sequential_histories", clause::ENQ_7),
            ("limit/unset_group_is_invalid", clause::ENQ_5),
            ("follow/unset_group_refuses_the_item", clause::ENQ_8),
        ],
        also: "enq",
        ..Charge::NONE
    },
    Charge {
        name: "surplus slots stay",
        what: "a slot that no task explains is never mended",
        sin: || after(nothing_is_mended),
        killed_by: &[
            ("limit/surplus_slot_is_mended", clause::LAPSE_8),
            ("limit/surplus_slot_beside_a_live_one_is_mended", clause::LAPSE_8),
        ],
        ..Charge::NONE
    },
];

fn number(model: &Model, key: &LimitKey) -> usize {
    model.settings.limits.get(&key.group).copied().unwrap_or(0) as usize
}

/// Counts in another way.
struct Room(fn(&Model, &LimitKey) -> bool);

impl Rules for Room {
    fn has_room(&self, model: &Model, key: &LimitKey) -> bool {
        self.0(model, key)
    }
}

struct HeadBlocks;

impl Rules for HeadBlocks {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        let before = |other: &StoredTask| {
            let place = |task: &StoredTask| (9 - task.priority.level(), task.ready_at(), task.born);
            place(other) < place(task)
        };
        let blocks = |other: &StoredTask| {
            let full = other.limit.as_ref().is_some_and(|key| !self.has_room(model, key));
            full && Contract.claimable(model, other) && before(other)
        };
        Contract.claimable(model, task) && !model.tasks.values().any(|kept| blocks(&kept.task))
    }
}

fn blocked_lose_place(_: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
    if !matches!(op, Op::Claim(claim) if claim.purpose == Purpose::Run) {
        return;
    }
    let model = next.clone();
    for kept in next.tasks.values_mut() {
        let full = kept.task.limit.as_ref().is_some_and(|key| !Contract.has_room(&model, key));
        if full && Contract.claimable(&model, &kept.task) {
            kept.task.due = model.now.max(kept.task.due);
        }
    }
}

fn unset_is_unlimited(model: &mut Model, op: &mut Op) {
    let tasks = match op {
        Op::Enqueue(tasks) => tasks.as_slice(),
        Op::Commit(item) => item.change.follow_ups.as_slice(),
        _ => &[],
    };
    for key in tasks.iter().filter_map(|new| new.limit.as_ref()) {
        model.settings.limits.entry(key.group.clone()).or_insert(u32::MAX);
    }
}

fn nothing_is_mended(before: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
    if matches!(op, Op::Purge(_)) {
        next.slots.clone_from(&before.slots);
        next.events.repaired = before.events.repaired;
    }
}
