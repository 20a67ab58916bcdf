//! A handler that holds what must not leave its thread across an await.

use std::rc::Rc;

use leasehold_core::Client;
use leasehold_macros::Task;
use leasehold_worker::{Context, Failure, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

async fn hello(task: Hello, cx: Context) -> Result<(), Failure> {
    let name = Rc::new(task.name);
    cx.checkpoint("greeted").await?;
    println!("hello, {name}");
    Ok(())
}

fn worker(client: &Client) -> Worker {
    Worker::new(client).handler(hello)
}

fn main() {}
