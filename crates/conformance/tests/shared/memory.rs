//! The memory backend's harness, with every hook.

use std::sync::Arc;

use async_trait::async_trait;
use leasehold_conformance::{
    Case, Faults, Harness, HarnessError, Lasting, Link, Orders, PlantedIndex, PlantedRecord,
    Profile, World,
};
use leasehold_core::{
    Backend, BackendExt, Features, LimitKey, ManualClock, MemoryBackend, Misplaced, TaskRef,
};

/// The memory backend with these features, and so many orders of each race.
pub struct Memory(pub Features, pub Orders);

#[async_trait]
impl Harness for Memory {
    fn profile(&self) -> Profile {
        Profile::new("memory", self.0).with_version(env!("CARGO_PKG_VERSION")).with_orders(self.1)
    }

    async fn world(&self, case: &Case) -> Result<Box<dyn World>, HarnessError> {
        let hand = ManualClock::default();
        let backend = MemoryBackend::on_clock(case.needs.clock.of(&hand));
        Ok(Box::new(MemoryWorld { backend: Arc::new(backend.with_features(self.0)), hand }))
    }
}

struct MemoryWorld {
    backend: Arc<MemoryBackend>,
    hand: ManualClock,
}

#[async_trait]
impl World for MemoryWorld {
    async fn open(&self, link: Link) -> Result<Arc<dyn Backend>, HarnessError> {
        match link {
            Link::Direct => Ok(self.backend.clone()),
            other => Err(format!("there is no {other:?} link to memory").into()),
        }
    }

    async fn shift(&self, by_ms: i64) -> Result<(), HarnessError> {
        self.hand.shift(by_ms);
        Ok(())
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }

    async fn dump(&self, task: &TaskRef) -> Option<String> {
        let found = self.backend.task(task).await;
        found.ok().flatten().map(|task| format!("{task:#?}"))
    }

    async fn residue(&self) -> Result<Vec<String>, HarnessError> {
        Ok(self.backend.residue())
    }
}

#[async_trait]
impl Faults for MemoryWorld {
    async fn plant(&self, task: &TaskRef, planted: PlantedRecord) -> Result<(), HarnessError> {
        let planted = match planted {
            PlantedRecord::Broken(raw) => leasehold_core::Planted::Broken(raw.into()),
            PlantedRecord::Newer => leasehold_core::Planted::Newer,
            other => return Err(format!("{other:?} cannot be planted").into()),
        };
        self.backend.plant(task, planted).then_some(()).ok_or_else(|| "no such task".into())
    }

    async fn plant_slot(&self, queue: &str, key: &LimitKey) -> Result<(), HarnessError> {
        self.backend.plant_slot(queue, key);
        Ok(())
    }

    async fn plant_index(
        &self,
        task: &TaskRef,
        planted: PlantedIndex,
    ) -> Result<Option<()>, HarnessError> {
        let planted = match planted {
            PlantedIndex::LapseMissing => Misplaced::LapseMissing,
            PlantedIndex::LapseSurplus => Misplaced::LapseSurplus,
            PlantedIndex::ReadyMissing => Misplaced::ReadyMissing,
            PlantedIndex::ReadySurplus => Misplaced::ReadySurplus,
            other => return Err(format!("{other:?} cannot be planted").into()),
        };
        self.backend
            .misplace(task, planted)
            .then_some(Some(()))
            .ok_or_else(|| "no such task".into())
    }

    async fn raise_fence(&self, _queue: &str, value: u64) -> Result<(), HarnessError> {
        self.backend.raise_fence(value);
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
