//! A task that does not say what follows a lost worker.

use leasehold_core::{Client, Error};
use leasehold_macros::Task;

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello")]
struct Hello {
    name: String,
}

async fn enqueue(client: &Client) -> Result<(), Error> {
    client.enqueue(Hello { name: "world".to_owned() }).await?;
    Ok(())
}

fn main() {}
