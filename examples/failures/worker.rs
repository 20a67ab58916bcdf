//! A worker process.

use std::io::{self, Read, Write};
use std::time::Duration;
use std::{panic, process, thread};

use leasehold::{Client, Error, Worker};
use tokio::sync::oneshot;

use crate::tasks;

/// Short, so that one need not wait long to see a lapse. The default is 30 s.
const LEASE: Duration = Duration::from_secs(1);

/// Short for the same reason. The default is 1 s.
const POLL: Duration = Duration::from_millis(100);

/// Runs tasks until the process that started this one ends.
pub async fn work(url: &str) -> Result<(), Error> {
    let name = format!("worker {}", process::id());
    let quiet = name.clone();
    // One line instead of a trace: this panic is planted.
    panic::set_hook(Box::new(move |panic| {
        let _ = writeln!(io::stderr(), "{quiet}: {panic}");
    }));
    let client = Client::new(leasehold::connect(url).await?);
    let worker = Worker::new(&client).label(name);
    tasks::handlers(worker).lease(LEASE).poll(POLL).run_until(orphaned()).await?;
    Ok(())
}

/// Comes back when the other end of stdin is closed, however its process came to its end.
async fn orphaned() {
    let (tell, told) = oneshot::channel::<()>();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        drop(tell);
    });
    let _ = told.await;
}
