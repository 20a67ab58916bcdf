//! [`Change`]: the flat patch that a commit writes. Core fills it in, backends only write it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::Error;
use crate::lease::{Fence, Purpose};
use crate::limit::{Bounds, check_size};
use crate::policy::{Keep, Policy, Retention};
use crate::state::{DeadReason, State, names};
use crate::task::{Due, NewTask, Payload, Priority, TaskRef};

/// Who decided a change. The store treats them differently: only the worker's commit frees
/// the slot (LH-LIMIT-3), only the rescuer's keeps the right to a late success (LH-LATE-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The holder of a Run lease, or of one that has been lost.
    Worker,
    /// The holder of a Rescue lease.
    Rescuer,
    /// A person or a tool, with the fence that was seen.
    Operator,
}

names! { Role {
    Self::Worker => "worker" = Self::Worker,
    Self::Rescuer => "rescuer" = Self::Rescuer,
    Self::Operator => "operator" = Self::Operator,
} }

/// What happened, as the history tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Event {
    /// The handler succeeded.
    Succeeded,
    /// The handler failed and may be retried.
    Failed,
    /// The handler failed and asked for no retry.
    Rejected,
    /// The handler panicked.
    Panicked,
    /// The handler ran over its time.
    TimedOut,
    /// The handler asked for later.
    Snoozed,
    /// The worker gave the task back.
    Released,
    /// The payload could not be read.
    Undecodable,
    /// No handler for the kind.
    UnknownKind,
    /// The stored record could not be read.
    Corrupt,
    /// The lease of a run lapsed.
    Lapsed,
    /// Called off.
    Cancelled,
    /// Buried by an operator.
    Buried,
    /// Made to run now by an operator.
    Requeued,
    /// Changed by an operator.
    Edited,
    /// Removed by an operator.
    Deleted,
    /// Sent back with fresh budgets by an operator.
    Redriven,
}

names! { Event {
    Self::Succeeded => "succeeded" = Self::Succeeded,
    Self::Failed => "failed" = Self::Failed,
    Self::Rejected => "rejected" = Self::Rejected,
    Self::Panicked => "panicked" = Self::Panicked,
    Self::TimedOut => "timed_out" = Self::TimedOut,
    Self::Snoozed => "snoozed" = Self::Snoozed,
    Self::Released => "released" = Self::Released,
    Self::Undecodable => "undecodable" = Self::Undecodable,
    Self::UnknownKind => "unknown_kind" = Self::UnknownKind,
    Self::Corrupt => "corrupt" = Self::Corrupt,
    Self::Lapsed => "lapsed" = Self::Lapsed,
    Self::Cancelled => "cancelled" = Self::Cancelled,
    Self::Buried => "buried" = Self::Buried,
    Self::Requeued => "requeued" = Self::Requeued,
    Self::Edited => "edited" = Self::Edited,
    Self::Deleted => "deleted" = Self::Deleted,
    Self::Redriven => "redriven" = Self::Redriven,
} }

/// One line of a task's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When the store applied it.
    pub at: Timestamp,
    /// The fence that the commit showed, as its value.
    pub fence: u64,
    /// The run that it was about; 0 before the first.
    pub attempt: u32,
    /// What happened.
    pub event: Event,
    /// Why, in the words of the handler or operator; may be empty.
    pub message: String,
    /// The operator's name, if an operator acted (LH-OPER-10).
    pub actor: Option<String>,
}

/// Where a change takes the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Back to Waiting.
    Waiting(When),
    /// Finished well.
    Succeeded,
    /// A dead letter.
    Dead(DeadReason),
    /// Called off.
    Cancelled,
    /// The state stays; only an operator's edit does this.
    Same,
    /// Removed; Cancelled until held until has passed (LH-OPER-11).
    Gone,
}

impl To {
    /// The state of a task that was in `state`; a removed one is Cancelled until it leaves.
    #[must_use]
    pub fn state(self, state: State) -> State {
        match self {
            Self::Waiting(_) => State::Waiting,
            Self::Succeeded => State::Succeeded,
            Self::Dead(reason) => State::Dead(reason),
            Self::Cancelled | Self::Gone => State::Cancelled,
            Self::Same => state,
        }
    }
}

/// The due time of a task that goes back to Waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The due time that it had.
    Unchanged,
    /// This long after the commit, by the store's clock, in whole milliseconds.
    After(Duration),
    /// At this instant, such as a schedule's next one; the past means at once.
    At(Timestamp),
}

impl When {
    /// The due time that a commit at `now` gives a task which was due at `due`.
    #[must_use]
    pub fn instant(self, due: Timestamp, now: Timestamp) -> Timestamp {
        match self {
            Self::Unchanged => due,
            Self::After(delay) => now.after(delay),
            Self::At(instant) => instant.max(now),
        }
    }
}

/// What a change does to the two budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Nothing.
    Keep,
    /// failures + 1.
    SpendRetry,
    /// rescues + 1.
    SpendRescue,
    /// Both to 0 (LH-BUDGET-4); this marks a redrive.
    Reset,
}

/// What an operator's requeue does when a run holds the lease (LH-OPER-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLeased {
    /// The call is Invalid, the run goes on.
    Refuse,
    /// The lease is taken away; the next run waits until it would have ended.
    Revoke,
}

/// An operator's new values for a Waiting or Dead task; `None` leaves a part as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Edit {
    /// What the handler gets.
    pub payload: Option<Payload>,
    /// 0 to 9.
    pub priority: Option<Priority>,
    /// When it may start.
    pub due: Option<Due>,
    /// Retries, delivery, retention; a new retention counts from the task's next end.
    pub policy: Option<Policy>,
}

/// The flat patch that a commit writes, whole or not at all (LH-COMMIT-2).
///
/// Made by [`decide`](crate::decide); every number in it is already decided, so that a
/// backend needs no policy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Who decided.
    pub by: Role,
    /// Where the task goes.
    pub to: To,
    /// What the budgets spend.
    pub budget: Budget,
    /// For the history.
    pub event: Event,
    /// For the history; at most [`Change::MESSAGE_BYTES_MAX`].
    pub message: String,
    /// For the history: the operator's name.
    pub actor: Option<String>,
    /// What a success leaves; only with [`To::Succeeded`].
    pub result: Option<Payload>,
    /// The task's own word about how long it stays once finished; else the queue's counts.
    pub keep: Option<Keep>,
    /// Tasks for the same queue, made in the same step (LH-ENQ-8); only by a worker.
    pub follow_ups: Vec<NewTask>,
    /// New values; only with [`To::Same`].
    pub edit: Option<Box<Edit>>,
    /// Whether a requeue may take a running task's lease away.
    pub on_leased: OnLeased,
}

impl Change {
    /// Longest message of a record, in bytes; longer ones are cut at a character's end.
    pub const MESSAGE_BYTES_MAX: usize = 4 << 10;

    /// A change that spends no budget and carries nothing.
    #[must_use]
    pub fn new(by: Role, to: To, event: Event) -> Self {
        Self {
            by,
            to,
            budget: Budget::Keep,
            event,
            message: String::new(),
            actor: None,
            result: None,
            keep: None,
            follow_ups: Vec::new(),
            edit: None,
            on_leased: OnLeased::Refuse,
        }
    }

    /// The same change with what it spends.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The same change with a message, cut to [`Change::MESSAGE_BYTES_MAX`].
    #[must_use]
    pub fn with_message(mut self, message: &str) -> Self {
        let mut end = message.len().min(Self::MESSAGE_BYTES_MAX);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message[..end].clone_into(&mut self.message);
        self
    }

    /// The same change with what a success leaves.
    #[must_use]
    pub fn with_result(mut self, result: impl Into<Payload>) -> Self {
        self.result = Some(result.into());
        self
    }

    /// The same change with tasks that it makes.
    #[must_use]
    pub fn with_follow_ups(mut self, follow_ups: Vec<NewTask>) -> Self {
        self.follow_ups = follow_ups;
        self
    }

    /// Whether the change is an operator's redrive: back to Waiting with fresh budgets.
    #[must_use]
    pub fn is_redrive(&self) -> bool {
        self.by == Role::Operator && self.budget == Budget::Reset
    }

    /// Whether a current guard admits this change in `state`; false is Invalid for the item
    /// (LH-COMMIT-3). A late success is admitted by its run and not asked here.
    #[must_use]
    pub fn fits(&self, state: State) -> bool {
        match (self.by, self.to) {
            (Role::Worker, _) => state == State::Leased(Purpose::Run),
            (Role::Rescuer, _) => state == State::Leased(Purpose::Rescue),
            (Role::Operator, To::Gone) => true,
            (Role::Operator, To::Same) => matches!(state, State::Waiting | State::Dead(_)),
            (Role::Operator, To::Waiting(_)) if self.is_redrive() => state.is_finished(),
            (Role::Operator, To::Waiting(_)) => match state {
                State::Leased(Purpose::Run) => self.on_leased == OnLeased::Revoke,
                other => !other.is_finished(),
            },
            (Role::Operator, _) => !state.is_finished(),
        }
    }

    /// Checks sizes, times and that the parts go together, whatever the task's state.
    ///
    /// # Errors
    /// Invalid, saying which part.
    pub fn check(&self, task: &TaskRef, bounds: &Bounds) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::invalid(format!("a change {what}")).with_task(task));
        if !self.is_legal() {
            return wrong("is none that its role may make");
        }
        if self.edit.is_some() != (self.to == To::Same) {
            return wrong("edits without staying, or stays without an edit");
        }
        if self.result.is_some() && self.to != To::Succeeded {
            return wrong("carries a result but is no success");
        }
        if !self.follow_ups.is_empty() && self.by != Role::Worker {
            return wrong("carries follow-ups but is not a worker's");
        }
        match self.to {
            To::Waiting(When::After(delay)) => Bounds::check_delay(delay)?,
            To::Waiting(When::At(due)) => Bounds::check_due(due)?,
            _ => {}
        }
        check_size("the message's size in bytes", self.message.len(), Self::MESSAGE_BYTES_MAX)?;
        if let Some(actor) = &self.actor {
            bounds.check_name("actor", actor)?;
        }
        if let Some(Keep::For(time)) = self.keep {
            Bounds::check_delay(time)?;
            if self.to == To::Dead(DeadReason::Lost) && time < Retention::LOST_MIN {
                return wrong("lets a lost task leave within a day");
            }
        }
        self.result.as_ref().map_or(Ok(()), |result| bounds.check_result(result))?;
        if let Some(edit) = &self.edit {
            edit.check(bounds)?;
        }
        check_size("the number of follow-ups", self.follow_ups.len(), bounds.follow_max)?;
        for new in &self.follow_ups {
            new.check(bounds)?;
            if new.id == task.id {
                return wrong("makes a follow-up under its own id");
            }
        }
        Ok(())
    }

    /// Whether the role may take a task there and spend that: the contract's table of moves.
    fn is_legal(&self) -> bool {
        use DeadReason::{Corrupt, Exhausted, Lost, Rejected, Undecodable, UnknownKind};
        match (self.by, self.to, self.budget) {
            (Role::Worker, To::Waiting(_), budget) => {
                matches!(budget, Budget::Keep | Budget::SpendRetry)
            }
            (Role::Rescuer, To::Waiting(when), budget) => {
                when != When::Unchanged && budget == Budget::SpendRescue
            }
            (Role::Operator, To::Waiting(when), budget) => {
                when != When::Unchanged && matches!(budget, Budget::Keep | Budget::Reset)
            }
            (_, _, Budget::SpendRetry | Budget::SpendRescue | Budget::Reset) => false,
            (Role::Worker, To::Dead(reason), _) => {
                matches!(reason, Exhausted | Rejected | Undecodable | UnknownKind | Corrupt)
            }
            (Role::Worker, to, _) => matches!(to, To::Succeeded | To::Cancelled),
            (Role::Rescuer, to, _) => to == To::Dead(Lost),
            (Role::Operator, To::Dead(reason), _) => reason == DeadReason::Operator,
            (Role::Operator, to, _) => to != To::Succeeded,
        }
    }

    /// The record that the store adds to the history when it applies this change.
    #[must_use]
    pub fn record(&self, at: Timestamp, shown: Fence, attempt: u32) -> Record {
        Record {
            at,
            fence: shown.value(),
            attempt,
            event: self.event,
            message: self.message.clone(),
            actor: self.actor.clone(),
        }
    }
}

impl Edit {
    /// The same edit with another payload.
    #[must_use]
    pub fn with_payload(mut self, payload: impl Into<Payload>) -> Self {
        self.payload = Some(payload.into());
        self
    }

    /// The same edit with another priority.
    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The same edit with another due time.
    #[must_use]
    pub fn with_due(mut self, due: Due) -> Self {
        self.due = Some(due);
        self
    }

    /// The same edit with another policy.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        let payload = self.payload.as_ref().map_or(0, Payload::len);
        check_size("the payload's size in bytes", payload, bounds.payload_bytes_max)?;
        self.due.map_or(Ok(()), Due::check)?;
        self.policy.as_ref().map_or(Ok(()), Policy::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each role may go where the contract's table of moves lets it, and spend what the table
    /// says; everything else is refused before a store sees it.
    #[test]
    fn only_the_moves_of_the_table_are_legal() {
        let waiting = To::Waiting(When::After(Duration::ZERO));
        let unchanged = To::Waiting(When::Unchanged);
        let dead = State::ALL.into_iter().filter_map(|state| match state {
            State::Dead(reason) => Some(To::Dead(reason)),
            _ => None,
        });
        let all = [waiting, unchanged, To::Succeeded, To::Cancelled, To::Same, To::Gone];
        let all: Vec<To> = all.into_iter().chain(dead).collect();
        let budgets = [Budget::Keep, Budget::SpendRetry, Budget::SpendRescue, Budget::Reset];
        let mut legal = Vec::new();
        for by in [Role::Worker, Role::Rescuer, Role::Operator] {
            for (to, budget) in all.iter().flat_map(|to| budgets.map(|budget| (*to, budget))) {
                let mut change = Change::new(by, to, Event::Edited).with_budget(budget);
                change.edit = (to == To::Same).then(Box::default);
                let task = TaskRef::new("q", "t");
                if change.check(&task, &Bounds::default()).is_ok() {
                    legal.push((by, to, budget));
                }
            }
        }
        let (worker, rescuer, operator) = (Role::Worker, Role::Rescuer, Role::Operator);
        let mut want = vec![
            (worker, waiting, Budget::Keep),
            (worker, waiting, Budget::SpendRetry),
            (worker, unchanged, Budget::Keep),
            (worker, unchanged, Budget::SpendRetry),
            (worker, To::Succeeded, Budget::Keep),
            (worker, To::Cancelled, Budget::Keep),
        ];
        for reason in [
            DeadReason::Exhausted,
            DeadReason::Rejected,
            DeadReason::Undecodable,
            DeadReason::UnknownKind,
            DeadReason::Corrupt,
        ] {
            want.push((worker, To::Dead(reason), Budget::Keep));
        }
        want.extend([
            (rescuer, waiting, Budget::SpendRescue),
            (rescuer, To::Dead(DeadReason::Lost), Budget::Keep),
            (operator, waiting, Budget::Keep),
            (operator, waiting, Budget::Reset),
            (operator, To::Cancelled, Budget::Keep),
            (operator, To::Same, Budget::Keep),
            (operator, To::Gone, Budget::Keep),
            (operator, To::Dead(DeadReason::Operator), Budget::Keep),
        ]);
        assert_eq!(legal, want);
    }

    #[test]
    fn a_lost_task_cannot_be_told_to_leave_within_a_day() {
        let mut change = Change::new(Role::Rescuer, To::Dead(DeadReason::Lost), Event::Lapsed);
        let check = |change: &Change| change.check(&TaskRef::new("q", "t"), &Bounds::default());
        change.keep = Some(Keep::For(Retention::LOST_MIN - Duration::from_millis(1)));
        assert!(check(&change).is_err());
        change.keep = Some(Keep::For(Retention::LOST_MIN));
        assert!(check(&change).is_ok());
    }
}
