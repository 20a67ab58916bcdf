//! The operator's process: one task after the other, so that none is in the way of another
//! one that kills its process.

use leasehold::{Client, Count, Receipt};

use crate::tasks::{self, Planted, QUEUE, TO_REPAIR};
use crate::trouble::Trouble;
use crate::watch::Watch;
use crate::workers::Workers;
use crate::{dead, report, say};

/// Tells the whole story on the store of this URL.
pub async fn tell(url: &str) -> Result<(), Trouble> {
    let store = leasehold::connect(url).await?;
    if store.capabilities().name == "memory" {
        let what = "a store in memory belongs to one process: name a SQLite file";
        return Err(Trouble::Asked(what.to_owned()));
    }
    if store.counts(Count::new(QUEUE)).await?.total() > 0 {
        return Err(used(url));
    }
    say(format_args!("The store is {url}"));
    let client = Client::new(store);
    let store = client.store().as_ref();
    let mut workers = Workers::start(url)?;
    for Planted { id, title, draft } in tasks::planted() {
        say(format_args!("\n{id}: {title}"));
        let receipt = client.enqueue(draft).await?;
        if let Receipt::Duplicate { .. } = receipt {
            return Err(used(url));
        }
        let mut watch = Watch::new(receipt.task().clone());
        watch.until_it_ends(store, &mut workers).await?;
        if id == TO_REPAIR {
            say("\nWhat is dead stays, whole, until somebody acts:");
            dead::list(store).await?;
            say(format_args!("\n{id}: an operator mends the cause and sends it back"));
            dead::repair(store, receipt.task()).await?;
            watch.until_it_ends(store, &mut workers).await?;
        }
    }
    workers.stop().await?;
    say("");
    report::report(store).await?;
    Ok(())
}

fn used(url: &str) -> Trouble {
    Trouble::Asked(format!("{url} has the tasks of an earlier start: name another store"))
}
