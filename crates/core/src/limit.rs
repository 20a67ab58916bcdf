//! Concurrency limits, and the bounds of what a store takes.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::Error;
use crate::task::Payload;

/// A task's place under a concurrency limit: at most as many unlapsed leases at once for
/// one `key` as its `group`'s number says (LH-LIMIT-1).
///
/// The number belongs to the group and lies in the queue's settings, so that it can be
/// changed in one place; a group without a number is Invalid at enqueue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LimitKey {
    /// The group whose number counts.
    pub group: String,
    /// The key within the group that shares the number, such as one tenant.
    pub key: String,
}

impl LimitKey {
    /// The key `key` of the group `group`.
    #[must_use]
    pub fn new(group: impl Into<String>, key: impl Into<String>) -> Self {
        Self { group: group.into(), key: key.into() }
    }
}

impl fmt::Display for LimitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group, self.key)
    }
}

/// The bounds that a backend keeps; core checks them before a call reaches the store
/// (LH-ENQ-10), so that a handler sees the error and never the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Longest queue, id, kind, key, group, header name or holder, in bytes of UTF-8.
    pub name_bytes_max: usize,
    /// Largest payload or result, in bytes.
    pub payload_bytes_max: usize,
    /// Largest sum of all header names and values of a task, in bytes.
    pub headers_bytes_max: usize,
    /// Largest note on a renew, in bytes.
    pub note_bytes_max: usize,
    /// Most items in one call of enqueue, renew, commit or purge.
    pub batch_max: usize,
    /// Largest sum of the payloads in one enqueue, in bytes. A claim or a page whose payloads
    /// come to more may be cut short, with `more` or a cursor.
    pub batch_bytes_max: usize,
    /// Most leases of one claim.
    pub claim_max: usize,
    /// Most kinds that one claim may name.
    pub kinds_max: usize,
    /// Most follow-ups of one change, at least 100 (LH-ENQ-8).
    pub follow_max: usize,
    /// Most entries of one page.
    pub page_max: usize,
    /// Most records that a task's history keeps: the first and the newest (LH-RETRY-5).
    pub history_max: usize,
    /// Shortest lease.
    pub ttl_min: Duration,
    /// Longest lease.
    pub ttl_max: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            name_bytes_max: 200,
            payload_bytes_max: 1 << 20,
            headers_bytes_max: 16 << 10,
            note_bytes_max: 64 << 10,
            batch_max: 1_000,
            batch_bytes_max: 64 << 20,
            claim_max: 1_000,
            kinds_max: 100,
            follow_max: 100,
            page_max: 1_000,
            history_max: 21,
            ttl_min: Duration::from_millis(100),
            ttl_max: Duration::from_secs(24 * 60 * 60),
        }
    }
}

impl Bounds {
    /// The longest delay, 100 years of 365.25 days (LH-TIME-6).
    pub const DELAY_MAX: Duration = Duration::from_secs(100 * 31_557_600);

    /// The default bounds with another largest payload.
    #[must_use]
    pub fn with_payload_bytes_max(mut self, bytes: usize) -> Self {
        self.payload_bytes_max = bytes;
        self
    }

    /// Checks a name: 1 to [`Bounds::name_bytes_max`] bytes of UTF-8 without control
    /// characters (LH-GEN-7).
    ///
    /// # Errors
    /// Invalid, naming `what`.
    pub fn check_name(&self, what: &str, name: &str) -> Result<(), Error> {
        if name.is_empty() {
            return Err(Error::invalid(format!("{what} is empty")));
        }
        if name.chars().any(char::is_control) {
            return Err(Error::invalid(format!("{what} {name:?} has a control character")));
        }
        check_size(&format!("the size of {what} in bytes"), name.len(), self.name_bytes_max)
    }

    /// Checks the size of what a success leaves.
    ///
    /// # Errors
    /// Invalid above [`Bounds::payload_bytes_max`].
    pub fn check_result(&self, result: &Payload) -> Result<(), Error> {
        check_size("the result's size in bytes", result.len(), self.payload_bytes_max)
    }

    /// Checks the length of a lease.
    ///
    /// # Errors
    /// Invalid outside [`Bounds::ttl_min`] to [`Bounds::ttl_max`].
    pub fn check_ttl(&self, ttl: Duration) -> Result<(), Error> {
        if ttl < self.ttl_min || ttl > self.ttl_max {
            return Err(Error::invalid(format!(
                "a lease of {ttl:?} is not within {:?} to {:?}",
                self.ttl_min, self.ttl_max
            )));
        }
        Ok(())
    }

    /// Checks a delay (LH-TIME-6).
    ///
    /// # Errors
    /// Invalid beyond [`Bounds::DELAY_MAX`].
    pub fn check_delay(delay: Duration) -> Result<(), Error> {
        if delay > Self::DELAY_MAX {
            return Err(Error::invalid(format!("a delay of {delay:?} is over 100 years")));
        }
        Ok(())
    }

    /// Checks a due time (LH-TIME-6).
    ///
    /// # Errors
    /// Invalid after the year 9999.
    pub fn check_due(due: Timestamp) -> Result<(), Error> {
        if due > Timestamp::MAX {
            return Err(Error::invalid("a due time lies after the year 9999"));
        }
        Ok(())
    }
}

/// Refuses what is larger than a bound, naming both sizes.
pub(crate) fn check_size(what: &str, size: usize, max: usize) -> Result<(), Error> {
    if size > max {
        return Err(Error::invalid(format!("{what} is {size}, more than {max}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_nonempty_bounded_and_without_control_characters() {
        let bounds = Bounds::default();
        for good in ["a", "räksmörgås", "a b/c:{d}*%_'\"\\", &"x".repeat(200)] {
            assert!(bounds.check_name("id", good).is_ok(), "{good:?}");
        }
        for bad in ["", "a\0b", "a\tb", "\u{85}", &"x".repeat(201)] {
            assert!(bounds.check_name("id", bad).is_err(), "{bad:?}");
        }
    }
}
