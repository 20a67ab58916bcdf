//! A handler that answers with an error of its own instead of a `Failure`.

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Context, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

async fn hello(task: Hello, _: Context) -> Result<(), std::io::Error> {
    std::fs::write("hello.txt", task.name)
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(hello)
}

fn main() {}
