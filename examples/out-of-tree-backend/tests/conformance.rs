//! The public suite on the redb store: each case in a file of its own.

mod faults;

use std::sync::Arc;

use leasehold_conformance::async_trait;
use leasehold_conformance::leasehold_core::{Backend, Clock, ManualClock};
use leasehold_conformance::{Case, Faults, Harness, HarnessError, Link, Orders, Profile, World};
use leasehold_redb::RedbBackend;
use redb::Database;

struct Redb;

#[async_trait]
impl Harness for Redb {
    fn profile(&self) -> Profile {
        Profile::new("redb", RedbBackend::FEATURES).with_orders(Orders::Some(20))
    }

    async fn world(&self, case: &Case) -> Result<Box<dyn World>, HarnessError> {
        let (hand, folder) = (ManualClock::default(), tempfile::tempdir()?);
        let clock = case.needs.clock.of(&hand);
        let db = Arc::new(Database::create(folder.path().join("tasks.redb"))?);
        Ok(Box::new(RedbWorld { db, hand, clock, _folder: folder }))
    }
}

struct RedbWorld {
    db: Arc<Database>,
    hand: ManualClock,
    clock: Clock,
    _folder: tempfile::TempDir,
}

#[async_trait]
impl World for RedbWorld {
    async fn open(&self, link: Link) -> Result<Arc<dyn Backend>, HarnessError> {
        let Link::Direct = link else { return Err(format!("no {link:?} link to a file").into()) };
        Ok(Arc::new(RedbBackend::new(self.db.clone(), self.clock.clone())?))
    }

    async fn shift(&self, by_ms: i64) -> Result<(), HarnessError> {
        self.hand.shift(by_ms);
        Ok(())
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }

    async fn residue(&self) -> Result<Vec<String>, HarnessError> {
        faults::residue(&self.db)
    }
}

fn main() -> std::process::ExitCode {
    leasehold_conformance::main(Redb)
}
