//! The right form of everything that is wrong in the folder above.

use std::time::Duration;

use leasehold_core::{Client, Delivery, Draft, Error};
use leasehold_macros::Task;
use leasehold_worker::{Context, Done, Failure, FailureExt, Worker};

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "hello", delivery = at_least_once)]
struct Hello {
    name: String,
}

async fn hello(task: Hello, cx: Context) -> Result<(), Failure> {
    println!("hello, {}: attempt {}", task.name, cx.attempt());
    Ok(())
}

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "count", delivery = not_after_loss, accept_loss)]
struct Count {
    text: String,
}

#[derive(serde::Serialize)]
struct Counted {
    bytes: usize,
}

async fn count(task: Count, _: Context) -> Result<Counted, Failure> {
    Ok(Counted { bytes: task.text.len() })
}

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[task(crate = leasehold_core, kind = "call.off", delivery = at_most_once, accept_loss)]
struct CallOff;

async fn call_off(_: CallOff, _: Context) -> Result<Done, Failure> {
    Ok(Done::cancel("nobody wants it"))
}

/// A task without the derive.
#[derive(serde::Serialize, serde::Deserialize)]
struct ByHand {
    path: String,
}

impl leasehold_core::Task for ByHand {
    const KIND: &'static str = "by.hand";
    const DELIVERY: Delivery = Delivery::at_least_once();
}

/// An error of another type becomes a [`Failure`] by `?`.
async fn by_hand(task: ByHand, _: Context) -> Result<usize, Failure> {
    let text = std::fs::read_to_string(task.path).fatal()?;
    Ok(text.parse()?)
}

#[derive(serde::Serialize, serde::Deserialize, Task)]
#[serde(bound = "")]
#[task(crate = leasehold_core, kind = "batch", delivery = at_least_once)]
struct Batch<T: serde::Serialize + serde::de::DeserializeOwned + Send + 'static> {
    items: Vec<T>,
}

async fn batch<T>(task: Batch<T>, cx: Context) -> Result<(), Failure>
where
    T: serde::Serialize + serde::de::DeserializeOwned + Send + 'static,
{
    cx.checkpoint(&task.items.len()).await
}

macro_rules! tasks {
    ($($name:ident $kind:literal)+) => {$(
        #[derive(serde::Serialize, serde::Deserialize, Task)]
        #[task(crate = leasehold_core, kind = $kind, delivery = at_least_once)]
        struct $name;
    )+};
}

tasks! { Block "block" BlockOfAny "block.any" Closure "closure" ClosureOfAny "closure.any" }
tasks! { Greet "greet" }

/// A state.
pub struct App {
    greeting: String,
}

async fn greet(_: Greet, cx: Context<App>) -> Result<(), Failure> {
    println!("{}, attempt {}", cx.state().greeting, cx.attempt());
    Ok(())
}

/// A worker with a handler of each form; none of them names a type that the compiler can infer.
pub fn worker(client: &Client) -> Worker<App> {
    let suffix = "!".to_owned();
    Worker::new(client)
        .handler(hello)
        .handler(count)
        .handler(call_off)
        .handler(by_hand)
        .handler(batch::<u8>)
        .handler(|_: Block, cx: Context| async move {
            cx.checkpoint("seen").await?;
            Ok(())
        })
        .handler(move |_: BlockOfAny, _| {
            let suffix = suffix.clone();
            async move { Ok(suffix.len()) }
        })
        .handler(async |_: Closure, cx: Context| {
            cx.follow_up(Draft::new(&Hello { name: "again".to_owned() }).priority(6))?;
            std::fs::exists("hello.txt")?;
            Ok(Done::success())
        })
        .handler(async |_: ClosureOfAny, _| Ok(()))
        .state(App { greeting: "good morning".to_owned() })
        .handler(greet)
}

/// One task for each of its handlers.
pub async fn enqueue(client: &Client) -> Result<(), Error> {
    client.enqueue(Hello { name: "world".to_owned() }).await?;
    client.enqueue(Count { text: "four".to_owned() }).delay(Duration::ZERO).await?;
    client.enqueue(CallOff).await?;
    client.enqueue(ByHand { path: "there is no such file".to_owned() }).await?;
    client.enqueue(Batch { items: vec![1_u8, 2] }).await?;
    client.enqueue(Draft::new(&Block)).await?;
    client.enqueue_many([BlockOfAny]).await?;
    client.enqueue(Closure).await?;
    client.enqueue(ClosureOfAny).await?;
    client.enqueue(Greet).await?;
    Ok(())
}
