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
        todo!()
    }

    async fn enqueue(&self, _: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        todo!()
    }

    async fn claim(&self, _: Claim) -> Result<Claimed, Error> {
        todo!()
    }

    async fn renew(&self, _: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        todo!()
    }

    async fn get(&self, _: Get) -> Result<Found, Error> {
        todo!()
    }

    async fn list(&self, _: List) -> Result<Page, Error> {
        todo!()
    }

    async fn counts(&self, _: Count) -> Result<Counts, Error> {
        todo!()
    }

    async fn queues(&self, _: Queues) -> Result<QueuePage, Error> {
        todo!()
    }

    async fn configure(&self, _: Configure) -> Result<QueueSettings, Error> {
        todo!()
    }

    async fn purge(&self, _: Purge) -> Result<Purged, Error> {
        todo!()
    }
}

fn main() {}
