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

/// A store whose every call goes through the model.
pub struct Evil {
    pub capabilities: Capabilities,
    clock: Clock,
    sin: Arc<dyn Sin>,
    store: Mutex<Store>,
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
        Self { capabilities, clock, sin, store: Mutex::default() }
    }

    pub fn locked(&self) -> (MutexGuard<'_, Store>, Timestamp) {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        (store, self.sin.now(self.clock.now()))
    }

    /// One step on one queue.
    fn step(&self, queue: &str, mut op: Op) -> Result<Reply, Error> {
        let (mut store, now) = self.locked();
        let queue = self.sin.queue(queue);
        let makes = matches!(&op, Op::Enqueue(_) | Op::Configure(_));
        if !makes && !store.queues.contains_key(&queue) {
            return Ok(of_nothing(&op));
        }
        let new = || Model::new(queue.clone(), self.capabilities.clone(), now);
        let mut model = store.queues.get(&queue).cloned().unwrap_or_else(new);
        model.now = now;
        // The source is shared: what another queue has drawn is drawn. No task has this id.
        model.fences.insert(String::new(), Fence::new(store.fence));
        self.sin.before(&mut model, &mut op);
        let (mut next, mut reply) = predict_by(self.sin.rules(), &model, &op);
        self.sin.after(&model, &mut next, &op, &mut reply);
        store.fence = next.fence_max().value();
        if !matches!(reply, Reply::Refused(_)) || store.queues.contains_key(&queue) {
            store.queues.insert(queue, next);
        }
        Ok(reply)
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
        self.capabilities.clone()
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        if request.tasks.is_empty() {
            return Ok(Vec::new());
        }
        expect!(self.step(&request.queue, Op::Enqueue(request.tasks))?, Enqueued)
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        expect!(self.step(&request.queue.clone(), Op::Claim(request))?, Claimed)
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        let items = request.items.into_iter().map(|item| {
            item.check(&self.capabilities.bounds)?;
            let queue = item.guard.task.queue.clone();
            expect!(self.step(&queue, Op::Renew(item))?, Renewed)
        });
        Ok(items.collect())
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        let items = request.items.into_iter().map(|item| {
            item.check(&self.capabilities)?;
            let queue = item.guard.task.queue.clone();
            expect!(self.step(&queue, Op::Commit(item))?, Committed)
        });
        Ok(items.collect())
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        expect!(self.step(&request.task.queue, Op::Get(request.task.id))?, Found)
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
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
        Ok(Page::new(found.into_iter().map(|kept| kept.task.clone()).collect(), next))
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        expect!(self.step(&request.queue, Op::Count)?, Counted)
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        let (store, _) = self.locked();
        let after = request.after.as_ref().map(Cursor::as_str);
        let rest = store
            .queues
            .iter()
            .filter(|(name, _)| after.is_none_or(|after| *name.as_str() > *after));
        let mut page: Vec<_> =
            rest.map(|(name, model)| QueueInfo::new(name, model.settings.clone())).collect();
        let more = page.len() > request.max;
        page.truncate(request.max);
        let last = page.last().filter(|_| more);
        let next = last.map(|info| Cursor::new(info.name.clone()));
        Ok(QueuePage::new(page, next))
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        expect!(self.step(&request.queue.clone(), Op::Configure(request))?, Configured)
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        self.sin.admit(admit(&self.capabilities, &request))?;
        let tasks = expect!(self.step(&request.queue, Op::Purge(request.max))?, Purged)?;
        Ok(Purged::new(tasks, tasks == request.max))
    }

    async fn wait(&self, _queue: &str, _max: Duration) -> Wake {
        Wake::NoHint
    }
}
