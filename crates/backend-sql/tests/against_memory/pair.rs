//! Both stores behind one set of verbs: each is sent to both and the answers are compared.

use leasehold_core::{
    Applied, Backend, BackendExt, Claim, Claimed, Commit, CommitItem, CommitVerdict, Configure,
    Count, Enqueue, EnqueueVerdict, Error, Filter, Found, Get, Guard, Lease, List, LostReason,
    ManualClock, MemoryBackend, Purge, Purpose, Queues, Renew, RenewItem, RenewVerdict, StoredTask,
    TaskRef,
};
use leasehold_sql::{SqliteBackend, SqliteConfig, Synchronous};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tempfile::TempDir;

use crate::fences::Fences;
use crate::residue::residue;

pub const QUEUE: &str = "q";

pub struct Both {
    pub clock: ManualClock,
    memory: MemoryBackend,
    /// Two handles on one file, used in turn.
    sqlite: [SqliteBackend; 2],
    turn: usize,
    fences: Fences,
    raw: SqliteConnection,
    _folder: TempDir,
}

impl Both {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clock = ManualClock::default();
        let path = folder.path().join("tasks.db");
        let config = SqliteConfig::new(&path)
            .with_synchronous(Synchronous::Normal)
            .with_readers(1)
            .with_clock(clock.clone());
        let first = SqliteBackend::connect(config.clone()).await.expect("a new file");
        let second = SqliteBackend::connect(config).await.expect("the same file");
        let raw = SqliteConnectOptions::new().filename(path).connect().await.expect("the same");
        Self {
            memory: MemoryBackend::on_clock(clock.clone()),
            clock,
            sqlite: [first, second],
            turn: 0,
            fences: Fences::default(),
            raw,
            _folder: folder,
        }
    }

    fn sqlite(&mut self) -> &SqliteBackend {
        self.turn += 1;
        &self.sqlite[self.turn % 2]
    }

    pub async fn enqueue(&mut self, request: Enqueue) {
        let ids: Vec<_> = request.tasks.iter().map(|new| new.id.clone()).collect();
        let ours = self.memory.enqueue(request.clone()).await;
        let theirs = self.sqlite().enqueue(request).await;
        let (Ok(ours), Ok(theirs)) = agreed(ours, theirs) else { return };
        self.enqueued(ids.into_iter().zip(ours).collect(), theirs);
    }

    fn enqueued(&mut self, ours: Vec<(String, EnqueueVerdict)>, theirs: Vec<EnqueueVerdict>) {
        assert_eq!(ours.len(), theirs.len());
        for ((id, ours), theirs) in ours.into_iter().zip(theirs) {
            match (ours, theirs) {
                (
                    EnqueueVerdict::Enqueued { fence: ours },
                    EnqueueVerdict::Enqueued { fence: theirs },
                ) => self.fences.meet(&id, ours, theirs),
                (ours, theirs) => assert_eq!(ours, theirs, "enqueue of {id}"),
            }
        }
    }

    /// Tells our leases; their fences have partners from now on.
    pub async fn claim(&mut self, request: Claim) -> Vec<Lease> {
        let ours = self.memory.claim(request.clone()).await;
        let theirs = self.sqlite().claim(request.clone()).await;
        let (Ok(mut ours), Ok(mut theirs)) = agreed(ours, theirs) else { return Vec::new() };
        if request.purpose == Purpose::Rescue || request.ticket.is_some() {
            // Tasks of one lapse have no order of their own, nor has what a repeat returns.
            for claimed in [&mut ours, &mut theirs] {
                claimed.leases.sort_by(|a, b| a.task_ref.cmp(&b.task_ref));
            }
        }
        let names = |claimed: &Claimed| {
            claimed.leases.iter().map(|lease| lease.task_ref.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&ours), names(&theirs), "{request:?}");
        let (more, superseded) = (theirs.more, theirs.superseded);
        assert_eq!((ours.more, ours.superseded), (more, superseded), "{request:?}");
        let mut leases = Vec::new();
        for (ours, mut theirs) in ours.leases.into_iter().zip(theirs.leases) {
            let id = &ours.task_ref.id;
            self.fences.meet(id, ours.fence, theirs.fence);
            if let (Some(ours), Some(theirs)) = (ours.run, theirs.run) {
                self.fences.meet(id, ours, theirs);
            }
            theirs.fence = ours.fence;
            theirs.run = theirs.run.and(ours.run);
            assert_eq!(ours, theirs);
            leases.push(ours);
        }
        leases
    }

    pub async fn renew(&mut self, items: Vec<RenewItem>) {
        let mut translated = items.clone();
        for item in &mut translated {
            item.guard = self.translated(&item.guard);
        }
        let ours = self.memory.renew(Renew::new(items.clone())).await;
        let theirs = self.sqlite().renew(Renew::new(translated)).await;
        let (Ok(ours), Ok(theirs)) = agreed(ours, theirs) else { return };
        assert_eq!(ours.len(), theirs.len());
        for ((item, ours), theirs) in items.iter().zip(ours).zip(theirs) {
            let id = &item.guard.task.id;
            let (Ok(ours), Ok(theirs)) = agreed(ours, theirs) else { continue };
            match (ours, theirs) {
                (
                    RenewVerdict::Lost(LostReason::Taken(ours)),
                    RenewVerdict::Lost(LostReason::Taken(theirs)),
                ) => self.fences.meet(id, ours, theirs),
                (ours, theirs) => assert_eq!(ours, theirs, "{item:?}"),
            }
        }
    }

    fn translated(&self, guard: &Guard) -> Guard {
        Guard::new(guard.task.clone(), self.fences.partner(&guard.task.id, guard.fence))
    }

    pub async fn commit(&mut self, items: Vec<CommitItem>) {
        let mut translated = items.clone();
        for item in &mut translated {
            item.guard = self.translated(&item.guard);
        }
        let ours = self.memory.commit(Commit::new(items.clone())).await;
        let theirs = self.sqlite().commit(Commit::new(translated)).await;
        let (Ok(ours), Ok(theirs)) = agreed(ours, theirs) else { return };
        assert_eq!(ours.len(), theirs.len());
        for ((item, ours), theirs) in items.iter().zip(ours).zip(theirs) {
            let (Ok(ours), Ok(theirs)) = agreed(ours, theirs) else { continue };
            self.committed(item, ours, theirs);
        }
    }

    fn committed(&mut self, item: &CommitItem, ours: CommitVerdict, theirs: CommitVerdict) {
        let id = &item.guard.task.id;
        match (ours, theirs) {
            (CommitVerdict::Applied(ours), CommitVerdict::Applied(theirs)) => {
                self.fences.meet(id, ours.fence, theirs.fence);
                let flags = |applied: &Applied| (applied.overdue, applied.late);
                assert_eq!(flags(&ours), flags(&theirs), "{item:?}");
                let ids = item.change.follow_ups.iter().map(|new| new.id.clone());
                self.enqueued(ids.zip(ours.follow_ups).collect(), theirs.follow_ups);
            }
            (
                CommitVerdict::Stale { fence: ours, state },
                CommitVerdict::Stale { fence: theirs, state: there },
            ) => {
                self.fences.meet(id, ours, theirs);
                assert_eq!(state, there, "{item:?}");
            }
            (ours, theirs) => assert_eq!(ours, theirs, "{item:?}"),
        }
    }

    pub async fn configure(&mut self, request: Configure) {
        let ours = self.memory.configure(request.clone()).await;
        let theirs = self.sqlite().configure(request).await;
        let (Ok(ours), Ok(theirs)) = agreed(ours, theirs) else { return };
        assert_eq!(ours, theirs);
    }

    pub async fn purge(&mut self) {
        let ours = self.memory.purge(Purge::new(QUEUE, 100)).await;
        let theirs = self.sqlite().purge(Purge::new(QUEUE, 100)).await;
        let (Ok(ours), Ok(theirs)) = agreed(ours, theirs) else { return };
        assert_eq!(ours, theirs);
    }

    /// Our picture of a task.
    pub async fn task(&self, id: &str) -> Option<StoredTask> {
        self.memory.task(&TaskRef::new(QUEUE, id)).await.expect("memory can be read")
    }

    /// Checks that nothing is left in the file that no task explains.
    pub async fn check_residue(&mut self) {
        let now = self.clock.now().as_millis();
        assert_eq!(residue(&mut self.raw, now).await, [""; 0]);
    }

    /// Compares everything that can be read.
    pub async fn compare(&mut self, ids: &[&str], filter: &Filter) {
        for id in ids {
            let request = Get::new(TaskRef::new(QUEUE, *id));
            let ours = self.memory.get(request.clone()).await.expect("memory can be read");
            let theirs = self.sqlite().get(request).await.expect("sqlite can be read");
            let theirs = match (&ours, theirs) {
                (Found::Task(ours), Found::Task(theirs)) => {
                    Found::Task(Box::new(self.fences.translated(ours, *theirs)))
                }
                (Found::Left(ours), Found::Left(theirs)) => {
                    Found::Left(self.fences.translated_left(id, ours, theirs))
                }
                (_, theirs) => theirs,
            };
            assert_eq!(ours, theirs, "get of {id}");
        }
        let ours = self.memory.counts(Count::new(QUEUE)).await.expect("memory can be read");
        let mut theirs = self.sqlite().counts(Count::new(QUEUE)).await.expect("sqlite can be read");
        // Memory meets a full key at each claim, SQLite only when it sets a task aside.
        let blocked = (ours.events.blocked_by_limit, theirs.events.blocked_by_limit);
        assert!(blocked.1 <= blocked.0 && (blocked.1 > 0) == (blocked.0 > 0), "{blocked:?}");
        theirs.events.blocked_by_limit = blocked.0;
        assert_eq!(ours, theirs);

        let list = List::new(QUEUE, filter.clone(), 3);
        let (ours, theirs) = (pages(&self.memory, &list).await, pages(self.sqlite(), &list).await);
        assert_eq!(ours, theirs, "{filter:?}");
        let ours = self.memory.queues(Queues::new(10)).await.expect("memory can be read");
        let theirs = self.sqlite().queues(Queues::new(10)).await.expect("sqlite can be read");
        assert_eq!(ours, theirs);
    }
}

/// The ids of a whole list.
async fn pages(store: &impl Backend, list: &List) -> Vec<String> {
    let (mut list, mut ids) = (list.clone(), Vec::new());
    loop {
        let page = store.list(list.clone()).await.expect("a page can be read");
        assert!(page.tasks.len() <= list.max);
        ids.extend(page.tasks.into_iter().map(|task| task.task_ref.id));
        match page.next {
            Some(next) => list = list.after(next),
            None => return ids,
        }
    }
}

/// Both answers, once they are seen to be of one kind.
fn agreed<T: std::fmt::Debug>(
    ours: Result<T, Error>,
    theirs: Result<T, Error>,
) -> (Result<T, Error>, Result<T, Error>) {
    let kind = |result: &Result<T, Error>| result.as_ref().err().map(Error::kind);
    assert_eq!(kind(&ours), kind(&theirs), "{ours:?} beside {theirs:?}");
    (ours, theirs)
}
