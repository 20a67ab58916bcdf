//! The public suite on the SQLite store.
//!
//! `LH_REPORT=path.json cargo test -p leasehold-sql --all-features --test conformance` writes
//! what it proved.

#[path = "shared/harness.rs"]
mod harness;

use std::process::ExitCode;

use harness::Sqlite;

fn main() -> ExitCode {
    leasehold_conformance::main(Sqlite)
}
