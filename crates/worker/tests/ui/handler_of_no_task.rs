//! A handler of a type that is no task.

use leasehold_core::Client;
use leasehold_worker::{Context, Failure, Worker};

async fn hello(name: String, cx: Context) -> Result<(), Failure> {
    println!("hello, {name}: attempt {}", cx.attempt());
    Ok(())
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(hello)
}

fn main() {}
