//! How policies, headers and records look in a store: JSON text with a version beside it, so
//! that people can read it and an older worker leaves what it does not know (LH-CLAIM-11).

use serde::{Deserialize, Serialize};

use crate::change::Record;
use crate::error::{Error, ErrorKind};
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

/// A record of the history as text.
#[must_use]
pub fn encode_record(record: &Record) -> String {
    to_text(record)
}

/// A record of the history from text.
///
/// # Errors
/// Corrupt when the text is not what [`encode_record`] wrote.
pub fn decode_record(text: &str) -> Result<Record, Error> {
    from_text(text, "a record of the history")
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
        let headers = vec![("a".into(), "\0\u{1f980}".into()), ("a".into(), String::new())];
        let text = encode_terms(policy, &headers);
        assert_eq!(decode_terms(&text).expect("just written"), (policy, headers));
        let kind = decode_terms(&text[1..]).expect_err("cut off").kind();
        assert_eq!(kind, ErrorKind::Corrupt);
    }
}
