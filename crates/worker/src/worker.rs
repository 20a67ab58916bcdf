//! [`Worker`]: handlers for some kinds of tasks, and the loops that feed them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{Bounds, Client, Error, ErrorKind, Unknown};
use tokio::sync::oneshot;

use crate::drain::drained;
use crate::handler::{Handler, Registered};
use crate::health::{Health, Report};
use crate::log::Log;
use crate::observe::{Observer, Observers};
use crate::serving::Settings;
use crate::shutdown::Signals;
use crate::started::Started;

/// Most handlers at once for a queue.
const CONCURRENCY_MAX: usize = 100_000;

/// Handlers for tasks of some kinds, and everything that it takes to run them: it claims,
/// renews, commits, rescues what lost workers left, and purges.
///
/// | setting | default | what |
/// |---|---|---|
/// | [`concurrency`](Self::concurrency) | 10 | handlers at once, for each queue |
/// | [`lease`](Self::lease) | 30 s | how soon a lost worker is noticed |
/// | [`poll`](Self::poll) | 1 s | how often an idle queue is asked |
/// | [`grace`](Self::grace) | 25 s | how long handlers go on after a stop |
/// | [`rescue_every`](Self::rescue_every) | 1 s | how often lapsed leases are looked for |
/// | [`purge_every`](Self::purge_every) | 60 s | how often finished tasks are purged |
///
/// It serves the queues of its handlers' types, and those that [`queue`](Self::queue) adds;
/// after [`only_queues`](Self::only_queues) those that are named there, and no other. `S` is
/// the state that handlers see in their [`Context`](crate::Context).
#[must_use = "a worker does nothing until it runs"]
pub struct Worker<S = ()> {
    pub(crate) client: Client,
    pub(crate) state: Arc<S>,
    pub(crate) handlers: Vec<Registered>,
    pub(crate) queues: BTreeMap<String, usize>,
    pub(crate) only: Option<BTreeSet<String>>,
    pub(crate) concurrency: usize,
    pub(crate) settings: Settings,
    pub(crate) observers: Observers,
    pub(crate) health: Health,
}

impl Worker<()> {
    /// A worker on the store of this client, without a handler yet.
    pub fn new(client: &Client) -> Self {
        let health = Health::new();
        let mut observers = Observers::default();
        observers.push(Arc::new(Log::default()));
        #[cfg(feature = "metrics")]
        observers.push(Arc::new(crate::metrics::Metrics));
        observers.push(Arc::new(health.clone()));
        Self {
            client: client.clone(),
            state: Arc::new(()),
            handlers: Vec::new(),
            queues: BTreeMap::new(),
            only: None,
            concurrency: 10,
            settings: Settings {
                lease: Duration::from_secs(30),
                poll: Duration::from_secs(1),
                rescue_every: Duration::from_secs(1),
                purge_every: Duration::from_secs(60),
                grace: Duration::from_secs(25),
                holder: format!("process {}", std::process::id()),
                unknown: Unknown::Wait,
            },
            observers,
            health,
        }
    }
}

impl<S: Send + Sync + 'static> Worker<S> {
    /// What the handlers that are added after this see as [`Context::state`](crate::Context::state).
    pub fn state<T: Send + Sync + 'static>(self, state: T) -> Worker<T> {
        Worker {
            client: self.client,
            state: Arc::new(state),
            handlers: self.handlers,
            queues: self.queues,
            only: self.only,
            concurrency: self.concurrency,
            settings: self.settings,
            observers: self.observers,
            health: self.health,
        }
    }

    /// Adds the handler of one kind: `async fn(task: T, cx: Context<S>) -> Result<_, Failure>`.
    ///
    /// Two of one kind are refused when the worker starts.
    pub fn handler<A, H: Handler<S, A>>(mut self, handler: H) -> Self {
        self.handlers.push(Registered::new(handler, self.state.clone()));
        self
    }

    /// Serves this queue too, or gives a queue its own number of handlers at once, 1 or more.
    pub fn queue(mut self, name: impl Into<String>, concurrency: usize) -> Self {
        self.queues.insert(name.into(), concurrency);
        self
    }

    /// Serves these queues and no other, not even those of its handlers' types: for a process
    /// that takes a part of the work, or for queues whose names are not known to the types. A
    /// queue without a number of its own ([`queue`](Self::queue)) has the common one.
    pub fn only_queues<Q: Into<String>>(mut self, names: impl IntoIterator<Item = Q>) -> Self {
        self.only = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// How many handlers run at once for each queue that has no number of its own; 1 or more,
    /// 10 by default.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.concurrency = handlers;
        self
    }

    /// How long a lease is: a lost worker's tasks are put back so long after its last renew.
    /// 30 s by default; at least 1 s, and within what the store takes. It is renewed three
    /// times in its length, so a short one costs more calls.
    pub fn lease(mut self, length: Duration) -> Self {
        self.settings.lease = length;
        self
    }

    /// How often an idle queue is asked although the store gave no hint, 10 ms or more. It
    /// bounds how late a task starts that was delayed, or that another process enqueued in a
    /// store that gives no hints between processes.
    pub fn poll(mut self, every: Duration) -> Self {
        self.settings.poll = every;
        self
    }

    /// How long handlers go on after a stop. Towards its end, by a sixth of the lease's length
    /// and 5 s at most, those that still run are cancelled; after it they are dropped, and
    /// their tasks given back. 25 s by default: the last decisions may take 5 s more, and many
    /// platforms kill a process after 30 s.
    pub fn grace(mut self, time: Duration) -> Self {
        self.settings.grace = time;
        self
    }

    /// How often lapsed leases are looked for, those of other workers too; 10 ms or more.
    pub fn rescue_every(mut self, every: Duration) -> Self {
        self.settings.rescue_every = every;
        self
    }

    /// How often finished tasks are purged whose retention has passed; 10 ms or more.
    pub fn purge_every(mut self, every: Duration) -> Self {
        self.settings.purge_every = every;
        self
    }

    /// What people read as the holder of a lease: by default the process's number. No two
    /// workers need to differ in it, as nothing is decided by it (LH-FENCE-4).
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.settings.holder = label.into();
        self
    }

    /// Buries tasks of a kind that has no handler here, instead of leaving them to a worker
    /// that has one. Only for queues that nobody else serves.
    pub fn bury_unknown_kinds(mut self) -> Self {
        self.settings.unknown = Unknown::Bury;
        self
    }

    /// Adds somebody who hears of everything that happens.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Tells how the worker is; to be taken before it runs.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Works until SIGTERM or SIGINT (elsewhere Ctrl-C), then stops in order, as
    /// [`run_until`](Self::run_until) does. A second signal ends it at once: what still runs is
    /// dropped, its leases lapse, and the report's `running` says how many. A handler that
    /// blocks its thread can be dropped by nothing, and keeps the runtime with it: a program
    /// that must end all the same calls `Runtime::shutdown_background` or `process::exit`.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until); Internal when signals cannot be heard.
    ///
    /// # Cancel safety
    /// As [`run_until`](Self::run_until).
    pub async fn run(self) -> Result<Report, Error> {
        self.until_signals(|worker, told| worker.run_until(async { drop(told.await) })).await
    }

    /// Works until `stop` comes back. Then it claims no more, lets its handlers go on for the
    /// [`grace`](Self::grace), gives the rest of the tasks back, writes the last decisions
    /// within 5 s, and tells what it has done.
    ///
    /// A task that is given back spends no budget and can be claimed at once (LH-GIVE-1), but
    /// an at-most-once task whose handler was entered is buried, as it must not run again
    /// (LH-MODE-1).
    ///
    /// A failing store does not end it: its loops go on, as [`health`](Self::health) tells.
    ///
    /// # Errors
    /// Only at the start. Invalid when there is no handler, when two are of one kind, or when a
    /// setting is out of range; Unsupported when a kind must not run again after a lost worker
    /// and the store could make it (LH-MODE-4).
    ///
    /// # Cancel safety
    /// A dropped future ends everything at once: handlers are dropped, their leases lapse, and
    /// decisions on their way may count or not.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<Report, Error> {
        Started::new(self)?.work(|_| stop).await
    }

    /// Works until its queues hold no unfinished task, whoever holds it and however late it
    /// is due, or until a signal as in [`run`](Self::run). For programs that end with their
    /// work; [`Report::drained`] tells whether it came to that.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Cancel safety
    /// As [`run_until`](Self::run_until).
    pub async fn drain(self) -> Result<Report, Error> {
        self.until_signals(|worker, told| worker.drain_until(async { drop(told.await) })).await
    }

    /// Works until its queues hold no unfinished task, or until `stop` comes back; then stops
    /// as [`run_until`](Self::run_until) does.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until).
    ///
    /// # Cancel safety
    /// As [`run_until`](Self::run_until).
    pub async fn drain_until(self, stop: impl Future<Output = ()>) -> Result<Report, Error> {
        let health = self.health();
        let either = |servings| async move {
            tokio::select! {
                () = drained(servings) => health.drained(),
                () = stop => {}
            }
        };
        Started::new(self)?.work(either).await
    }

    async fn until_signals<F: Future<Output = Result<Report, Error>>>(
        self,
        work: impl FnOnce(Self, oneshot::Receiver<()>) -> F,
    ) -> Result<Report, Error> {
        let mut signals = Signals::listen().map_err(|error| {
            Error::new(ErrorKind::Internal, "signals cannot be heard").with_source(error)
        })?;
        let health = self.health();
        let (tell, told) = oneshot::channel();
        let work = work(self, told);
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => done,
            () = async {
                signals.next().await;
                let _ = tell.send(());
                signals.next().await;
            } => Ok(health.report()),
        }
    }

    pub(crate) fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        let Settings { lease, poll, rescue_every, purge_every, holder, .. } = &self.settings;
        bounds.check_name("label", holder)?;
        bounds.check_ttl(*lease)?;
        if *lease < Duration::from_secs(1) {
            return Err(Error::invalid(format!("a lease of {lease:?} is less than 1 s")));
        }
        for (what, every) in [("poll", poll), ("rescue", rescue_every), ("purge", purge_every)] {
            if *every < Duration::from_millis(10) {
                return Err(Error::invalid(format!("a {what} every {every:?} is less than 10 ms")));
            }
        }
        let handlers = self.queues.values().chain([&self.concurrency]);
        for handlers in handlers {
            if !(1..=CONCURRENCY_MAX).contains(handlers) {
                return Err(Error::invalid(format!(
                    "{handlers} handlers at once are not within 1 to {CONCURRENCY_MAX}"
                )));
            }
        }
        if self.only.as_ref().is_some_and(BTreeSet::is_empty) {
            return Err(Error::invalid("a worker that serves only the queues of an empty list"));
        }
        let mut queues = self.queues.keys().chain(self.only.iter().flatten());
        queues.try_for_each(|queue| bounds.check_name("queue", queue))
    }
}
