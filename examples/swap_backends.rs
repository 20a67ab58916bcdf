//! One program on any store: `LEASEHOLD_URL` picks it, and nothing else changes.
//!
//! Orders are charged at two banks, of which each takes two charges at a time. A bank that is
//! down is tried again, an order that comes twice is charged once, and each charge brings a letter.

use std::time::Duration;

use leasehold::{
    Client, Configure, Context, End, Failure, IntoDraft, Receipt, Task, Worker, connect, redacted,
};

const QUEUE: &str = "orders";

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(kind = "charge", queue = "orders", delivery = at_least_once)]
struct Charge {
    order: u32,
}

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(kind = "letter", queue = "orders", delivery = at_least_once)]
struct Letter {
    order: u32,
}

/// Every tenth order meets a bank that is down at first.
async fn charge(task: Charge, cx: Context) -> Result<u32, Failure> {
    if task.order.is_multiple_of(10) && cx.attempt() == 1 {
        return Err(Failure::new("the bank is down").retry_after(Duration::from_millis(200)));
    }
    cx.follow_up(Letter { order: task.order })?;
    Ok(task.order * 100)
}

async fn letter(_: Letter, _: Context) -> Result<(), Failure> {
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), leasehold::Error> {
    let url = std::env::var("LEASEHOLD_URL").unwrap_or("memory:".to_owned());
    let client = Client::new(connect(&url).await?);
    client.store().configure(Configure::new(QUEUE).with_limit("bank", 2)).await?;

    // Each order twice, as when a customer is impatient.
    let orders = (1..=60).flat_map(|order| [order, order]).map(|order| {
        let charge = Charge { order }.into_draft().keep_success(Duration::from_secs(60));
        charge.unique(format!("order {order}")).limit("bank", format!("bank {}", order % 2))
    });
    let receipts = client.enqueue_many(orders).await?;
    let stored: Vec<_> =
        receipts.iter().filter(|r| matches!(r, Receipt::Enqueued(_))).map(Receipt::task).collect();

    let report = Worker::new(&client).handler(charge).handler(letter).drain().await?;

    let mut charged = 0;
    for task in &stored {
        if let End::Finished(task) = client.wait_for_end(task, Duration::ZERO).await? {
            let result = task.result.as_ref().map(|result| result.as_bytes());
            charged +=
                result.and_then(|json| serde_json::from_slice::<u32>(json).ok()).unwrap_or(0);
        }
    }
    println!("on {}", redacted(&url));
    println!(
        "{} orders, {} came twice; {} charged, {} letters, {} tried again, {} dead",
        stored.len(),
        receipts.len() - stored.len(),
        charged,
        report.tally.succeeded - stored.len() as u64,
        report.tally.failed,
        report.tally.buried,
    );
    Ok(())
}
