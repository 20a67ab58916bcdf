//! [`Health`]: how a worker is, for a health check, a test or a page.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold_core::{Budget, Change, Event, To};

use crate::clock::{Instant, now};
use crate::held::Held;
use crate::observe::{Notice, Observer, Verdict};

/// A background loop of a worker; each queue has one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Loop {
    /// Takes leases and starts handlers.
    Claims,
    /// Renews the leases of running handlers.
    Pulse,
    /// Writes decisions.
    Commits,
    /// Decides about lapsed leases.
    Rescuer,
    /// Purges finished tasks.
    Janitor,
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Claims => "claims",
            Self::Pulse => "pulse",
            Self::Commits => "commits",
            Self::Rescuer => "rescuer",
            Self::Janitor => "janitor",
        })
    }
}

/// Where a worker is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It has not begun.
    Idle,
    /// It claims and works.
    Working,
    /// It claims no more, and waits for its handlers.
    Stopping,
    /// The grace is over: its handlers are cancelled and their tasks given back.
    Cancelling,
    /// It has ended.
    Stopped,
}

/// Tells how a worker is, while it runs and after. Clones are of the same worker.
#[derive(Debug, Clone)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    phase: Phase,
    drained: bool,
    tally: Tally,
    held: Vec<Arc<Held>>,
    loops: BTreeMap<(String, Loop), Trouble>,
}

#[derive(Debug, Default)]
struct Trouble {
    errors: u64,
    since: Option<Instant>,
    tries: u32,
    message: String,
}

/// How a worker is at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Where it is in its life.
    pub phase: Phase,
    /// Whether it has stopped, or does so now, because its queues held no unfinished task
    /// ([`Worker::drain`](crate::Worker::drain)).
    pub drained: bool,
    /// Handlers that run now.
    pub running: usize,
    /// What it has done so far.
    pub tally: Tally,
    /// Its loops, by queue and name; each is there from the start.
    pub loops: Vec<LoopReport>,
}

/// How one loop is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopReport {
    /// The queue.
    pub queue: String,
    /// Which loop.
    pub name: Loop,
    /// Its calls that failed, since the start.
    pub errors: u64,
    /// What is wrong now; `None` when its last call went well.
    pub failing: Option<Failing>,
}

/// A loop whose last call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failing {
    /// How long ago the first call in a row failed.
    pub since: Duration,
    /// How many calls in a row.
    pub tries: u32,
    /// The last error.
    pub message: String,
}

/// What a worker has done; each number only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tally {
    /// Leases taken to run a task.
    pub claimed: u64,
    /// Successes that count.
    pub succeeded: u64,
    /// Failures, panics and timeouts that count and are tried again.
    pub failed: u64,
    /// Handlers that asked for later.
    pub snoozed: u64,
    /// Tasks given back at shutdown, or before their handler could start.
    pub released: u64,
    /// Tasks left to a worker that knows their kind.
    pub unknown_kinds: u64,
    /// Tasks called off by their handler.
    pub cancelled: u64,
    /// Dead letters made, by a run or by a rescue.
    pub buried: u64,
    /// Successes that counted although a rescue had come first.
    pub late: u64,
    /// Decisions that came too late and changed nothing.
    pub stale: u64,
    /// Decisions of which it is not known whether they counted.
    pub unknown: u64,
    /// Decisions that the store refused.
    pub refused: u64,
    /// Runs that lost their lease and were cancelled.
    pub lost: u64,
    /// Lapsed tasks of any worker that this one put back.
    pub rescued: u64,
    /// Finished tasks that were purged.
    pub purged: u64,
}

impl Health {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            phase: Phase::Idle,
            drained: false,
            tally: Tally::default(),
            held: Vec::new(),
            loops: BTreeMap::new(),
        })))
    }

    /// How the worker is now.
    #[must_use]
    pub fn report(&self) -> Report {
        let state = self.state();
        let loops = state.loops.iter().map(|((queue, name), trouble)| LoopReport {
            queue: queue.clone(),
            name: *name,
            errors: trouble.errors,
            failing: trouble.since.map(|since| Failing {
                since: now().saturating_duration_since(since),
                tries: trouble.tries,
                message: trouble.message.clone(),
            }),
        });
        Report {
            phase: state.phase,
            drained: state.drained,
            running: state.held.iter().map(|held| held.count()).sum(),
            tally: state.tally,
            loops: loops.collect(),
        }
    }

    /// Whether the worker works and the last call of each of its loops went well.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let state = self.state();
        state.phase == Phase::Working && state.loops.values().all(|trouble| trouble.since.is_none())
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.state().phase = phase;
    }

    pub(crate) fn drained(&self) {
        self.state().drained = true;
    }

    pub(crate) fn serve(&self, queue: &str, held: Arc<Held>) {
        let mut state = self.state();
        state.held.push(held);
        for name in [Loop::Claims, Loop::Pulse, Loop::Commits, Loop::Rescuer, Loop::Janitor] {
            state.loops.entry((queue.to_owned(), name)).or_default();
        }
    }

    /// A call of a loop failed; tells how many have in a row.
    pub(crate) fn failing(&self, queue: &str, name: Loop, message: String) -> u32 {
        let mut state = self.state();
        let trouble = state.loops.entry((queue.to_owned(), name)).or_default();
        trouble.errors += 1;
        trouble.tries = trouble.tries.saturating_add(1);
        trouble.since.get_or_insert_with(now);
        trouble.message = message;
        trouble.tries
    }

    /// A call of a loop went well; tells how many had failed in a row before it.
    pub(crate) fn well(&self, queue: &str, name: Loop) -> u32 {
        let mut state = self.state();
        let trouble = state.loops.entry((queue.to_owned(), name)).or_default();
        trouble.since = None;
        std::mem::take(&mut trouble.tries)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells that the worker has stopped, however it came to that.
pub(crate) struct Stops(pub(crate) Health);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.enter(Phase::Stopped);
    }
}

impl Observer for Health {
    fn notice(&self, notice: &Notice<'_>) {
        let tally = &mut self.state().tally;
        match notice {
            Notice::Claimed { .. } => tally.claimed += 1,
            Notice::Lost { .. } => tally.lost += 1,
            Notice::Decided { change, verdict, .. } => tally.decided(change, verdict),
            Notice::Rescued { change, verdict: Verdict::Applied { .. }, .. } => match change.to {
                To::Dead(_) => tally.buried += 1,
                _ => tally.rescued += 1,
            },
            Notice::Purged { tasks, .. } => {
                tally.purged += u64::try_from(*tasks).unwrap_or(u64::MAX);
            }
            Notice::Rescued { .. } | Notice::Failing { .. } | Notice::Recovered { .. } => {}
        }
    }
}

impl Tally {
    fn decided(&mut self, change: &Change, verdict: &Verdict) {
        let count = match verdict {
            Verdict::Applied { late, .. } => {
                self.late += u64::from(*late);
                match (change.to, change.event) {
                    (To::Succeeded, _) => &mut self.succeeded,
                    (To::Dead(_), _) => &mut self.buried,
                    (To::Cancelled, _) => &mut self.cancelled,
                    _ if change.budget == Budget::SpendRetry => &mut self.failed,
                    (_, Event::UnknownKind) => &mut self.unknown_kinds,
                    (_, Event::Snoozed) => &mut self.snoozed,
                    _ => &mut self.released,
                }
            }
            Verdict::Stale { .. } | Verdict::Gone => &mut self.stale,
            Verdict::Unknown { .. } | Verdict::Unanswered => &mut self.unknown,
            Verdict::Refused(_) => &mut self.refused,
        };
        *count += 1;
    }
}
