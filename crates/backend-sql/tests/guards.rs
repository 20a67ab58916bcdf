//! No guard of a statement is there for nothing: without its line a case must fail, and name the
//! clause. See [`leasehold_conformance::guards`].

#[path = "shared/harness.rs"]
mod harness;

use std::path::Path;

use async_trait::async_trait;
use leasehold_conformance::guards::{Mark, Source, examine, marks};
use leasehold_conformance::{Case, Harness, HarnessError, Profile, World};
use leasehold_sql::{Edited, SqliteBackend, SqliteConfig};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};

use harness::Sqlite;

/// A statement is edited for the whole process.
const LANES: usize = 1;

#[test]
fn each_guard_that_is_taken_away_is_missed_by_a_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite");
    let sources = Source::read_all(&folder).expect("the statements are there");
    let marks = marks(&sources).unwrap_or_else(|wrong| panic!("{}", wrong.join("\n")));
    let unprepared = wait(unprepared(&marks));
    assert!(unprepared.is_empty(), "{}", unprepared.join("\n"));

    let findings = examine(&marks, LANES, Without::of);
    println!("{findings}");
    assert_eq!(findings.complaints(), "");
}

/// The store without a guard line, as long as this lives.
struct Without {
    _edited: Option<Edited>,
}

impl Without {
    fn of(mark: Option<&Mark>) -> Self {
        Self { _edited: mark.map(|mark| Edited::begin(&mark.file, &mark.without)) }
    }
}

#[async_trait]
impl Harness for Without {
    fn profile(&self) -> Profile {
        Sqlite.profile()
    }

    async fn world(&self, case: &Case) -> Result<Box<dyn World>, HarnessError> {
        Sqlite.world(case).await
    }
}

/// What is not a statement any more without its guard line.
async fn unprepared(marks: &[Mark]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut conn = migrated(&folder.path().join("tasks.db")).await;
    let mut wrong = Vec::new();
    for mark in marks {
        let explain = AssertSqlSafe(format!("explain {}", mark.without));
        if let Err(error) = sqlx::query(explain).fetch_all(&mut conn).await {
            wrong.push(format!("{}: without the line, it is no SQL: {error}", mark.place()));
        }
    }
    wrong
}

async fn migrated(path: &Path) -> SqliteConnection {
    SqliteBackend::connect(SqliteConfig::new(path)).await.expect("a new file");
    SqliteConnectOptions::new().filename(path).connect().await.expect("it can be opened")
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(work)
}
