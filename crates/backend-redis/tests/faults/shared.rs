//! What all themes use: stores on private servers, and bounded waits.

use std::sync::Arc;
use std::time::Duration;

use leasehold_conformance::servers::redis::{
    Cluster, ClusterOptions, Product, Redis, RedisOptions,
};
use leasehold_conformance::servers::until;
use leasehold_core::{Backend, Error, ErrorKind};
use leasehold_redis::{RedisBackend, RedisConfig};

/// Far above what anything here takes, on a machine that builds at the same time.
pub const LIMIT: Duration = Duration::from_secs(60);

/// No lease of a test lapses unless it is meant to.
pub const LONG: Duration = Duration::from_secs(600);

pub const BOTH: [Product; 2] = [Product::Redis, Product::Valkey];

pub type Store = Arc<dyn Backend>;

pub async fn started(options: RedisOptions) -> Redis {
    Redis::start_new(options).await.unwrap_or_else(|error| panic!("{error}"))
}

pub async fn cluster(options: ClusterOptions) -> Cluster {
    Cluster::start_new(options).await.unwrap_or_else(|error| panic!("{error}"))
}

pub async fn opened(url: &str) -> Store {
    try_open(url).await.unwrap_or_else(|error| panic!("{url}: {error:?}"))
}

pub async fn try_open(url: &str) -> Result<Store, Error> {
    let config = RedisConfig::from_url(url)?;
    Ok(Arc::new(RedisBackend::connect(config).await?))
}

pub fn cluster_url(cluster: &Cluster) -> String {
    let hosts: Vec<_> = cluster.nodes().iter().map(|node| node.address().to_string()).collect();
    format!("redis-cluster://{}", hosts.join(","))
}

/// A command that must be taken, and what people read of its reply.
pub async fn tell(server: &Redis, words: &[&str]) -> String {
    server.command(words).await.unwrap_or_else(|error| panic!("{words:?}: {error}")).text()
}

/// How often the server has answered with this error.
pub async fn refusals(server: &Redis, code: &str) -> u64 {
    let stats = tell(server, &["INFO", "errorstats"]).await;
    let named = format!("errorstat_{code}:count=");
    let count = stats.lines().find_map(|line| line.strip_prefix(&named));
    count.map_or(0, |count| count.trim().parse().expect("a number"))
}

/// Looks again and again until it is so.
pub async fn until_true(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let mut pace = tokio::time::interval(Duration::from_millis(10));
    let looking = async {
        while !is_so().await {
            pace.tick().await;
        }
    };
    let looked = tokio::time::timeout(LIMIT, looking).await;
    assert!(looked.is_ok(), "never: {what}");
}

/// Calls again and again until the store answers; what it says until then is Unavailable.
pub async fn until_answered<T, F>(what: &str, mut call: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, Error>>,
{
    let look = || {
        let call = call();
        async {
            match call.await {
                Ok(reply) => Ok(reply),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
                    Err(error.to_string())
                }
            }
        }
    };
    until(what, LIMIT, look).await.unwrap_or_else(|error| panic!("{error}"))
}

/// An error that must be Unavailable and say this.
pub fn assert_unavailable(error: &Error, says: &str) {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.to_string().contains(says), "{error} does not say: {says}");
}
