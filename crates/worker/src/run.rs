//! One run: from a lease to a decision, and when its handler is cancelled.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{Entered, Lease, Outcome, Payload};
use tokio::select;
use tokio::sync::{mpsc, watch};
use tracing::Instrument;

use crate::clock::{Instant, after, now, until};
use crate::commits::Decision;
use crate::context::{Cancelled, Run};
use crate::done::Ending;
use crate::handler::{Answer, Registered, Running};
use crate::health::Phase;
use crate::held::{Beat, Life, Loss};
use crate::observe::Notice;
use crate::serving::Serving;

/// Runs the handler of a lease, and hands its decision on. The heartbeat ends with the
/// handler, before the decision is written.
pub(crate) async fn run(
    serving: &Serving,
    lease: Lease,
    beat: Beat,
    decided: &mpsc::Sender<Decision>,
) {
    let ended = match serving.registry.get(&lease.kind) {
        Some(handler) => work(serving, &lease, handler, beat).await,
        None => Ok(Outcome::UnknownKind(serving.settings.unknown)),
    };
    match ended {
        // The channel is closed only when the worker is gone.
        Ok(outcome) => drop(decided.send(Decision::new(lease, outcome)).await),
        Err(loss) => serving.notice(&Notice::Lost { lease: &lease, loss }),
    }
}

/// The outcome, or how the lease was lost if the handler did not end in time.
async fn work(
    serving: &Serving,
    lease: &Lease,
    handler: &Registered,
    beat: Beat,
) -> Result<Outcome, Loss> {
    let settings = &serving.settings;
    let times = Times { times_out: after(now(), handler.timeout), grace: settings.cancel_grace() };
    let mut facts = lease.clone();
    facts.payload = Payload::default();
    let run = Arc::new(Run {
        lease: facts,
        bounds: serving.capabilities.bounds.clone(),
        client: serving.client.clone(),
        held: serving.held.clone(),
        ttl: settings.lease,
        call_deadline: settings.call_deadline(),
        ends_at: times.times_out,
        cancelled: watch::Sender::new(None),
        follow_ups: Mutex::default(),
    });
    let running = match handler.start(&lease.payload, run.clone()) {
        Ok(running) => running,
        Err(error) => return Ok(Outcome::Undecodable { message: error.to_string() }),
    };
    let span = tracing::info_span!(target: "leasehold", "task", kind = lease.kind,
        queue = lease.task_ref.queue, id = lease.task_ref.id, attempt = lease.attempt,
        fence = lease.fence.value());
    let mut watched = Watched { running, beat, phase: serving.phase.clone(), times };
    let (why, answer) = match watched.answer_or_reason().instrument(span.clone()).await {
        Ok(answer) => (None, Some(answer)),
        Err(why) => {
            run.cancel(why);
            (Some(why), watched.last_answer().instrument(span).await)
        }
    };
    // Drops the handler and ends the heartbeat.
    drop(watched);
    match (answer, why) {
        (Some(answer), why) => Ok(outcome(answer, why, &run)),
        (None, Some(Cancelled::Lost(loss))) => Err(loss),
        (None, Some(Cancelled::TimedOut)) => Ok(Outcome::TimedOut),
        (None, _) => Ok(Outcome::Released(Entered::Yes)),
    }
}

fn outcome(answer: Answer, why: Option<Cancelled>, run: &Run) -> Outcome {
    match (answer, why) {
        (Err(message), _) => Outcome::Panicked { message },
        (Ok(Ok(done)), _) => match done.0 {
            Ending::Succeeded(result) => {
                Outcome::Succeeded { result, follow_ups: run.take_follow_ups() }
            }
            Ending::Snoozed(delay) => Outcome::Snoozed(delay),
            Ending::Cancelled(message) => Outcome::Cancelled { message },
        },
        // It failed because it was cancelled, or so it has to be taken.
        (Ok(Err(failure)), Some(Cancelled::Stopping)) if failure.is_plain() => {
            Outcome::Released(Entered::Yes)
        }
        (Ok(Err(failure)), Some(Cancelled::TimedOut)) if failure.is_plain() => Outcome::TimedOut,
        (Ok(Err(failure)), _) => {
            let (message, retry) = failure.into_parts();
            Outcome::Failed { message, retry }
        }
    }
}

struct Times {
    times_out: Instant,
    grace: Duration,
}

impl Times {
    /// When an unrenewed run has to be told, so that it can end before its lease does.
    fn warns(&self, life: Life) -> Instant {
        life.ends.checked_sub(self.grace).unwrap_or(life.ends)
    }

    fn reason(&self, life: Life, phase: Phase) -> Option<Cancelled> {
        let now = now();
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
}

/// A handler at work with its heartbeat: the two are dropped together.
struct Watched {
    running: Running,
    beat: Beat,
    phase: watch::Receiver<Phase>,
    times: Times,
}

impl Watched {
    /// The handler's answer, or why it has to be cancelled.
    async fn answer_or_reason(&mut self) -> Result<Answer, Cancelled> {
        loop {
            let life = self.beat.life();
            let phase = *self.phase.borrow_and_update();
            if let Some(why) = self.times.reason(life, phase) {
                return Err(why);
            }
            select! {
                biased;
                answer = &mut self.running => return Ok(answer),
                () = self.beat.changed() => {}
                // The sender outlives every run.
                _ = self.phase.changed() => {}
                () = until(self.times.warns(life).min(self.times.times_out)) => {}
            }
        }
    }

    /// What the cancelled handler still answers: within the grace, and never after its lease.
    /// It is polled once at least, so that it can hand over what it has.
    async fn last_answer(&mut self) -> Option<Answer> {
        let patience = after(now(), self.times.grace);
        loop {
            let life = self.beat.life();
            select! {
                biased;
                answer = &mut self.running => return Some(answer),
                () = self.beat.changed() => {}
                () = until(patience.min(life.ends)) => return None,
            }
        }
    }
}
