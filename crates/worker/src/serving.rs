//! [`Serving`]: one queue as a worker serves it, and how its loops speak to the store.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold_core::clock::within;
use leasehold_core::{
    Backend, Backoff, Capabilities, Client, Error, ErrorKind, Jitter, Unknown, id,
};
use tokio::sync::{Notify, watch};

use crate::clock;
use crate::handler::{Registry, words};
use crate::health::{Health, Loop, Phase};
use crate::held::Held;
use crate::observe::{Notice, Observers};

/// The pauses of a loop whose calls fail.
const BACKOFF: Backoff =
    Backoff::Exponential { first: Duration::from_millis(100), cap: Duration::from_secs(5) };

/// How long a call may take. A store that is only busy answers in the end, and whoever asks it
/// anew stands last in its line: so it is longer than a store waits for a lock.
pub(crate) const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// The longest time that a cancelled handler is given.
const CANCEL_GRACE_MAX: Duration = Duration::from_secs(5);

/// Everything that is a number or a name.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Length of each lease.
    pub(crate) lease: Duration,
    /// How often an idle queue is asked although no hint came.
    pub(crate) poll: Duration,
    /// How often lapsed leases are looked for.
    pub(crate) rescue_every: Duration,
    /// How often finished tasks are purged.
    pub(crate) purge_every: Duration,
    /// How long a stopping worker waits for its handlers.
    pub(crate) grace: Duration,
    /// A label for people.
    pub(crate) holder: String,
    /// What happens to a kind without a handler.
    pub(crate) unknown: Unknown,
}

impl Settings {
    /// How long a renew may take. Two fit between the time for one and the moment when an
    /// unrenewed run has to be cancelled.
    pub(crate) fn renew_deadline(&self) -> Duration {
        (self.lease / 4).min(CALL_DEADLINE)
    }

    /// How long a cancelled handler may take to end; so long before the end of an unrenewed
    /// lease it is cancelled.
    pub(crate) fn cancel_grace(&self) -> Duration {
        (self.lease / 6).min(CANCEL_GRACE_MAX)
    }
}

/// One queue of a worker: what its loops share.
pub(crate) struct Serving {
    pub(crate) store: Arc<dyn Backend>,
    pub(crate) client: Client,
    pub(crate) capabilities: Capabilities,
    pub(crate) queue: String,
    pub(crate) settings: Settings,
    pub(crate) registry: Arc<Registry>,
    pub(crate) held: Arc<Held>,
    pub(crate) observers: Observers,
    pub(crate) health: Health,
    pub(crate) phase: watch::Receiver<Phase>,
    /// Whether the last claim brought nothing.
    pub(crate) found_nothing: AtomicBool,
    /// Told when a claim brought nothing, and from then on when the last decision was written:
    /// before that the queue cannot be drained, and to count its tasks would be for nothing.
    pub(crate) idle: Arc<Notify>,
    /// Whether decisions can be written: while they cannot, nothing more is begun.
    pub(crate) writable: watch::Sender<bool>,
}

/// A call that failed, and how many of its loop have in a row.
pub(crate) struct Trouble {
    pub(crate) error: Error,
    pub(crate) tries: u32,
}

impl Trouble {
    /// A pause before the next try, longer each time, and spread so that workers which failed
    /// together do not come back together.
    pub(crate) fn pause(&self) -> Duration {
        Jitter::Half.spread(BACKOFF.delay(self.tries), id::jitter_seed())
    }
}

impl Serving {
    /// Makes one call for a loop, within the deadline, and keeps the loop's health.
    pub(crate) async fn call<T>(
        &self,
        name: Loop,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Trouble> {
        match within(CALL_DEADLINE, call).await {
            Ok(answer) => {
                self.well(name);
                Ok(answer)
            }
            Err(error) => Err(self.trouble(name, error)),
        }
    }

    /// Notes that a loop's call went well.
    pub(crate) fn well(&self, name: Loop) {
        let tries = self.health.well(&self.queue, name);
        if tries > 0 {
            self.notice(&Notice::Recovered { queue: &self.queue, name, tries });
        }
    }

    /// Notes that a loop's call failed.
    pub(crate) fn trouble(&self, name: Loop, error: Error) -> Trouble {
        let tries = self.health.failing(&self.queue, name, error.to_string());
        self.notice(&Notice::Failing { queue: &self.queue, name, error: &error, tries });
        Trouble { error, tries }
    }

    pub(crate) fn notice(&self, notice: &Notice<'_>) {
        self.observers.notice(notice);
    }

    /// Whether no more handler is to start.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.phase.borrow() >= Phase::Stopping
    }

    /// Comes back when the worker has come to `phase`.
    pub(crate) async fn reached(&self, phase: Phase) {
        let mut now = self.phase.clone();
        // When the sender is gone the worker is, and its tasks end at their next await.
        let _ = now.wait_for(|now| *now >= phase).await;
    }
}

/// Comes back when `told` holds `wanted`, or when nobody can tell any more.
pub(crate) async fn becomes<T: PartialEq>(told: &watch::Sender<T>, wanted: T) {
    let _ = told.subscribe().wait_for(|now| *now == wanted).await;
}

/// A length spread over its second half, so that many workers do not ask at the same time.
pub(crate) fn spread(time: Duration) -> Duration {
    Jitter::Half.spread(time, id::jitter_seed())
}

/// A background loop. It keeps what it must not forget in itself, not on its stack, so that
/// it can go on after a panic.
pub(crate) trait Body: Send + 'static {
    const NAME: Loop;

    /// Runs until the worker needs it no more.
    fn run(&mut self) -> impl Future<Output = ()> + Send;
}

/// Runs a loop, and starts it again when a backend's code panics in it: no loop ever ends in
/// silence.
pub(crate) async fn supervise<B: Body>(serving: Arc<Serving>, mut body: B) {
    while let Err(panic) = AssertUnwindSafe(body.run()).catch_unwind().await {
        let what = format!("the loop {} panicked: {}", B::NAME, words(&*panic));
        let error = Error::new(ErrorKind::Internal, what);
        let pause = serving.trouble(B::NAME, error).pause();
        clock::pause(pause).await;
    }
}
