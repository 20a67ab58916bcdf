//! [`RedisBackend`]: the ten verbs, each a script's run and what its reply means.

mod claim;
mod commit;
mod configure;
mod enqueue;
mod purge;
mod queues;
mod read;
mod renew;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use leasehold_core::request::admit;
use leasehold_core::{
    Backend, Capabilities, Claim, Claimed, Clock, Commit, CommitVerdict, Configure, Count, Counts,
    Enqueue, EnqueueVerdict, Error, Features, Found, Get, List, Page, Purge, Purged, QueuePage,
    QueueSettings, Queues, Renew, RenewVerdict, Wake,
};

use crate::checks;
use crate::config::RedisConfig;
use crate::error::told;
use crate::keys::Keys;
use crate::link::Link;
use crate::scripts::{Call, Script, Scripts};

/// A store on a Redis or Valkey server, behind Sentinel, or on a Cluster, which any number of
/// handles and processes may share.
///
/// All features. Each verb is one script for a queue, and the server's clock is read in it
/// (LH-TIME-2). All keys of a queue lie in one hash slot, so that a Cluster spreads queues, and
/// one queue is served by one node.
///
/// # Examples
/// ```no_run
/// use leasehold_core::{BackendExt, Delivery, NewTask};
/// use leasehold_redis::{RedisBackend, RedisConfig};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let store = RedisBackend::connect(RedisConfig::from_url("redis://localhost/")?).await?;
/// let new = NewTask::new("send", "to: ada", Delivery::NotAfterLoss);
/// let _enqueued = store.enqueue_one("mail", new).await?;
/// # Ok::<(), leasehold_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RedisBackend {
    link: Link,
    keys: Keys,
    clock: Clock,
    scripts: Arc<Scripts>,
    capabilities: Capabilities,
    /// The queues whose names this handle has seen noted.
    noted: Mutex<BTreeSet<String>>,
}

impl RedisBackend {
    /// Connects, and checks that the server can be a store.
    ///
    /// # Errors
    /// Unavailable when no server answers in time, refuses the user, or is loading or down in
    /// part; Invalid when it may evict keys and that was not allowed by name; Unsupported when
    /// it is too old or a newer Leasehold has written in the name space.
    ///
    /// # Cancel safety
    /// A dropped future leaves at most the mark of the layout's version behind.
    pub async fn connect(config: RedisConfig) -> Result<Self, Error> {
        let link = Link::connect(&config).await?;
        let found = checks::check(&link, &config).await?;
        let mut capabilities = Capabilities::new("redis", Features::all(), found.durability);
        capabilities.bounds = config.bounds.clone();
        Ok(Self {
            link,
            keys: Keys::new(config.namespace),
            clock: config.clock,
            scripts: config.scripts,
            capabilities,
            noted: Mutex::default(),
        })
    }

    /// A run of `script` on `queue`, by the clock that this handle follows.
    fn call(&self, script: Script, queue: &str) -> Call {
        let clock = match &self.clock {
            // The server's own.
            Clock::System => String::new(),
            Clock::Manual(hand) => {
                let (tick, now) = hand.reading();
                format!("{tick} {}", now.as_millis().max(0))
            }
        };
        let keys = [self.keys.queue(queue), self.keys.never(queue)];
        Call::new(&self.scripts, script, keys, &clock)
    }

    fn has_noted(&self, queue: &str) -> bool {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).contains(queue)
    }

    fn now_noted(&self, queue: &str) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.insert(queue.to_owned());
    }
}

impl fmt::Debug for RedisBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBackend").field("link", &self.link).finish_non_exhaustive()
    }
}

#[async_trait]
impl Backend for RedisBackend {
    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        admit(&self.capabilities, &request)?;
        self.enqueue_step(request).await.map_err(|fault| told("enqueue", fault))
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        admit(&self.capabilities, &request)?;
        self.claim_step(&request).await.map_err(|fault| told("claim", fault))
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        admit(&self.capabilities, &request)?;
        self.renew_step(request).await.map_err(|fault| told("renew", fault))
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        admit(&self.capabilities, &request)?;
        self.commit_step(request).await.map_err(|fault| told("commit", fault))
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        admit(&self.capabilities, &request)?;
        let found = self.get_step(&request.task).await;
        found.map_err(|fault| told("get", fault).with_task(&request.task))
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        admit(&self.capabilities, &request)?;
        self.list_step(&request).await.map_err(|fault| told("list", fault))
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        admit(&self.capabilities, &request)?;
        self.counts_step(&request).await.map_err(|fault| told("counts", fault))
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        admit(&self.capabilities, &request)?;
        self.queues_step(&request).await.map_err(|fault| told("queues", fault))
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        admit(&self.capabilities, &request)?;
        self.configure_step(&request).await.map_err(|fault| told("configure", fault))
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        admit(&self.capabilities, &request)?;
        self.purge_step(&request).await.map_err(|fault| told("purge", fault))
    }

    async fn wait(&self, queue: &str, max: Duration) -> Wake {
        self.link.wait(&self.keys.wake(queue), max).await
    }
}
