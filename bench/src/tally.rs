//! [`Tally`]: counts what the handlers have done, and tells when the last one has.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::Fault;
use crate::clock::Start;

/// Counts handled tasks from a start on.
#[derive(Debug)]
pub struct Tally {
    wanted: u64,
    handled: AtomicU64,
    begun: Start,
    took: OnceLock<Duration>,
    over: Notify,
}

impl Tally {
    /// Begins to measure, until so many tasks have been handled.
    pub fn begin(wanted: u64) -> Self {
        Self {
            wanted,
            handled: AtomicU64::new(0),
            begun: Start::now(),
            took: OnceLock::new(),
            over: Notify::new(),
        }
    }

    /// One more has been handled.
    pub fn handled(&self) {
        if self.handled.fetch_add(1, Ordering::Relaxed) + 1 == self.wanted {
            let _ = self.took.set(self.begun.elapsed());
            // With a permit, so that it does not matter who comes first.
            self.over.notify_one();
        }
    }

    /// Comes back when the last one has been handled.
    pub async fn over(&self) {
        self.over.notified().await;
    }

    /// From the start to the last handler.
    ///
    /// # Errors
    /// When not each task was handled exactly once: such a time is of no worth.
    pub fn took(&self) -> Result<Duration, Fault> {
        let handled = self.handled.load(Ordering::Relaxed);
        match self.took.get() {
            Some(took) if handled == self.wanted => Ok(*took),
            _ => Err(format!("{handled} handled of {} tasks", self.wanted).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_each_task_once_makes_a_time() {
        let tally = Tally::begin(2);
        tally.handled();
        assert!(tally.took().is_err(), "one is missing");
        tally.handled();
        tally.over().await;
        assert!(tally.took().is_ok());
        tally.handled();
        assert!(tally.took().is_err(), "one was handled twice");
    }
}
