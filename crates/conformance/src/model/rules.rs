//! [`Rules`]: each point at which the contract decides, one function a point.

use leasehold_core::{
    Change, CommitItem, CommitVerdict, Fence, Guard, Left, LimitKey, LostReason, Purpose, Role,
    State, StoredTask, Timestamp, To,
};

use super::queue::Model;

/// Whether a commit may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Its guard is current.
    Current,
    /// Its guard is not, but it is a late success.
    Late,
    /// It may not.
    No,
}

/// What a new fence is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// A new task.
    Enqueue,
    /// A claim.
    Claim(Purpose),
    /// An applied commit of this role.
    Commit(Role),
}

/// The contract's decisions. The bodies here are the contract; an implementation that
/// replaces one of them is a protocol with one fault, which is how the suite examines itself.
pub trait Rules: Send + Sync {
    /// Whether a commit may write (LH-COMMIT-1, LH-LATE-1, LH-LATE-2).
    fn admission(&self, _model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let success = item.change.by == Role::Worker && item.change.to == To::Succeeded;
        if item.guard.fence == task.fence {
            Admission::Current
        } else if success && task.run == Some(item.guard.fence) {
            Admission::Late
        } else {
            Admission::No
        }
    }

    /// Whether a current guard admits the change in the task's state (the table of moves).
    fn fits(&self, change: &Change, state: State) -> bool {
        let finished = matches!(state, State::Succeeded | State::Dead(_) | State::Cancelled);
        match change.by {
            Role::Worker => state == State::Leased(Purpose::Run),
            Role::Rescuer => state == State::Leased(Purpose::Rescue),
            Role::Operator => match change.to {
                To::Gone => true,
                To::Same => matches!(state, State::Waiting | State::Dead(_)),
                To::Waiting(_) if change.is_redrive() => finished,
                To::Waiting(_) if state == State::Leased(Purpose::Run) => {
                    change.on_leased == leasehold_core::OnLeased::Revoke
                }
                _ => !finished,
            },
        }
    }

    /// What a commit is told that may not write (LH-COMMIT-4, LH-COMMIT-8, LH-COMMIT-9).
    fn refusal(&self, task: &StoredTask, item: &CommitItem) -> CommitVerdict {
        let shown = task.shown.map(|shown| (shown.fence, shown.decision));
        if shown == Some((item.guard.fence, item.decision)) {
            CommitVerdict::Replayed
        } else if item.guard.fence < task.born {
            CommitVerdict::Gone
        } else {
            CommitVerdict::Stale { fence: task.fence, state: Some(task.state) }
        }
    }

    /// What a commit is told about a task that left (LH-COMMIT-8).
    fn refusal_of_left(&self, left: Option<Left>, item: &CommitItem) -> CommitVerdict {
        match left.map(|left| left.shown) {
            None => CommitVerdict::Gone,
            Some(shown) if (shown.fence, shown.decision) == (item.guard.fence, item.decision) => {
                CommitVerdict::Replayed
            }
            Some(shown) => CommitVerdict::Stale { fence: shown.fence, state: None },
        }
    }

    /// Why a lease is over, or `None` while it goes on (LH-RENEW-2, LH-RENEW-8).
    fn lost(&self, model: &Model, task: &StoredTask, guard: &Guard) -> Option<LostReason> {
        let fence = guard.fence;
        if fence != task.fence {
            return Some(match task.shown {
                _ if fence < task.born => LostReason::Gone,
                Some(shown) if shown.fence == fence => told_by(shown.by, task.state),
                _ => LostReason::Taken(task.fence),
            });
        }
        let Some(until) = task.until else { return Some(LostReason::Decided) };
        let member = self.slot_of(&task.task_ref.id, fence);
        let slot = task.limit.as_ref().filter(|_| task.run == Some(fence));
        let swept = slot.is_some_and(|key| {
            !model.slots.get(key).is_some_and(|slots| slots.contains_key(&member))
        });
        (until <= model.now || swept).then_some(LostReason::Lapsed)
    }

    /// Why the lease of a task that left is over.
    fn lost_with_task(&self, left: Option<Left>, guard: &Guard) -> LostReason {
        match left.filter(|left| left.shown.fence == guard.fence) {
            Some(left) => told_by(left.shown.by, left.state),
            None => LostReason::Gone,
        }
    }

    /// Whether a Run claim may take the task, its limit apart (LH-CLAIM-1, LH-OPER-11).
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        task.state == State::Waiting
            && task.due <= model.now
            && task.held_until.is_none_or(|held| held <= model.now)
    }

    /// Whether a Rescue claim may take the task (LH-LAPSE-1).
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        let leased = matches!(task.state, State::Leased(_));
        leased && task.until.is_some_and(|until| until <= model.now)
    }

    /// Whether one more lease fits under the key (LH-LIMIT-1).
    fn has_room(&self, model: &Model, key: &LimitKey) -> bool {
        let max = model.settings.limits.get(&key.group).copied().unwrap_or(0);
        model.slots_taken(key) < max as usize
    }

    /// What names a slot (LH-LIMIT-3, LH-LIMIT-4).
    fn slot_of(&self, id: &str, fence: Fence) -> (String, Fence) {
        (id.to_owned(), fence)
    }

    /// Whether the commit that was applied frees a slot (LH-LIMIT-3).
    fn frees_slot(&self, change: &Change) -> bool {
        change.by == Role::Worker
    }

    /// Until when a renew lets the lease and its slot last (LH-RENEW-1, LH-RENEW-3).
    fn extended(&self, now: Timestamp, until: Timestamp, ttl: std::time::Duration) -> Extended {
        let until = until.max(now.after(ttl));
        Extended { lease: until, slot: Some(until) }
    }

    /// The fence that a task gets when the store has drawn `drawn` for it (LH-FENCE-1).
    fn fence(&self, _model: &Model, _id: &str, _why: Draw, drawn: Fence) -> Fence {
        drawn
    }
}

/// Where a renew puts the ends of a lease and of its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extended {
    /// The end of the lease.
    pub lease: Timestamp,
    /// The end of the slot; `None` leaves it.
    pub slot: Option<Timestamp>,
}

/// The contract itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Contract;

impl Rules for Contract {}

fn told_by(by: Role, state: State) -> LostReason {
    match (by, state) {
        (Role::Operator, State::Cancelled) => LostReason::Cancelled,
        (Role::Operator, _) => LostReason::Revoked,
        (Role::Worker | Role::Rescuer, _) => LostReason::Decided,
    }
}
