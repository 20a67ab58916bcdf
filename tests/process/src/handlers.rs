//! What the worker does with its tasks.

use std::fs::File;
use std::future::pending;
use std::io::Write;
use std::time::Duration;

use leasehold::{Context, Failure};
use leasehold_process_tests::{Hold, WhenCancelled, Work};
use tokio::select;
use tokio::time::timeout;

use crate::lines::say;
use crate::orders::Orders;

/// What the handlers share.
pub struct App {
    pub orders: Orders,
    pub effects: Option<File>,
}

/// Ends when the test says so, or as the task says once it is cancelled.
pub async fn hold(task: Hold, cx: Context<App>) -> Result<u32, Failure> {
    affect(&cx)?;
    let id = cx.task().id.as_str();
    say(format_args!("started {id} attempt={} fence={}", cx.attempt(), cx.fence()));
    let mut end = End { id, reached: false };
    let done = select! {
        () = cx.state().orders.go(id) => Ok(std::process::id()),
        why = cx.cancelled() => {
            say(format_args!("cancelled {id} {why:?}"));
            match task.when_cancelled {
                WhenCancelled::Succeed => Ok(std::process::id()),
                WhenCancelled::Fail => Err(Failure::new("it was cancelled")),
                WhenCancelled::GoOn => pending().await,
            }
        }
    };
    end.reached = true;
    done
}

/// Takes as long as the task says.
pub async fn work(task: Work, cx: Context<App>) -> Result<u32, Failure> {
    affect(&cx)?;
    match timeout(Duration::from_millis(task.millis), cx.cancelled()).await {
        Ok(_) => Err(Failure::new("it was cancelled")),
        Err(_) => Ok(std::process::id()),
    }
}

/// The effect of a run, which no later one can take back: a line of id, attempt and process.
/// It is written as the handler begins, so that each handler which was entered is seen.
fn affect(cx: &Context<App>) -> Result<(), Failure> {
    if let Some(mut file) = cx.state().effects.as_ref() {
        // One write, at the file's end: the lines of several processes do not mix.
        let line = format!("{} {} {}\n", cx.task().id, cx.attempt(), std::process::id());
        file.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Says that a handler was dropped, if it was.
struct End<'a> {
    id: &'a str,
    reached: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        if !self.reached {
            say(format_args!("dropped {}", self.id));
        }
    }
}
