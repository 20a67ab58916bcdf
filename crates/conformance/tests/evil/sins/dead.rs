//! Dead letters: how they come, stay, are found and are sent back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold_conformance::model::{Admission, Contract, Kept, Model, Op, Reply, Rules};
use leasehold_core::clause;
use leasehold_core::{
    Change, CommitItem, DeadReason, List, Page, Payload, State, StoredTask, Timestamp, To,
};

use super::applied;
use crate::charge::Charge;
use crate::sin::{Sin, after, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 24,
        name: "dead letters are capped",
        what: "beyond 1,000 dead letters the oldest is evicted",
        met: "a list trimmed to its newest",
        sin: || after(capped),
        killed_by: &[("dead/no_cap_evicts", clause::DEAD_3)],
        ..Charge::NONE
    },
    Charge {
        no: 25,
        name: "burial in two steps",
        what: "a burial takes the task out in one step and puts it among the dead in another",
        met: "a move between two tables or lists",
        sin: || Arc::new(TwoSteps::default()),
        killed_by: &[("dropped/a_burial_is_one_step", clause::DEAD_2)],
        ..Charge::NONE
    },
    Charge {
        no: 26,
        name: "redrive copies",
        what: "a redrive makes a new task and leaves the dead letter",
        sin: || after(redrive_copies),
        killed_by: &[
            ("model/sequential_histories", clause::PURGE_1),
            ("dead/redrive_once", clause::DEAD_5),
        ],
        also: "fence ctl obs renew mode oper held dead purge uniq commit",
        ..Charge::NONE
    },
    Charge {
        no: 26,
        name: "redrive twice",
        what: "a redrive on the same sight is written again",
        sin: || ruled(Twice),
        killed_by: &[
            ("dead/redrive_once", clause::DEAD_5),
            ("orders/two_operators_and_a_rescuer", clause::COMMIT_4),
        ],
        ..Charge::NONE
    },
    Charge {
        name: "burial drops the payload",
        what: "a dead letter has lost its payload",
        sin: || after(without_payload),
        killed_by: &[
            ("dead/kept_whole", clause::DEAD_1),
            ("dead/lost_is_kept_whole", clause::DEAD_1),
        ],
        also: "race late commit renew lapse retry budget mode oper",
        ..Charge::NONE
    },
    Charge {
        name: "two entries for a burial",
        what: "a burial writes its record twice",
        sin: || after(two_entries),
        killed_by: &[("dead/one_entry_for_each_burial", clause::DEAD_2)],
        also: "race late commit renew lapse retry budget mode oper dead",
        ..Charge::NONE
    },
    Charge {
        name: "dead letters expire",
        what: "a dead letter stays for a week unless a setting says otherwise",
        sin: || after(expire),
        killed_by: &[("dead/stays_for_ever_by_default", clause::DEAD_3)],
        ..Charge::NONE
    },
    Charge {
        name: "the lost leave within a day",
        what: "the retention of the dead holds for the lost as it is, be it ever so short",
        sin: || after(lost_leave_early),
        killed_by: &[("dead/lost_stays_a_day", clause::DEAD_6)],
        ..Charge::NONE
    },
    Charge {
        name: "reason is not looked at",
        what: "a list of one reason shows every dead letter",
        sin: || Arc::new(AnyReason),
        killed_by: &[
            ("model/sequential_histories", clause::READ_4),
            ("dead/listed_by_kind_reason_and_time", clause::DEAD_4),
        ],
        also: "read late dead",
        ..Charge::NONE
    },
    Charge {
        name: "cursor by number",
        what: "a cursor tells how many were listed, so that what left moves the rest",
        met: "OFFSET",
        sin: || Arc::new(Offset),
        killed_by: &[
            ("dead/cursor_neither_skips_nor_repeats", clause::DEAD_4),
            ("read/pages_hold_while_tasks_move", clause::READ_4),
        ],
        ..Charge::NONE
    },
];

fn is_dead(kept: &Kept) -> bool {
    matches!(kept.task.state, State::Dead(_))
}

fn capped(_: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
    let buried = matches!(op, Op::Commit(item) if matches!(item.change.to, To::Dead(_)));
    while buried && next.tasks.values().filter(|kept| is_dead(kept)).count() > 1_000 {
        let oldest = next.tasks.iter().filter(|(_, kept)| is_dead(kept)).min_by_key(|(_, k)| k.seq);
        let Some(id) = oldest.map(|(id, _)| id.clone()) else { return };
        next.tasks.remove(&id);
    }
}

/// What a burial has taken out and not yet put back.
#[derive(Default)]
struct TwoSteps(Mutex<Option<Kept>>);

impl Sin for TwoSteps {
    fn torn(&self, model: &mut Model, op: &Op) -> bool {
        let Op::Commit(item) = op else { return false };
        let current = model.task(&item.guard.task.id).map(|task| task.fence);
        if !matches!(item.change.to, To::Dead(_)) || current != Some(item.guard.fence) {
            return false;
        }
        let mut between = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *between = model.tasks.remove(&item.guard.task.id);
        true
    }

    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        let mut between = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |kept: &mut Kept| matches!(op, Op::Commit(item) if item.guard.fence == kept.task.fence);
        // Whoever was dropped in between never comes to this.
        if let Some(kept) = between.take_if(same) {
            model.tasks.insert(kept.task.task_ref.id.clone(), kept);
        }
    }
}

fn redrive_copies(before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let Some((item, task)) = applied(next, op, reply) else { return };
    let (id, redriven) = (item.guard.task.id.clone(), task.clone());
    let (true, Some(old)) = (item.change.is_redrive(), before.tasks.get(&id)) else { return };
    let mut copy = old.clone();
    copy.task = redriven;
    copy.task.task_ref.id = format!("{id} again");
    next.tasks.insert(id.clone(), old.clone());
    next.tasks.insert(copy.task.task_ref.id.clone(), copy);
}

struct Twice;

impl Rules for Twice {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let again = task.shown.is_some_and(|shown| shown.fence == item.guard.fence);
        match Contract.admission(model, task, item) {
            Admission::No if again && item.change.is_redrive() => Admission::Current,
            other => other,
        }
    }

    fn fits(&self, change: &Change, state: State) -> bool {
        Contract.fits(change, state) || (change.is_redrive() && state == State::Waiting)
    }
}

fn without_payload(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && matches!(item.change.to, To::Dead(_))
    {
        task.payload = Payload::default();
    }
}

fn two_entries(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    if let Some((item, task)) = applied(next, op, reply)
        && matches!(item.change.to, To::Dead(_))
        && let Some(last) = task.history.records.last().cloned()
    {
        task.history.push(last, usize::MAX);
    }
}

fn expire(_: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
    let week = next.now.after(Duration::from_secs(7 * 24 * 60 * 60));
    if let Op::Commit(item) = op
        && let Some(kept) = next.tasks.get_mut(&item.guard.task.id)
        && is_dead(kept)
        && kept.task.policy.retention.dead.is_none()
    {
        kept.expires = kept.expires.or(Some(week));
    }
}

fn lost_leave_early(_: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
    use leasehold_core::Keep;
    let (now, queue) = (next.now, next.settings.retention.dead);
    if let Op::Commit(item) = op
        && let Some(kept) = next.tasks.get_mut(&item.guard.task.id)
        && kept.task.state == State::Dead(DeadReason::Lost)
        && let Some(Keep::For(time)) = kept.task.policy.retention.dead.or(queue)
    {
        kept.expires = Some(now.after(time));
    }
}

struct AnyReason;

impl Sin for AnyReason {
    fn listed(&self, model: &Model, request: &List, now: Timestamp, page: &mut Page) {
        if request.filter.reason.is_some() && request.after.is_none() {
            let mut filter = request.filter.clone();
            filter.reason = None;
            let tasks = model.tasks.values().map(|kept| &kept.task);
            page.tasks = tasks.filter(|task| filter.matches(task, now)).cloned().collect();
        }
    }
}

struct Offset;

impl Sin for Offset {
    fn listed(&self, model: &Model, request: &List, now: Timestamp, page: &mut Page) {
        let after = request.after.as_ref().and_then(|cursor| cursor.as_str().parse().ok());
        let mut tasks: Vec<_> = model.tasks.values().collect();
        tasks.retain(|kept| request.filter.matches(&kept.task, now));
        tasks.sort_unstable_by_key(|kept| kept.seq);
        let from: usize = after.unwrap_or(0);
        let rest = tasks.get(from..).unwrap_or_default();
        page.tasks = rest.iter().take(request.max).map(|kept| kept.task.clone()).collect();
        let to = from + page.tasks.len();
        page.next = (to < tasks.len()).then(|| leasehold_core::Cursor::new(to.to_string()));
    }
}
