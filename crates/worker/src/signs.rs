//! [`Signs`]: when a run has to be cancelled, and why.

use std::time::Duration;

use tokio::select;
use tokio::sync::watch;
use tokio::task::unconstrained;

use crate::clock::{Instant, after, now, until};
use crate::health::Phase;
use crate::held::{Life, Loss};

/// Why a run was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancelled {
    /// Its lease is lost, or is about to end unrenewed: another worker may start the task.
    Lost(Loss),
    /// It ran over its kind's time.
    TimedOut,
    /// The worker stops, and the grace is over: the task is given back.
    Stopping,
}

/// What a run is measured by. It can be read by whoever has a copy, also by code that blocks
/// its thread, and with it perhaps the one that would have told it.
#[derive(Debug, Clone)]
pub(crate) struct Signs {
    pub(crate) life: watch::Receiver<Life>,
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) times_out: Instant,
    /// How long a cancelled handler may take.
    pub(crate) grace: Duration,
    /// The same at the end of the worker's own grace.
    pub(crate) stop_grace: Duration,
}

impl Signs {
    /// Why the run has to be cancelled now, if it has. What changes after this wakes
    /// [`changed`](Self::changed).
    pub(crate) fn reason(&mut self) -> Option<Cancelled> {
        let phase = *self.phase.borrow_and_update();
        let (now, life) = (now(), *self.life.borrow_and_update());
        if let Some(loss) = life.lost {
            Some(Cancelled::Lost(loss))
        } else if now >= self.warns(life) {
            Some(Cancelled::Lost(Loss::Unanswered))
        } else if now >= self.times_out {
            Some(Cancelled::TimedOut)
        } else {
            (phase >= Phase::Cancelling).then_some(Cancelled::Stopping)
        }
    }

    /// Whether the lease is over, so that somebody else may have taken the task.
    pub(crate) fn is_over(&self) -> bool {
        now() >= self.life.borrow().ends
    }

    /// Comes back when the reason may be another.
    ///
    /// It is not subject to the runtime's budget for one task: a handler that never waits uses
    /// that up, and must not keep its own end from being seen.
    pub(crate) async fn changed(&mut self) {
        let warns = self.warns(*self.life.borrow());
        unconstrained(async {
            select! {
                _ = self.life.changed() => {}
                _ = self.phase.changed() => {}
                () = until(warns.min(self.times_out)) => {}
            }
        })
        .await;
    }

    /// Comes back when a run that was cancelled for `why` at `since` is to be dropped: after
    /// the grace, and never after its lease.
    pub(crate) async fn over(&mut self, why: Cancelled, since: Instant) {
        let grace = if why == Cancelled::Stopping { self.stop_grace } else { self.grace };
        let patience = after(since, grace);
        unconstrained(async {
            loop {
                let ends = self.life.borrow_and_update().ends;
                select! {
                    () = until(patience.min(ends)) => return,
                    _ = self.life.changed() => {}
                }
            }
        })
        .await;
    }

    /// When an unrenewed run has to be told, so that it can end before its lease does.
    fn warns(&self, life: Life) -> Instant {
        life.ends.checked_sub(self.grace).unwrap_or(life.ends)
    }
}
