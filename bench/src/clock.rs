//! The wall clock: the one thing that a benchmark is about.

use std::time::{Duration, Instant};

/// An instant to measure from.
#[derive(Debug, Clone, Copy)]
pub struct Start(Instant);

impl Start {
    /// From now on.
    pub fn now() -> Self {
        #[expect(clippy::disallowed_methods, reason = "no decision hangs on it, only a figure")]
        let now = Instant::now();
        Self(now)
    }

    /// The time since then.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
