//! Takes leases, no more than handlers can start at once, and starts a handler for each.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use leasehold_core::{
    Backoff, Claimed, Entered, Error, ErrorKind, Features, Lease, Outcome, Purpose, Unknown, Wake,
};
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use crate::clock::{self, Instant, after, now};
use crate::commits::Decision;
use crate::handler::Registered;
use crate::health::{Loop, Phase};
use crate::held::{Beat, ends};
use crate::observe::Notice;
use crate::run::run;
use crate::serving::{Body, Serving, becomes, spread};
use crate::tickets::Tickets;

/// The pause after the first hint that brought nothing.
const VAIN_HINT_PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Claims {
    serving: Arc<Serving>,
    free: Arc<Semaphore>,
    runs: JoinSet<()>,
    tickets: Tickets,
    /// What to ask for; `None` where the store cannot choose, or is not to.
    kinds: Option<Vec<&'static str>>,
    /// Hints in a row that brought nothing.
    vain_hints: u32,
    decided: mpsc::Sender<Decision>,
}

impl Claims {
    pub(crate) fn new(
        serving: Arc<Serving>,
        concurrency: usize,
        decided: mpsc::Sender<Decision>,
    ) -> Self {
        Self {
            free: Arc::new(Semaphore::new(concurrency)),
            runs: JoinSet::new(),
            tickets: Tickets::new(),
            kinds: kinds(&serving),
            vain_hints: 0,
            serving,
            decided,
        }
    }

    /// Every free handler, at least one, once decisions can be written; `None` when the worker
    /// stops.
    async fn permits(&self) -> Option<Vec<OwnedSemaphorePermit>> {
        let max = self.serving.capabilities.bounds.claim_max;
        let first = async {
            becomes(&self.serving.writable, true).await;
            self.free.clone().acquire_owned().await
        };
        let first = select! {
            biased;
            () = self.serving.reached(Phase::Stopping) => return None,
            first = first => first.ok()?,
        };
        let mut permits = vec![first];
        while permits.len() < max
            && let Ok(permit) = self.free.clone().try_acquire_owned()
        {
            permits.push(permit);
        }
        Some(permits)
    }

    /// Claims, and asks again until there is an answer; also tells the instant from before
    /// the call, which the leases are counted from. `None` when the worker stops and the
    /// answer does not come within its grace.
    ///
    /// A claim is not given up for a stop: its leases would have to lapse, and that would
    /// cost their tasks a rescue.
    async fn claim(&mut self, max: usize) -> Option<(Instant, Claimed)> {
        let serving = self.serving.clone();
        let repeats = serving.capabilities.features.contains(Features::REPLAY);
        loop {
            let asked = now();
            let kinds = self.kinds.as_deref();
            let claim = self.tickets.claim(&serving, Loop::Claims, Purpose::Run, max, kinds);
            match claim.await {
                Ok(claimed) => return Some((asked, claimed)),
                Err(_) if serving.is_stopping() && !repeats => return None,
                Err(trouble) => select! {
                    () = serving.reached(Phase::Cancelling) => return None,
                    () = clock::pause(trouble.pause()) => {}
                },
            }
        }
    }

    async fn start(&mut self, lease: Lease, asked: Instant, permit: Option<OwnedSemaphorePermit>) {
        let serving = &self.serving;
        serving.notice(&Notice::Claimed { lease: &lease });
        let outcome = match serving.registry.get(&lease.kind) {
            _ if lease.corrupt.is_some() => Outcome::Corrupt,
            None => Outcome::UnknownKind(serving.settings.unknown),
            // Only a claim that was repeated after a backend's panic brings more than asked for.
            Some(_) if permit.is_none() => Outcome::Released(Entered::No),
            Some(handler) => match begin(serving, handler, &lease, asked) {
                Ok(beat) => {
                    let (serving, handler) = (serving.clone(), handler.clone());
                    let decided = self.decided.clone();
                    self.runs.spawn(async move {
                        run(&serving, &handler, lease, beat, &decided).await;
                        drop(permit);
                    });
                    return;
                }
                Err(outcome) => outcome,
            },
        };
        // The channel is closed only when the worker is gone.
        let _ = self.decided.send(Decision::of_run(lease, outcome)).await;
    }

    /// A handler's panic is an outcome; one that escapes, as from a value's drop, is told here,
    /// and its task is left to the rescuer.
    fn ended(&self, ended: Result<(), JoinError>) {
        if ended.is_err_and(|error| error.is_panic()) {
            let error = Error::new(ErrorKind::Internal, "a run panicked outside of its handler");
            self.serving.trouble(Loop::Claims, error);
        }
    }

    /// Waits for a hint, or until it is time to ask without one.
    ///
    /// A hint may be for nothing, and a store that gives many of them must not be asked all
    /// the time: the next one is heard after a pause that grows.
    async fn wait(&mut self) {
        let poll = spread(self.serving.settings.poll);
        let vain = Backoff::Exponential { first: VAIN_HINT_PAUSE, cap: poll };
        let deaf = if self.vain_hints > 0 { vain.delay(self.vain_hints) } else { Duration::ZERO };
        let (store, queue) = (&self.serving.store, self.serving.queue.as_str());
        let hint = async {
            clock::pause(deaf).await;
            let left = poll.saturating_sub(deaf);
            match timeout(left, store.wait(queue, left)).await {
                Ok(Wake::Woken) => true,
                Ok(Wake::Elapsed) | Err(_) => false,
                Ok(Wake::NoHint) => {
                    clock::pause(left).await;
                    false
                }
            }
        };
        let hinted = select! {
            () = self.serving.reached(Phase::Stopping) => false,
            hinted = hint => hinted,
        };
        self.vain_hints = if hinted { self.vain_hints.saturating_add(1) } else { 0 };
    }
}

fn kinds(serving: &Serving) -> Option<Vec<&'static str>> {
    let capabilities = &serving.capabilities;
    let kinds = serving.registry.kinds();
    // What is to be buried has to be handed out first.
    let chooses = serving.settings.unknown == Unknown::Wait
        && capabilities.features.contains(Features::KINDS)
        && kinds.len() <= capabilities.bounds.kinds_max;
    chooses.then_some(kinds)
}

/// The heartbeat of a run that may start, or what to do about its lease instead.
fn begin(
    serving: &Serving,
    handler: &Registered,
    lease: &Lease,
    asked: Instant,
) -> Result<Beat, Outcome> {
    let settings = &serving.settings;
    let (begun, grace) = (now(), settings.cancel_grace());
    let ends = ends(asked, lease.ttl_left, settings.lease);
    // LH-WORK-1: nothing starts when its lease is over, or as good as over.
    if serving.is_stopping() || after(begun, grace) >= ends {
        return Err(Outcome::Released(Entered::No));
    }
    let renew_until = after(after(begun, handler.timeout), grace);
    let beat = serving.held.begin(lease, ends, renew_until);
    // An earlier run of the task is still here, and may be for long when it blocks its thread.
    let later = Backoff::Exponential { first: Duration::from_secs(1), cap: settings.lease };
    beat.ok_or(Outcome::Postponed(later.delay(lease.attempt)))
}

impl Body for Claims {
    const NAME: Loop = Loop::Claims;

    /// Ends when the worker stops and the last handler has ended.
    async fn run(&mut self) {
        while let Some(mut permits) = self.permits().await {
            while let Some(ended) = self.runs.try_join_next() {
                self.ended(ended);
            }
            let Some((asked, claimed)) = self.claim(permits.len()).await else { break };
            let nothing = claimed.leases.is_empty() && !claimed.more;
            self.serving.found_nothing.store(nothing, Ordering::Relaxed);
            for lease in claimed.leases {
                self.start(lease, asked, permits.pop()).await;
            }
            drop(permits);
            if nothing {
                self.serving.idle.notify_one();
                self.wait().await;
            } else {
                self.vain_hints = 0;
            }
        }
        while let Some(ended) = self.runs.join_next().await {
            self.ended(ended);
        }
    }
}
