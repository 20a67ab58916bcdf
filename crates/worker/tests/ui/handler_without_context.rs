//! A handler that leaves out the context.

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Failure, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

async fn hello(task: Hello) -> Result<(), Failure> {
    println!("hello, {}", task.name);
    Ok(())
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(hello)
}

fn main() {}
