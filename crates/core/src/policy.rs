//! What follows a failure and what follows a lost worker, as data: [`Policy`] with
//! [`RetryPolicy`], [`Delivery`] and [`Retention`]; [`Backoff`], [`Jitter`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::limit::Bounds;
use crate::state::{DeadReason, State};

/// What follows a run that did not succeed, and how long the finished task stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Policy {
    /// After a failure that the handler told.
    pub retry: RetryPolicy,
    /// After a lost worker; always stated by the caller (LH-MODE-1).
    pub delivery: Delivery,
    /// Where it says nothing, the queue's setting counts.
    #[serde(default)]
    pub retention: Retention,
}

impl Policy {
    /// `delivery`, the default retries, the queue's retention.
    #[must_use]
    pub fn new(delivery: Delivery) -> Self {
        Self { retry: RetryPolicy::default(), delivery, retention: Retention::default() }
    }

    /// The same policy with other retries.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// The same policy with its own retention.
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.delivery == (Delivery::AtLeastOnce { max_rescues: 0 }) {
            return Err(Error::invalid(
                "at-least-once without a rescue is not at-least-once: say not-after-loss",
            ));
        }
        let (Backoff::Constant { delay } | Backoff::Exponential { cap: delay, .. }) =
            self.retry.backoff;
        Bounds::check_delay(delay)?;
        self.retention.check()
    }
}

/// How often a handler's failures are retried, and after which delay.
///
/// The retry budget is spent by failures only; snooze, release and rescue leave it alone
/// (LH-BUDGET-1, LH-BUDGET-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Failures after which there is another run; the next one buries the task (LH-RETRY-2).
    pub max_retries: u32,
    /// The delay before each retry.
    pub backoff: Backoff,
    /// How the delay is spread, so that tasks that failed together do not return together.
    pub jitter: Jitter,
}

impl RetryPolicy {
    /// No retry: the first failure buries the task.
    pub const NONE: RetryPolicy =
        RetryPolicy { max_retries: 0, backoff: Backoff::DEFAULT, jitter: Jitter::Half };

    /// 20 retries, each after a delay uniform between half and all of
    /// min(6 h, 5 s x 2^(failures - 1)): about four days in all.
    pub const DEFAULT: RetryPolicy = RetryPolicy::at_most(20);

    /// At most `max_retries` retries with the default backoff.
    #[must_use]
    pub const fn at_most(max_retries: u32) -> Self {
        Self { max_retries, backoff: Backoff::DEFAULT, jitter: Jitter::Half }
    }

    /// The same policy with another backoff.
    #[must_use]
    pub const fn with_backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// The same policy with another spread.
    #[must_use]
    pub const fn with_jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// The delay before the retry that follows failure number `failures` (1 for the first),
    /// in whole milliseconds.
    ///
    /// A pure function of the policy, the number and the seed: the same three give the same
    /// delay on every machine. It never overflows and never exceeds the backoff's cap.
    #[must_use]
    pub fn delay(&self, failures: u32, seed: u64) -> Duration {
        self.jitter.spread(self.backoff.delay(failures), seed)
    }
}

impl Default for RetryPolicy {
    /// [`RetryPolicy::DEFAULT`].
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The delay before a retry, before its spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backoff {
    /// The same delay each time.
    Constant {
        /// The delay.
        delay: Duration,
    },
    /// `first` after the first failure, twice as long after each further one, at most `cap`.
    Exponential {
        /// The delay after the first failure.
        first: Duration,
        /// The longest delay.
        cap: Duration,
    },
}

impl Backoff {
    /// min(6 h, 5 s x 2^(failures - 1)).
    pub const DEFAULT: Backoff = Backoff::Exponential {
        first: Duration::from_secs(5),
        cap: Duration::from_secs(6 * 60 * 60),
    };

    /// The delay after failure number `failures`, at most the cap and at most 100 years.
    #[must_use]
    pub fn delay(self, failures: u32) -> Duration {
        let delay = match self {
            Self::Constant { delay } => delay,
            Self::Exponential { first, cap } => 1_u32
                .checked_shl(failures.saturating_sub(1))
                .and_then(|factor| first.checked_mul(factor))
                .unwrap_or(if first.is_zero() { Duration::ZERO } else { cap })
                .min(cap),
        };
        delay.min(Bounds::DELAY_MAX)
    }
}

/// How a delay is spread over an interval by a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Jitter {
    /// The delay as it is.
    None,
    /// Uniform between half of the delay and all of it.
    Half,
    /// Uniform between nothing and all of the delay.
    Full,
}

impl Jitter {
    /// The spread delay in whole milliseconds, never more than `delay`.
    #[must_use]
    pub fn spread(self, delay: Duration, seed: u64) -> Duration {
        let all = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        let least = match self {
            Self::None => all,
            Self::Half => all / 2,
            Self::Full => 0,
        };
        // Multiply-shift maps the seed on 0..=all-least without a modulo's bias; the seed is
        // mixed first, as callers may count it up (finalizer of SplitMix64).
        let width = u128::from(all - least) + 1;
        let offset = (u128::from(mix(seed)) * width) >> 64;
        Duration::from_millis(least + u64::try_from(offset).unwrap_or(0))
    }
}

fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What follows a lost worker, in one word; always stated, never defaulted (LH-MODE-1).
///
/// A worker is lost for a run when the run's lease lapses and no success of it arrives
/// before the next run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delivery {
    /// Run again after a lost worker, `max_rescues` times at most; a handler may therefore
    /// run more than once to its end.
    AtLeastOnce {
        /// Lapses after which there is another run, 1 or more; the next one buries the task.
        max_rescues: u32,
    },
    /// Retry failures that the handler told, but never run again after a lost worker: the
    /// task is then buried as Lost, with its payload.
    NotAfterLoss,
    /// At most one run is ever started to its handler: no retry, no rescue, no snooze.
    AtMostOnce,
}

impl Delivery {
    /// At-least-once with 3 rescues.
    #[must_use]
    pub const fn at_least_once() -> Self {
        Self::AtLeastOnce { max_rescues: 3 }
    }

    /// The rescue budget: 0 means never again after a lost worker (LH-MODE-2).
    #[must_use]
    pub const fn max_rescues(self) -> u32 {
        match self {
            Self::AtLeastOnce { max_rescues } => max_rescues,
            Self::NotAfterLoss | Self::AtMostOnce => 0,
        }
    }

    /// The retry budget that this delivery leaves of a policy's.
    #[must_use]
    pub const fn max_retries(self, retry: &RetryPolicy) -> u32 {
        match self {
            Self::AtMostOnce => 0,
            Self::AtLeastOnce { .. } | Self::NotAfterLoss => retry.max_retries,
        }
    }
}

/// How long a finished task stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// Until an operator removes it.
    Forever,
    /// At least this long; then purge may take it. Zero: it leaves as it finishes.
    For(Duration),
}

impl Keep {
    /// Leaves as it finishes.
    pub const NOT: Keep = Keep::For(Duration::ZERO);
}

/// How long finished tasks stay, by how they ended; a part that is `None` says nothing.
///
/// A task's own word goes before its queue's, and the queue's before [`Retention::DEFAULT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Retention {
    /// After Succeeded.
    pub succeeded: Option<Keep>,
    /// After Cancelled.
    pub cancelled: Option<Keep>,
    /// After Dead; for Dead(Lost) at least 24 h (LH-DEAD-6).
    pub dead: Option<Keep>,
}

impl Retention {
    /// The shortest stay of a Dead(Lost) task.
    pub const LOST_MIN: Duration = Duration::from_secs(24 * 60 * 60);

    /// Succeeded leaves at once, Cancelled stays 24 h, Dead stays for ever.
    pub const DEFAULT: Retention = Retention {
        succeeded: Some(Keep::NOT),
        cancelled: Some(Keep::For(Duration::from_secs(24 * 60 * 60))),
        dead: Some(Keep::Forever),
    };

    /// The same retention with its word about Succeeded.
    #[must_use]
    pub const fn with_succeeded(mut self, keep: Keep) -> Self {
        self.succeeded = Some(keep);
        self
    }

    /// The same retention with its word about Cancelled.
    #[must_use]
    pub const fn with_cancelled(mut self, keep: Keep) -> Self {
        self.cancelled = Some(keep);
        self
    }

    /// The same retention with its word about Dead.
    #[must_use]
    pub const fn with_dead(mut self, keep: Keep) -> Self {
        self.dead = Some(keep);
        self
    }

    /// How long a task stays that has ended in `state`; `None` where this says nothing, and
    /// for a task that has not ended. Dead(Lost) stays a day at least (LH-DEAD-6).
    #[must_use]
    pub fn of(self, state: State) -> Option<Keep> {
        match (state, self.dead) {
            (State::Waiting | State::Leased(_), _) => None,
            (State::Succeeded, _) => self.succeeded,
            (State::Cancelled, _) => self.cancelled,
            (State::Dead(DeadReason::Lost), Some(Keep::For(time))) => {
                Some(Keep::For(time.max(Self::LOST_MIN)))
            }
            (State::Dead(_), dead) => dead,
        }
    }

    /// Each part of this retention, or of `other` where this one says nothing.
    #[must_use]
    pub fn or(self, other: Retention) -> Retention {
        Retention {
            succeeded: self.succeeded.or(other.succeeded),
            cancelled: self.cancelled.or(other.cancelled),
            dead: self.dead.or(other.dead),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        for keep in [self.succeeded, self.cancelled, self.dead].into_iter().flatten() {
            if let Keep::For(time) = keep {
                Bounds::check_delay(time)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn backoffs() -> impl Strategy<Value = Backoff> {
        let any_time = (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(s, n)| Duration::new(s, n));
        prop_oneof![
            any_time.clone().prop_map(|delay| Backoff::Constant { delay }),
            (any_time.clone(), any_time)
                .prop_map(|(first, cap)| Backoff::Exponential { first, cap }),
            (0..100_u64, 0..1_000_000_u64).prop_map(|(first, cap)| Backoff::Exponential {
                first: Duration::from_secs(first),
                cap: Duration::from_secs(cap),
            }),
        ]
    }

    fn jitters() -> impl Strategy<Value = Jitter> {
        prop_oneof![Just(Jitter::None), Just(Jitter::Half), Just(Jitter::Full)]
    }

    fn cap(backoff: Backoff) -> Duration {
        match backoff {
            Backoff::Constant { delay } => delay,
            Backoff::Exponential { cap, .. } => cap,
        }
    }

    proptest! {
        #[test]
        fn the_cap_holds_for_every_policy_number_and_seed(
            backoff in backoffs(), jitter in jitters(), failures: u32, seed: u64,
        ) {
            let policy = RetryPolicy { max_retries: 1, backoff, jitter };
            let delay = policy.delay(failures, seed);
            prop_assert!(delay <= cap(backoff).min(Bounds::DELAY_MAX));
            prop_assert_eq!(delay, policy.delay(failures, seed));
        }

        #[test]
        fn the_delay_never_falls_as_failures_grow(backoff in backoffs(), failures in 0..u32::MAX) {
            prop_assert!(backoff.delay(failures) <= backoff.delay(failures + 1));
        }

        #[test]
        fn half_keeps_half(millis in 0..1_000_000_000_u64, seed: u64) {
            let spread = Jitter::Half.spread(Duration::from_millis(millis), seed);
            prop_assert!(spread >= Duration::from_millis(millis / 2));
        }
    }

    #[test]
    fn the_default_doubles_from_five_seconds_to_six_hours() {
        let delay = |failures| Backoff::DEFAULT.delay(failures).as_secs();
        assert_eq!(
            [delay(1), delay(2), delay(3), delay(13), delay(40)],
            [5, 10, 20, 20_480, 21_600]
        );
    }

    #[test]
    fn the_spread_uses_its_whole_width() {
        let spread = |seed| Jitter::Full.spread(Duration::from_millis(9), seed).as_millis();
        let mut seen: Vec<_> = (0..1_000).map(spread).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..=9).collect::<Vec<_>>());
    }
}
