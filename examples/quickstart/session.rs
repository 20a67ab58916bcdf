//! What the example needs of the store beside its worker.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use leasehold::{Client, Count, Counts, Error, ErrorKind};
use sha2::{Digest, Sha256};
use tokio::time::interval;

use crate::files::hex;
use crate::progress::Progress;
use crate::trouble::Trouble;

/// A call that finds the store unavailable is made again at this pace, so many times: 10 s.
const AGAIN: Duration = Duration::from_millis(100);
const AGAIN_MAX: u32 = 100;

/// One folder's queue in one store, as this process sees it.
pub struct Session {
    pub client: Client,
    pub queue: String,
    pub progress: Progress,
}

impl Session {
    pub fn new(client: Client, dir: &Path) -> Self {
        Self { client, queue: queue_of(dir), progress: Progress::new() }
    }

    /// How the tasks stand, whoever holds them; the bar shows it.
    pub async fn counts(&self) -> Result<Counts, Error> {
        let count = || self.client.store().counts(Count::new(self.queue.as_str()));
        let counts = again(count).await?;
        self.progress.show(&counts);
        Ok(counts)
    }

    /// Keeps the bar up to date with what other processes do. A worker never gives up on its
    /// store, but here somebody waits: this comes back when the store cannot be asked at all.
    pub async fn watch(&self) -> Trouble {
        let mut beat = interval(Duration::from_secs(1));
        loop {
            beat.tick().await;
            if let Err(error) = self.counts().await {
                return error.into();
            }
        }
    }
}

/// Makes a call again until the store answers. Each verb may be repeated (LH-GEN-4), provided
/// that the repeat shows what the first try did: an enqueue its ids, a commit its decisions.
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
    let hash = hex(&Sha256::digest(dir.as_os_str().as_encoded_bytes()));
    format!("quickstart:{name}-{}", &hash[..12])
}
