//! Measures every file of a folder, one durable task a file: `--help` tells the rest.
//!
//! Kill it, start it again, start it twice: each file is measured, and each success is
//! counted once. The way through the code is the way of a task: `enqueue` makes the tasks,
//! `claims` takes leases and starts handlers, `handler` and `measure` do the work, `pulse`
//! keeps the leases, `commits` writes what was decided, `rescuer` takes care of what a killed
//! process left behind, and `report` reads the outcome back from the store.

mod args;
mod claims;
mod commits;
mod enqueue;
mod failure;
mod files;
mod handler;
mod measure;
mod progress;
mod pulse;
mod report;
mod rescuer;
mod running;
mod session;
mod work;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use args::{Args, Asked};
use failure::Failure;
use session::Session;
use work::End;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(failure) => {
            // A closed pipe leaves nobody to tell, so its error is let go, here and elsewhere.
            let _ = writeln!(io::stderr(), "quickstart: {failure}");
            failure.code()
        }
    }
}

fn run() -> Result<ExitCode, Failure> {
    let args = match Args::read()? {
        Asked::Help => {
            let _ = io::stdout().write_all(args::HELP.as_bytes());
            return Ok(ExitCode::SUCCESS);
        }
        Asked::Run(args) => args,
    };
    let found = files::find(&args.dir)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Broken(format!("the runtime did not start: {error}")))?;
    let code = runtime.block_on(measure_all(args, found));
    // A read that hangs, on a lost network drive perhaps, must not keep the process.
    runtime.shutdown_background();
    code
}

async fn measure_all(args: Args, found: files::Found) -> Result<ExitCode, Failure> {
    let store = leasehold::connect(&args.url).await?;
    let session = Arc::new(Session::new(store, &args));
    enqueue::enqueue(&session, found, args.fresh).await?;
    match work::work(&session).await? {
        End::Finished => {
            report::report(&session, &args.url).await?;
            Ok(ExitCode::SUCCESS)
        }
        End::Interrupted => {
            session.progress.line("quickstart: stopped; start it again to go on");
            session.progress.close();
            Ok(ExitCode::from(130))
        }
    }
}
