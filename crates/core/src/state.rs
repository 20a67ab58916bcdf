//! The states of a task: as stored ([`State`], [`DeadReason`]), and as people see them
//! ([`Status`]).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::lease::Purpose;

/// The stored state of a task. Ready and scheduled are derived: see [`Status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Waits for its due time, a free slot and a worker.
    Waiting,
    /// Held under a lease.
    Leased(Purpose),
    /// Finished well.
    Succeeded,
    /// A dead letter.
    Dead(DeadReason),
    /// Called off by an operator or by its handler.
    Cancelled,
}

impl State {
    /// Every state, each purpose and each reason, in order.
    pub const ALL: [State; 12] = [
        Self::Waiting,
        Self::Leased(Purpose::Run),
        Self::Leased(Purpose::Rescue),
        Self::Succeeded,
        Self::Dead(DeadReason::Exhausted),
        Self::Dead(DeadReason::Rejected),
        Self::Dead(DeadReason::Undecodable),
        Self::Dead(DeadReason::UnknownKind),
        Self::Dead(DeadReason::Lost),
        Self::Dead(DeadReason::Corrupt),
        Self::Dead(DeadReason::Operator),
        Self::Cancelled,
    ];

    /// Whether the task has ended: Succeeded, Dead or Cancelled.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead(_) | Self::Cancelled)
    }
}

/// Why a task is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DeadReason {
    /// The retry budget is spent.
    Exhausted,
    /// The handler said that no retry can help.
    Rejected,
    /// The payload could not be read by its handler.
    Undecodable,
    /// No worker knows the kind.
    UnknownKind,
    /// The worker was lost and the rescue budget is spent.
    Lost,
    /// The stored record could not be read.
    Corrupt,
    /// An operator buried it.
    Operator,
}

/// What a person sees of a task at one instant: the state, with time and lease considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Waiting, and its time has come; also while the queue is paused or a limit is full.
    Ready,
    /// Waiting for a time to come.
    Scheduled,
    /// Under a lease that runs.
    Leased,
    /// Under a lease that has passed: to be rescued.
    Lapsed,
    /// Finished well.
    Succeeded,
    /// A dead letter.
    Dead,
    /// Called off.
    Cancelled,
}

impl Status {
    /// Whether the task has ended: Succeeded, Dead or Cancelled.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead | Self::Cancelled)
    }

    /// Every status, in order.
    pub const ALL: [Status; 7] = [
        Self::Ready,
        Self::Scheduled,
        Self::Leased,
        Self::Lapsed,
        Self::Succeeded,
        Self::Dead,
        Self::Cancelled,
    ];
}

/// Gives an enum stable names, as stores and people write them.
macro_rules! names {
    ($type:ty { $($value:pat => $name:literal = $new:expr),+ $(,)? }) => {
        impl $type {
            /// The stable lower-case name, as stores and people write it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($value => $name),+ }
            }

            /// The value with this name, if there is one.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some($new),)+ _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use names;

names! { DeadReason {
    Self::Exhausted => "exhausted" = Self::Exhausted,
    Self::Rejected => "rejected" = Self::Rejected,
    Self::Undecodable => "undecodable" = Self::Undecodable,
    Self::UnknownKind => "unknown_kind" = Self::UnknownKind,
    Self::Lost => "lost" = Self::Lost,
    Self::Corrupt => "corrupt" = Self::Corrupt,
    Self::Operator => "operator" = Self::Operator,
} }

names! { State {
    Self::Waiting => "waiting" = Self::Waiting,
    Self::Leased(Purpose::Run) => "leased_run" = Self::Leased(Purpose::Run),
    Self::Leased(Purpose::Rescue) => "leased_rescue" = Self::Leased(Purpose::Rescue),
    Self::Succeeded => "succeeded" = Self::Succeeded,
    Self::Dead(DeadReason::Exhausted) => "dead_exhausted" = Self::Dead(DeadReason::Exhausted),
    Self::Dead(DeadReason::Rejected) => "dead_rejected" = Self::Dead(DeadReason::Rejected),
    Self::Dead(DeadReason::Undecodable) => "dead_undecodable" = Self::Dead(DeadReason::Undecodable),
    Self::Dead(DeadReason::UnknownKind) => "dead_unknown_kind" = Self::Dead(DeadReason::UnknownKind),
    Self::Dead(DeadReason::Lost) => "dead_lost" = Self::Dead(DeadReason::Lost),
    Self::Dead(DeadReason::Corrupt) => "dead_corrupt" = Self::Dead(DeadReason::Corrupt),
    Self::Dead(DeadReason::Operator) => "dead_operator" = Self::Dead(DeadReason::Operator),
    Self::Cancelled => "cancelled" = Self::Cancelled,
} }

names! { Status {
    Self::Ready => "ready" = Self::Ready,
    Self::Scheduled => "scheduled" = Self::Scheduled,
    Self::Leased => "leased" = Self::Leased,
    Self::Lapsed => "lapsed" = Self::Lapsed,
    Self::Succeeded => "succeeded" = Self::Succeeded,
    Self::Dead => "dead" = Self::Dead,
    Self::Cancelled => "cancelled" = Self::Cancelled,
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_back_and_no_two_are_alike() {
        for (at, state) in State::ALL.into_iter().enumerate() {
            assert_eq!(State::from_name(state.as_str()), Some(state));
            assert!(!State::ALL[..at].contains(&state), "{state} stands twice");
        }
        for status in Status::ALL {
            assert_eq!(Status::from_name(status.as_str()), Some(status));
        }
        assert_eq!(State::from_name("job"), None); // tidy: allow
    }
}
