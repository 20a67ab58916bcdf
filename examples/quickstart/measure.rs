//! The task: its type, its handler, and what is done with a file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use leasehold::{Context, Failure, FailureExt, Task};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

use crate::files::{FilePath, hex};

/// Measures one file. Ten rescues, so that one may kill this program as often as one likes to
/// watch it come back; a day, since a file may be the image of a disk.
#[derive(Serialize, Deserialize, Task)]
#[task(kind = "measure", delivery = at_least_once, max_rescues = 10, timeout = "24h")]
pub struct Measure(pub FilePath);

/// What a file is measured by: the result of its task.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    pub sha256: String,
    pub bytes: u64,
    /// A last line without its end counts too.
    pub lines: u64,
    /// Size in bytes after deflate.
    pub compressed: u64,
}

/// The handler; the worker's state is the folder. What a file system refuses today it may
/// give tomorrow, so its errors are retried by the task's policy.
pub async fn measure(task: Measure, cx: Context<PathBuf>) -> Result<Measured, Failure> {
    let path = task.0.under(cx.state()).ok_or("this system has no such path").fatal()?;
    // Reading blocks, so it has a thread of its own; nothing but its own look can stop it.
    let run = cx.clone();
    let read = spawn_blocking(move || read(&path, || !run.is_cancelled())).await??;
    // That is no failure of the file's: the worker knows that it cancelled the run, and why.
    read.ok_or_else(|| Failure::new("cancelled half-way"))
}

/// Measures a file piece by piece; none as soon as `go_on` says no. Blocks the thread.
fn read(path: &Path, go_on: impl Fn() -> bool) -> io::Result<Option<Measured>> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut deflate = DeflateEncoder::new(io::sink(), Compression::default());
    let (mut bytes, mut lines, mut last) = (0, 0, b'\n');
    let mut piece = vec![0; 64 << 10];
    loop {
        if !go_on() {
            return Ok(None);
        }
        let read = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => &piece[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(read);
        deflate.write_all(read)?;
        bytes += read.len() as u64;
        lines += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        last = *read.last().unwrap_or(&last);
    }
    lines += u64::from(last != b'\n');
    deflate.try_finish()?;
    let (sha256, compressed) = (hex(&hash.finalize()), deflate.total_out());
    Ok(Some(Measured { sha256, bytes, lines, compressed }))
}
