//! [`Callers`]: concurrent callers of one queue that go on through whatever happens.

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{
    BackendExt, Claim, ClaimerId, Clock, Commit, CommitItem, Configure, Delivery, Error, Keep,
    Lease, NewTask, Purpose, Renew, RenewItem, RenewVerdict, Retention, id,
};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::ledger::{Book, Ledger};
use crate::shared::{LIMIT, LONG, Store, until_true};
use crate::stage::success;

/// What callers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Work,
    /// No new tasks; what is there is run.
    Drain,
}

/// Tasks are enqueued one by one and run in small batches by one shared handle. A call that is
/// Unavailable is repeated until it is answered.
pub struct Callers {
    store: Store,
    queue: String,
    ledger: Arc<Ledger>,
    enqueuers: JoinSet<()>,
    workers: JoinSet<()>,
    phase: watch::Sender<Phase>,
}

/// One caller.
struct Caller {
    number: usize,
    store: Store,
    queue: String,
    ledger: Arc<Ledger>,
    phase: watch::Receiver<Phase>,
    /// Between two tries of a call that was not answered, and two looks at an empty queue.
    pace: Interval,
}

impl Callers {
    /// They begin at once, when the queue has been made.
    pub async fn begin(store: &Store, queue: &str, enqueuers: usize, workers: usize) -> Self {
        let kept = Retention::default().with_succeeded(Keep::Forever);
        let settings = store.configure(Configure::new(queue).with_retention(kept)).await;
        let _settings = settings.expect("it is up");
        let mut callers = Self {
            store: store.clone(),
            queue: queue.to_owned(),
            ledger: Arc::new(Ledger::of(enqueuers + workers)),
            enqueuers: JoinSet::new(),
            workers: JoinSet::new(),
            phase: watch::Sender::new(Phase::Work),
        };
        for number in 0..enqueuers {
            let caller = callers.caller(number);
            callers.enqueuers.spawn(caller.enqueue_all());
        }
        for number in enqueuers..enqueuers + workers {
            let caller = callers.caller(number);
            callers.workers.spawn(caller.run_all());
        }
        callers
    }

    fn caller(&self, number: usize) -> Caller {
        let mut pace = interval(Duration::from_millis(5));
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Caller {
            number,
            store: self.store.clone(),
            queue: self.queue.clone(),
            ledger: self.ledger.clone(),
            phase: self.phase.subscribe(),
            pace,
        }
    }

    pub fn book(&self) -> Book {
        self.ledger.book()
    }

    /// The longest call since the last time that this was asked.
    pub fn slowest(&self) -> Duration {
        self.ledger.slowest()
    }

    /// Waits until each caller has been answered so many times from now on.
    pub async fn all_step(&self, times: u64) {
        let before = self.book();
        let what = format!("each caller of {} is answered {times} times", self.queue);
        until_true(&what, async || self.book().is_past(&before, times)).await;
    }

    /// Has what is there run to its end; what all were told.
    pub async fn finish(mut self) -> Book {
        self.phase.send_replace(Phase::Drain);
        for set in [&mut self.enqueuers, &mut self.workers] {
            while let Some(ended) = timeout(LIMIT, set.join_next()).await.expect("a caller hangs") {
                ended.unwrap_or_else(|error| panic!("a caller of {}: {error}", self.queue));
            }
        }
        // Those that were done with an empty queue before another one put a task back.
        let mut last = self.caller(0);
        last.phase = self.phase.subscribe();
        timeout(LIMIT, last.run_all()).await.expect("it hangs");
        self.book()
    }
}

impl Caller {
    async fn enqueue_all(mut self) {
        while *self.phase.borrow() == Phase::Work {
            let new = NewTask::named(id::task_id(), "work", "payload", Delivery::at_least_once());
            self.enqueue(new).await;
        }
    }

    async fn enqueue(&mut self, new: NewTask) {
        let mut is_repeat = false;
        loop {
            let (store, queue) = (self.store.clone(), self.queue.clone());
            match self.timed(store.enqueue_one(&queue, new.clone())).await {
                Some(verdict) => {
                    self.ledger.enqueued(&new.id, &verdict, is_repeat);
                    return;
                }
                None => is_repeat = true,
            }
        }
    }

    async fn run_all(mut self) {
        let (claimer, mut seq) = (ClaimerId::fresh(), 0);
        loop {
            // Read before the claim: what was enqueued before that is seen.
            let phase = *self.phase.borrow();
            seq += 1;
            let leases = self.claim(claimer, seq).await;
            if leases.is_empty() {
                if phase == Phase::Drain {
                    return;
                }
                self.pace.tick().await;
                continue;
            }
            self.renew(&leases).await;
            self.commit(leases).await;
        }
    }

    async fn claim(&mut self, claimer: ClaimerId, seq: u64) -> Vec<Lease> {
        loop {
            let claim = Claim::new(&*self.queue, Purpose::Run, 20, LONG, "worker");
            let store = self.store.clone();
            let claimed = self.timed(store.claim(claim.with_ticket(claimer, seq))).await;
            let Some(claimed) = claimed else { continue };
            assert!(!claimed.superseded);
            for lease in &claimed.leases {
                self.ledger.granted(lease);
            }
            return claimed.leases;
        }
    }

    async fn renew(&mut self, leases: &[Lease]) {
        let verdicts = loop {
            let items = leases.iter().map(|lease| RenewItem::new(lease.guard(), LONG)).collect();
            let store = self.store.clone();
            if let Some(verdicts) = self.timed(store.renew(Renew::new(items))).await {
                break verdicts;
            }
        };
        for verdict in verdicts {
            match verdict.expect("the items are right") {
                RenewVerdict::Held { .. } => {}
                RenewVerdict::Lost(_) => self.ledger.lost(),
                RenewVerdict::Busy => panic!("nobody holds a lock here"),
            }
        }
    }

    async fn commit(&mut self, leases: Vec<Lease>) {
        let items: Vec<CommitItem> = leases.iter().map(success).collect();
        loop {
            let was_old: Vec<_> = leases.iter().map(|lease| self.ledger.is_old(lease)).collect();
            let store = self.store.clone();
            let verdicts = self.timed(store.commit(Commit::new(items.clone()))).await;
            let Some(verdicts) = verdicts else { continue };
            for ((lease, verdict), was_old) in leases.iter().zip(verdicts).zip(was_old) {
                self.ledger.committed(lease, &verdict.expect("the items are right"), was_old);
            }
            return;
        }
    }

    /// One call; `None` where it was Unavailable, after a short while.
    async fn timed<T>(&mut self, call: impl Future<Output = Result<T, Error>>) -> Option<T> {
        let clock = Clock::System;
        let begun = clock.now();
        let reply = call.await;
        self.ledger.took(clock.now().since(begun));
        match reply {
            Ok(reply) => {
                self.ledger.stepped(self.number);
                Some(reply)
            }
            Err(error) => {
                self.ledger.unanswered(&error);
                self.pace.tick().await;
                None
            }
        }
    }
}
