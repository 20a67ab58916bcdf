//! [`Home`]: the folder in which a test process keeps its servers.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::port::Port;
use super::{ServerError, leftovers};

/// The file in a home that its owner keeps locked for as long as it lives.
pub(super) const OWNER: &str = "owner";

/// Under the system's folder for temporary files, one folder a user:
///
/// ```text
/// lock             held while a home is opened and while the leftovers are removed
/// ports/20000      locked by the process that has claimed this port
/// 1234-0/owner     locked by process 1234: a home whose owner is free has lost its process
/// 1234-0/0-redis   a server: its pid, its log, its data
/// ```
#[derive(Debug)]
pub(super) struct Home {
    root: PathBuf,
    folder: PathBuf,
    /// Closed last, when the folder is gone.
    _owner: File,
    servers: AtomicU32,
}

impl Home {
    /// This process' home; it goes with its last server.
    pub(super) fn shared() -> Result<Arc<Self>, ServerError> {
        static SHARED: Mutex<Weak<Home>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = shared.upgrade() {
            return Ok(home);
        }
        let home = Arc::new(Self::open()?);
        *shared = Arc::downgrade(&home);
        Ok(home)
    }

    fn open() -> Result<Self, ServerError> {
        // A home that is just being removed by another thread has another number.
        static HOMES: AtomicU32 = AtomicU32::new(0);
        let user = rustix::process::geteuid().as_raw();
        let root = env::temp_dir().join(format!("leasehold-servers-{user}"));
        make(&root.join("ports"))?;
        // Without it, another process could take a home for lost before its owner is locked.
        let _opening = locked(&root.join("lock"))?;
        leftovers::remove(&root);
        let number = HOMES.fetch_add(1, Ordering::Relaxed);
        let folder = root.join(format!("{}-{number}", process::id()));
        make(&folder)?;
        let owner = locked(&folder.join(OWNER))?;
        Ok(Self { root, folder, _owner: owner, servers: AtomicU32::new(0) })
    }

    /// A new, empty folder for a server.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, ServerError> {
        let number = self.servers.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("{number}-{name}"));
        make(&folder)?;
        Ok(folder)
    }

    /// A port that nobody else has claimed or listens on.
    pub(super) fn port(&self) -> Result<Port, ServerError> {
        Port::claim(&self.root.join("ports"))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What stays is removed by the next process.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn make(folder: &Path) -> Result<(), ServerError> {
    fs::create_dir_all(folder).map_err(|error| ServerError::io(folder.display(), error))
}

fn locked(path: &Path) -> Result<File, ServerError> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.and_then(|file| file.lock().map(|()| file));
    file.map_err(|error| ServerError::io(path.display(), error))
}
