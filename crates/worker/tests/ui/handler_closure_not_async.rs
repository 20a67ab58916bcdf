//! A closure that is no `async` one.

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Context, Failure, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(|task: Hello, _: Context| -> Result<(), Failure> {
        println!("hello, {}", task.name);
        Ok(())
    })
}

fn main() {}
