//! From a lease to an outcome.

use std::path::Path;

use leasehold::{Entered, Lease, Outcome, Payload, Retry, Unknown};
use tokio::sync::watch;
use tokio::task::{JoinError, spawn_blocking};

use crate::files::FilePath;
use crate::measure::measure;
use crate::running::Signal;

/// The only kind of task here.
pub const KIND: &str = "measure";

/// A run that has ended, and has to be decided.
pub struct Done {
    pub lease: Lease,
    pub outcome: Outcome,
}

/// Runs the handler of a lease. None when the lease was lost: there is nothing to decide.
pub async fn handle(dir: &Path, lease: &Lease, signal: watch::Receiver<Signal>) -> Option<Outcome> {
    if lease.corrupt.is_some() {
        return Some(Outcome::Corrupt);
    }
    if lease.kind != KIND {
        // No other program shares this queue, so there is nobody to leave the task to.
        return Some(Outcome::UnknownKind(Unknown::Bury));
    }
    let file: FilePath = match serde_json::from_slice(lease.payload.as_bytes()) {
        Ok(file) => file,
        Err(error) => return Some(Outcome::Undecodable { message: error.to_string() }),
    };
    let Some(path) = file.under(dir) else {
        let message = "this system has no such path".to_owned();
        return Some(Outcome::Undecodable { message });
    };
    let told = signal.clone();
    let measured = spawn_blocking(move || measure(&path, || *told.borrow() == Signal::GoOn)).await;
    Some(match measured {
        Ok(Ok(Some(measured))) => match serde_json::to_vec(&measured) {
            Ok(json) => {
                Outcome::Succeeded { result: Some(Payload::from(json)), follow_ups: vec![] }
            }
            Err(error) => failed(error.to_string()),
        },
        Ok(Ok(None)) if *signal.borrow() == Signal::Lost => return None,
        Ok(Ok(None)) => Outcome::Released(Entered::Yes),
        // The file vanished, or may not be read: that may pass, so the policy decides.
        Ok(Err(error)) => failed(error.to_string()),
        Err(error) => Outcome::Panicked { message: panic_message(error) },
    })
}

fn failed(message: String) -> Outcome {
    Outcome::Failed { message, retry: Retry::ByPolicy }
}

fn panic_message(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "the runtime stopped".to_owned() };
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic
            .downcast::<&str>()
            .map_or_else(|_| "a panic without words".to_owned(), |message| (*message).to_owned()),
    }
}
