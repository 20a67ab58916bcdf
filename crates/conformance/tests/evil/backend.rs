//! [`Evil`]: the suite's own model behind the trait [`Backend`], by rules of which one may be
//! wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold_conformance::async_trait;
use leasehold_conformance::model::{Model, Op, Reply, predict_by};
use leasehold_core::request::admit;
use leasehold_core::{
    Backend, Capabilities, Claim, Claimed, Clock, Commit, CommitVerdict, Configure, Count, Counts,
    Cursor, Durability, Enqueue, EnqueueVerdict, Error, ErrorKind, Events, Failover, Features,
    Fence, Found, Get, List, Page, Purge, Purged, QueueInfo, QueuePage, QueueSettings, Queues,
    Renew, RenewVerdict, Timestamp, Wake,
};

use crate::sin::Sin;

/// One handle of a store whose every call goes through the model.
#[derive(Clone)]
pub struct Evil {
    capabilities: Capabilities,
    clock: Clock,
    sin: Arc<dyn Sin>,
    store: Arc<Mutex<Store>>,
    by: usize,
}

/// What it holds.
#[derive(Default)]
pub struct Store {
    pub queues: BTreeMap<String, Model>,
    /// One source of fences for all queues, as most stores have it.
    pub fence: u64,
}

impl Evil {
    pub fn new(clock: Clock, features: Features, sin: Arc<dyn Sin>) -> Self {
        let durability = Durability::new(false, false, Failover::Single);
        let capabilities = Capabilities::new("evil", features, durability);
        Self { capabilities, clock, sin, store: Arc::default(), by: 0 }
    }

    /// The handle with this number on the same store.
    pub fn handle(&self, by: usize) -> Self {
        Self { by, ..self.clone() }
    }

    pub fn locked(&self) -> (MutexGuard<'_, Store>, Timestamp) {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        (store, self.sin.now(self.clock.now()))
    }

    /// One step on one queue, or the two that a torn store makes of it.
    async fn step(&self, queue: &str, op: Op) -> Result<Reply, Error> {
        let queue = self.sin.queue(queue);
        if self.tears(&queue, &op) {
            tokio::task::yield_now().await;
        }
        Ok(self.whole(&queue, op))
    }

    fn tears(&self, queue: &str, op: &Op) -> bool {
        let (mut store, now) = self.locked();
        let store = &mut *store;
        let Some(model) = store.queues.get_mut(queue) else { return false };
        model.now = now;
        self.sin.torn(model, op)
    }

    fn whole(&self, queue: &str, mut op: Op) -> Reply {
        let (mut store, now) = self.locked();
        let makes = matches!(&op, Op::Enqueue(_) | Op::Configure(_));
        if !makes && !store.queues.contains_key(queue) {
            return of_nothing(&op);
        }
        let is_new = !store.queues.contains_key(queue);
        let new = || Model::new(queue, self.capabilities.clone(), now);
        let mut model = store.queues.remove(queue).unwrap_or_else(new);
        model.now = now;
        // The source is shared: what another queue has drawn is drawn. No task has this id.
        model.fences.insert(String::new(), Fence::new(store.fence));
        self.sin.before(self.by, &mut model, &mut op);
        let (mut next, mut reply) = predict_by(self.sin.rules(), &model, &op);
        // A refused call makes no queue.
        let refused = matches!(reply, Reply::Refused(_));
        self.sin.after(&model, &mut next, &op, &mut reply);
        store.fence = next.fence_max().value();
        if !refused || !is_new {
            store.queues.insert(queue.to_owned(), next);
        }
        reply
    }
}

/// What is answered about a queue that never was.
fn of_nothing(op: &Op) -> Reply {
    use leasehold_core::LostReason::Gone;
    match op {
        Op::Claim(_) => Reply::Claimed(Claimed::default()),
        Op::Renew(_) => Reply::Renewed(RenewVerdict::Lost(Gone)),
        Op::Commit(_) => Reply::Committed(CommitVerdict::Gone),
        Op::Get(_) => Reply::Found(Found::Nothing),
        Op::Count => Reply::Counted(Counts::new(Events::default())),
        Op::Purge(_) => Reply::Purged(0),
        _ => Reply::Shifted,
    }
}

impl fmt::Debug for Evil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evil").finish_non_exhaustive()
    }
}

/// Takes the part of a reply that goes with its op.
macro_rules! expect {
    ($reply:expr, $part:ident) => {
        match $reply {
            Reply::$part(part) => Ok(part),
            Reply::Refused(kind) => Err(Error::new(kind, "the model refuses it")),
            other => Err(Error::new(ErrorKind::Internal, format!("no such reply: {other:?}"))),
        }
    };
}

#[async_trait]
impl Backend for Evil {
    fn capabilities(&self) -> Capabilities {
        let mut told = self.capabilities.clone();
        self.sin.capabilities(&mut told);
        told
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        self.sin.admit("enqueue", admit(&self.capabilities, &request))?;
        if request.tasks.is_empty() {
            return Ok(Vec::new());
        }
        expect!(self.step(&request.queue, Op::Enqueue(request.tasks)).await?, Enqueued)
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        self.sin.admit("claim", admit(&self.capabilities, &request))?;
        expect!(self.step(&request.queue.clone(), Op::Claim(request)).await?, Claimed)
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        self.sin.admit("renew", admit(&self.capabilities, &request))?;
        let mut answers = Vec::new();
        for item in request.items {
            let queue = item.guard.task.queue.clone();
            answers.push(match item.check(&self.capabilities.bounds) {
                Ok(()) => self.step(&queue, Op::Renew(item)).await,
                Err(error) => Err(error),
            });
        }
        let answers = self.sin.batch(answers)?.into_iter();
        Ok(answers.map(|answer| expect!(answer?, Renewed)).collect())
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        self.sin.admit("commit", admit(&self.capabilities, &request))?;
        let mut answers = Vec::new();
        for item in request.items {
            let queue = item.guard.task.queue.clone();
            answers.push(match item.check(&self.capabilities) {
                Ok(()) => self.step(&queue, Op::Commit(item)).await,
                Err(error) => Err(error),
            });
        }
        let answers = self.sin.batch(answers)?.into_iter();
        Ok(answers.map(|answer| expect!(answer?, Committed)).collect())
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        self.sin.admit("get", admit(&self.capabilities, &request))?;
        expect!(self.step(&request.task.queue, Op::Get(request.task.id)).await?, Found)
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        self.sin.admit("list", admit(&self.capabilities, &request))?;
        let after: u64 = match &request.after {
            None => 0,
            Some(cursor) => {
                let bad = |_| Error::invalid("a cursor that this store did not make");
                cursor.as_str().parse().map_err(bad)?
            }
        };
        let (store, now) = self.locked();
        let Some(model) = store.queues.get(&self.sin.queue(&request.queue)) else {
            return Ok(Page::default());
        };
        let tasks = model.tasks.values().filter(|kept| kept.seq > after);
        let mut found: Vec<_> =
            tasks.filter(|kept| request.filter.matches(&kept.task, now)).collect();
        found.sort_unstable_by_key(|kept| kept.seq);
        let more = found.len() > request.max;
        found.truncate(request.max);
        let last = found.last().filter(|_| more);
        let next = last.map(|kept| Cursor::new(kept.seq.to_string()));
        let mut page = Page::new(found.into_iter().map(|kept| kept.task.clone()).collect(), next);
        self.sin.listed(model, &request, now, &mut page);
        Ok(page)
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        self.sin.admit("counts", admit(&self.capabilities, &request))?;
        expect!(self.step(&request.queue, Op::Count).await?, Counted)
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        self.sin.admit("queues", admit(&self.capabilities, &request))?;
        let (store, _) = self.locked();
        let after = request.after.as_ref().map(Cursor::as_str);
        let rest = store
            .queues
            .iter()
            .filter(|(name, _)| after.is_none_or(|after| *name.as_str() > *after));
        let mut page: Vec<_> =
            rest.map(|(name, model)| QueueInfo::new(name, model.settings.clone())).collect();
        self.sin.queues(&mut page);
        let more = page.len() > request.max;
        page.truncate(request.max);
        let last = page.last().filter(|_| more);
        let next = last.map(|info| Cursor::new(info.name.clone()));
        Ok(QueuePage::new(page, next))
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        self.sin.admit("configure", admit(&self.capabilities, &request))?;
        expect!(self.step(&request.queue.clone(), Op::Configure(request)).await?, Configured)
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        self.sin.admit("purge", admit(&self.capabilities, &request))?;
        let tasks = expect!(self.step(&request.queue, Op::Purge(request.max)).await?, Purged)?;
        let mut purged = Purged::new(tasks, tasks == request.max);
        let (store, _) = self.locked();
        if let Some(model) = store.queues.get(&self.sin.queue(&request.queue)) {
            self.sin.purged(model, request.max, &mut purged);
        }
        Ok(purged)
    }

    async fn wait(&self, _queue: &str, _max: Duration) -> Wake {
        Wake::NoHint
    }
}
