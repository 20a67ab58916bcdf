//! The suite's harness for a store with one fault.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leasehold_conformance::{
    Case, Faults, Harness, HarnessError, Lasting, Link, Orders, PlantedIndex, PlantedRecord,
    Profile, World, async_trait,
};
use leasehold_core::{Backend, Features, Fence, LimitKey, ManualClock, State, StoredTask, TaskRef};

use crate::backend::Evil;
use crate::network::{Server, Wiring};
use crate::sin::Sin;
use crate::wired::Wired;

pub struct Exam {
    pub features: Features,
    pub sin: fn() -> Arc<dyn Sin>,
    pub wiring: Wiring,
}

#[async_trait]
impl Harness for Exam {
    fn profile(&self) -> Profile {
        Profile::new("evil", self.features).with_orders(Orders::Some(200))
    }

    async fn world(&self, case: &Case) -> Result<Box<dyn World>, HarnessError> {
        let hand = ManualClock::default();
        let clock = case.needs.clock.of(&hand);
        let store = Evil::new(clock, self.features, (self.sin)());
        let server = match self.wiring {
            Wiring::None => None,
            wiring => Some((Server::open().await?, wiring)),
        };
        Ok(Box::new(EvilWorld { store, hand, handles: AtomicUsize::new(0), server }))
    }
}

struct EvilWorld {
    store: Evil,
    hand: ManualClock,
    handles: AtomicUsize,
    server: Option<(Server, Wiring)>,
}

#[async_trait]
impl World for EvilWorld {
    async fn open(&self, link: Link) -> Result<Arc<dyn Backend>, HarnessError> {
        let by = self.handles.fetch_add(1, Ordering::Relaxed);
        match (link, &self.server) {
            (Link::Direct, _) => Ok(Arc::new(self.store.handle(by))),
            (Link::Through(address), Some((server, wiring))) => {
                let connection = server.connect(address, *wiring);
                Ok(Arc::new(Wired::new(self.store.handle(by), connection)))
            }
            (other, _) => Err(format!("there is no {other:?} link to memory").into()),
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(|(server, _)| server.address())
    }

    async fn shift(&self, by_ms: i64) -> Result<(), HarnessError> {
        self.hand.shift(by_ms);
        Ok(())
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }

    /// The model has no index, so that only slots can be left over.
    async fn residue(&self) -> Result<Vec<String>, HarnessError> {
        let (store, now) = self.store.locked();
        let mut left = Vec::new();
        for (name, model) in &store.queues {
            for ((id, fence), until) in model.slots.values().flatten() {
                let explains =
                    |task: &StoredTask| task.run == Some(*fence) || task.held_until >= Some(*until);
                if *until > now && !model.task(id).is_some_and(explains) {
                    left.push(format!("{name}: a slot of {id} at {fence} without a lease"));
                }
            }
            let leased = |task: &&StoredTask| matches!(task.state, State::Leased(_));
            let tasks = model.tasks.values().map(|kept| &kept.task);
            for task in tasks.filter(|task| leased(task) != task.until.is_some()) {
                left.push(format!("{}: leased without an end, or the other way", task.task_ref));
            }
        }
        Ok(left)
    }
}

#[async_trait]
impl Faults for EvilWorld {
    async fn plant(&self, task: &TaskRef, planted: PlantedRecord) -> Result<(), HarnessError> {
        let (mut store, _) = self.store.locked();
        let model = store.queues.get_mut(&task.queue).ok_or("no such queue")?;
        let kept = model.tasks.get_mut(&task.id).ok_or("no such task")?;
        match planted {
            PlantedRecord::Broken(raw) => kept.task.corrupt = Some(raw.into()),
            PlantedRecord::Newer => _ = model.newer.insert(task.id.clone()),
            other => return Err(format!("{other:?} cannot be planted").into()),
        }
        Ok(())
    }

    async fn plant_slot(&self, queue: &str, key: &LimitKey) -> Result<(), HarnessError> {
        let (mut store, now) = self.store.locked();
        let model = store.queues.get_mut(queue).ok_or("no such queue")?;
        let until = now.after(Duration::from_secs(24 * 60 * 60));
        let slots = model.slots.entry(key.clone()).or_default();
        slots.insert(("nobody".to_owned(), Fence::new(0)), until);
        Ok(())
    }

    /// The model searches, and has no index.
    async fn plant_index(
        &self,
        _task: &TaskRef,
        _planted: PlantedIndex,
    ) -> Result<Option<()>, HarnessError> {
        Ok(None)
    }

    async fn raise_fence(&self, _queue: &str, value: u64) -> Result<(), HarnessError> {
        let (mut store, _) = self.store.locked();
        store.fence = store.fence.max(value.saturating_sub(1));
        Ok(())
    }

    /// A call has its lock for itself and no await in it, so that nobody can come between.
    async fn hold(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        Ok(None)
    }

    async fn refuse(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        Ok(None)
    }
}
