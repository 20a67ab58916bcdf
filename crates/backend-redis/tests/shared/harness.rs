//! The harness of this store: each case in a name space of its own.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leasehold_conformance::{Case, Faults, Harness, HarnessError, Link, Orders, Profile, World};
use leasehold_core::{Backend, ClaimerId, Clock, Features, ManualClock, TaskRef};
use leasehold_redis::{RedisBackend, RedisConfig};

use super::raw::Raw;
use super::residue::residue;

/// A change to how each handle is opened.
type Tune = Arc<dyn Fn(RedisConfig) -> RedisConfig + Send + Sync>;

/// The store as the public suite runs it.
#[derive(Clone)]
pub struct Redis {
    url: String,
    version: String,
    command: &'static str,
    orders: Orders,
    tune: Tune,
}

impl Redis {
    /// The store on the servers at this URL.
    pub async fn at(url: String) -> Result<Self, HarnessError> {
        let raw = Raw::open(&url).await?;
        let version = match raw.info("server", "valkey_version").await? {
            Some(valkey) => format!("valkey {valkey}"),
            None => {
                format!("redis {}", raw.info("server", "redis_version").await?.unwrap_or_default())
            }
        };
        let command = "cargo test -p leasehold-redis --all-features --test conformance";
        let tune: Tune = Arc::new(|config| config);
        Ok(Self { url, version, command, orders: Orders::Usual, tune })
    }

    /// The same as another command runs it.
    pub fn with_command(mut self, command: &'static str) -> Self {
        self.command = command;
        self
    }

    /// The same with so many orders of each race.
    pub fn with_orders(mut self, orders: Orders) -> Self {
        self.orders = orders;
        self
    }

    /// The same with each handle opened by what `tune` makes of its configuration.
    pub fn with_config(
        mut self,
        tune: impl Fn(RedisConfig) -> RedisConfig + Send + Sync + 'static,
    ) -> Self {
        self.tune = Arc::new(tune);
        self
    }
}

#[async_trait]
impl Harness for Redis {
    fn profile(&self) -> Profile {
        Profile::new("redis", Features::all())
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_server_version(&*self.version)
            .with_command(self.command)
            .with_orders(self.orders)
    }

    async fn world(&self, case: &Case) -> Result<Box<dyn World>, HarnessError> {
        let hand = ManualClock::default();
        let clock = case.needs.clock.of(&hand);
        let raw = Raw::open(&self.url).await?;
        let namespace = format!("t{}", ClaimerId::fresh());
        let (url, tune) = (self.url.clone(), self.tune.clone());
        Ok(Box::new(RedisWorld { url, namespace, hand, clock, raw, tune }))
    }
}

pub struct RedisWorld {
    pub url: String,
    pub namespace: String,
    pub hand: ManualClock,
    pub clock: Clock,
    pub raw: Raw,
    tune: Tune,
}

impl RedisWorld {
    /// `HOST:PORT` of the one server. The nodes of a cluster and the master behind Sentinels tell
    /// their own addresses, by which a handle goes past any gate.
    fn authority(&self) -> Option<&str> {
        let place = self.url.strip_prefix("redis://")?;
        let authority = place.split(['/', '?']).next()?;
        authority.rsplit('@').next()
    }

    /// The key of a queue that ends so.
    pub fn key(&self, queue: &str, suffix: &str) -> String {
        key(&self.namespace, queue, suffix)
    }
}

/// A second spelling of what `src/keys.rs` makes, so that neither can change alone.
pub fn key(namespace: &str, queue: &str, suffix: &str) -> String {
    let tag = queue.replace('%', "%25").replace('{', "%7B").replace('}', "%7D");
    format!("{namespace}:{{{tag}}}:{suffix}")
}

/// Removes every key of a name space.
pub async fn clear(raw: &Raw, namespace: &str) -> Result<(), HarnessError> {
    for key in raw.keys(&format!("{namespace}:")).await? {
        let _: i64 = raw.ask(redis::cmd("UNLINK").arg(key)).await?;
    }
    Ok(())
}

#[async_trait]
impl World for RedisWorld {
    async fn open(&self, link: Link) -> Result<Arc<dyn Backend>, HarnessError> {
        let config = match (link, self.authority()) {
            (Link::Direct, _) => RedisConfig::from_url(&self.url)?,
            (Link::Through(gate), Some(authority)) => {
                let url = self.url.replacen(authority, &gate.to_string(), 1);
                RedisConfig::from_url(&url)?.with_call_timeout(Duration::from_secs(2))
            }
            (other, _) => return Err(format!("there is no {other:?} link").into()),
        };
        let config = config.with_namespace(&*self.namespace)?.with_clock(self.clock.clone());
        Ok(Arc::new(RedisBackend::connect((self.tune)(config)).await?))
    }

    fn address(&self) -> Option<SocketAddr> {
        let mut found = self.authority()?.to_socket_addrs().expect("the URL has HOST:PORT");
        found.next()
    }

    async fn shift(&self, by_ms: i64) -> Result<(), HarnessError> {
        self.hand.shift(by_ms);
        Ok(())
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }

    async fn dump(&self, task: &TaskRef) -> Option<String> {
        let mut told = String::new();
        for hash in ["birth", "task"] {
            let mut get = redis::cmd("HGET");
            get.arg(self.key(&task.queue, hash)).arg(&task.id);
            let record: Option<Vec<u8>> = self.raw.ask(&get).await.ok()?;
            if let Some(record) = record {
                told.push_str(&format!("{hash}: {}\n", String::from_utf8_lossy(&record)));
            }
        }
        Some(told).filter(|told| !told.is_empty())
    }

    async fn residue(&self) -> Result<Vec<String>, HarnessError> {
        residue(&self.raw, &self.namespace, self.clock.now().as_millis()).await
    }

    async fn close(self: Box<Self>) -> Result<(), HarnessError> {
        clear(&self.raw, &self.namespace).await
    }
}
