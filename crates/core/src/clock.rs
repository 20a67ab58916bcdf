//! The only code of core that reads time: [`Timestamp`], [`Clock`], [`ManualClock`], and for
//! callers' own waiting [`within`] and two more that stay inside.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};

/// An instant of a store's clock, in milliseconds since 1970-01-01 UTC.
///
/// Arithmetic saturates, so that a far duration never wraps into the past.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Before every other instant.
    pub const MIN: Timestamp = Timestamp(i64::MIN);

    /// The last instant that the contract admits: the end of the year 9999 (LH-TIME-6).
    pub const MAX: Timestamp = Timestamp(253_402_300_799_999);

    /// The instant that lies `millis` milliseconds after 1970-01-01 UTC; negative is before.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01 UTC; negative is before.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This instant moved forward by `by`, in whole milliseconds, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(millis(by)).min(Self::MAX.0))
    }

    /// How long this instant lies after `earlier`; zero when it does not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        let gap = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(gap).unwrap_or(0))
    }
}

/// Whole milliseconds of a duration, saturating.
#[must_use]
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A clock that moves only when it is told to; clones share one hand.
///
/// For tests: it makes a lapse, a boundary or a jump exact and instant.
///
/// ```
/// use leasehold_core::{Clock, ManualClock, Timestamp};
/// let hand = ManualClock::at(Timestamp::from_millis(1_000));
/// let clock = Clock::from(hand.clone());
/// hand.shift(-250);
/// assert_eq!(clock.now(), Timestamp::from_millis(750));
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<(u64, Timestamp)>>);

impl ManualClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(Mutex::new((0, start))))
    }

    /// Moves the hand by `by_ms` milliseconds; negative moves it back (LH-TIME-4).
    pub fn shift(&self, by_ms: i64) {
        let (tick, now) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *tick += 1;
        *now = Timestamp(now.0.saturating_add(by_ms));
    }

    /// The instant at which the hand stands.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.reading().1
    }

    /// How often the hand has been moved, and where it stands: of two readings the one with the
    /// greater number is the newer. A store whose steps happen in a server sends both along and
    /// goes by the newest that it has seen, as if the clock stood there.
    #[must_use]
    pub fn reading(&self) -> (u64, Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ManualClock {
    /// Stands at 2030-01-01 UTC, a date that no machine's own clock shows by accident.
    fn default() -> Self {
        Self::at(Timestamp(1_893_456_000_000))
    }
}

/// Where an in-process store reads time.
#[derive(Clone, Default)]
pub enum Clock {
    /// The machine's wall clock.
    #[default]
    System,
    /// A hand that a test moves.
    Manual(ManualClock),
}

impl Clock {
    /// The instant that this clock shows now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Manual(hand) => hand.now(),
            Self::System => {
                let since = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .unwrap_or_default();
                Timestamp(millis(since))
            }
        }
    }
}

impl From<ManualClock> for Clock {
    fn from(hand: ManualClock) -> Self {
        Self::Manual(hand)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("Clock::System"),
            Self::Manual(hand) => write!(f, "Clock::Manual({})", hand.now().0),
        }
    }
}

/// The end of a caller's patience, on this machine's monotonic clock. Nothing that a store
/// decides ever depends on it (LH-TIME-1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(tokio::time::Instant);

impl Deadline {
    /// So long from now; what is too far to be reckoned is 30 years away.
    #[expect(clippy::disallowed_methods, reason = "the home of time")]
    pub(crate) fn after(time: Duration) -> Self {
        let now = tokio::time::Instant::now();
        const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
        Self(now.checked_add(time.min(FAR)).unwrap_or(now))
    }

    /// What is left; zero when it has passed.
    #[expect(clippy::disallowed_methods, reason = "the home of time")]
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(tokio::time::Instant::now())
    }
}

/// Makes a call within a deadline, on this machine's clock. What was not answered by then
/// may have been applied, as after any other lost answer (LH-GEN-5).
///
/// # Errors
/// The call's own; Unavailable when the time is over.
///
/// # Cancel safety
/// A dropped future drops the call.
pub async fn within<T>(
    deadline: Duration,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(deadline, call).await.unwrap_or_else(|_| {
        let what = format!("the store did not answer within {deadline:?}");
        Err(Error::new(ErrorKind::Unavailable, what))
    })
}

/// Waits so long, for a caller that looks again and again.
#[expect(clippy::disallowed_methods, reason = "the home of time")]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await; // tidy: allow, the pause between two looks of a caller
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_durations_stop_at_the_last_instant() {
        assert_eq!(Timestamp::from_millis(5).after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Duration::ZERO);
    }
}
