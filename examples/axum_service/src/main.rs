//! A web service with a worker inside: requests enqueue reports, the same process makes them,
//! and SIGTERM or Ctrl-C ends both in order.
//!
//! ```sh
//! cargo run -p leasehold-axum-service -- 8080 reports.db
//! curl -i localhost:8080/reports -H 'content-type: application/json' -d '{"name":"README.md"}'
//! curl -i localhost:8080/reports/ID        # the id from the answer, or its header location
//! curl -i localhost:8080/health
//! ```
//!
//! Start it twice on one store, with two ports, and the processes share the work. `settings`
//! has what can be set, `routes` the requests, `reports` the task and its handler, `shutdown`
//! the way out.

mod app;
mod problem;
mod reports;
mod routes;
mod settings;
mod shutdown;

use std::error::Error;
use std::net::Ipv4Addr;
use std::process::ExitCode;

use leasehold::{Client, Worker};
use tokio::net::TcpListener;

use app::App;
use settings::Settings;
use shutdown::Shutdown;

fn main() -> ExitCode {
    let settings = match Settings::read() {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}\n{}", settings::USAGE);
            return ExitCode::from(2);
        }
    };
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let served = tokio::runtime::Runtime::new().map_err(Into::into).and_then(|runtime| {
        let served = runtime.block_on(serve(settings));
        // A read that hangs, on a lost network drive perhaps, must not keep the process.
        runtime.shutdown_background();
        served
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the service ends");
            ExitCode::FAILURE
        }
    }
}

async fn serve(settings: Settings) -> Result<(), Box<dyn Error>> {
    let shutdown = Shutdown::listen()?;
    let client = Client::new(leasehold::connect(&settings.url).await?);
    let worker = Worker::new(&client).grace(settings.grace);
    let app = App { client, health: worker.health(), documents: settings.documents.into() };
    let worker = worker.state(app.clone()).handler(reports::make_report);

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port)).await?;
    println!("listening on {}", listener.local_addr()?);
    let server =
        axum::serve(listener, routes::router(app)).with_graceful_shutdown(shutdown.begun());
    let requests = async {
        tokio::select! {
            served = server => served.map_err(Box::<dyn Error>::from),
            () = shutdown.overdue(settings.grace) => {
                tracing::warn!("requests were cut off, as they took longer than the grace");
                Ok(())
            }
        }
    };
    let work = async { worker.run_until(shutdown.begun()).await.map_err(Box::from) };
    let (report, ()) = tokio::try_join!(work, requests)?;
    tracing::info!(tally = ?report.tally, "stopped in order");
    Ok(())
}
