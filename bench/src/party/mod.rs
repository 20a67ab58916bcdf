//! The parties: who fills a queue and who drains it.

mod apalis;
mod limit;
mod ours;
mod sidekiq;

use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

use crate::sample::Told;
use crate::{Fault, own};

/// Handlers at once, for every party that has such a number.
const CONCURRENCY: usize = 100;

/// Tasks of one call, where a party leaves that to its user.
const BULK: usize = 1_000;

/// Who works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// Leasehold's worker and client, by their defaults.
    Ours,
    /// A plain loop over two scripts: a hash for each task.
    Plain,
    /// The same with one hash for all and commands of many values.
    Variadic,
    /// apalis-redis, its worker with the fetch settings that served it best.
    Apalis,
    /// The same without its locks, which it allows for short tasks.
    ApalisUnlocked,
    /// rusty-sidekiq; it loses the tasks of a worker that dies.
    Sidekiq,
}

impl Name {
    /// Every party.
    pub const ALL: [Self; 6] = [
        Self::Ours,
        Self::Plain,
        Self::Variadic,
        Self::Apalis,
        Self::ApalisUnlocked,
        Self::Sidekiq,
    ];

    /// Its name in reports and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Plain => "plain",
            Self::Variadic => "variadic",
            Self::Apalis => "apalis",
            Self::ApalisUnlocked => "apalis-unlocked",
            Self::Sidekiq => "sidekiq",
        }
    }
}

impl FromStr for Name {
    type Err = Fault;

    fn from_str(word: &str) -> Result<Self, Fault> {
        let found = Self::ALL.into_iter().find(|name| name.word() == word);
        found.ok_or_else(|| format!("no party {word:?}").into())
    }
}

/// What is put into a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// Tasks that can be handled now.
    Ready,
    /// Tasks of tomorrow.
    Scheduled,
    /// Tasks that are due and parked behind a limit that is full.
    Blocked,
}

/// One step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Puts tasks into the queue.
    Fill(Backlog),
    /// Handles those that are ready.
    Drain,
}

impl Step {
    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fill(Backlog::Ready) => "fill",
            Self::Fill(Backlog::Scheduled) => "schedule",
            Self::Fill(Backlog::Blocked) => "block",
            Self::Drain => "drain",
        }
    }
}

impl FromStr for Step {
    type Err = Fault;

    fn from_str(word: &str) -> Result<Self, Fault> {
        let backlogs = [Backlog::Ready, Backlog::Scheduled, Backlog::Blocked].map(Self::Fill);
        let found = backlogs.into_iter().chain([Self::Drain]).find(|step| step.word() == word);
        found.ok_or_else(|| format!("no step {word:?}").into())
    }
}

/// One step of one party, for a process of its own.
#[derive(Debug)]
pub struct Part {
    /// Who.
    pub party: Name,
    /// What.
    pub step: Step,
    /// On which server.
    pub url: String,
    /// How many tasks.
    pub count: u64,
}

/// Does a part, and prints what it took.
pub async fn run(part: &Part) -> Result<(), Fault> {
    let took = step(part).await?;
    let told = Told { took, cpu_us: own::cpu_us()?, peak_kib: own::peak_kib()? };
    println!("{}", serde_json::to_string(&told)?);
    Ok(())
}

async fn step(part: &Part) -> Result<Duration, Fault> {
    let Part { party, step, url, count } = part;
    match (party, step) {
        (Name::Ours, Step::Fill(backlog)) => ours::fill(url, *count, *backlog).await,
        (Name::Ours, Step::Drain) => ours::drain(url, *count).await,
        (_, Step::Fill(Backlog::Scheduled | Backlog::Blocked)) => {
            Err(format!("{} is only measured without a backlog", party.word()).into())
        }
        (Name::Plain, step) => limit::run(limit::PLAIN, url, *step, *count).await,
        (Name::Variadic, step) => limit::run(limit::VARIADIC, url, *step, *count).await,
        (Name::Apalis, Step::Fill(_)) => apalis::fill(url, *count).await,
        (Name::Apalis, Step::Drain) => apalis::drain(url, *count, true).await,
        (Name::ApalisUnlocked, Step::Fill(_)) => apalis::fill(url, *count).await,
        (Name::ApalisUnlocked, Step::Drain) => apalis::drain(url, *count, false).await,
        (Name::Sidekiq, Step::Fill(_)) => sidekiq::fill(url, *count).await,
        (Name::Sidekiq, Step::Drain) => sidekiq::drain(url, *count).await,
    }
}
