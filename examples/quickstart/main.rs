//! Measures every file of a folder, one durable task a file: `--help` tells the rest.
//!
//! Kill it, start it again, start it twice: each file is measured, and each success is
//! counted once. The way through the code is the way of a task: `measure` has its type and
//! its handler, `enqueue` makes the tasks, `main` sets up the worker that runs them,
//! `progress` hears what became of each, and `report` reads the outcome back from the store.

mod args;
mod enqueue;
mod files;
mod measure;
mod progress;
mod report;
mod session;
mod trouble;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use args::Args;
use leasehold::{Client, Report, Worker};
use session::Session;
use trouble::Trouble;

/// Short, so that a killed process is made up for while one watches. A service leaves it at
/// its 30 s.
const LEASE: Duration = Duration::from_secs(3);

/// SQLite gives no hint of what another process has put back, so an idle one asks this often.
const POLL: Duration = Duration::from_millis(200);

/// At Ctrl-C the files that are being read are given back: somebody waits for the prompt.
const GRACE: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(trouble) => {
            // A closed pipe leaves nobody to tell, so its error is let go, here and elsewhere.
            let _ = writeln!(io::stderr(), "quickstart: {trouble}");
            ExitCode::from(trouble.code)
        }
    }
}

fn run() -> Result<ExitCode, Trouble> {
    let Some(args) = Args::read()? else {
        let _ = io::stdout().write_all(args::HELP.as_bytes());
        return Ok(ExitCode::SUCCESS);
    };
    let found = files::find(&args.dir)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Trouble::broken(format!("the runtime did not start: {error}")))?;
    let code = runtime.block_on(measure_all(args, found));
    // A read that hangs, on a lost network drive perhaps, must not keep the process.
    runtime.shutdown_background();
    code
}

async fn measure_all(args: Args, found: files::Found) -> Result<ExitCode, Trouble> {
    let client = Client::new(leasehold::connect(&args.url).await?);
    let session = Session::new(client, &args.dir);
    enqueue::enqueue(&session, &found, args.fresh).await?;
    if work(&session, &args).await?.drained {
        report::report(&session, &leasehold::redacted(&args.url)).await?;
        return Ok(ExitCode::SUCCESS);
    }
    session.progress.line("quickstart: stopped; start it again to go on");
    session.progress.close();
    Ok(ExitCode::from(130))
}

/// Works until no unfinished task is left, whoever holds it, or until Ctrl-C or SIGTERM; at the
/// second of these it comes back at once.
async fn work(session: &Session, args: &Args) -> Result<Report, Trouble> {
    let worker = Worker::new(&session.client)
        .state(args.dir.clone())
        .handler(measure::measure)
        .only_queues([session.queue.as_str()])
        .concurrency(args.workers)
        // No other program shares this queue, so there is nobody to leave such a task to.
        .bury_unknown_kinds()
        .lease(LEASE)
        .poll(POLL)
        .grace(GRACE)
        .observer(session.progress.clone());
    tokio::select! {
        report = worker.drain() => Ok(report?),
        trouble = session.watch() => Err(trouble),
    }
}
