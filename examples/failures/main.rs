//! Planted tasks that go wrong in every way, told as an operator sees them: `--help` says more.
//!
//! `tasks` has the tasks with their handlers, `worker` the process that runs them. The other
//! process is the operator's: `story` plants one task after the other, `workers` keeps worker
//! processes alive, `watch` prints what changes, `dead` takes care of the dead letters, and
//! `report` reads the outcome back from the store.

mod args;
mod dead;
mod report;
mod story;
mod tasks;
mod trouble;
mod watch;
mod worker;
mod workers;

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use args::Asked;
use trouble::Trouble;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            // A closed pipe leaves nobody to tell, so its error is let go, here and elsewhere.
            let _ = writeln!(io::stderr(), "failures: {trouble}");
            trouble.code()
        }
    }
}

async fn run() -> Result<(), Trouble> {
    let url = match args::read()? {
        Asked::Help => {
            let _ = io::stdout().write_all(args::HELP.as_bytes());
            return Ok(());
        }
        Asked::Worker(url) => return Ok(worker::work(&url).await?),
        Asked::Story(url) => url,
    };
    let folder = tempfile::tempdir().map_err(|error| {
        Trouble::Asked(format!("no temporary folder ({error}): name a store with --url"))
    })?;
    let url = match url {
        Some(url) => url,
        None => args::url_in(folder.path())?,
    };
    // Whichever is later is dropped, and takes the worker processes and the folder with it.
    tokio::select! {
        told = story::tell(&url) => told,
        _ = tokio::signal::ctrl_c() => Err(Trouble::Interrupted),
    }
}

/// Prints a line.
fn say(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}
