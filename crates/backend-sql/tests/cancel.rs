//! A dropped call is a call without an answer (LH-GEN-5): each verb is polled a number of
//! times and dropped, for every number until it comes to its end. Afterwards it was applied
//! whole or not at all, the handle and the file can be used, and a repeat ends well.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use leasehold_core::decide::{self, Outcome};
use leasehold_core::{
    Backend, BackendExt, Claim, ClaimerId, CommitItem, CommitVerdict, Configure, Count, Delivery,
    Due, Enqueue, EnqueueVerdict, Filter, Get, Keep, Lease, LimitKey, List, ManualClock, NewTask,
    Purge, Purpose, Queues, Renew, RenewItem, RenewVerdict, Retention, State, Status, TaskRef,
};
use leasehold_sql::{SqliteBackend, SqliteConfig, Synchronous};
use tempfile::TempDir;

const TTL: Duration = Duration::from_secs(30);
const POLLS_MAX: usize = 2_000;

/// The answer, or nothing when the future was dropped after so many polls.
async fn drop_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polled = 0;
    poll_fn(|context| {
        polled += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if polled >= polls => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

struct World {
    store: SqliteBackend,
    /// Another handle, which could not write if the first had left a transaction open.
    other: SqliteBackend,
    clock: ManualClock,
    _folder: TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clock = ManualClock::default();
        let config = SqliteConfig::new(folder.path().join("tasks.db"))
            .with_synchronous(Synchronous::Normal)
            .with_busy_timeout(Duration::from_secs(2))
            .with_clock(clock.clone());
        let store = SqliteBackend::connect(config.clone()).await.expect("it opens");
        let other = SqliteBackend::connect(config).await.expect("it opens");
        let settings = Configure::new("q")
            .with_limit("g", 10_000)
            .with_retention(Retention::default().with_succeeded(Keep::Forever));
        store.configure(settings).await.expect("it is configured");
        Self { store, other, clock, _folder: folder }
    }

    /// A new task under a limit and a unique key, and a lease on it.
    async fn lease(&self, n: usize) -> Lease {
        let _enqueued = self.store.enqueue_one("q", task(format!("t{n}"))).await.expect("enqueued");
        let claim = Claim::new("q", Purpose::Run, 1, TTL, "holder");
        let claimed = self.store.claim(claim).await.expect("claimed");
        claimed.leases.into_iter().next().expect("a lease")
    }

    /// Fails unless both handles can write.
    async fn check_usable(&self, n: usize) {
        let later = || Due::In(Duration::from_secs(1_000_000));
        for (handle, name) in [(&self.other, "other"), (&self.store, "same")] {
            let new = task(format!("{name}{n}")).with_due(later());
            let enqueued = handle.enqueue_one("usable", without_keys(new)).await;
            assert!(matches!(enqueued, Ok(EnqueueVerdict::Enqueued { .. })), "{enqueued:?}");
        }
    }
}

fn task(id: String) -> NewTask {
    NewTask::named(id.clone(), "kind", "payload", Delivery::NotAfterLoss)
        .with_limit(LimitKey::new("g", "k"))
        .with_unique(id)
}

fn without_keys(mut new: NewTask) -> NewTask {
    (new.limit, new.unique) = (None, None);
    new
}

#[tokio::test]
async fn enqueue() {
    let world = World::new().await;
    for polls in 1..POLLS_MAX {
        let ids = [format!("a{polls}"), format!("b{polls}")];
        let request = || Enqueue::new("q", ids.clone().map(task).into());
        let ended = drop_after(polls, world.store.enqueue(request())).await;
        world.check_usable(polls).await;
        let again = world.store.enqueue(request()).await.expect("it can be repeated");
        let news = again.iter().filter(|v| matches!(v, EnqueueVerdict::Enqueued { .. })).count();
        assert!(news == 0 || news == 2, "half of a call: {again:?}");
        if ended.is_some() {
            assert_eq!(news, 0);
            return;
        }
    }
    panic!("it never came to its end");
}

#[tokio::test]
async fn claim() {
    let world = World::new().await;
    for polls in 1..POLLS_MAX {
        let id = format!("t{polls}");
        let _enqueued = world.store.enqueue_one("q", task(id.clone())).await.expect("enqueued");
        let claimer = ClaimerId::fresh();
        let claim = || Claim::new("q", Purpose::Run, 5, TTL, "holder").with_ticket(claimer, 1);
        let ended = drop_after(polls, world.store.claim(claim())).await;
        world.check_usable(polls).await;
        let again = world.store.claim(claim()).await.expect("it can be repeated");
        let leases: Vec<_> = again.leases.iter().map(|lease| &lease.task_ref.id).collect();
        assert_eq!(leases, [&id], "granted once, by the call or by its repeat");
        assert_eq!(again.leases[0].attempt, 1);
        if ended.is_some() {
            return;
        }
    }
    panic!("it never came to its end");
}

#[tokio::test]
async fn renew() {
    let world = World::new().await;
    for polls in 1..POLLS_MAX {
        let lease = world.lease(polls).await;
        world.clock.shift(10);
        let item = || RenewItem::new(lease.guard(), TTL).with_note("half");
        let ended = drop_after(polls, world.store.renew(Renew::new(vec![item()]))).await;
        world.check_usable(polls).await;
        let task = world.store.task(&lease.task_ref).await.expect("read").expect("it is there");
        let renewed = task.until == Some(world.clock.now().after(TTL));
        assert_eq!(renewed, task.note.is_some(), "the note goes along");
        let again = world.store.renew_one(item()).await.expect("it can be repeated");
        assert_eq!(again, RenewVerdict::Held { ttl_left: TTL });
        if ended.is_some() {
            assert!(renewed);
            return;
        }
    }
    panic!("it never came to its end");
}

#[tokio::test]
async fn commit() {
    let world = World::new().await;
    for polls in 1..POLLS_MAX {
        let lease = world.lease(polls).await;
        let follow_up = without_keys(task(format!("next{polls}"))).with_due(Due::In(TTL * 2_880));
        let done = Outcome::Succeeded { result: None, follow_ups: vec![follow_up] };
        let item = CommitItem::new(lease.guard(), decide::run(&lease, done, 0));
        let ended = drop_after(polls, world.store.commit_one(item.clone())).await;
        world.check_usable(polls).await;
        let next = TaskRef::new("q", format!("next{polls}"));
        let applied = world.store.task(&next).await.expect("read").is_some();
        let again = world.store.commit_one(item).await.expect("it can be repeated");
        match again {
            CommitVerdict::Replayed => assert!(applied),
            CommitVerdict::Applied(_) => assert!(!applied && ended.is_none()),
            other => panic!("{other:?}"),
        }
        let task = world.store.task(&lease.task_ref).await.expect("read").expect("it is kept");
        assert_eq!((task.state, task.history.records.len()), (State::Succeeded, 1));
        if ended.is_some() {
            return;
        }
    }
    panic!("it never came to its end");
}

#[tokio::test]
async fn configure() {
    let world = World::new().await;
    for polls in 1..POLLS_MAX {
        let number = u32::try_from(polls).expect("small");
        let request = || Configure::new("q").with_limit("x", number).with_limit("y", number);
        let ended = drop_after(polls, world.store.configure(request())).await;
        world.check_usable(polls).await;
        let page = world.store.queues(Queues::new(10)).await.expect("they are read");
        let settings = &page.queues.iter().find(|queue| queue.name == "q").expect("q").settings;
        assert_eq!(settings.limits.get("x"), settings.limits.get("y"), "half of a call");
        world.store.configure(request()).await.expect("it can be repeated");
        if ended.is_some() {
            assert_eq!(settings.limits.get("x"), Some(&number));
            return;
        }
    }
    panic!("it never came to its end");
}

#[tokio::test]
async fn purge() {
    let world = World::new().await;
    let keep = Retention::default().with_succeeded(Keep::For(Duration::from_millis(5)));
    world.store.configure(Configure::new("q").with_retention(keep)).await.expect("configured");
    for polls in 1..POLLS_MAX {
        let lease = world.lease(polls).await;
        let done = Outcome::Succeeded { result: None, follow_ups: vec![] };
        let item = CommitItem::new(lease.guard(), decide::run(&lease, done, 0));
        let _applied = world.store.commit_one(item.clone()).await.expect("committed");
        world.clock.shift(10);
        let ended = drop_after(polls, world.store.purge(Purge::new("q", 10))).await;
        world.check_usable(polls).await;
        let again = world.store.purge(Purge::new("q", 10)).await.expect("it can be repeated");
        assert_eq!(again.tasks, usize::from(ended.is_none() && again.tasks == 1));
        let counts = world.store.counts(Count::new("q")).await.expect("they are counted");
        assert_eq!(counts.total(), 0);
        let replay = world.store.commit_one(item).await.expect("it is remembered");
        assert_eq!(replay, CommitVerdict::Replayed);
        if ended.is_some() {
            return;
        }
    }
    panic!("it never came to its end");
}

#[tokio::test]
async fn reads() {
    let world = World::new().await;
    let lease = world.lease(0).await;
    for polls in 1..POLLS_MAX {
        let store = &world.store;
        let get = drop_after(polls, store.get(Get::new(lease.task_ref.clone()))).await;
        let list = drop_after(polls, store.list(List::new("q", Filter::all(), 5))).await;
        let counts = drop_after(polls, store.counts(Count::new("q"))).await;
        let queues = drop_after(polls, store.queues(Queues::new(5))).await;
        world.check_usable(polls).await;
        let read = store.counts(Count::new("q")).await.expect("the readers are usable");
        assert_eq!(read.of(Status::Leased), 1);
        if get.is_some() && list.is_some() && counts.is_some() && queues.is_some() {
            return;
        }
    }
    panic!("they never came to their end");
}
