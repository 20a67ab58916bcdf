//! Takes leases, no more than handlers can start at once, and starts a handler for each.

use std::sync::Arc;

use leasehold_core::{
    Claim, Claimed, ClaimerId, Entered, Error, ErrorKind, Features, Lease, Outcome, Purpose, Wake,
};
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use crate::clock::{self, Instant, after, now};
use crate::commits::Decision;
use crate::health::{Loop, Phase};
use crate::observe::Notice;
use crate::run::run;
use crate::serving::{Body, Serving, spread};

pub(crate) struct Claims {
    serving: Arc<Serving>,
    free: Arc<Semaphore>,
    runs: JoinSet<()>,
    tickets: Tickets,
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
            tickets: Tickets::new(&serving),
            serving,
            decided,
        }
    }

    /// Every free handler, at least one; `None` when the worker stops.
    async fn permits(&self) -> Option<Vec<OwnedSemaphorePermit>> {
        let max = self.serving.capabilities.bounds.claim_max;
        let first = select! {
            biased;
            () = self.serving.reached(Phase::Stopping) => return None,
            first = self.free.clone().acquire_owned() => first.ok()?,
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
    /// store does not answer.
    ///
    /// A claim is never given up for a stop: its leases would have to lapse, and that would
    /// cost their tasks a rescue.
    async fn claim(&mut self, max: usize) -> Option<(Instant, Claimed)> {
        let claim = self.tickets.next(&self.serving, max);
        loop {
            let stopping = self.serving.is_stopping();
            let asked = now();
            match self.serving.call(Loop::Claims, self.serving.store.claim(claim.clone())).await {
                Ok(claimed) => {
                    if claimed.superseded {
                        // Somebody else counts on under this loop's id: a new one is ours alone.
                        self.tickets = Tickets::new(&self.serving);
                    }
                    return Some((asked, claimed));
                }
                Err(_) if stopping => return None,
                Err(trouble) => select! {
                    () = self.serving.reached(Phase::Stopping) => {}
                    () = clock::pause(trouble.pause()) => {}
                },
            }
        }
    }

    async fn start(&mut self, lease: Lease, asked: Instant, permit: Option<OwnedSemaphorePermit>) {
        let serving = &self.serving;
        serving.notice(&Notice::Claimed { lease: &lease });
        let ends = after(asked, lease.ttl_left);
        let outcome = match serving.registry.get(&lease.kind) {
            _ if lease.corrupt.is_some() => Outcome::Corrupt,
            None => Outcome::UnknownKind(serving.settings.unknown),
            Some(handler) => {
                let begin = now();
                let grace = serving.settings.cancel_grace();
                let in_time = begin < ends.checked_sub(grace).unwrap_or(begin);
                let renew_until = after(after(begin, handler.timeout), grace);
                // LH-WORK-1: nothing starts when its lease is over, and no task twice at a time.
                let beat = (in_time && !serving.is_stopping())
                    .then(|| serving.held.begin(&lease, ends, renew_until))
                    .flatten();
                if let Some(beat) = beat {
                    let (serving, decided) = (serving.clone(), self.decided.clone());
                    self.runs.spawn(async move {
                        run(&serving, lease, beat, &decided).await;
                        drop(permit);
                    });
                    return;
                }
                Outcome::Released(Entered::No)
            }
        };
        // The channel is closed only when the worker is gone.
        let _ = self.decided.send(Decision::new(lease, outcome)).await;
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
    async fn wait(&self) {
        let poll = spread(self.serving.settings.poll);
        let hint = async {
            match timeout(poll, self.serving.store.wait(&self.serving.queue, poll)).await {
                Ok(Wake::Woken | Wake::Elapsed) | Err(_) => {}
                Ok(Wake::NoHint) => clock::pause(poll).await,
            }
        };
        select! {
            () = self.serving.reached(Phase::Stopping) => {}
            () = hint => {}
        }
    }
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
            for lease in claimed.leases {
                self.start(lease, asked, permits.pop()).await;
            }
            drop(permits);
            if nothing {
                self.serving.idle.notify_one();
                self.wait().await;
            }
        }
        while let Some(ended) = self.runs.join_next().await {
            self.ended(ended);
        }
    }
}

/// Names each claim, so that a repeat returns what was granted and never grants twice
/// (LH-CLAIM-9).
struct Tickets {
    claimer: ClaimerId,
    seq: u64,
    /// What to ask for; `None` where the store cannot choose.
    kinds: Option<Vec<&'static str>>,
}

impl Tickets {
    fn new(serving: &Serving) -> Self {
        let capabilities = &serving.capabilities;
        let kinds = serving.registry.kinds();
        let chooses = capabilities.features.contains(Features::KINDS)
            && kinds.len() <= capabilities.bounds.kinds_max;
        Self { claimer: ClaimerId::fresh(), seq: 0, kinds: chooses.then_some(kinds) }
    }

    fn next(&mut self, serving: &Serving, max: usize) -> Claim {
        let Serving { queue, settings, capabilities, .. } = serving;
        let holder = settings.holder.as_str();
        let mut claim = Claim::new(queue.as_str(), Purpose::Run, max, settings.lease, holder);
        if let Some(kinds) = &self.kinds {
            claim = claim.with_kinds(kinds.iter().copied());
        }
        if capabilities.features.contains(Features::REPLAY) {
            self.seq += 1;
            claim = claim.with_ticket(self.claimer, self.seq);
        }
        claim
    }
}
