//! A handler whose context has a state that its worker was not given.

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Context, Failure, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

struct App {
    greeting: String,
}

async fn hello(task: Hello, cx: Context<App>) -> Result<(), Failure> {
    println!("{}, {}", cx.state().greeting, task.name);
    Ok(())
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(hello)
}

fn main() {}
