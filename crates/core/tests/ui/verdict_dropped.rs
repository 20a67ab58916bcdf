//! A commit whose verdict nobody looks at: Stale would be taken for success.

#![deny(unused_must_use)]

use leasehold_core::{Backend, BackendExt, CommitItem, Error};

async fn end(store: &dyn Backend, decision: CommitItem) -> Result<(), Error> {
    store.commit_one(decision).await?;
    Ok(())
}

fn main() {}
