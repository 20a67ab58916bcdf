//! The task that every party works on: a little JSON of about 100 bytes.

use serde::{Deserialize, Serialize};

/// Nothing to do.
#[derive(Debug, Clone, Serialize, Deserialize, leasehold::Task)]
#[task(kind = "bench.nothing", queue = "bench", delivery = at_least_once)]
pub struct Nothing {
    /// Its number.
    n: u64,
    /// So that it has the size of a small real one.
    pad: String,
}

impl Nothing {
    /// The task of this number.
    pub fn numbered(n: u64) -> Self {
        Self { n, pad: "x".repeat(80) }
    }

    /// As many of them.
    pub fn many(count: u64) -> impl Iterator<Item = Self> {
        (0..count).map(Self::numbered)
    }
}
