//! [`Raw`]: the servers, seen around the store.

use std::collections::BTreeSet;
use std::time::Duration;

use leasehold_conformance::HarnessError;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue, RedisResult, Value};

/// The client's own half a second is less than what a machine that builds at the same time may
/// take, and no case is about this connection.
const LIMIT: Duration = Duration::from_secs(30);

/// A connection to the server, or to each master of the cluster.
#[derive(Clone)]
pub struct Raw(Vec<MultiplexedConnection>);

impl Raw {
    /// By a URL of the store: one server's, or a cluster's with some of its nodes.
    pub async fn open(url: &str) -> Result<Self, HarnessError> {
        let (_, place) = url.split_once("://").ok_or("no scheme")?;
        let node = place.split([',', '/']).next().ok_or("no node")?;
        let mut first = connect(node).await?;
        let asked: RedisResult<Vec<Vec<Value>>> =
            redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut first).await;
        let Ok(ranges) = asked else { return Ok(Self(vec![first])) };
        let mut masters = BTreeSet::new();
        let (own, _) = node.rsplit_once(':').ok_or("no port")?;
        for range in ranges {
            let master = range.into_iter().nth(2).ok_or("a range without a master")?;
            let (host, port): (String, u16) = redis::from_redis_value(first_two(master))?;
            // A node that was never introduced to another one does not know its own name.
            let host = if host.is_empty() { own } else { &host };
            masters.insert(format!("{host}:{port}"));
        }
        let mut nodes = Vec::new();
        for master in masters {
            nodes.push(connect(&master).await?);
        }
        Ok(Self(nodes))
    }

    /// Sends a command about keys of one hash slot to whoever has it.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, HarnessError> {
        let mut last = None;
        for node in &self.0 {
            match command.query_async(&mut node.clone()).await {
                Err(error) if error.code() == Some("MOVED") => last = Some(error),
                told => return Ok(told?),
            }
        }
        Err(last.ok_or("no node")?.into())
    }

    /// Sends a command to one server that is the only one.
    pub async fn alone<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, HarnessError> {
        let [node] = &self.0[..] else { return Err("there are several servers".into()) };
        Ok(command.query_async(&mut node.clone()).await?)
    }

    /// The names of all keys that begin so, on every master.
    pub async fn keys(&self, prefix: &str) -> Result<Vec<String>, HarnessError> {
        let pattern: String = prefix
            .chars()
            .flat_map(|c| [matches!(c, '*' | '?' | '[' | ']' | '\\').then_some('\\'), Some(c)])
            .flatten()
            .chain(['*'])
            .collect();
        let mut found = BTreeSet::new();
        for node in &self.0 {
            let mut cursor = "0".to_owned();
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1_000);
                let keys: Vec<String>;
                (cursor, keys) = scan.query_async(&mut node.clone()).await?;
                found.extend(keys);
                if cursor == "0" {
                    break;
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    /// A field of the command INFO.
    pub async fn info(&self, section: &str, field: &str) -> Result<Option<String>, HarnessError> {
        let node = self.0.first().ok_or("no node")?;
        let info: String = redis::cmd("INFO").arg(section).query_async(&mut node.clone()).await?;
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Ok(value.map(str::to_owned))
    }
}

async fn connect(node: &str) -> Result<MultiplexedConnection, HarnessError> {
    let client = redis::Client::open(format!("redis://{node}/"))?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(LIMIT))
        .set_response_timeout(Some(LIMIT));
    Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
}

/// A node is told with more than its host and port.
fn first_two(node: Value) -> Value {
    match node {
        Value::Array(values) => Value::Array(values.into_iter().take(2).collect()),
        other => other,
    }
}
