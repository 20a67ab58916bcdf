//! One run: from a lease to a decision, and when its handler is cancelled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use leasehold_core::{Entered, Lease, LostReason, Outcome, Payload};
use tokio::select;
use tokio::sync::{mpsc, watch};
use tracing::Instrument;

use crate::clock::{after, now};
use crate::commits::Decision;
use crate::context::Run;
use crate::done::Ending;
use crate::failure::Failure;
use crate::handler::{Answer, Registered, Running, words};
use crate::held::{Beat, Loss};
use crate::observe::Notice;
use crate::serving::Serving;
use crate::signs::{Cancelled, Signs};

/// Runs the handler of a lease, and hands its decision on. The heartbeat ends with the
/// handler, before the decision is written.
pub(crate) async fn run(
    serving: &Serving,
    handler: &Registered,
    lease: Lease,
    beat: Beat,
    decided: &mpsc::Sender<Decision>,
) {
    if let Some(outcome) = work(serving, &lease, handler, beat).await {
        // The channel is closed only when the worker is gone.
        let _ = decided.send(Decision::of_run(lease, outcome)).await;
    }
}

/// The outcome; `None` when somebody else has decided, so that there is nothing to say.
async fn work(
    serving: &Serving,
    lease: &Lease,
    handler: &Registered,
    beat: Beat,
) -> Option<Outcome> {
    let signs = signs(serving, handler, &beat);
    let run = Arc::new(facts(serving, lease, signs.clone()));
    let running = match caught(|| handler.start(&lease.payload, run.clone())) {
        Ok(Ok(running)) => running,
        Ok(Err(error)) => return Some(Outcome::Undecodable { message: error.to_string() }),
        Err(message) => return Some(Outcome::Panicked { message }),
    };
    let span = tracing::info_span!(target: "leasehold", "task", kind = lease.kind,
        queue = lease.task_ref.queue, id = lease.task_ref.id, attempt = lease.attempt,
        fence = lease.fence.value());
    let mut watched = Watched { running, signs, entered: Entered::No };
    let mut answer = None;
    match watched.answer_or_reason().instrument(span.clone()).await {
        Ok(first) => answer = Some(first),
        Err(why) => {
            let why = run.cancel(why);
            if let Cancelled::Lost(loss) = why {
                serving.notice(&Notice::Lost { lease, loss });
            }
            // A handler that was not entered is not entered any more (LH-WORK-1).
            if watched.entered == Entered::Yes {
                answer = watched.last_answer(why).instrument(span.clone()).await;
            }
        }
    }
    let entered = watched.entered;
    let over = watched.signs.is_over();
    // A value of the handler's that panics as it is dropped must not take the outcome along.
    if let Err(message) = span.in_scope(|| caught(|| drop(watched))) {
        answer.get_or_insert(Err(message));
    }
    drop(beat);
    let follow_ups = run.close();
    let why = *run.cancelled.borrow();
    match (answer, why) {
        (Some(Ok(Ok(done))), _) => Some(match done.0 {
            Ending::Succeeded(result) => Outcome::Succeeded { result, follow_ups },
            Ending::Snoozed(delay) => Outcome::Snoozed(delay),
            Ending::Cancelled(message) => Outcome::Cancelled { message },
        }),
        (Some(Err(message)), _) => Some(Outcome::Panicked { message }),
        (Some(Ok(Err(failure))), None) => Some(failed(failure)),
        // It failed because it was cancelled, or so it has to be taken while the lease lasts;
        // after that it is told as what it is, and the store has the last word.
        (Some(Ok(Err(failure))), Some(why)) if failure.is_plain() && !over => {
            given_up(why, entered).or_else(|| Some(failed(failure)))
        }
        (Some(Ok(Err(failure))), Some(_)) => Some(failed(failure)),
        (None, Some(why)) => given_up(why, entered),
        // Without an answer there was a reason.
        (None, None) => Some(Outcome::Released(entered)),
    }
}

/// What a cancelled run without an answer comes to. `None` when the task is in other hands.
fn given_up(why: Cancelled, entered: Entered) -> Option<Outcome> {
    match (why, entered) {
        (Cancelled::TimedOut, Entered::Yes) => Some(Outcome::TimedOut),
        (Cancelled::TimedOut | Cancelled::Stopping, _) => Some(Outcome::Released(entered)),
        // Nobody may have taken it yet: to give it back saves it a lapse, and its fence makes
        // that harmless if somebody has.
        (Cancelled::Lost(Loss::Unanswered | Loss::Told(LostReason::Lapsed)), _) => {
            Some(Outcome::Released(entered))
        }
        (Cancelled::Lost(_), _) => None,
    }
}

fn failed(failure: Failure) -> Outcome {
    let (message, retry) = failure.into_parts();
    Outcome::Failed { message, retry }
}

/// Calls code of the user's, and answers the words of its panic.
fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| words(&*panic))
}

fn signs(serving: &Serving, handler: &Registered, beat: &Beat) -> Signs {
    let grace = serving.settings.cancel_grace();
    Signs {
        life: beat.life(),
        phase: serving.phase.clone(),
        times_out: after(now(), handler.timeout),
        grace,
        stop_grace: grace.min(serving.settings.grace),
    }
}

fn facts(serving: &Serving, lease: &Lease, signs: Signs) -> Run {
    // The handler has the payload as a value.
    let mut lease = lease.clone();
    lease.payload = Payload::default();
    Run {
        lease,
        bounds: serving.capabilities.bounds.clone(),
        client: serving.client.clone(),
        held: serving.held.clone(),
        ttl: serving.settings.lease,
        renew_deadline: serving.settings.renew_deadline(),
        signs,
        cancelled: watch::Sender::new(None),
        follow_ups: Mutex::new(Some(Vec::new())),
    }
}

/// A handler at work.
struct Watched {
    running: Running,
    signs: Signs,
    entered: Entered,
}

impl Watched {
    /// The handler's answer, or why it has to be cancelled.
    async fn answer_or_reason(&mut self) -> Result<Answer, Cancelled> {
        loop {
            if let Some(why) = self.signs.reason() {
                return Err(why);
            }
            self.entered = Entered::Yes;
            select! {
                biased;
                answer = &mut self.running => return Ok(answer),
                () = self.signs.changed() => {}
            }
        }
    }

    /// What the cancelled handler still answers. It is polled once at least, so that it can
    /// hand over what it has.
    async fn last_answer(&mut self, why: Cancelled) -> Option<Answer> {
        select! {
            biased;
            answer = &mut self.running => Some(answer),
            () = self.signs.over(why, now()) => None,
        }
    }
}
