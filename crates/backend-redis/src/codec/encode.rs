//! From values of core to arguments of a script.

use leasehold_core::clock::millis;
use leasehold_core::stored::encode_terms;
use leasehold_core::{Due, Fence, Keep, NewTask, State, When};

use super::{letter, rank};

/// A fence as records have it: 19 digits, so that comparing text compares numbers.
pub(crate) fn fence(fence: Fence) -> String {
    format!("{:019}", fence.value())
}

/// A claim's seq in 20 digits.
pub(crate) fn seq(seq: u64) -> String {
    format!("{seq:020}")
}

/// When a new or edited task is due.
pub(crate) fn due(due: Due) -> String {
    match due {
        Due::Now => "n".to_owned(),
        Due::In(delay) => format!("i{}", millis(delay)),
        Due::At(instant) => format!("a{}", instant.as_millis()),
    }
}

/// When a task that goes back to Waiting is due.
pub(crate) fn when(when: When) -> String {
    match when {
        When::Unchanged => "u".to_owned(),
        When::After(delay) => due(Due::In(delay)),
        When::At(instant) => due(Due::At(instant)),
    }
}

/// How long a finished task stays, in ms; -1 for ever.
pub(crate) fn keep(keep: Keep) -> i64 {
    match keep {
        Keep::Forever => -1,
        Keep::For(time) => millis(time),
    }
}

/// States as their letters, in a row.
pub(crate) fn letters(states: impl IntoIterator<Item = State>) -> String {
    states.into_iter().map(letter).collect()
}

/// The values that a new task takes in `lua/part/enter.lua`.
pub(crate) struct NewArgs {
    pub id: String,
    pub due: String,
    pub rank: u8,
    pub kind: String,
    pub limit: String,
    pub unique: String,
    /// What follows the due time in the birth record.
    pub rest: Vec<u8>,
}

impl From<NewTask> for NewArgs {
    fn from(new: NewTask) -> Self {
        let terms = encode_terms(new.policy, &new.headers);
        let rank = rank(new.priority);
        let limit = new.limit.map(|limit| format!("{}\t{}", limit.group, limit.key));
        let limit = limit.unwrap_or_default();
        let unique = new.unique.unwrap_or_default();
        let group_and_key = if limit.is_empty() { "\t" } else { &limit };
        let kind = new.kind;
        let head = format!("{rank}\t{kind}\t{group_and_key}\t{unique}\t{}\t{terms}", terms.len());
        let mut rest = head.into_bytes();
        rest.extend_from_slice(new.payload.as_bytes());
        Self { id: new.id, due: due(new.due), rank, kind, limit, unique, rest }
    }
}
