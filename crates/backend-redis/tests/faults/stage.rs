//! [`Stage`]: a queue on which each verb has something to do, and a call of each.

use std::time::Duration;

use leasehold_core::{
    BackendExt, Claim, Claimed, Commit, CommitItem, CommitVerdict, Configure, Count, Delivery, Due,
    Enqueue, EnqueueVerdict, Error, Filter, Found, Get, Guard, Intervention, Keep, Lease, LimitKey,
    List, NewTask, Operator, Outcome, Purge, Purpose, Queues, Renew, RenewItem, RenewVerdict,
    Retention, State, Status, StoredTask, TaskRef, decide,
};

use crate::shared::{LONG, Store, until_true};

/// The verbs, and of commit the kinds that differ in what they write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Enqueue,
    Claim,
    Rescue,
    Renew,
    Succeed,
    Follow,
    Cancel,
    Configure,
    Purge,
    Get,
    List,
    Counts,
    Queues,
}

impl Verb {
    pub const WRITES: [Verb; 9] = [
        Self::Enqueue,
        Self::Claim,
        Self::Rescue,
        Self::Renew,
        Self::Succeed,
        Self::Follow,
        Self::Cancel,
        Self::Configure,
        Self::Purge,
    ];

    pub const READS: [Verb; 4] = [Self::Get, Self::List, Self::Counts, Self::Queues];

    pub fn all() -> impl Iterator<Item = Verb> {
        Self::WRITES.into_iter().chain(Self::READS)
    }
}

/// A task of this kind, under a limit and a unique key.
pub fn task(kind: &str, id: &str) -> NewTask {
    NewTask::named(id, kind, "payload", Delivery::at_least_once())
        .with_limit(LimitKey::new("group", kind))
        .with_unique(id)
}

/// A queue with two ready tasks, three that are leased, a lapsed lease, and a finished task whose
/// retention has passed.
pub struct Stage {
    store: Store,
    queue: String,
    renewed: Lease,
    succeeded: Lease,
    followed: Lease,
    cancelled: StoredTask,
    /// How many new tasks a call brings.
    brings: usize,
}

impl Stage {
    /// Sets a queue of this name, whose calls bring so many tasks, up to 100.
    pub async fn set(store: &Store, queue: &str, brings: usize) -> Self {
        let limits = Configure::new(queue).with_limit("group", 100);
        let _settings = store.configure(limits).await.expect("it is up");
        let brief = Retention::default().with_succeeded(Keep::For(Duration::from_millis(1)));
        let tasks = [
            task("ready", "ready-1"),
            task("ready", "ready-2"),
            task("renewed", "renewed"),
            task("succeeded", "succeeded"),
            task("followed", "followed"),
            task("lapsed", "lapsed"),
            task("purged", "purged").with_retention(brief),
            task("cancelled", "cancelled").with_due(Due::In(LONG)),
        ];
        let verdicts = store.enqueue(Enqueue::new(queue, tasks.into())).await.expect("it is up");
        assert_entered(&verdicts);
        let purged = leased(store, queue, "purged", LONG).await;
        let _applied = store.commit_one(success(&purged)).await.expect("it is up");
        leased(store, queue, "lapsed", Duration::from_millis(100)).await;
        let cancelled = TaskRef::new(queue, "cancelled");
        let cancelled = store.task(&cancelled).await.expect("it is up").expect("it was enqueued");
        let stage = Self {
            renewed: leased(store, queue, "renewed", LONG).await,
            succeeded: leased(store, queue, "succeeded", LONG).await,
            followed: leased(store, queue, "followed", LONG).await,
            store: store.clone(),
            queue: queue.to_owned(),
            cancelled,
            brings,
        };
        until_true("the lease has lapsed", async || stage.count(Status::Lapsed).await == 1).await;
        stage
    }

    pub async fn count(&self, status: Status) -> u64 {
        self.store.counts(Count::new(&*self.queue)).await.expect("it is up").of(status)
    }

    /// The first call of this verb; what it answers must say that all of it was done.
    pub async fn call(&self, verb: Verb) -> Result<(), Error> {
        match verb {
            Verb::Enqueue => self.enqueue().await,
            Verb::Claim => self.claim(Purpose::Run, "ready", 2).await,
            Verb::Rescue => self.claim(Purpose::Rescue, "lapsed", 1).await,
            Verb::Renew => self.renew().await,
            Verb::Succeed => self.commit(success(&self.succeeded)).await,
            Verb::Follow => self.commit(self.follow()).await,
            Verb::Cancel => self.commit(self.cancel()).await,
            Verb::Configure => {
                let settings = self.store.configure(Configure::new(&*self.queue).pause()).await?;
                assert!(settings.paused);
                Ok(())
            }
            Verb::Purge => {
                let purged = self.store.purge(Purge::new(&*self.queue, 10)).await?;
                assert_eq!(purged.tasks, 1);
                Ok(())
            }
            Verb::Get | Verb::List | Verb::Counts | Verb::Queues => self.read(verb).await,
        }
    }

    async fn enqueue(&self) -> Result<(), Error> {
        let tasks = (0..self.brings).map(|n| task("new", &format!("new-{n}"))).collect();
        let verdicts = self.store.enqueue(Enqueue::new(&*self.queue, tasks)).await?;
        assert_eq!(verdicts.len(), self.brings);
        assert_entered(&verdicts);
        Ok(())
    }

    async fn claim(&self, purpose: Purpose, kind: &str, n: usize) -> Result<(), Error> {
        let claim = Claim::new(&*self.queue, purpose, 10, LONG, "staged").with_kinds([kind]);
        let Claimed { leases, .. } = self.store.claim(claim).await?;
        assert_eq!(leases.len(), n, "{leases:?}");
        assert!(leases.iter().all(|lease| lease.purpose == purpose && lease.kind == kind));
        Ok(())
    }

    async fn renew(&self) -> Result<(), Error> {
        let item = RenewItem::new(self.renewed.guard(), LONG * 2).with_note(vec![b'n'; 1_000]);
        let verdicts = self.store.renew(Renew::new(vec![item])).await?;
        assert!(matches!(&verdicts[..], [Ok(RenewVerdict::Held { .. })]), "{verdicts:?}");
        Ok(())
    }

    async fn commit(&self, item: CommitItem) -> Result<(), Error> {
        let mut verdicts = self.store.commit(Commit::new(vec![item])).await?;
        let verdict = verdicts.pop().expect("one reply an item")?;
        let CommitVerdict::Applied(applied) = verdict else { panic!("{verdict:?}") };
        assert_entered(&applied.follow_ups);
        Ok(())
    }

    fn follow(&self) -> CommitItem {
        let follow_ups = (0..self.brings).map(|n| task("later", &format!("later-{n}")));
        let (result, follow_ups) = (Some(vec![b'r'; 1_000].into()), follow_ups.collect());
        let outcome = Outcome::Succeeded { result, follow_ups };
        CommitItem::new(self.followed.guard(), decide::run(&self.followed, outcome, 0))
    }

    fn cancel(&self) -> CommitItem {
        let by = Operator::new("staged", "to see it pass");
        let change = decide::intervene(&self.cancelled, Intervention::Cancel, &by);
        let guard = Guard::new(self.cancelled.task_ref.clone(), self.cancelled.fence);
        CommitItem::new(guard, change.expect("a waiting task may be cancelled"))
    }

    async fn read(&self, verb: Verb) -> Result<(), Error> {
        match verb {
            Verb::Get => {
                let task = self.renewed.task_ref.clone();
                let found = self.store.get(Get::new(task)).await?;
                assert!(matches!(found, Found::Task(task) if !task.state.is_finished()));
            }
            Verb::List => {
                let page = self.store.list(List::new(&*self.queue, Filter::all(), 100)).await?;
                assert!(page.tasks.iter().any(|task| task.task_ref == self.renewed.task_ref));
            }
            Verb::Counts => {
                let counts = self.store.counts(Count::new(&*self.queue)).await?;
                assert!(counts.of(Status::Leased) >= 1, "{counts:?}");
            }
            _ => {
                let page = self.store.queues(Queues::new(1_000)).await?;
                assert!(page.queues.iter().any(|queue| queue.name == self.queue));
            }
        }
        Ok(())
    }
}

/// Leases the only ready task of this kind.
pub async fn leased(store: &Store, queue: &str, kind: &str, ttl: Duration) -> Lease {
    let claim = Claim::new(queue, Purpose::Run, 1, ttl, "staged").with_kinds([kind]);
    let mut claimed = store.claim(claim).await.expect("it is up");
    claimed.leases.pop().unwrap_or_else(|| panic!("no task of kind {kind} is ready"))
}

pub fn success(lease: &Lease) -> CommitItem {
    let outcome = Outcome::Succeeded { result: None, follow_ups: Vec::new() };
    CommitItem::new(lease.guard(), decide::run(lease, outcome, 0))
}

pub async fn state_of(store: &Store, queue: &str, id: &str) -> Option<State> {
    let task = store.task(&TaskRef::new(queue, id)).await.expect("it is up");
    task.map(|task| task.state)
}

fn assert_entered(verdicts: &[EnqueueVerdict]) {
    let entered = |verdict: &EnqueueVerdict| matches!(verdict, EnqueueVerdict::Enqueued { .. });
    assert!(verdicts.iter().all(entered), "{verdicts:?}");
}
