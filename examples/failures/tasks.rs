//! The tasks, each with its own way to go wrong, and their handlers.

use std::process::abort;
use std::time::Duration;

use leasehold::{Backoff, Context, Draft, Failure, IntoDraft, RetryPolicy, Task, Worker};
use serde::{Deserialize, Serialize};

/// Where all of them wait.
pub const QUEUE: &str = FailsTwice::QUEUE;

/// The task that an operator repairs.
pub const TO_REPAIR: &str = "wrong-address";

/// So that the table at the end can show them; by default a success leaves at once.
const KEEP_SUCCESS: Duration = Duration::from_secs(60 * 60);

/// A task of the story.
pub struct Planted {
    pub id: &'static str,
    /// What one is about to see.
    pub title: &'static str,
    pub draft: Draft,
}

/// All of them, in the order of the story.
pub fn planted() -> Vec<Planted> {
    let one = |id, title, retries, draft: Draft| {
        // A real service waits longer: 5 s at first by default, twice as long each time.
        let backoff = Backoff::Constant { delay: Duration::from_millis(300) };
        let retry = RetryPolicy::at_most(retries).with_backoff(backoff);
        Planted { id, title, draft: draft.id(id).retry(retry).keep_success(KEEP_SUCCESS) }
    };
    vec![
        one(
            "fails-twice",
            "an error and a panic each spend a retry, and the third run succeeds",
            5,
            FailsTwice.into_draft(),
        ),
        one(
            "never-in-time",
            "each run takes longer than it may, until no retry is left",
            1,
            NeverInTime.into_draft(),
        ),
        one(
            "aborts-once",
            "its process dies, the lease lapses, and another worker goes on: that spends a rescue",
            5,
            AbortsOnce.into_draft(),
        ),
        one(
            "aborts-always",
            "it kills every worker that runs it, until no rescue is left",
            5,
            AbortsAlways.into_draft(),
        ),
        one(
            "must-not-repeat",
            "its process dies, and its type says that it never runs again after that",
            5,
            MustNotRepeat.into_draft(),
        ),
        one(
            TO_REPAIR,
            "its handler says that no retry can help, so none is tried",
            5,
            Mail { to: "ada".to_owned() }.into_draft(),
        ),
    ]
}

/// A worker that can run all of them.
pub fn handlers(worker: Worker) -> Worker {
    worker
        .handler(fails_twice)
        .handler(never_in_time)
        .handler(aborts_once)
        .handler(aborts_always)
        .handler(must_not_repeat)
        .handler(mail)
}

#[derive(Serialize, Deserialize, Task)]
#[task(kind = "fails-twice", queue = "failures", delivery = at_least_once)]
struct FailsTwice;

async fn fails_twice(_: FailsTwice, cx: Context) -> Result<(), Failure> {
    match cx.attempt() {
        1 => Err(Failure::new("the printer is out of paper")),
        2 => panic!("the printer is on fire"),
        _ => Ok(()),
    }
}

#[derive(Serialize, Deserialize, Task)]
#[task(kind = "never-in-time", queue = "failures", delivery = at_least_once, timeout = "300ms")]
struct NeverInTime;

async fn never_in_time(_: NeverInTime, _: Context) -> Result<(), Failure> {
    // An answer that never comes. The worker drops this future when the time is over.
    std::future::pending().await
}

#[derive(Serialize, Deserialize, Task)]
#[task(kind = "aborts-once", queue = "failures", delivery = at_least_once)]
struct AbortsOnce;

async fn aborts_once(_: AbortsOnce, cx: Context) -> Result<(), Failure> {
    if cx.attempt() == 1 {
        abort();
    }
    Ok(())
}

#[derive(Serialize, Deserialize, Task)]
#[task(kind = "aborts-always", queue = "failures", delivery = at_least_once, max_rescues = 2)]
struct AbortsAlways;

async fn aborts_always(_: AbortsAlways, _: Context) -> Result<(), Failure> {
    abort()
}

/// A payment, say: twice is worse than never.
#[derive(Serialize, Deserialize, Task)]
#[task(kind = "must-not-repeat", queue = "failures", delivery = not_after_loss)]
struct MustNotRepeat;

async fn must_not_repeat(_: MustNotRepeat, _: Context) -> Result<(), Failure> {
    abort()
}

#[derive(Serialize, Deserialize, Task)]
#[task(kind = "mail", queue = "failures", delivery = at_least_once)]
pub struct Mail {
    pub to: String,
}

async fn mail(task: Mail, _: Context) -> Result<(), Failure> {
    if !task.to.contains('@') {
        return Err(Failure::new(format!("{:?} is no address", task.to)).fatal());
    }
    Ok(())
}
