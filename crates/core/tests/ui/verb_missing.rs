//! A backend without one of the verbs: the compiler names it.

use async_trait::async_trait;
use leasehold_core::{
    Backend, Capabilities, Claim, Claimed, Configure, Count, Counts, Enqueue, EnqueueVerdict,
    Error, Found, Get, List, Page, Purge, Purged, QueuePage, QueueSettings, Queues, Renew,
    RenewVerdict,
};

#[derive(Debug)]
struct MyStore;

#[async_trait]
impl Backend for MyStore {
    fn capabilities(&self) -> Capabilities {
        unreachable!()
    }

    async fn enqueue(&self, _: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        unreachable!()
    }

    async fn claim(&self, _: Claim) -> Result<Claimed, Error> {
        unreachable!()
    }

    async fn renew(&self, _: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        unreachable!()
    }

    async fn get(&self, _: Get) -> Result<Found, Error> {
        unreachable!()
    }

    async fn list(&self, _: List) -> Result<Page, Error> {
        unreachable!()
    }

    async fn counts(&self, _: Count) -> Result<Counts, Error> {
        unreachable!()
    }

    async fn queues(&self, _: Queues) -> Result<QueuePage, Error> {
        unreachable!()
    }

    async fn configure(&self, _: Configure) -> Result<QueueSettings, Error> {
        unreachable!()
    }

    async fn purge(&self, _: Purge) -> Result<Purged, Error> {
        unreachable!()
    }
}

fn main() {}
