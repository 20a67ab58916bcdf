//! [`Wire`]: a caller behind a gate, and [`Loss`]: what the gate takes from one call.

use std::fmt::Debug;
use std::future::pending;
use std::time::Duration;

use leasehold_core::clause::GEN_4;
use leasehold_core::{Count, Error, ErrorKind};
use tokio::time::timeout;

use super::rounds::Seen;
use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::demand;
use crate::gate::{Gate, Way};
use crate::harness::{HarnessError, Link};

/// A call without an end for so long never ends, and a handle that is down for so long stays so.
const PATIENCE: Duration = Duration::from_secs(15);

/// So many pieces of one call go either way at most.
const PIECES_MAX: usize = 64;

/// Between two looks at what comes about by itself.
const PAUSE: Duration = Duration::from_millis(20);

/// Somebody whose every byte goes through a gate, and somebody who sees the store without it.
#[derive(Clone)]
pub(super) struct Wire {
    pub gate: Gate,
    pub caller: Actor,
    pub witness: Actor,
}

/// What a call loses, and the connection with it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loss {
    Nothing,
    /// All that goes this way after so many pieces, as they arrive at the gate.
    After(Way, usize),
    /// All that goes this way after so many bytes.
    Part(Way, usize),
}

/// A call that may have lost something.
pub(super) struct Lost<T> {
    /// What it was told.
    pub told: T,
    /// Whether something was lost.
    pub struck: bool,
}

/// An answer on a network that is whole.
pub(super) struct Again<T> {
    pub answer: T,
    /// Whether it came at the first try; else an earlier one may have been carried out.
    pub first: bool,
}

impl Wire {
    /// A caller behind a gate that is open, with a connection that has been used.
    pub async fn lay(cx: &Context) -> Result<Self, Stop> {
        let gate = Gate::open(cx.address()?).await.map_err(HarnessError::from)?;
        let caller = cx.actor_by(Link::Through(gate.address()), "caller").await?;
        let witness = cx.actor("witness").await?;
        caller.backend().counts(Count::new(caller.queue())).await?;
        match gate.came(Way::Requests) {
            0 => Err(Stop::vacuous("the handle does not go by way of the gate")),
            _ => Ok(Self { gate, caller, witness }),
        }
    }

    /// The same two on another queue.
    pub fn on(&self, queue: &str) -> Self {
        let Self { gate, caller, witness } = self;
        Self { gate: gate.clone(), caller: caller.on(queue), witness: witness.on(queue) }
    }

    /// Makes the call, and loses that of it.
    pub async fn lose<T>(
        &self,
        cx: &mut Context,
        loss: Loss,
        call: impl Future<Output = T>,
    ) -> Result<Lost<T>, Stop> {
        let mut call = Box::pin(ended(cx, call));
        let (told, struck) = tokio::select! {
            biased;
            () = self.strike(loss) => (call.await, true),
            told = &mut call => (told, self.has_cut(loss)),
        };
        match struck {
            // The gate may have ended the connection by itself, and then still ends new ones.
            true => self.gate.cut(),
            false => self.gate.release(),
        }
        Ok(Lost { told: told?, struck })
    }

    /// Whether the gate has ended the connection by itself.
    fn has_cut(&self, loss: Loss) -> bool {
        match loss {
            Loss::Nothing | Loss::After(..) => false,
            Loss::Part(way, _) => self.gate.has_stopped(way),
        }
    }

    async fn strike(&self, loss: Loss) {
        match loss {
            Loss::Nothing => pending().await,
            Loss::After(way, pieces) => {
                let mut before = self.gate.fired(way);
                self.gate.hold(way);
                for _ in 0..pieces {
                    self.gate.stopped(way).await;
                    let now = self.gate.fired(way);
                    self.gate.pass(way, usize::try_from(now - before).unwrap_or(usize::MAX));
                    before = now;
                }
                self.gate.stopped(way).await;
            }
            Loss::Part(way, bytes) => {
                self.gate.cut_after(way, bytes);
                self.gate.stopped(way).await;
            }
        }
        self.gate.cut();
    }

    /// The answer of a call now that nothing is lost any more: the handle has to find its way
    /// back by itself, and may be Unavailable until then.
    pub async fn again<T, F>(
        &self,
        cx: &mut Context,
        call: impl Fn() -> F,
    ) -> Result<Again<T>, Stop>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let (mut tries, mut last) = (0, None);
        let answered = timeout(PATIENCE, async {
            loop {
                match call().await {
                    Err(error) if error.kind() == ErrorKind::Unavailable => last = Some(error),
                    told => return told,
                }
                tries += 1;
                let _ = timeout(PAUSE, pending::<()>()).await;
            }
        });
        let answered = answered.await;
        let what = "a call on a network that is whole again";
        match answered {
            Ok(told) => {
                let answer = demand::answered(cx, GEN_4, what, told)?;
                Ok(Again { answer, first: tries == 0 })
            }
            Err(_) => {
                cx.check_that(GEN_4, what, false, &last);
                Err(Stop::because(format!("the handle does not come back: {last:?}")))
            }
        }
    }

    /// Ends once more than so many bytes have come from the caller.
    pub async fn asked(&self, before: u64) {
        while self.gate.came(Way::Requests) == before {
            let _ = timeout(PAUSE, pending::<()>()).await;
        }
    }

    /// How many bytes of the call go this way.
    pub async fn weigh<T>(&self, way: Way, call: impl Future<Output = T>) -> (usize, T) {
        let before = self.gate.came(way);
        let told = call.await;
        (usize::try_from(self.gate.came(way) - before).unwrap_or(usize::MAX), told)
    }
}

/// What a call says; one that never ends is a fault.
pub(super) async fn ended<T>(cx: &mut Context, call: impl Future<Output = T>) -> Result<T, Stop> {
    let told = timeout(PATIENCE, call).await;
    cx.check_that(GEN_4, "whether a call ends", told.is_ok(), PATIENCE);
    told.map_err(|_| Stop::because(format!("a call had no end after {PATIENCE:?}")))
}

/// A call that may have lost something says so, or else the truth.
pub(super) fn check_told<T: Debug>(
    cx: &mut Context,
    what: &str,
    lost: &Lost<Result<T, Error>>,
    is_true: impl FnOnce(&T) -> bool,
) {
    let fits = match &lost.told {
        Ok(told) => is_true(told),
        Err(error) => error.kind() == ErrorKind::Unavailable,
    };
    cx.check_that(GEN_4, &format!("what {what} is told"), fits, &lost.told);
}

/// The losses of one way, each after one piece more, until a call loses nothing any more.
pub(super) struct Losses {
    way: Way,
    pieces: usize,
    over: bool,
    struck: bool,
    /// Whether a call that lost something was carried out.
    applied: bool,
}

impl Losses {
    pub fn of(way: Way) -> Self {
        Self { way, pieces: 0, over: false, struck: false, applied: false }
    }

    /// The next loss, and a queue for it.
    pub fn next(&mut self) -> Result<Option<(Loss, String)>, Stop> {
        if self.over {
            return match (self.struck, self.way, self.applied) {
                (false, ..) => Err(Stop::vacuous("nothing was lost")),
                (_, Way::Replies, false) => Err(Stop::vacuous("no call was carried out unheard")),
                _ => Ok(None),
            };
        }
        if self.pieces == PIECES_MAX {
            return Err(Stop::because(format!("a call has more than {PIECES_MAX} pieces")));
        }
        let loss = Loss::After(self.way, self.pieces);
        let queue = format!("q{}", self.pieces);
        self.pieces += 1;
        Ok(Some((loss, queue)))
    }

    /// What came of the last loss. Where no request arrived at all, nothing may have happened.
    pub fn saw(&mut self, cx: &mut Context, seen: Seen) {
        let Seen { struck, told, applied } = seen;
        self.over = told && !struck;
        self.applied |= struck && applied;
        self.struck |= struck;
        if struck && !told && self.way == Way::Requests && self.pieces == 1 {
            cx.check(GEN_4, "whether a request that never arrived took effect", applied, false);
        }
    }
}
