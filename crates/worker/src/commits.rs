//! Writes decisions, as many in one call as have gathered while the last one was out.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use leasehold_core::clock::within;
use leasehold_core::{
    Commit, CommitItem, CommitVerdict, Error, ErrorKind, Event, Lease, Outcome, Retry, Role,
    decide, id,
};
use tokio::sync::mpsc;

use crate::clock;
use crate::health::Loop;
use crate::observe::{Notice, Verdict};
use crate::serving::{Body, CALL_DEADLINE, Serving, Trouble};

/// Most decisions of one call, and most that are taken over while others wait.
pub(crate) const BATCH_MAX: usize = 100;

/// A call that fails so often in a row is cut up: one decision may spoil the others'.
const TOGETHER_MAX: u32 = 3;

/// A decision that has failed so often may be at fault itself: it no longer speaks for the
/// store, or it alone could keep everything else from being begun.
const SPEAKS_MAX: u32 = 5;

/// A store that is back should hear of finished work before others rescue it.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A decision on its way, of a run or of a rescue: the same item, with the same id, each time
/// that it is sent.
pub(crate) struct Decision {
    lease: Lease,
    item: CommitItem,
    /// A try got no answer, so that it may have been applied.
    unanswered: bool,
    /// Tries that failed.
    tries: u32,
}

impl Decision {
    pub(crate) fn of_run(lease: Lease, outcome: Outcome) -> Self {
        let change = decide::run(&lease, outcome, id::jitter_seed());
        Self { item: CommitItem::new(lease.guard(), change), lease, unanswered: false, tries: 0 }
    }

    pub(crate) fn of_rescue(lease: Lease) -> Self {
        let change = decide::rescue(&lease);
        Self { item: CommitItem::new(lease.guard(), change), lease, unanswered: false, tries: 0 }
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

    /// Waits for a decision, and takes what has gathered; false when none will come.
    async fn gather(&mut self) -> bool {
        if self.waiting.is_empty() {
            match self.decided.recv().await {
                Some(first) => self.waiting.push_back(first),
                None => return false,
            }
        }
        while self.waiting.len() < BATCH_MAX
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

    /// Sends what is out. Tells whether any of it was answered, and what is wrong.
    async fn send(&mut self) -> (bool, Option<Trouble>) {
        let items = self.out.iter().map(|decision| decision.item.clone()).collect();
        let call = self.serving.store.commit(Commit::new(items));
        let replies = match within(CALL_DEADLINE, call).await {
            Ok(replies) if replies.len() == self.out.len() => replies,
            Ok(_) => {
                let what = "a backend broke LH-GEN-2: one reply an item";
                return self.failed(Error::new(ErrorKind::Internal, what));
            }
            Err(error) => return self.failed(error),
        };
        let (mut answered, mut wrong) = (false, None);
        for (decision, reply) in std::mem::take(&mut self.out).into_iter().zip(replies) {
            match self.conclude(decision, reply) {
                Ok(()) => answered = true,
                Err(error) => wrong = Some(error),
            }
        }
        if wrong.is_none() {
            self.serving.well(Loop::Commits);
        }
        (answered, wrong.map(|error| self.serving.trouble(Loop::Commits, error)))
    }

    /// Speaks only now that the verdict is known (LH-OBS-2). An error means that there is
    /// none yet.
    fn conclude(
        &mut self,
        mut decision: Decision,
        reply: Result<CommitVerdict, Error>,
    ) -> Result<(), Error> {
        let shown = decision.item.guard.fence;
        match reply {
            Ok(reply) => self.tell(&decision, &Verdict::of(reply, shown, decision.unanswered)),
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                decision.unanswered = true;
                decision.tries += 1;
                self.waiting.push_back(decision);
                return Err(error);
            }
            // The handler's end cannot be written as it is, perhaps for a follow-up whose
            // limit group has no number: that is a failure like any other.
            Err(error)
                if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported)
                    && decision.item.change.event == Event::Succeeded =>
            {
                let message = format!("the store refused the success: {error}");
                let outcome = Outcome::Failed { message, retry: Retry::ByPolicy };
                self.waiting.push_front(Decision::of_run(decision.lease, outcome));
            }
            Err(error) => self.refused(&decision, error),
        }
        Ok(())
    }

    /// The call as a whole failed.
    fn failed(&mut self, error: Error) -> (bool, Option<Trouble>) {
        let trouble = self.serving.trouble(Loop::Commits, error);
        let kind = trouble.error.kind();
        let maybe_applied = matches!(kind, ErrorKind::Unavailable | ErrorKind::Internal);
        if self.out.len() == 1
            && kind != ErrorKind::Unavailable
            && let Some(decision) = self.out.pop()
        {
            self.refused(&decision, trouble.error);
            return (true, None);
        }
        if kind != ErrorKind::Unavailable || trouble.tries >= TOGETHER_MAX {
            self.alone = self.alone.max(self.out.len());
        }
        self.back(maybe_applied);
        (false, Some(trouble))
    }

    /// Takes back what a call had sent: one alone goes last, so that it cannot hold up the
    /// others.
    fn back(&mut self, maybe_applied: bool) {
        for decision in &mut self.out {
            decision.unanswered |= maybe_applied;
            decision.tries += 1;
        }
        if self.out.len() == 1 {
            self.waiting.extend(self.out.drain(..));
        } else {
            for decision in self.out.drain(..).rev() {
                self.waiting.push_front(decision);
            }
        }
    }

    /// Whether a decision that waits says that none can be written: it has failed, and not so
    /// often yet that it may be at fault itself.
    fn is_held_up(&self) -> bool {
        self.waiting.iter().any(|decision| (1..SPEAKS_MAX).contains(&decision.tries))
    }

    fn refused(&self, decision: &Decision, error: Error) {
        let shown = decision.item.guard.fence;
        // Only these promise that nothing has changed.
        let nothing = matches!(
            error.kind(),
            ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Corrupt
        );
        if nothing && !decision.unanswered {
            self.tell(decision, &Verdict::Refused(error));
        } else {
            self.tell(decision, &Verdict::Unknown { shown, now: None });
        }
    }

    fn tell(&self, decision: &Decision, verdict: &Verdict) {
        let (lease, change) = (&decision.lease, &decision.item.change);
        self.serving.notice(&match change.by {
            Role::Rescuer => Notice::Rescued { lease, change, verdict },
            Role::Worker | Role::Operator => Notice::Decided { lease, change, verdict },
        });
    }
}

impl Body for Commits {
    const NAME: Loop = Loop::Commits;

    /// Ends when no more decisions can come and all have their verdict.
    async fn run(&mut self) {
        // After a panic in the call that was out: one of them may have brought it about.
        self.alone = self.alone.max(self.out.len());
        self.back(true);
        while self.gather().await {
            self.pick();
            let (answered, trouble) = self.send().await;
            self.serving.writable.send_replace(answered || !self.is_held_up());
            if let Some(trouble) = trouble {
                clock::pause(trouble.pause().min(PAUSE_MAX)).await;
            }
            if self.waiting.is_empty() {
                // Without a next call none would ever tell that an earlier trouble is over.
                self.serving.well(Loop::Commits);
                if self.serving.found_nothing.load(Ordering::Relaxed) {
                    self.serving.idle.notify_one();
                }
            }
        }
    }
}

impl Drop for Commits {
    /// The worker is gone before these had their verdict.
    fn drop(&mut self) {
        self.back(true);
        while let Ok(decision) = self.decided.try_recv() {
            self.waiting.push_back(decision);
        }
        for decision in &self.waiting {
            self.tell(decision, &Verdict::Unanswered);
        }
    }
}
