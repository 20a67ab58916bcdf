//! The task of the service: a report on a document.

use std::io;
use std::path::Path;
use std::time::Duration;

use leasehold::{Client, Context, Error, Failure, Receipt, Task, TaskRef};
use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use crate::app::App;

/// How long a report can be read.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// Twice the same report does no harm, so it is made again when its process was lost.
#[derive(Debug, Serialize, Deserialize, Task)]
#[task(kind = "report", queue = "reports", delivery = at_least_once)]
#[task(max_retries = 3, timeout = "10m")]
pub struct MakeReport {
    document: String,
}

/// What is known of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    pub bytes: u64,
    pub lines: u64,
    pub words: u64,
}

/// Enqueues a report, unless one on this document is on its way.
pub async fn order(client: &Client, document: &str) -> Result<Receipt, Error> {
    let task = MakeReport { document: document.to_owned() };
    client.enqueue(task).unique(document).keep_success(KEEP).await
}

/// The report's task.
pub fn task(id: String) -> TaskRef {
    TaskRef::new(MakeReport::QUEUE, id)
}

/// The handler.
pub async fn make_report(task: MakeReport, cx: Context<App>) -> Result<Report, Failure> {
    let path = cx.state().documents.join(&task.document);
    tokio::select! {
        read = read(&path) => read.map_err(failure),
        // The worker would drop this handler a while later. To end now gives the task back now.
        why = cx.cancelled() => Err(Failure::new(format!("cancelled: {why:?}"))),
    }
}

fn failure(error: io::Error) -> Failure {
    let is_final = matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::PermissionDenied
    );
    let failure = Failure::from(error);
    if is_final { failure.fatal() } else { failure }
}

async fn read(path: &Path) -> io::Result<Report> {
    let mut file = File::open(path).await?;
    let mut piece = vec![0; 64 << 10];
    let (mut report, mut in_word) = (Report::default(), false);
    loop {
        let read = file.read(&mut piece).await?;
        if read == 0 {
            return Ok(report);
        }
        report.bytes += read as u64;
        for byte in &piece[..read] {
            report.lines += u64::from(*byte == b'\n');
            let is_space = byte.is_ascii_whitespace();
            report.words += u64::from(!is_space && !in_word);
            in_word = !is_space;
        }
    }
}
