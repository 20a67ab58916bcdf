//! A handler whose result serde cannot write.

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Context, Failure, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

struct Greeting {
    words: String,
}

async fn hello(task: Hello, _: Context) -> Result<Greeting, Failure> {
    Ok(Greeting { words: format!("hello, {}", task.name) })
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(hello)
}

fn main() {}
