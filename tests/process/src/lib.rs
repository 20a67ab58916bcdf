//! The tasks that the process tests enqueue and that the worker process runs. A crate of its
//! own, because cargo builds the binary of a package for that package's tests only.

use leasehold::Task;

/// Held by its handler until the test says `go ID` to the process, or until it is cancelled.
#[derive(Debug, serde::Serialize, serde::Deserialize, Task)]
#[task(kind = "hold", delivery = at_least_once, priority = 9)]
pub struct Hold {
    /// What the handler does once it is cancelled.
    pub when_cancelled: WhenCancelled,
}

/// What a handler does once it is cancelled.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub enum WhenCancelled {
    /// It succeeds, at its next poll.
    Succeed,
    /// It fails, at its next poll.
    Fail,
    /// It goes on, and has to be dropped.
    GoOn,
}

/// Takes a while and succeeds; the result is the number of the process.
#[derive(Debug, serde::Serialize, serde::Deserialize, Task)]
#[task(kind = "work", delivery = at_least_once)]
pub struct Work {
    /// How long it takes.
    pub millis: u64,
}
