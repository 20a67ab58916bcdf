//! What is looked at when a store is opened: who the servers are, whether they keep what they
//! confirm, and whether this build reads what is stored.

use std::collections::HashMap;

use leasehold_core::{Durability, Error, ErrorKind, Failover};
use redis::Value;

use crate::config::{Place, RedisConfig};
use crate::error::{Fault, told};
use crate::link::{Hello, Link, Node};

/// How keys and values are laid out. Grows when an older build could not read a newer store.
pub(crate) const LAYOUT: u32 = 1;

/// The oldest server, by its major and minor version.
const VERSION_MIN: (u32, u32) = (6, 2);

/// The name that stands for a policy which the server does not tell.
const UNKNOWN: &str = "unknown";

/// What the servers are; of several, the weakest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// `redis` or `valkey`.
    pub server: String,
    /// Major and minor.
    pub version: (u32, u32),
    pub durability: Durability,
}

/// Looks at every master, and then at the layout, which the first who connects writes down.
pub(crate) async fn check(link: &Link, config: &RedisConfig) -> Result<Found, Error> {
    let mut found: Option<Found> = None;
    for node in link.masters() {
        let this = check_node(link, &node, config).await?;
        found = Some(match found {
            None => this,
            Some(other) => weaker(other, this),
        });
    }
    let found = found.ok_or_else(|| {
        Error::new(ErrorKind::Unavailable, "connect: the cluster has no node that holds slots")
    })?;
    check_layout(link, &config.namespace).await?;
    Ok(found)
}

async fn check_node(link: &Link, node: &Node, config: &RedisConfig) -> Result<Found, Error> {
    let hello = link.hello_of(node).await.map_err(at_connect)?;
    let version = checked_version(&hello)?;
    if hello.mode == "cluster" {
        check_cluster(link, node).await?;
    }
    let facts = Facts::ask(link, node).await.map_err(at_connect)?;
    check_policy(&facts, config.eviction.as_deref())?;
    let has_sentinels = matches!(config.place, Place::Sentinel { .. });
    let durability = facts.durability(has_sentinels);
    if facts.keeps_nothing() {
        tracing::warn!(
            ?durability,
            "the server saves nothing to disk: a restart of it loses every task; set appendonly yes"
        );
    }
    Ok(Found { server: hello.server, version, durability })
}

fn checked_version(hello: &Hello) -> Result<(u32, u32), Error> {
    let mut numbers = hello.version.split('.').map(str::parse::<u32>);
    let version = match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
        _ => (0, 0),
    };
    if version < VERSION_MIN {
        let (major, minor) = VERSION_MIN;
        let what = format!(
            "connect: the server is {} {}, and at least version {major}.{minor} is needed",
            hello.server, hello.version
        );
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    Ok(version)
}

async fn check_cluster(link: &Link, node: &Node) -> Result<(), Error> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("INFO");
    let info = known(link.send_to(node, &command).await).map_err(at_connect)?;
    match info.as_ref().map(fields).and_then(|mut fields| fields.remove("cluster_state")) {
        Some(state) if state != "ok" => {
            let what = format!("connect: a node says that the cluster's state is {state}");
            Err(Error::new(ErrorKind::Unavailable, what))
        }
        _ => Ok(()),
    }
}

fn check_policy(facts: &Facts, allowed: Option<&str>) -> Result<(), Error> {
    let policy = facts.policy.as_deref().unwrap_or(UNKNOWN);
    if policy == "noeviction" || allowed == Some(policy) {
        return Ok(());
    }
    let fix = if policy == UNKNOWN {
        "the server does not tell its maxmemory-policy: let the user run INFO".to_owned()
    } else {
        format!(
            "the server's maxmemory-policy is {policy}, which throws tasks away: set noeviction"
        )
    };
    Err(Error::invalid(format!("connect: {fix}, or accept it by allow_eviction({policy:?})")))
}

async fn check_layout(link: &Link, namespace: &str) -> Result<(), Error> {
    let key = format!("{namespace}:layout");
    let mut set = redis::cmd("SET");
    set.arg(&key).arg(LAYOUT).arg("NX");
    link.send(&set).await.map_err(at_connect)?;
    let mut get = redis::cmd("GET");
    get.arg(&key);
    let stored = link.send(&get).await.map_err(at_connect)?;
    let stored = redis::from_redis_value::<String>(stored).ok();
    match stored.as_deref().map(str::parse::<u32>) {
        Some(Ok(LAYOUT)) => Ok(()),
        Some(Ok(newer)) if newer > LAYOUT => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "connect: {key} says layout {newer}, and this build reads {LAYOUT}: use a newer \
                 release of Leasehold here"
            ),
        )),
        Some(Ok(older)) => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "connect: {key} says layout {older}, and this build reads {LAYOUT}: finish those \
                 tasks with the release that made them, or choose another namespace"
            ),
        )),
        _ => Err(Error::new(ErrorKind::Corrupt, format!("connect: {key} is no layout's number"))),
    }
}

/// What a server tells of how it keeps data; `None` is what its user may not know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Facts {
    policy: Option<String>,
    appends: Option<bool>,
    fsync: Option<String>,
    /// `no-appendfsync-on-rewrite`: no sync while the log is written anew.
    pauses_fsync: Option<bool>,
    saves: Option<bool>,
    replicas: Option<u64>,
}

impl Facts {
    async fn ask(link: &Link, node: &Node) -> Result<Self, Fault> {
        let info = known(link.send_to(node, &redis::cmd("INFO")).await)?;
        let info = info.as_ref().map(fields).unwrap_or_default();
        let told = |name: &str| info.get(name).cloned();
        let policy = match told("maxmemory_policy") {
            Some(policy) => Some(policy),
            None => setting(link, node, "maxmemory-policy").await?,
        };
        let appends = match told("aof_enabled") {
            Some(enabled) => Some(enabled == "1"),
            None => setting(link, node, "appendonly").await?.map(|value| value == "yes"),
        };
        let pauses = setting(link, node, "no-appendfsync-on-rewrite").await?;
        Ok(Self {
            policy,
            appends,
            fsync: setting(link, node, "appendfsync").await?,
            pauses_fsync: pauses.map(|value| value != "no"),
            saves: setting(link, node, "save").await?.map(|value| !value.is_empty()),
            replicas: told("connected_slaves").and_then(|count| count.parse().ok()),
        })
    }

    fn keeps_nothing(&self) -> bool {
        self.appends == Some(false) && self.saves == Some(false)
    }

    /// With a log, the kernel has an effect before its reply leaves, but not always under
    /// `everysec`: a server whose disk is behind puts the write off for up to two seconds;
    /// with a sync for each write, the disk has it too. A replica may always lag behind.
    fn durability(&self, has_sentinels: bool) -> Durability {
        let appends = self.appends == Some(true);
        let writes = matches!(self.fsync.as_deref(), Some("always" | "no"));
        let syncs = self.fsync.as_deref() == Some("always") && self.pauses_fsync == Some(false);
        let is_alone = self.replicas == Some(0) && !has_sentinels;
        let failover = if is_alone { Failover::Single } else { Failover::No };
        Durability::new(appends && writes, appends && syncs, failover)
    }
}

/// A setting of a server, where the user may see it.
async fn setting(link: &Link, node: &Node, name: &str) -> Result<Option<String>, Fault> {
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg(name);
    let Some(reply) = known(link.send_to(node, &command).await)? else { return Ok(None) };
    let settings = redis::from_redis_value::<HashMap<String, String>>(reply);
    Ok(settings.ok().and_then(|mut settings| settings.remove(name)))
}

/// `None` for what the server does not tell this user, or does not know at all.
fn known(reply: Result<Value, Fault>) -> Result<Option<Value>, Fault> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(fault) if matches!(fault.code(), Some("NOPERM" | "ERR")) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The `name:value` lines of a reply.
fn fields(reply: &Value) -> HashMap<String, String> {
    let text = redis::from_redis_value_ref::<String>(reply).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.trim_end().split_once(':'));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn weaker(one: Found, other: Found) -> Found {
    let (a, b) = (one.durability, other.durability);
    let is_single = a.failover == Failover::Single && b.failover == Failover::Single;
    let failover = if is_single { Failover::Single } else { Failover::No };
    let durability =
        Durability::new(a.process_crash && b.process_crash, a.host_crash && b.host_crash, failover);
    let older = if one.version <= other.version { one } else { other };
    Found { durability, ..older }
}

fn at_connect(fault: Fault) -> Error {
    told("connect", fault)
}

#[cfg(test)]
mod on_servers;

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(appends: Option<bool>, fsync: Option<&str>, replicas: Option<u64>) -> Facts {
        let fsync = fsync.map(str::to_owned);
        Facts { appends, fsync, pauses_fsync: Some(false), replicas, ..Facts::default() }
    }

    #[test]
    fn durability_is_what_is_known() {
        let (none, single) = (Failover::No, Failover::Single);
        let table = [
            (facts(Some(true), Some("always"), Some(0)), (true, true, single)),
            (facts(Some(true), Some("everysec"), Some(0)), (false, false, single)),
            (facts(Some(true), Some("no"), Some(0)), (true, false, single)),
            (facts(Some(false), Some("always"), Some(0)), (false, false, single)),
            (facts(Some(true), Some("always"), Some(1)), (true, true, none)),
            (facts(Some(true), None, Some(0)), (false, false, single)),
            (facts(None, Some("always"), Some(0)), (false, false, single)),
            (facts(Some(true), Some("always"), None), (true, true, none)),
        ];
        for (facts, (process, host, failover)) in table {
            let expected = Durability::new(process, host, failover);
            assert_eq!(facts.durability(false), expected, "{facts:?}");
            let expected = Durability::new(process, host, none);
            assert_eq!(facts.durability(true), expected, "{facts:?} behind sentinels");
        }
        for pauses_fsync in [None, Some(true)] {
            let facts = Facts { pauses_fsync, ..facts(Some(true), Some("always"), Some(0)) };
            assert_eq!(facts.durability(false), Durability::new(true, false, single));
        }
    }

    #[test]
    fn a_server_keeps_nothing_when_both_ways_are_off() {
        let facts = |appends, saves| Facts { appends, saves, ..Facts::default() };
        assert!(facts(Some(false), Some(false)).keeps_nothing());
        for (appends, saves) in [(true, false), (false, true), (true, true)] {
            assert!(!facts(Some(appends), Some(saves)).keeps_nothing());
        }
        assert!(!facts(Some(false), None).keeps_nothing(), "it may save");
    }

    #[test]
    fn the_weakest_master_counts() {
        let found = |version, durability| Found { server: "redis".to_owned(), version, durability };
        let strong = Durability::new(true, true, Failover::Single);
        for weak in [
            Durability::new(false, true, Failover::Single),
            Durability::new(true, false, Failover::Single),
            Durability::new(true, true, Failover::No),
        ] {
            let (a, b) = (found((7, 0), strong), found((6, 2), weak));
            assert_eq!(weaker(a.clone(), b.clone()), found((6, 2), weak));
            assert_eq!(weaker(b, a), found((6, 2), weak));
        }
    }

    #[test]
    fn an_old_server_is_refused() {
        let hello = |server: &str, version: &str| Hello {
            server: server.to_owned(),
            version: version.to_owned(),
            ..Hello::default()
        };
        for (version, expected) in [("6.2.0", (6, 2)), ("7.0.15", (7, 0)), ("10.1", (10, 1))] {
            assert_eq!(checked_version(&hello("valkey", version)).expect(version), expected);
        }
        for version in ["6.0.16", "5.9.1", "", "new"] {
            let error = checked_version(&hello("redis", version)).expect_err(version);
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{version}");
            assert!(error.to_string().contains("6.2"), "{error}");
        }
    }

    #[test]
    fn a_policy_is_allowed_by_its_own_name_only() {
        let facts =
            |policy: Option<&str>| Facts { policy: policy.map(str::to_owned), ..Facts::default() };
        let check = |policy, allowed| check_policy(&facts(policy), allowed);
        assert!(check(Some("noeviction"), None).is_ok());
        assert!(check(Some("allkeys-lru"), Some("allkeys-lru")).is_ok());
        assert!(check(None, Some("unknown")).is_ok());
        for (policy, allowed) in [
            (Some("allkeys-lru"), None),
            (Some("allkeys-lru"), Some("noeviction")),
            (Some("allkeys-lru"), Some("unknown")),
            (Some("volatile-ttl"), Some("allkeys-lru")),
            (None, None),
            (None, Some("noeviction")),
        ] {
            let error = check(policy, allowed).expect_err("refused");
            let name = policy.unwrap_or("unknown");
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(&format!("allow_eviction({name:?})")), "{error}");
        }
    }
}
