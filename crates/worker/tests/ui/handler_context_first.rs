//! A handler that takes the context before the task.

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Context, Failure, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

async fn hello(cx: Context, task: Hello) -> Result<(), Failure> {
    println!("hello, {}: attempt {}", task.name, cx.attempt());
    Ok(())
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(hello)
}

fn main() {}
