//! Runs the loops of this process side by side.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::claims::claims;
use crate::commits::{BATCH_MAX, commits};
use crate::failure::Failure;
use crate::pulse::pulse;
use crate::rescuer::rescuer;
use crate::session::Session;

/// How long Ctrl-C waits for handlers to give their tasks back; what is left then lapses.
const STOP: Duration = Duration::from_secs(5);

/// Why the work is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// No unfinished task is left in the queue.
    Finished,
    /// Ctrl-C.
    Interrupted,
}

/// Works until every task of the queue is finished, or until Ctrl-C.
pub async fn work(session: &Arc<Session>) -> Result<End, Failure> {
    let stop = interrupt();
    let (done, undecided) = mpsc::channel(BATCH_MAX);
    // Handlers hold the other ends of the channel, so the commits end after the last of them.
    let work = async {
        tokio::try_join!(claims(session, stop.clone(), done), commits(session, undecided))
    };
    tokio::select! {
        ended = work => Ok(ended?.0),
        failure = pulse(session) => Err(failure),
        failure = rescuer(session) => Err(failure),
        () = stopped_for_long(stop.clone()) => Ok(End::Interrupted),
    }
}

/// Turns true at the first Ctrl-C; the second one ends the process at once.
fn interrupt() -> watch::Receiver<bool> {
    let (tell, told) = watch::channel(false);
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            tell.send_replace(true);
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        }
        // Whoever waits for the signal would take a closed channel for one.
        pending::<()>().await;
        drop(tell);
    });
    told
}

async fn stopped_for_long(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
    let _ = timeout(STOP, pending::<()>()).await;
}
