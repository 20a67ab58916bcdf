//! An enqueue of something that is no task.

use leasehold_core::{Client, Error};

async fn enqueue(client: &Client) -> Result<(), Error> {
    client.enqueue("hello".to_owned()).await?;
    Ok(())
}

fn main() {}
