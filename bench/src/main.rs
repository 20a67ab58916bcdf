//! How fast Leasehold is, beside what its stores allow at best and beside its peers.
//!
//! `bench/run` starts the servers and this program; the program starts itself once for each
//! part of a run, so that no party inherits another one's memory.

mod args;
mod clock;
mod compare;
mod info;
mod machine;
mod own;
mod party;
mod plan;
mod report;
mod sample;
mod tally;
mod task;

use std::process::ExitCode;

use args::Command;

/// What goes wrong in a benchmark ends it.
type Fault = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let done = match args::parse() {
        Ok(Command::Compare(wanted)) => compare::run(&wanted).await,
        Ok(Command::Part(part)) => party::run(&part).await,
        Err(fault) => Err(fault),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("bench: {fault}");
            ExitCode::FAILURE
        }
    }
}
