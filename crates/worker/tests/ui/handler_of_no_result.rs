//! A handler that returns nothing, as if it could not fail.

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Context, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

async fn hello(task: Hello, cx: Context) {
    println!("hello, {}: attempt {}", task.name, cx.attempt());
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(hello)
}

fn main() {}
