//! A worker as a process of its own, which a test steers and watches from outside.
//!
//! Its arguments are the store's URL, then `--NAME NUMBER` for any of [`Options`], and
//! `--effects FILE`. On stdin it takes lines `go ID`, for the handlers of `hold`. On stdout it
//! tells a line for each thing that happens, and every notice of the worker; they stand in
//! the order in which it happened.

mod handlers;
mod lines;
mod orders;

use std::fs::{File, OpenOptions};
use std::time::Duration;

use leasehold::{Client, Error, Health, Phase, Worker, connect};

use crate::handlers::App;
use crate::lines::{Notices, say};
use crate::orders::Orders;

/// How often the phase is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// How often an idle queue is asked: the tests enqueue from another process.
const POLL: Duration = Duration::from_millis(100);

/// The numbers that a test may choose.
struct Options {
    url: String,
    /// `--lease`, in ms.
    lease: Duration,
    /// `--grace`, in ms. Long, so that no test depends on it that does not set it.
    grace: Duration,
    /// `--concurrency`
    concurrency: usize,
    /// `--effects`: a file to which each handler adds a line as it begins.
    effects: Option<File>,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self {
            url: arguments.next().expect("the first argument is the store's URL"),
            lease: Duration::from_secs(30),
            grace: Duration::from_secs(600),
            concurrency: 1,
            effects: None,
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().expect("a value follows each name");
            let number = || value.parse().expect("the value is a number");
            match name.as_str() {
                "--lease" => options.lease = Duration::from_millis(number()),
                "--grace" => options.grace = Duration::from_millis(number()),
                "--concurrency" => options.concurrency = value.parse().expect("as above"),
                "--effects" => {
                    let file = OpenOptions::new().append(true).create(true).open(&value);
                    options.effects = Some(file.expect("the file can be written to"));
                }
                _ => panic!("unknown argument {name:?}"),
            }
        }
        options
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Error> {
    let Options { url, lease, grace, concurrency, effects } =
        Options::read(std::env::args().skip(1));
    let client = Client::new(connect(&url).await?);
    let worker = Worker::new(&client)
        .state(App { orders: Orders::listen(), effects })
        .handler(handlers::hold)
        .handler(handlers::work)
        .lease(lease)
        .grace(grace)
        .concurrency(concurrency)
        .poll(POLL)
        .observer(Notices);
    tokio::spawn(tell_phases(worker.health()));
    let report = worker.run().await?;
    let tally = report.tally;
    say(format_args!(
        "ended claimed={} succeeded={} released={}",
        tally.claimed, tally.succeeded, tally.released
    ));
    Ok(())
}

/// Says each phase once the worker is in it.
async fn tell_phases(health: Health) {
    let (mut said, mut pace) = (Phase::Idle, tokio::time::interval(LOOK));
    loop {
        pace.tick().await;
        let phase = health.report().phase;
        if phase != said {
            say(format_args!("phase {phase:?}"));
            said = phase;
        }
    }
}
