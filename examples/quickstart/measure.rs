//! What is done with a file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::hex;

/// What a file is measured by: the result of its task, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    pub sha256: String,
    pub bytes: u64,
    /// A last line without its end counts too.
    pub lines: u64,
    /// Size in bytes after deflate.
    pub compressed: u64,
}

/// Measures a file piece by piece; none as soon as `go_on` says no. Blocks the thread.
pub fn measure(path: &Path, go_on: impl Fn() -> bool) -> io::Result<Option<Measured>> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut deflate = DeflateEncoder::new(Counted(0), Compression::default());
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
    let compressed = deflate.finish()?.0;
    Ok(Some(Measured { sha256: hex(&hash.finalize()), bytes, lines, compressed }))
}

/// Keeps only the number of the bytes that are written to it.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
