//! The Redis and Valkey backend of Leasehold: alone, behind Sentinel, or as a Cluster.
//!
//! `backend` has the ten verbs, each the run of one script of `lua/` (`scripts`, `codec`, `keys`);
//! `link` has the connections, and `checks` looks at the servers before they are trusted.

mod backend;
mod checks;
mod codec;
mod config;
#[cfg(feature = "test-hooks")]
mod edited;
mod error;
mod keys;
mod link;
mod scripts;
#[cfg(test)]
mod servers;
mod split;
mod url;
mod wake;

pub use self::backend::RedisBackend;
pub use self::config::RedisConfig;
#[cfg(feature = "test-hooks")]
pub use self::edited::Edited;
