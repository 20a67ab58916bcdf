//! Writes decisions, as many in one call as have gathered while the last one was out.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{
    Commit, CommitItem, CommitVerdict, Error, ErrorKind, Event, Lease, Outcome, Retry, decide, id,
};
use tokio::sync::mpsc;

use crate::clock;
use crate::health::Loop;
use crate::observe::{Notice, Verdict};
use crate::serving::{Body, Serving, Trouble};

/// Most decisions that wait. When so many do, handlers that end keep their places, and
/// nothing more is claimed.
pub(crate) const WAITING_MAX: usize = 1_000;

/// Most decisions of one call.
const BATCH_MAX: usize = 100;

/// A call that fails so often in a row is cut up: one decision may spoil the others'.
const TOGETHER_MAX: u32 = 3;

/// A store that is back should hear of finished work before others rescue it.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The pause after a call that went well but for some of its items.
const ITEM_PAUSE: Duration = Duration::from_millis(100);

/// A decision on its way: the same item, with the same id, each time that it is sent.
pub(crate) struct Decision {
    lease: Lease,
    item: CommitItem,
    /// A try got no answer, so that it may have been applied.
    unanswered: bool,
}

impl Decision {
    pub(crate) fn new(lease: Lease, outcome: Outcome) -> Self {
        let change = decide::run(&lease, outcome, id::jitter_seed());
        Self { item: CommitItem::new(lease.guard(), change), lease, unanswered: false }
    }
}

pub(crate) struct Commits {
    serving: Arc<Serving>,
    decided: mpsc::Receiver<Decision>,
    waiting: VecDeque<Decision>,
    /// What the call that is out has sent.
    out: Vec<Decision>,
    /// So many of the next decisions are sent one by one.
    alone: usize,
}

impl Commits {
    pub(crate) fn new(serving: Arc<Serving>, decided: mpsc::Receiver<Decision>) -> Self {
        Self { serving, decided, waiting: VecDeque::new(), out: Vec::new(), alone: 0 }
    }

    /// Waits for a decision, and takes all that have gathered; false when none will come.
    async fn gather(&mut self) -> bool {
        if self.waiting.is_empty() {
            match self.decided.recv().await {
                Some(first) => self.waiting.push_back(first),
                None => return false,
            }
        }
        while self.waiting.len() < WAITING_MAX
            && let Ok(next) = self.decided.try_recv()
        {
            self.waiting.push_back(next);
        }
        true
    }

    /// Moves the next batch out: each task once (LH-COMMIT-11), the others keep their order.
    fn pick(&mut self) {
        let bound = self.serving.capabilities.bounds.batch_max;
        let max = if self.alone > 0 { 1 } else { BATCH_MAX.min(bound) };
        self.alone = self.alone.saturating_sub(1);
        let mut tasks = HashSet::new();
        let mut later = VecDeque::new();
        for decision in self.waiting.drain(..) {
            if self.out.len() < max && tasks.insert(decision.item.guard.task.clone()) {
                self.out.push(decision);
            } else {
                later.push_back(decision);
            }
        }
        self.waiting = later;
    }

    async fn send(&mut self) {
        let items = self.out.iter().map(|decision| decision.item.clone()).collect();
        let call = self.serving.store.commit(Commit::new(items));
        match self.serving.call(Loop::Commits, call).await {
            Ok(replies) if replies.len() == self.out.len() => {
                let mut busy = false;
                for (decision, reply) in std::mem::take(&mut self.out).into_iter().zip(replies) {
                    busy |= self.conclude(decision, reply);
                }
                if busy {
                    clock::pause(ITEM_PAUSE).await;
                }
            }
            Ok(_) => {
                let error = Error::new(ErrorKind::Internal, "a backend broke LH-GEN-2");
                let trouble = self.serving.trouble(Loop::Commits, error);
                self.failed(trouble).await;
            }
            Err(trouble) => self.failed(trouble).await,
        }
    }

    /// Speaks only now that the verdict is known (LH-OBS-2). Tells whether there is none yet.
    fn conclude(&mut self, mut decision: Decision, reply: Result<CommitVerdict, Error>) -> bool {
        let shown = decision.item.guard.fence;
        match reply {
            Ok(reply) => {
                let verdict = Verdict::of(reply, shown, decision.unanswered);
                self.tell(&decision, &verdict);
            }
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                decision.unanswered = true;
                self.waiting.push_back(decision);
                return true;
            }
            // The handler's end cannot be written as it is, perhaps for a follow-up whose
            // limit group has no number: that is a failure like any other.
            Err(error)
                if error.kind() == ErrorKind::Invalid
                    && decision.item.change.event == Event::Succeeded =>
            {
                let message = format!("the store refused the success: {error}");
                let outcome = Outcome::Failed { message, retry: Retry::ByPolicy };
                self.waiting.push_front(Decision::new(decision.lease, outcome));
            }
            Err(error) => self.tell(&decision, &Verdict::Refused(error)),
        }
        false
    }

    async fn failed(&mut self, trouble: Trouble) {
        let unavailable = trouble.error.kind() == ErrorKind::Unavailable;
        if self.out.len() == 1 && !unavailable {
            let refused = Verdict::Refused(trouble.error);
            for decision in std::mem::take(&mut self.out) {
                self.tell(&decision, &refused);
            }
            return;
        }
        if self.out.len() > 1 && (!unavailable || trouble.tries >= TOGETHER_MAX) {
            self.alone = self.out.len();
        }
        self.back();
        clock::pause(trouble.pause().min(PAUSE_MAX)).await;
    }

    /// Takes back what a call without an answer had sent: one alone goes last, so that it
    /// cannot hold up the others.
    fn back(&mut self) {
        for decision in &mut self.out {
            decision.unanswered = true;
        }
        if self.out.len() == 1 {
            self.waiting.extend(self.out.drain(..));
        } else {
            for decision in self.out.drain(..).rev() {
                self.waiting.push_front(decision);
            }
        }
    }

    fn tell(&self, decision: &Decision, verdict: &Verdict) {
        let (lease, change) = (&decision.lease, &decision.item.change);
        self.serving.notice(&Notice::Decided { lease, change, verdict });
    }
}

impl Body for Commits {
    const NAME: Loop = Loop::Commits;

    /// Ends when no more decisions can come and all have their verdict.
    async fn run(&mut self) {
        // After a panic in the call that was out.
        self.back();
        while self.gather().await {
            self.pick();
            self.send().await;
            self.serving.idle.notify_one();
        }
    }
}

impl Drop for Commits {
    /// The worker is gone before these had their verdict.
    fn drop(&mut self) {
        self.back();
        while let Ok(decision) = self.decided.try_recv() {
            self.waiting.push_back(decision);
        }
        for decision in &self.waiting {
            self.tell(decision, &Verdict::Unanswered);
        }
    }
}
