//! A closure that gives away what it holds, so that it could run only once.

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Context, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

fn worker(client: &Client) -> Worker {
    let greeting = "good morning".to_owned();
    Worker::new(client).handler(move |task: Hello, _: Context| async move {
        println!("{greeting}, {}", task.name);
        Ok(())
    })
}

fn main() {}
