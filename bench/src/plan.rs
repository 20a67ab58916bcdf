//! What is compared with what, over how many tasks.

use std::str::FromStr;

use serde::Serialize;

use crate::Fault;
use crate::party::{Backlog, Name};

/// Pairs of runs in a comparison, half of them in the other order.
pub const PAIRS: usize = 5;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Handling tasks that wait already.
    Drain,
    /// The same behind many that are parked under a full limit key.
    DrainBlocked,
    /// The same among many that are due much later.
    DrainScheduled,
    /// Putting many tasks into the queue at once.
    EnqueueBulk,
}

impl Work {
    /// Every work.
    pub const ALL: [Self; 4] =
        [Self::Drain, Self::DrainBlocked, Self::DrainScheduled, Self::EnqueueBulk];

    /// Its name in reports and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::DrainBlocked => "drain-blocked",
            Self::DrainScheduled => "drain-scheduled",
            Self::EnqueueBulk => "enqueue-bulk",
        }
    }
}

impl FromStr for Work {
    type Err = Fault;

    fn from_str(word: &str) -> Result<Self, Fault> {
        let found = Self::ALL.into_iter().find(|work| work.word() == word);
        found.ok_or_else(|| format!("no work {word:?}").into())
    }
}

/// What ours is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// What the server allows.
    Limit,
    /// What somebody would use instead.
    Peer,
    /// Ours without the backlog.
    Ours,
}

impl Against {
    /// Its name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Peer => "peer",
            Self::Ours => "ours",
        }
    }
}

/// One opponent on a queue that holds nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Fresh {
    /// Who.
    pub other: Name,
    /// What it is.
    pub against: Against,
    /// Tasks of a run.
    pub count: u64,
    /// Whether its way to enqueue is a way to enqueue many.
    pub is_bulk: bool,
}

/// The opponents.
pub fn fresh(quick: bool) -> [Fresh; 5] {
    let most = if quick { 10_000 } else { 50_000 };
    // apalis-redis 1.0.0 stops for good when more than about 8,000 tasks are due at once.
    let few = if quick { 5_000 } else { 7_000 };
    let one = |other, against, count, is_bulk| Fresh { other, against, count, is_bulk };
    [
        one(Name::Plain, Against::Limit, most, true),
        one(Name::Variadic, Against::Limit, most, true),
        one(Name::Apalis, Against::Peer, few, true),
        one(Name::ApalisUnlocked, Against::Peer, few, false),
        one(Name::Sidekiq, Against::Peer, few, false),
    ]
}

/// Ours behind a backlog, against ours without it.
#[derive(Debug, Clone, Copy)]
pub struct Loaded {
    /// What is done.
    pub work: Work,
    /// What lies in the queue.
    pub backlog: Backlog,
    /// How much of it.
    pub load: u64,
    /// Tasks of a run.
    pub count: u64,
}

/// The backlogs.
pub fn loaded(quick: bool) -> [Loaded; 2] {
    let count = if quick { 10_000 } else { 50_000 };
    let scheduled = if quick { 100_000 } else { 1_000_000 };
    let one = |work, backlog, load| Loaded { work, backlog, load, count };
    [
        one(Work::DrainBlocked, Backlog::Blocked, 100_000),
        one(Work::DrainScheduled, Backlog::Scheduled, scheduled),
    ]
}
