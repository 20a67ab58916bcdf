//! [`RedisConfig`]: where the servers are and how they are used.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{Bounds, Clock, Error};

use crate::scripts::Scripts;
use crate::url;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How to open a store on Redis or Valkey. Its [`Debug`](fmt::Debug) form shows hosts and no
/// user and no password.
#[derive(Clone)]
pub struct RedisConfig {
    pub(crate) place: Place,
    pub(crate) login: Login,
    pub(crate) tls: bool,
    pub(crate) db: i64,
    pub(crate) namespace: String,
    pub(crate) call_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) bounds: Bounds,
    pub(crate) eviction: Option<String>,
    pub(crate) clock: Clock,
    pub(crate) scripts: Arc<Scripts>,
}

/// Who answers commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// This one server.
    Server(Address),
    /// Whichever server these Sentinels call the master of this name.
    Sentinel { sentinels: Vec<Address>, master: String, login: Login },
    /// The nodes of the cluster to which these belong.
    Cluster(Vec<Address>),
}

/// A host and its port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub host: String,
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// What a server wants to know about its user.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Login {
    pub user: Option<String>,
    pub password: Option<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::default() { "none" } else { "***" })
    }
}

impl RedisConfig {
    /// The servers that `url` names.
    ///
    /// | URL | store |
    /// |---|---|
    /// | `redis://[USER:PASSWORD@]HOST[:PORT][/DB]` | one server; port 6379 and database 0 unless named |
    /// | `redis-sentinel://[USER:PASSWORD@]HOST[:PORT],.../MASTER[/DB]` | the server that these Sentinels call MASTER; port 26379 unless named |
    /// | `redis-cluster://[USER:PASSWORD@]HOST[:PORT],...` | the cluster to which these nodes belong; some of them are enough |
    ///
    /// `valkey` may stand for `redis`. With `rediss` or `valkeys` instead, and the feature `tls`,
    /// every connection is by TLS, also to Sentinels. Trusted are the system's certificates, or
    /// those in the file that the variable `SSL_CERT_FILE` names. Behind Sentinels and in a
    /// cluster the certificates must have the hosts or addresses that these announce.
    ///
    /// In USER, PASSWORD, MASTER and values any byte may be written by its percent code, and
    /// `% / ? # @ : & ,` must be. `:PASSWORD@` is a password without a user.
    ///
    /// | parameter | means | default |
    /// |---|---|---|
    /// | `namespace` | as [`with_namespace`](Self::with_namespace) | `lh` |
    /// | `timeout_ms` | as [`with_call_timeout`](Self::with_call_timeout), in milliseconds | 5000 |
    /// | `sentinel_user`, `sentinel_password` | the login at the Sentinels, if they want one | none |
    ///
    /// # Errors
    /// Invalid, naming the part that cannot be read and never its text; Unsupported for TLS in
    /// a build without the feature `tls`.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        url::parse(url)
    }

    /// All defaults at a place.
    pub(crate) fn at(place: Place) -> Self {
        Self {
            place,
            login: Login::default(),
            tls: false,
            db: 0,
            namespace: "lh".to_owned(),
            call_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(1),
            bounds: Bounds::default(),
            eviction: None,
            clock: Clock::default(),
            scripts: Scripts::written(),
        }
    }

    /// The same servers with another first part of every key; default `lh`. Handles of one
    /// store must have the same; stores of different namespaces do not know each other.
    ///
    /// # Errors
    /// Invalid unless it is 1 to 64 bytes without braces, white space and control characters.
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Result<Self, Error> {
        let namespace = namespace.into();
        let is_bad = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '{' | '}');
        if !(1..=64).contains(&namespace.len()) || namespace.chars().any(is_bad) {
            return Err(Error::invalid(
                "a namespace has 1 to 64 bytes and no brace, white space or control character",
            ));
        }
        self.namespace = namespace;
        Ok(self)
    }

    /// The same servers with another deadline of a call, reconnecting included, after which it
    /// is Unavailable; default 5 s, 1 ms to a day.
    #[must_use]
    pub fn with_call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout.clamp(Duration::from_millis(1), DAY);
        self
    }

    /// The same servers with another longest time in which one of them has to take a new
    /// connection; default 1 s, 1 ms to a day.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout.clamp(Duration::from_millis(1), DAY);
        self
    }

    /// The same servers with other bounds. All handles of a store should have the same.
    #[must_use]
    pub fn with_bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// The same servers although their `maxmemory-policy` is `policy`, such as `allkeys-lru`,
    /// under which they throw tasks away, and parts of tasks, when memory runs short. Nothing
    /// that the contract promises holds then.
    #[must_use]
    pub fn allow_eviction(mut self, policy: impl Into<String>) -> Self {
        self.eviction = Some(policy.into());
        self
    }

    /// The same servers with a clock of their own, for tests. Every handle of the store must
    /// have it.
    #[cfg(feature = "test-clock")]
    #[must_use]
    pub fn with_clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// The same servers by edited scripts, for tests.
    #[cfg(feature = "test-hooks")]
    #[must_use]
    pub fn with_edited(mut self, edited: crate::Edited) -> Self {
        self.scripts = edited.0;
        self
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("place", &self.place)
            .field("login", &self.login)
            .field("tls", &self.tls)
            .field("db", &self.db)
            .field("namespace", &self.namespace)
            .field("call_timeout", &self.call_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("bounds", &self.bounds)
            .field("eviction", &self.eviction)
            .field("clock", &self.clock)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> RedisConfig {
        RedisConfig::at(Place::Server(Address { host: "db".to_owned(), port: 1 }))
    }

    #[test]
    fn a_namespace_can_stand_in_a_key() {
        let long = "x".repeat(65);
        for bad in ["", "a{b", "a}b", "a b", "a\nb", "a\u{a0}b", "a\0", long.as_str()] {
            assert!(config().with_namespace(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "lh:1", "größe", &long[1..]] {
            let config = config().with_namespace(good).expect("a good namespace");
            assert_eq!(config.namespace, good);
        }
    }

    #[test]
    fn no_timeout_is_nothing_or_endless() {
        let config = config().with_call_timeout(Duration::ZERO).with_connect_timeout(Duration::MAX);
        assert_eq!(config.call_timeout, Duration::from_millis(1));
        assert_eq!(config.connect_timeout, DAY);
    }

    #[test]
    fn an_address_of_many_colons_is_in_brackets() {
        let address = |host: &str| Address { host: host.to_owned(), port: 7 }.to_string();
        assert_eq!((address("::1"), address("db")), ("[::1]:7".to_owned(), "db:7".to_owned()));
    }
}
