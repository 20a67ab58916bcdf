//! Golden vectors: short histories as data, each step with the right answer and with wrong ones.
//!
//! The files lie in `vectors/` of this crate, with a page that explains their form, so that a
//! store which is not written in Rust can replay them as well. The model takes each right
//! answer and no wrong one; the case `model/golden_vectors` replays the calls on a backend.

mod answer;
mod book;
mod call;
mod text;
mod told;

use serde::{Deserialize, Serialize};

pub use answer::Answer;
pub use book::Book;
pub use call::Call;

/// One history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Vector {
    /// What it is about, in one sentence.
    pub about: String,
    /// The features that a store must have for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// The calls, one after the other, in a queue that is new.
    pub steps: Vec<Step>,
}

/// One call, and what may be said to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Step {
    /// The call.
    pub call: Call,
    /// A right answer.
    pub right: Answer,
    /// Answers that no store may give.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<Wrong>,
}

/// An answer that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Wrong {
    /// The id of the clause that it breaks.
    pub breaks: String,
    /// What it would mean.
    pub means: String,
    /// The answer.
    pub answer: Answer,
}

/// Each vector and its name.
///
/// # Panics
/// When a file of this crate is not as the page in `vectors/` says; tests read them all.
#[must_use]
pub fn vectors() -> Vec<(&'static str, Vector)> {
    let read = |(name, text): &(&'static str, &str)| {
        let vector = serde_json::from_str(text);
        (*name, vector.unwrap_or_else(|error| panic!("vectors/{name}.json: {error}")))
    };
    FILES.iter().map(read).collect()
}

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../vectors/", $name, ".json")))),+];
    };
}

files! {
    "plain_success",
    "retries",
    "ids",
    "order",
    "paused",
    "renewals",
    "repeats",
    "late_success",
    "late_success_ends",
    "late_failure",
    "overdue",
    "lost_for_good",
    "operators",
    "revoked",
    "deleted_while_it_runs",
    "limit",
    "unique",
    "named_claims",
    "follow_ups",
}
