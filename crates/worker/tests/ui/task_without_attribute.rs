//! A derive without its attribute.

extern crate leasehold_core as leasehold;

use leasehold_core::{Client, Error};
use leasehold_macros::Task;

#[derive(serde::Serialize, serde::Deserialize, Task)]
struct Hello {
    name: String,
}

async fn enqueue(client: &Client) -> Result<(), Error> {
    client.enqueue(Hello { name: "world".to_owned() }).await?;
    Ok(())
}

fn main() {}
