//! The files of a folder, and how a task names one.

use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use leasehold::{Bounds, Payload, TaskRef, typed};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::trouble::Trouble;

/// Paths under the folder, sorted.
pub type Found = Vec<FilePath>;

/// A file's path under the folder: what its task carries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FilePath {
    /// With `/` between its parts; only for people to read where `raw` is set.
    pub path: String,
    /// The path's own bytes, where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<Vec<u8>>,
}

/// Every regular file that git would not ignore, without hidden folders and symlinks. What
/// cannot be looked into is told on stderr and left out.
pub fn find(dir: &Path) -> Result<Found, Trouble> {
    let walk = WalkBuilder::new(dir)
        .hidden(false)
        .ignore(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.depth() == 0 || !is_hidden_folder(entry))
        .build();
    let mut found = Found::new();
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                let relative = entry.path().strip_prefix(dir).unwrap_or(entry.path());
                found.push(FilePath::of(relative));
            }
            Ok(_) => {}
            Err(error) => {
                let _ = writeln!(io::stderr(), "skipped: {error}");
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn is_hidden_folder(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_folder && entry.file_name().as_encoded_bytes().starts_with(b".")
}

impl FilePath {
    fn of(relative: &Path) -> Self {
        let parts = relative.components().filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy()),
            _ => None,
        });
        let path = parts.collect::<Vec<_>>().join("/");
        let raw =
            relative.to_str().is_none().then(|| relative.as_os_str().as_encoded_bytes().to_owned());
        Self { path, raw }
    }

    /// The path to open, under `dir`; none where this system has no such path.
    pub fn under(&self, dir: &Path) -> Option<PathBuf> {
        match &self.raw {
            None => Some(dir.join(&self.path)),
            Some(raw) => Some(dir.join(from_raw_bytes(raw)?)),
        }
    }

    /// The id of this file's task: the path itself where it is a legal name, else its SHA-256.
    pub fn id(&self, bounds: &Bounds) -> String {
        match &self.raw {
            None if bounds.check_name("id", &self.path).is_ok() => self.path.clone(),
            None => hex(&Sha256::digest(&self.path)),
            Some(raw) => hex(&Sha256::digest(raw)),
        }
    }
}

/// What people call a task: its file's path, or its id if the payload is unreadable.
pub fn name(task: &TaskRef, payload: &Payload) -> String {
    let file: Result<FilePath, _> = typed::from_json(payload, "the payload");
    let path = file.map_or(task.id.clone(), |file| file.path);
    // One line a file, whatever its name is.
    if path.chars().any(char::is_control) { format!("{path:?}") } else { path }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn from_raw_bytes(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn from_raw_bytes(_: &[u8]) -> Option<PathBuf> {
    None
}
