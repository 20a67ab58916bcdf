//! A handler that is a type of its own and no function.

use leasehold_core::Client;
use leasehold_worker::Worker;

struct Greeter {
    greeting: String,
}

fn worker(client: &Client) -> Worker {
    let greeter = Greeter { greeting: "good morning".to_owned() };
    Worker::new(client).handler(greeter)
}

fn main() {}
