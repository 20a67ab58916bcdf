//! What a backend is and can do: [`Capabilities`], [`Features`], [`Durability`].

use std::time::Duration;

use bitflags::bitflags;

use crate::error::{Error, ErrorKind};
use crate::limit::Bounds;

/// The contract's version, major and minor; backends of another major are refused (LH-GEN-10).
pub const CONTRACT_VERSION: (u32, u32) = (0, 1);

bitflags! {
    /// What a backend has beyond the core of the contract. What it does not declare here it
    /// must refuse as Unsupported (LH-GEN-9).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Features: u32 {
        /// Concurrency limits (LH-LIMIT).
        const LIMITS = 1;
        /// Unique keys (LH-UNIQ).
        const UNIQUE = 1 << 1;
        /// Claims for chosen kinds (LH-CLAIM-10).
        const KINDS = 1 << 2;
        /// Claims that can be repeated (LH-CLAIM-9).
        const REPLAY = 1 << 3;
        /// Follow-ups that ride on a commit (LH-ENQ-8).
        const FOLLOW_UPS = 1 << 4;
    }
}

/// Which acknowledged effects survive what (LH-GEN-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durability {
    /// Whether they survive a crash of the store's process.
    pub process_crash: bool,
    /// Whether they survive a crash of the store's host, power included.
    pub host_crash: bool,
    /// Whether they survive the loss of the node that acknowledged them.
    pub failover: Failover,
}

impl Durability {
    /// What survives a crash of the process, of the host, and the loss of a node.
    #[must_use]
    pub const fn new(process_crash: bool, host_crash: bool, failover: Failover) -> Self {
        Self { process_crash, host_crash, failover }
    }

    /// Whether a claim that was acknowledged can be lost, so that a task which must never run
    /// again after a lost worker could (LH-MODE-4).
    #[must_use]
    pub const fn can_lose_a_claim(self) -> bool {
        !self.process_crash || !self.host_crash || matches!(self.failover, Failover::No)
    }
}

/// Whether acknowledged effects survive the loss of the node that acknowledged them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failover {
    /// There is one node only, and no other ever takes its place.
    Single,
    /// No: the node that takes over may lag behind.
    No,
    /// Yes, by the store's own design.
    Yes,
    /// Yes, because each call waits for another node.
    ByWaiting,
}

/// What a backend is and what it can do; the same for its whole life.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The store's name, such as `sqlite`.
    pub name: &'static str,
    /// The [`CONTRACT_VERSION`] that the backend was built for.
    pub contract: (u32, u32),
    /// What it has beyond the core.
    pub features: Features,
    /// How large and how many.
    pub bounds: Bounds,
    /// What an acknowledgement is worth.
    pub durability: Durability,
    /// How long a queue has to be quiet before its counts are exact: at most 1 s (LH-READ-2).
    pub count_lag: Duration,
}

impl Capabilities {
    /// Capabilities under this version of the contract, with the default bounds and exact counts.
    #[must_use]
    pub fn new(name: &'static str, features: Features, durability: Durability) -> Self {
        let bounds = Bounds::default();
        let count_lag = Duration::ZERO;
        Self { name, contract: CONTRACT_VERSION, features, bounds, durability, count_lag }
    }

    /// The same capabilities with counts that lag.
    #[must_use]
    pub fn with_count_lag(mut self, lag: Duration) -> Self {
        self.count_lag = lag;
        self
    }

    /// The same capabilities with other bounds.
    #[must_use]
    pub fn with_bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Checks that the backend speaks this major version of the contract (LH-GEN-10).
    ///
    /// # Errors
    /// Unsupported, naming both versions.
    pub fn check_contract(&self) -> Result<(), Error> {
        let ((theirs, its_minor), (ours, minor)) = (self.contract, CONTRACT_VERSION);
        // Before version 1 a minor version may break.
        if theirs == ours && (ours > 0 || its_minor == minor) {
            return Ok(());
        }
        let what = format!(
            "{} speaks contract {theirs}.{its_minor}, this build speaks {ours}.{minor}",
            self.name
        );
        Err(Error::new(ErrorKind::Unsupported, what))
    }
}
