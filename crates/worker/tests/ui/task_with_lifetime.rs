//! A task that borrows.

use leasehold_core::{Client, Error};
use leasehold_macros::Task;

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello<'a> {
    name: &'a str,
}

async fn enqueue(client: &Client) -> Result<(), Error> {
    client.enqueue(Hello { name: "world" }).await?;
    Ok(())
}

fn main() {}
