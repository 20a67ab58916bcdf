//! A handler whose context leaves out the state of its worker.

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

async fn hello(task: Hello, cx: Context) -> Result<(), Failure> {
    println!("hello, {}: attempt {}", task.name, cx.attempt());
    Ok(())
}

fn worker(client: &Client) -> Worker<App> {
    let app = App { greeting: "good morning".to_owned() };
    Worker::new(client).state(app).handler(hello)
}

fn main() {}
