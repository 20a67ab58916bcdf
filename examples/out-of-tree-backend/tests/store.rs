//! What the suite cannot ask of a store that it does not know: a restart, and the one writer.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use leasehold_conformance::leasehold_core::decide::{self, Outcome};
use leasehold_conformance::leasehold_core::{
    Backend, BackendExt, Claim, Clock, CommitItem, CommitVerdict, Delivery, Enqueue, ManualClock,
    NewTask, Purpose, State, TaskRef,
};
use leasehold_redb::RedbBackend;
use redb::Database;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const TTL: Duration = Duration::from_secs(30);

/// With one thread for calls, so that they are served in the order in which they were begun.
fn runtime() -> Runtime {
    Builder::new_current_thread().max_blocking_threads(1).build().expect("a runtime")
}

fn open(folder: &TempDir, hand: &ManualClock) -> RedbBackend {
    let db = Database::create(folder.path().join("tasks.redb")).expect("it opens");
    RedbBackend::new(Arc::new(db), Clock::from(hand.clone())).expect("a store")
}

fn task(n: usize) -> NewTask {
    NewTask::named(format!("t{n}"), "kind", "payload", Delivery::NotAfterLoss)
}

fn run(max: usize) -> Claim {
    Claim::new("q", Purpose::Run, max, TTL, "holder")
}

/// LH-GEN-3, LH-FENCE-1: tasks, leases and fences are there after a restart.
#[test]
fn a_restart_loses_nothing() {
    let (folder, hand) = (tempfile::tempdir().expect("a folder"), ManualClock::default());
    runtime().block_on(async {
        let store = open(&folder, &hand);
        let tasks = (0..3).map(task).collect();
        assert!(store.enqueue(Enqueue::new("q", tasks)).await.is_ok());
        let lease = store.claim(run(1)).await.expect("claimed").leases.remove(0);
        let before = store.task(&lease.task_ref).await.expect("read");
        drop(store);

        let store = open(&folder, &hand);
        assert_eq!(store.task(&lease.task_ref).await.expect("read"), before);
        let next = store.claim(run(3)).await.expect("claimed").leases;
        assert_eq!(next.len(), 2);
        assert!(next.iter().all(|next| next.fence > lease.fence));
        let done = Outcome::Succeeded { result: None, follow_ups: vec![] };
        let item = CommitItem::new(lease.guard(), decide::run(&lease, done, 0));
        let verdict = store.commit_one(item).await.expect("committed");
        assert!(matches!(verdict, CommitVerdict::Applied(_)), "{verdict:?}");
    });
}

/// LH-GEN-5: a call that waits for its turn and is dropped has done nothing and blocks nobody.
#[test]
fn a_dropped_call_leaves_its_place_in_the_line() {
    let (folder, hand) = (tempfile::tempdir().expect("a folder"), ManualClock::default());
    runtime().block_on(async {
        let db = Arc::new(Database::create(folder.path().join("tasks.redb")).expect("it opens"));
        let store = RedbBackend::new(db.clone(), Clock::from(hand.clone())).expect("a store");
        // Somebody else writes: the first call waits in its thread, the second one in line.
        let stranger = db.begin_write().expect("a transaction");
        let mut first = Box::pin(store.enqueue_one("q", task(1)));
        let mut second = Box::pin(store.enqueue_one("q", task(2)));
        let waits = poll_fn(|context| {
            let first = first.as_mut().poll(context).is_pending();
            Poll::Ready((first, second.as_mut().poll(context).is_pending()))
        });
        assert_eq!(waits.await, (true, true));
        drop(second);
        stranger.abort().expect("aborted");
        assert!(first.await.is_ok());
        let state = async |id| {
            let task = store.task(&TaskRef::new("q", id)).await.expect("read");
            task.map(|task| task.state)
        };
        assert_eq!((state("t1").await, state("t2").await), (Some(State::Waiting), None));
    });
}
