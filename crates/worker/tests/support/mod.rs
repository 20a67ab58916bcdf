//! A stage for worker tests: a memory store whose clock a test moves, whose calls can be
//! counted, made to fail and held up, and the runtime's own clock, which is paused.
//!
//! The two clocks are apart on purpose. `pass` moves both; to move one alone is to stage a
//! process that stood still, or a store whose clock jumped.

#![allow(dead_code, reason = "each test file uses a part of the stage")]
#![allow(clippy::unwrap_used, reason = "a poisoned lock is a test that has failed already")]

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use leasehold_core::{
    Backend, BackendExt, Capabilities, Claim, Claimed, Client, Commit, CommitItem, CommitVerdict,
    Configure, Count, Counts, Enqueue, EnqueueVerdict, Error, ErrorKind, Features, Found, Get,
    Lease, List, ManualClock, MemoryBackend, Page, Purge, Purged, Purpose, QueuePage,
    QueueSettings, Queues, Renew, RenewVerdict, StoredTask, TaskRef, Wake, decide,
};
use tokio::sync::watch;

pub mod captured;
pub mod desk;
pub mod gate;
pub mod heard;
pub mod play;
pub mod working;

/// A verb of the contract that a worker calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    Run,
    Rescue,
    Renew,
    Commit,
    Counts,
    Purge,
}

/// What happens to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Unavailable, and nothing was done.
    LostRequest,
    /// Unavailable, and it was done.
    LostReply,
    /// No answer ever, and nothing was done.
    Silence,
    /// No answer ever, and it was done.
    SilenceAfter,
    /// It was done, and the answer waits at the gate until the test opens it.
    HeldReply,
    /// An error of this kind, and nothing was done.
    Refused(ErrorKind),
    /// The backend's code panics.
    Panic,
}

/// The memory store behind the faults.
#[derive(Debug)]
pub struct Staged {
    inner: MemoryBackend,
    faults: Mutex<HashMap<Verb, VecDeque<Fault>>>,
    /// While set, every call of these verbs is met by it.
    down: Mutex<HashMap<Verb, Fault>>,
    calls: watch::Sender<HashMap<Verb, usize>>,
    fired: watch::Sender<usize>,
    gate: gate::Gate,
    desk: desk::Desk,
}

/// Store, clock and client of one test.
pub struct Stage {
    pub store: Arc<Staged>,
    pub clock: ManualClock,
    pub client: Client,
}

impl Stage {
    pub fn new() -> Self {
        Self::with_features(Features::all())
    }

    pub fn with_features(features: Features) -> Self {
        let clock = ManualClock::default();
        let inner = MemoryBackend::on_clock(clock.clone()).with_features(features);
        let store = Arc::new(Staged {
            inner,
            faults: Mutex::default(),
            down: Mutex::default(),
            calls: watch::Sender::default(),
            fired: watch::Sender::default(),
            gate: gate::Gate::default(),
            desk: desk::Desk::default(),
        });
        let client = Client::new(store.clone());
        Self { store, clock, client }
    }

    /// Time passes for the store and for this process alike, in steps that timers can see.
    pub async fn pass(&self, time: Duration) {
        const STEP: Duration = Duration::from_millis(100);
        let mut left = time;
        while !left.is_zero() {
            let step = left.min(STEP);
            self.clock.shift(i64::try_from(step.as_millis()).expect("a step is short"));
            tokio::time::advance(step).await;
            settle().await;
            left -= step;
        }
    }

    /// Time passes for the store alone, as when this process stands still.
    pub fn pass_in_store(&self, time: Duration) {
        self.clock.shift(i64::try_from(time.as_millis()).expect("tests are short"));
    }

    pub async fn task(&self, task: &TaskRef) -> StoredTask {
        self.store.inner.task(task).await.expect("memory answers").expect("the task is there")
    }

    pub async fn found(&self, task: &TaskRef) -> Found {
        self.store.inner.get(Get::new(task.clone())).await.expect("memory answers")
    }

    /// What another process does: claims the lapsed leases of a queue and decides about them.
    pub async fn rescue(&self, queue: &str) -> Vec<CommitVerdict> {
        let mut verdicts = Vec::new();
        for lease in self.claim(queue, Purpose::Rescue).await {
            let item = CommitItem::new(lease.guard(), decide::rescue(&lease));
            verdicts.push(self.store.inner.commit_one(item).await.expect("memory answers"));
        }
        verdicts
    }

    /// What another process does: takes leases, and starts nothing.
    pub async fn claim(&self, queue: &str, purpose: Purpose) -> Vec<Lease> {
        let claim = Claim::new(queue, purpose, 100, Duration::from_secs(30), "another");
        self.store.inner.claim(claim).await.expect("memory answers").leases
    }
}

impl Staged {
    /// The next calls of `verb` meet these, one each, in order.
    pub fn fail_next(&self, verb: Verb, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().expect("no test panics with it").entry(verb).or_default().extend(faults);
    }

    /// Every call of `verb` meets this until `restore`.
    pub fn take_down(&self, verb: Verb, fault: Fault) {
        self.down.lock().expect("no test panics with it").insert(verb, fault);
    }

    pub fn restore(&self, verb: Verb) {
        self.down.lock().expect("no test panics with it").remove(&verb);
    }

    /// How many calls of `verb` have come, failed ones among them.
    pub fn calls(&self, verb: Verb) -> usize {
        self.calls.borrow().get(&verb).copied().unwrap_or(0)
    }

    /// Comes back when so many calls of `verb` have come since the beginning.
    pub async fn reached(&self, verb: Verb, count: usize) {
        let mut calls = self.calls.subscribe();
        let enough = |calls: &HashMap<Verb, usize>| calls.get(&verb).is_some_and(|n| *n >= count);
        calls.wait_for(enough).await.expect("the store lives");
    }

    /// How many faults have met a call: a test of a fault that never fired has failed.
    pub fn fired(&self) -> usize {
        *self.fired.borrow()
    }

    async fn meet<T>(
        &self,
        verb: Verb,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        self.calls.send_modify(|calls| *calls.entry(verb).or_default() += 1);
        self.desk.passes(verb).await;
        let next = self
            .faults
            .lock()
            .expect("no test panics with it")
            .get_mut(&verb)
            .and_then(VecDeque::pop_front);
        let fault =
            next.or_else(|| self.down.lock().expect("no test panics with it").get(&verb).copied());
        let Some(fault) = fault else { return call.await };
        self.fired.send_modify(|fired| *fired += 1);
        let unavailable = || Err(Error::new(ErrorKind::Unavailable, "staged"));
        match fault {
            Fault::LostRequest => unavailable(),
            Fault::LostReply => call.await.and_then(|_| unavailable()),
            Fault::Silence => std::future::pending().await,
            Fault::SilenceAfter => {
                call.await?;
                std::future::pending().await
            }
            Fault::HeldReply => {
                let reply = call.await;
                self.gate.pass().await;
                reply
            }
            Fault::Refused(kind) => Err(Error::new(kind, "staged")),
            Fault::Panic => panic!("staged"),
        }
    }
}

/// Lets every task run until all of them wait.
pub async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[async_trait]
impl Backend for Staged {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        self.inner.enqueue(request).await
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        let verb = match request.purpose {
            Purpose::Run => Verb::Run,
            Purpose::Rescue => Verb::Rescue,
        };
        self.desk.note_claim(&request);
        self.meet(verb, self.inner.claim(request)).await
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        self.gate.note_renew(&request);
        self.meet(Verb::Renew, self.inner.renew(request)).await
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        self.desk.note_commit(&request);
        self.meet(Verb::Commit, self.commit_items(request)).await
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        self.inner.get(request).await
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        self.inner.list(request).await
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        self.meet(Verb::Counts, self.inner.counts(request)).await
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        self.inner.queues(request).await
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        self.inner.configure(request).await
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        self.meet(Verb::Purge, self.inner.purge(request)).await
    }

    async fn wait(&self, queue: &str, max: Duration) -> Wake {
        self.inner.wait(queue, max).await
    }
}
