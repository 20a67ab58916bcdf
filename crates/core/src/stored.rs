//! How policies, headers and records look in a store: JSON text with a version beside it, so
//! that people can read it and an older worker leaves what it does not know (LH-CLAIM-11).

use serde::{Deserialize, Serialize};

use crate::change::{Change, Event, Record};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::lease::Fence;
use crate::policy::{Policy, Retention};
use crate::task::Headers;

/// The version that this build writes; it reads this one and the one before.
pub const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Terms<H> {
    policy: Policy,
    headers: H,
}

/// A task's policy and headers as text.
#[must_use]
pub fn encode_terms(policy: Policy, headers: &Headers) -> String {
    to_text(&Terms { policy, headers })
}

/// A task's policy and headers from text.
///
/// # Errors
/// Corrupt when the text is not what [`encode_terms`] wrote.
pub fn decode_terms(text: &str) -> Result<(Policy, Headers), Error> {
    from_text::<Terms<Headers>>(text, "a task's terms").map(|terms| (terms.policy, terms.headers))
}

/// What a record of the history says beyond the numbers that only the store knows.
#[derive(Serialize, Deserialize)]
struct Cause {
    event: Event,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
}

/// A change's event, message and actor as text; the store keeps instant, fence and attempt
/// of the record beside it.
#[must_use]
pub fn encode_cause(change: &Change) -> String {
    let Change { event, message, actor, .. } = change;
    to_text(&Cause { event: *event, message: message.clone(), actor: actor.clone() })
}

/// A record of the history from its text and the three numbers beside it.
///
/// # Errors
/// Corrupt when the text is not what [`encode_cause`] wrote.
pub fn decode_record(
    text: &str,
    at: Timestamp,
    shown: Fence,
    attempt: u32,
) -> Result<Record, Error> {
    let Cause { event, message, actor } = from_text(text, "a record of the history")?;
    Ok(Record { at, fence: shown.value(), attempt, event, message, actor })
}

/// A queue's retention as text.
#[must_use]
pub fn encode_retention(retention: Retention) -> String {
    to_text(&retention)
}

/// A queue's retention from text.
///
/// # Errors
/// Corrupt when the text is not what [`encode_retention`] wrote.
pub fn decode_retention(text: &str) -> Result<Retention, Error> {
    from_text(text, "a queue's retention")
}

fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data with string keys always serializes")
}

fn from_text<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|source| {
        Error::new(ErrorKind::Corrupt, format!("{what} cannot be read")).with_source(source)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Delivery;

    #[test]
    fn terms_come_back_and_broken_ones_are_corrupt() {
        let policy = Policy::new(Delivery::at_least_once());
        let headers: Headers = [("a", "\0\u{1f980}"), ("a", "")].into_iter().collect();
        let text = encode_terms(policy, &headers);
        assert_eq!(decode_terms(&text).expect("just written"), (policy, headers));
        let kind = decode_terms(&text[1..]).expect_err("cut off").kind();
        assert_eq!(kind, ErrorKind::Corrupt);
    }
}
