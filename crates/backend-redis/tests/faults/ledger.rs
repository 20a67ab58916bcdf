//! [`Ledger`]: what callers of one queue were told, and whether the store bears it out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold_core::{
    CommitVerdict, Count, EnqueueVerdict, Error, ErrorKind, Fence, Filter, Lease, List, State,
    StoredTask, TaskRef,
};

use crate::shared::Store;

/// Written by callers, read by the test.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Book>);

/// What was told until now.
#[derive(Debug, Default, Clone)]
pub struct Book {
    /// Acknowledged tasks; without a fence where a repeat found the task to be there.
    pub enqueued: BTreeMap<String, Option<Fence>>,
    /// The fences under which each task was granted, in order.
    pub granted: BTreeMap<String, Vec<Fence>>,
    /// The fences whose commit was applied, now or by the call that it repeats.
    pub committed: BTreeMap<String, Vec<Fence>>,
    /// Commits that were Stale or Gone.
    pub refused: u64,
    /// Renews that were lost.
    pub lost: u64,
    /// What Unavailable calls were told, and how often.
    pub unavailable: BTreeMap<String, u64>,
    /// How many calls of each caller were answered.
    pub steps: Vec<u64>,
    /// The longest that a call took since this was last looked at.
    pub slowest: Duration,
}

impl Ledger {
    pub fn of(callers: usize) -> Self {
        Self(Mutex::new(Book { steps: vec![0; callers], ..Book::default() }))
    }

    pub fn book(&self) -> Book {
        self.open().clone()
    }

    /// The longest call since the last time that this was asked.
    pub fn slowest(&self) -> Duration {
        std::mem::take(&mut self.open().slowest)
    }

    pub fn took(&self, time: Duration) {
        let mut book = self.open();
        book.slowest = book.slowest.max(time);
    }

    pub fn stepped(&self, caller: usize) {
        self.open().steps[caller] += 1;
    }

    /// A call came back without a reply: it may be repeated, whatever became of it.
    pub fn unanswered(&self, error: &Error) {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        *self.open().unavailable.entry(error.to_string()).or_default() += 1;
    }

    pub fn enqueued(&self, id: &str, verdict: &EnqueueVerdict, is_repeat: bool) {
        let fence = match verdict {
            EnqueueVerdict::Enqueued { fence } => Some(*fence),
            EnqueueVerdict::Duplicate { .. } => {
                assert!(is_repeat, "{id} was there before it was enqueued");
                None
            }
        };
        self.open().enqueued.insert(id.to_owned(), fence);
    }

    /// Fences of one task strictly grow (LH-FENCE-3), so that none is granted twice.
    pub fn granted(&self, lease: &Lease) {
        let mut book = self.open();
        let fences = book.granted.entry(lease.task_ref.id.clone()).or_default();
        let newest = fences.last().copied();
        assert!(newest < Some(lease.fence), "{:?} after {newest:?}", lease.guard());
        fences.push(lease.fence);
    }

    /// Whether the task has been granted under a newer fence than this lease's.
    pub fn is_old(&self, lease: &Lease) -> bool {
        let book = self.open();
        let fences = book.granted.get(&lease.task_ref.id);
        fences.and_then(|fences| fences.last()).is_some_and(|newest| *newest > lease.fence)
    }

    pub fn committed(&self, lease: &Lease, verdict: &CommitVerdict, was_old: bool) {
        let mut book = self.open();
        match verdict {
            CommitVerdict::Applied(_) | CommitVerdict::Replayed => {
                let is_late = matches!(verdict, CommitVerdict::Applied(_)) && was_old;
                assert!(!is_late, "{:?} was applied by an old fence", lease.guard());
                book.committed.entry(lease.task_ref.id.clone()).or_default().push(lease.fence);
            }
            CommitVerdict::Stale { .. } | CommitVerdict::Gone => book.refused += 1,
            CommitVerdict::Conflict(_) => panic!("{:?}: {verdict:?}", lease.guard()),
        }
    }

    pub fn lost(&self) {
        self.open().lost += 1;
    }

    fn open(&self) -> MutexGuard<'_, Book> {
        // A caller that panicked fails its test by itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// How often a call was told this.
    pub fn told(&self, part: &str) -> u64 {
        self.unavailable.iter().filter(|(text, _)| text.contains(part)).map(|(_, n)| n).sum()
    }

    /// Whether every caller has been answered at least `more` times since `earlier`.
    pub fn is_past(&self, earlier: &Book, more: u64) -> bool {
        self.steps.iter().zip(&earlier.steps).all(|(now, before)| *now >= before + more)
    }

    /// The store has lost nothing: each acknowledged task is there, and was run and committed
    /// exactly once, as its caller was told.
    pub async fn assert_exact(&self, store: &Store, queue: &str) {
        let tasks = all_tasks(store, queue).await;
        assert_eq!((self.refused, self.lost), (0, 0), "commits and renews of {queue}");
        let there: BTreeSet<_> = tasks.iter().map(|task| &task.task_ref.id).collect();
        assert!(there.iter().eq(self.enqueued.keys().collect::<Vec<_>>().iter()), "{queue}");
        for task in &tasks {
            let TaskRef { id, .. } = &task.task_ref;
            let shown = task.shown.map(|shown| shown.fence);
            assert_eq!((task.state, task.attempt), (State::Succeeded, 1), "{task:?}");
            assert_eq!(self.granted[id], [shown.expect("it ended by a commit")], "{task:?}");
            assert_eq!(self.granted[id], self.committed[id], "{task:?}");
        }
        self.assert_order(&tasks);
        let counts = store.counts(Count::new(queue)).await.expect("it is up");
        let succeeded = u64::try_from(tasks.len()).expect("a few");
        assert_eq!((counts.total(), counts.unfinished()), (succeeded, 0), "{counts:?}");
        let odd = counts.events.stale_commits + counts.events.lapsed + counts.events.repaired;
        assert_eq!(odd, 0, "{counts:?}");
    }

    /// The store stands as after an earlier prefix of its steps (LH-GEN-3): of what it had
    /// acknowledged before the fault, the newest may be missing and nothing else; what is there
    /// has been run and committed. How many acknowledged tasks are missing.
    pub async fn assert_prefix(&self, store: &Store, queue: &str) -> usize {
        let tasks = all_tasks(store, queue).await;
        let there: BTreeSet<_> = tasks.iter().map(|task| task.task_ref.id.clone()).collect();
        for task in &tasks {
            let id = &task.task_ref.id;
            assert_eq!(task.state, State::Succeeded, "{task:?}");
            assert!(self.enqueued.contains_key(id), "{id} was never acknowledged");
            let shown = task.shown.map(|shown| shown.fence).expect("it ended by a commit");
            assert_eq!(self.committed[id].last(), Some(&shown), "{task:?}");
        }
        self.assert_order(&tasks);
        let acknowledged = self.enqueued.iter().filter_map(|(id, fence)| Some(((*fence)?, id)));
        let in_order: BTreeMap<_, _> = acknowledged.collect();
        let missing: Vec<_> = in_order.values().map(|id| !there.contains(*id)).collect();
        // Before the first one all are there, and after the last one too: nothing is missing from
        // the middle of what was there before the fault.
        let gaps = missing.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        assert!(gaps <= 1, "{queue} has lost tasks in {gaps} places");
        missing.iter().filter(|is_missing| **is_missing).count()
    }

    /// A list has the order of enqueue, which is the order of the fences that were told.
    fn assert_order(&self, tasks: &[StoredTask]) {
        for pair in tasks.windows(2) {
            assert!(pair[0].born <= pair[1].born, "{:?} before {:?}", pair[0], pair[1]);
        }
        for task in tasks {
            let told = self.enqueued[&task.task_ref.id];
            assert!(told.is_none_or(|told| told == task.born), "{told:?}: {task:?}");
        }
    }
}

async fn all_tasks(store: &Store, queue: &str) -> Vec<StoredTask> {
    let mut tasks = Vec::new();
    let mut list = List::new(queue, Filter::all(), 1_000);
    loop {
        let page = store.list(list).await.expect("it is up");
        tasks.extend(page.tasks);
        let Some(next) = page.next else { return tasks };
        list = List::new(queue, Filter::all(), 1_000).after(next);
    }
}
