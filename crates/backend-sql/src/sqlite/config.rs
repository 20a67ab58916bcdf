//! [`SqliteConfig`]: where the file is and how it is used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold_core::{Bounds, Clock};

/// When an effect counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// Once the disk has it: what was confirmed survives a loss of power.
    #[default]
    Full,
    /// Once the operating system has it: it survives the end of the process, but a loss of
    /// power may undo the newest effects. Faster; not for tasks that may run at most once
    /// (LH-MODE-4).
    Normal,
}

/// How to open a [`SqliteBackend`](super::SqliteBackend).
#[derive(Debug, Clone)]
pub struct SqliteConfig {
    pub(super) path: PathBuf,
    pub(super) synchronous: Synchronous,
    pub(super) bounds: Bounds,
    pub(super) readers: u32,
    pub(super) busy_timeout: Duration,
    pub(super) clock: Clock,
}

impl SqliteConfig {
    /// The file at `path`, made if it is missing; its folder must exist.
    #[must_use]
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            synchronous: Synchronous::default(),
            bounds: Bounds::default(),
            readers: 4,
            busy_timeout: Duration::from_secs(5),
            clock: Clock::default(),
        }
    }

    /// The same file with another moment at which an effect counts as written. Handles of one
    /// file may differ: each speaks for the effects that it confirmed itself.
    #[must_use]
    pub fn with_synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// The same file with other bounds. All handles of a file should have the same.
    #[must_use]
    pub fn with_bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// The same file with at most `count` reads at once, at least 1; default 4.
    #[must_use]
    pub fn with_readers(mut self, count: u32) -> Self {
        self.readers = count.max(1);
        self
    }

    /// The same file with another longest wait for a write of another process, after which a
    /// call is Unavailable; default 5 s, at most a day.
    #[must_use]
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout.min(Duration::from_secs(24 * 60 * 60));
        self
    }

    /// The same file on another clock, for tests. Every handle of the file must have it.
    #[cfg(feature = "test-clock")]
    #[must_use]
    pub fn with_clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }
}
