//! A delivery in quotes.

use leasehold_core::{Client, Error};
use leasehold_macros::Task;

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = "at_least_once")]
struct Hello {
    name: String,
}

async fn enqueue(client: &Client) -> Result<(), Error> {
    client.enqueue(Hello { name: "world".to_owned() }).await?;
    Ok(())
}

fn main() {}
