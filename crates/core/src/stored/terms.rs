//! The text of a task's terms: one small object, since every task carries one through the store.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::policy::{Backoff, Delivery, Jitter, Policy, Retention, RetryPolicy};
use crate::task::Headers;

/// What is missing has the value that most tasks have, and that value belongs to the format: a
/// default that changes elsewhere does not change it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Terms<H> {
    retries: u32,
    /// The delay, or the first one and the cap.
    backoff: Vec<Span>,
    #[serde(default = "half", skip_serializing_if = "is_half")]
    jitter: Jitter,
    delivery: DeliveryText,
    #[serde(default, skip_serializing_if = "is_unset")]
    retention: Retention,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    headers: Option<H>,
}

/// Whole seconds, or seconds and nanoseconds.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Span {
    Whole(u64),
    Exact(u64, u32),
}

/// How many rescues a task has that runs at least once, or the name of what has none.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum DeliveryText {
    AtLeastOnce(u32),
    WithoutRescue(WithoutRescue),
}

#[derive(Serialize, Deserialize)]
enum WithoutRescue {
    NotAfterLoss,
    AtMostOnce,
}

fn half() -> Jitter {
    Jitter::Half
}

fn is_half(jitter: &Jitter) -> bool {
    *jitter == Jitter::Half
}

fn is_unset(retention: &Retention) -> bool {
    *retention == Retention::default()
}

impl<'a> Terms<&'a Headers> {
    pub(super) fn new(policy: Policy, headers: &'a Headers) -> Self {
        let RetryPolicy { max_retries, backoff, jitter } = policy.retry;
        Self {
            retries: max_retries,
            backoff: match backoff {
                Backoff::Constant { delay } => vec![delay.into()],
                Backoff::Exponential { first, cap } => vec![first.into(), cap.into()],
            },
            jitter,
            delivery: policy.delivery.into(),
            retention: policy.retention,
            headers: headers.iter().next().is_some().then_some(headers),
        }
    }
}

impl Terms<Headers> {
    /// None when no such policy can have been written.
    pub(super) fn read(self) -> Option<(Policy, Headers)> {
        let mut spans = self.backoff.into_iter().map(Span::duration);
        let backoff = match (spans.next()??, spans.next(), spans.next()) {
            (delay, None, None) => Backoff::Constant { delay },
            (first, Some(cap), None) => Backoff::Exponential { first, cap: cap? },
            _ => return None,
        };
        let retry = RetryPolicy { max_retries: self.retries, backoff, jitter: self.jitter };
        let policy = Policy { retry, delivery: self.delivery.into(), retention: self.retention };
        Some((policy, self.headers.unwrap_or_default()))
    }
}

impl From<Duration> for Span {
    fn from(span: Duration) -> Self {
        match span.subsec_nanos() {
            0 => Self::Whole(span.as_secs()),
            nanos => Self::Exact(span.as_secs(), nanos),
        }
    }
}

impl Span {
    /// None when the nanoseconds are a second or more.
    fn duration(self) -> Option<Duration> {
        match self {
            Self::Whole(secs) => Some(Duration::from_secs(secs)),
            Self::Exact(secs, nanos) => (nanos < 1_000_000_000).then(|| Duration::new(secs, nanos)),
        }
    }
}

impl From<Delivery> for DeliveryText {
    fn from(delivery: Delivery) -> Self {
        match delivery {
            Delivery::AtLeastOnce { max_rescues } => Self::AtLeastOnce(max_rescues),
            Delivery::NotAfterLoss => Self::WithoutRescue(WithoutRescue::NotAfterLoss),
            Delivery::AtMostOnce => Self::WithoutRescue(WithoutRescue::AtMostOnce),
        }
    }
}

impl From<DeliveryText> for Delivery {
    fn from(text: DeliveryText) -> Self {
        match text {
            DeliveryText::AtLeastOnce(max_rescues) => Self::AtLeastOnce { max_rescues },
            DeliveryText::WithoutRescue(WithoutRescue::NotAfterLoss) => Self::NotAfterLoss,
            DeliveryText::WithoutRescue(WithoutRescue::AtMostOnce) => Self::AtMostOnce,
        }
    }
}
