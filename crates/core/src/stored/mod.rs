//! How policies, headers and records look in a store: JSON text with a version beside it, so
//! that people can read it and an older worker leaves what it does not know (LH-CLAIM-11).

use serde::{Deserialize, Serialize};

use crate::change::{Change, Event, Record};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::lease::Fence;
use crate::policy::{Policy, Retention};
use crate::task::Headers;

mod terms;

use terms::Terms;

/// The version that this build writes; it reads this one and the one before.
pub const FORMAT: u32 = 1;

/// A task's policy and headers as text.
#[must_use]
pub fn encode_terms(policy: Policy, headers: &Headers) -> String {
    to_text(&Terms::new(policy, headers))
}

/// A task's policy and headers from text.
///
/// # Errors
/// Corrupt when the text is not what [`encode_terms`] wrote.
pub fn decode_terms(text: &str) -> Result<(Policy, Headers), Error> {
    let what = "a task's terms";
    from_text::<Terms<Headers>>(text, what)?.read().ok_or_else(|| unreadable(what))
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
    serde_json::from_str(text).map_err(|source| unreadable(what).with_source(source))
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{what} cannot be read"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::policy::{Backoff, Delivery, Jitter, Keep, RetryPolicy};

    #[test]
    fn terms_come_back() {
        let odd = Duration::new(7, 1);
        let waits = [
            Backoff::DEFAULT,
            Backoff::Constant { delay: odd },
            Backoff::Exponential { first: odd, cap: Duration::MAX },
        ];
        let ways = [Delivery::at_least_once(), Delivery::NotAfterLoss, Delivery::AtMostOnce];
        let kept = Retention::default().with_succeeded(Keep::For(odd));
        let headers: Headers = [("a", "\0\u{1f980}"), ("a", "")].into_iter().collect();
        for backoff in waits {
            for delivery in ways {
                for jitter in [Jitter::None, Jitter::Half, Jitter::Full] {
                    let retry = RetryPolicy::at_most(u32::MAX).with_backoff(backoff);
                    let policy = Policy::new(delivery).with_retry(retry.with_jitter(jitter));
                    for policy in [policy, policy.with_retention(kept)] {
                        for headers in [&headers, &Headers::new()] {
                            let text = encode_terms(policy, headers);
                            let read = decode_terms(&text).expect("just written");
                            assert_eq!(read, (policy, headers.clone()), "{text}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_terms_of_most_tasks_are_short() {
        let policy = Policy::new(Delivery::at_least_once());
        let text = encode_terms(policy, &Headers::new());
        assert_eq!(text, r#"{"retries":20,"backoff":[5,21600],"delivery":3}"#);
    }

    #[test]
    fn broken_terms_are_corrupt() {
        for text in [
            "",
            r#"{"retries":20,"backoff":[5,21600],"delivery":3"#,
            r#"{"retries":20,"backoff":[5,21600]}"#,
            r#"{"retries":20,"backoff":[],"delivery":3}"#,
            r#"{"retries":20,"backoff":[1,2,3],"delivery":3}"#,
            r#"{"retries":20,"backoff":[[0,1000000000]],"delivery":3}"#,
            r#"{"retries":20,"backoff":[5],"delivery":"Sometimes"}"#,
            r#"{"retries":20,"backoff":[5],"delivery":3,"more":1}"#,
        ] {
            let kind = decode_terms(text).expect_err(text).kind();
            assert_eq!(kind, ErrorKind::Corrupt, "{text}");
        }
    }
}
