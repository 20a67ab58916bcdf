//! The whole of it: a task, its handler, a client that enqueues, a worker that runs.
//! Another store is another string, such as `sqlite:hello.db`.

use leasehold::{Client, Context, Failure, Task, Worker, connect};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

async fn hello(task: Hello, cx: Context) -> Result<(), Failure> {
    println!("hello, {}: attempt {}", task.name, cx.attempt());
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), leasehold::Error> {
    let url = std::env::args().nth(1).unwrap_or("memory:".to_owned());
    let client = Client::new(connect(&url).await?);
    client.enqueue(Hello { name: "world".to_owned() }).await?;
    let report = Worker::new(&client).handler(hello).drain().await?;
    println!("{} of {} succeeded", report.tally.succeeded, report.tally.claimed);
    Ok(())
}
