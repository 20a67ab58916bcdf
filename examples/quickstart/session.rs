//! What every loop of the example shares, and how each of them speaks to the store.

use std::future::{Future, pending};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{Backend, Clock, Count, Error, ErrorKind, Wake};
use sha2::{Digest, Sha256};
use tokio::time::{interval, timeout};

use crate::args::Args;
use crate::files::hex;
use crate::progress::Progress;
use crate::running::Running;

/// Short, so that a killed process is made up for while one watches. The default of a real
/// service is 30 s.
pub const LEASE: Duration = Duration::from_secs(3);

/// How often an idle process asks the store although no hint came.
const IDLE: Duration = Duration::from_millis(200);

/// A call that finds the store unavailable is repeated at this pace, so many times: 10 s.
pub const AGAIN: Duration = Duration::from_millis(100);
pub const AGAIN_MAX: u32 = 100;

/// One folder's queue in one store, as this process sees it.
pub struct Session {
    pub store: Arc<dyn Backend>,
    pub dir: Arc<Path>,
    pub queue: String,
    /// A label for people; what counts is the fence of each lease.
    pub holder: String,
    pub workers: usize,
    pub clock: Clock,
    pub running: Running,
    pub progress: Progress,
}

impl Session {
    pub fn new(store: Arc<dyn Backend>, args: &Args) -> Self {
        Self {
            store,
            dir: args.dir.as_path().into(),
            queue: queue_of(&args.dir),
            holder: format!("quickstart, process {}", process::id()),
            workers: args.workers,
            clock: Clock::default(),
            running: Running::default(),
            progress: Progress::new(),
        }
    }

    /// The tasks that are not finished, whoever holds them.
    pub async fn unfinished(&self) -> Result<u64, Error> {
        let counts = again(|| self.store.counts(Count::new(self.queue.as_str()))).await?;
        self.progress.show(&counts);
        Ok(counts.unfinished())
    }

    /// Waits until there may be something to claim, a fifth of a second at most.
    pub async fn wait(&self) {
        if self.store.wait(&self.queue, IDLE).await == Wake::NoHint {
            let _ = timeout(IDLE, pending::<()>()).await;
        }
    }
}

/// Makes a call again until the store answers. Each verb may be repeated (LH-GEN-4), provided
/// that the repeat shows what the first try did: a claim its ticket, a commit its decision.
pub async fn again<T, F>(mut call: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut pace = interval(AGAIN);
    for _ in 1..AGAIN_MAX {
        match call().await {
            Err(error) if error.kind() == ErrorKind::Unavailable => pace.tick().await,
            answer => return answer,
        };
    }
    call().await
}

/// The same name for the same folder, so that folders can share a store: a part to read and
/// a part that tells two folders of one name apart.
fn queue_of(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    let hash = hex(&Sha256::digest(PathBuf::from(dir).into_os_string().as_encoded_bytes()));
    format!("quickstart:{name}-{}", &hash[..12])
}
