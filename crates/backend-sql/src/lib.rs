//! SQL backends of Leasehold: stores that keep the contract of `leasehold_core` in a database.
//!
//! Feature `sqlite`: `SqliteBackend`, one file on this machine that several processes may share.
//! `docs/backends/sqlite.md` tells its layout, what each fault can cost, and its limits.
//!
//! Every statement is a file of its own under `sql/`, with its parameters, what it returns and
//! the clauses that it keeps; nothing is put together from strings.

#[cfg(feature = "sqlite")]
mod error;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(all(feature = "sqlite", feature = "test-hooks"))]
pub use sqlite::Edited;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteBackend, SqliteConfig, Synchronous};
