//! The public suite on the SQLite store.

#[path = "shared/harness.rs"]
mod harness;

use harness::Sqlite;

leasehold_conformance::suite!(Sqlite);
