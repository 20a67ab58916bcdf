//! A folder with documents, and a store beside it.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use leasehold::{Backend, BackendExt, Count, Error, StoredTask, TaskRef, connect};
use tempfile::TempDir;

use crate::process::Process;

/// How long a handler may take to come to its document.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Place {
    folder: TempDir,
}

/// A document whose reader waits for this test.
pub struct Fifo(PathBuf);

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        fs::create_dir(folder.path().join("documents")).expect("the folder is new");
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn documents(&self) -> PathBuf {
        self.folder().join("documents")
    }

    pub fn fifo(&self, name: &str) -> Fifo {
        let path = self.documents().join(name);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("there is a mkfifo").success());
        Fifo(path)
    }

    /// Starts the service on a free port, and waits until it listens.
    pub fn start(&self, arguments: &[&str]) -> Process {
        let all = [&["0", "reports.db", "--documents", "documents"], arguments].concat();
        Process::start(self.folder(), &all, None).listening()
    }

    pub fn task(&self, id: &str) -> StoredTask {
        let task = TaskRef::new("reports", id);
        let found = self.ask(async |store| store.task(&task).await);
        found.unwrap_or_else(|| panic!("{task} is gone"))
    }

    /// The number of all tasks.
    pub fn count(&self) -> u64 {
        self.ask(async |store| Ok(store.counts(Count::new("reports")).await?.total()))
    }

    /// A handle of this test's own, beside that of the service.
    fn ask<T>(&self, question: impl AsyncFnOnce(Arc<dyn Backend>) -> Result<T, Error>) -> T {
        let path = self.folder().join("reports.db");
        let url = format!("sqlite:{}", path.to_str().expect("temporary files have plain names"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime
            .expect("a runtime starts")
            .block_on(async { question(connect(&url).await?).await })
            .unwrap_or_else(|error: Error| panic!("{error:?}"))
    }
}

impl Fifo {
    /// Waits until a handler reads this document, and holds it up until the answer is dropped.
    pub fn reader_is_there(&self) -> File {
        let (path, (tell, told)) = (self.0.clone(), channel());
        // To open a FIFO for writing takes a reader, and has no bound of its own.
        thread::spawn(move || {
            let _ = tell.send(OpenOptions::new().write(true).open(path));
        });
        let opened = told.recv_timeout(PATIENCE).expect("no handler came to the document");
        opened.expect("the FIFO was made")
    }
}
