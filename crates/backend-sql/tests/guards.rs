//! No guard of a statement is there for nothing. A line that keeps a clause is marked
//! (`-- guard LH-FAMILY-n` at its end). Here each marked line is taken away in turn, and a case
//! of that clause must then report a fault that names the clause; as the statements are written,
//! the same cases pass. So nobody can lose a guard, and no case can go blind, unseen.
//!
//! It proves nothing about lines without a mark, nor about guards that stand in Rust.

#[path = "shared/harness.rs"]
mod harness;
#[path = "guards/marks.rs"]
mod marks;

use std::collections::BTreeMap;
use std::path::Path;

use leasehold_conformance::{Case, CaseClock, Fault, Verdict, cases, run_case};
use leasehold_core::Clock;
use leasehold_core::clause::Clause;
use leasehold_sql::{Edited, SqliteBackend, SqliteConfig};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};

use harness::Sqlite;
use marks::{Mark, marks};

#[test]
fn each_guard_that_is_taken_away_is_missed_by_a_case() {
    let marks = marks().unwrap_or_else(|wrong| panic!("{}", wrong.join("\n")));
    assert!(!marks.is_empty(), "no line is marked");
    let unprepared = wait(unprepared(&marks));
    assert!(unprepared.is_empty(), "{}", unprepared.join("\n"));

    let (mut ran, mut survivors) = (BTreeMap::new(), Vec::new());
    for mark in &marks {
        survivors.extend(kill(mark, &mut ran).err());
    }
    println!("guards: {}, killed: {}", marks.len(), marks.len() - survivors.len());
    assert!(survivors.is_empty(), "no case misses these guards:\n{}", survivors.join("\n"));
    let wrong: Vec<_> = ran.into_values().filter_map(control).collect();
    assert!(wrong.is_empty(), "with every guard in its place:\n{}", wrong.join("\n"));
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

/// The cases that prove a clause: those whose first clause it is before others, and those that
/// wait on the real clock or play many orders last. Which comes first only decides how soon a guard is missed.
fn cases_of(clause: &Clause) -> Vec<&'static Case> {
    let mut proving: Vec<_> =
        cases().iter().filter(|case| case.clauses.iter().any(|one| one.id == clause.id)).collect();
    let first = |case: &Case| case.clauses.first().is_some_and(|one| one.id == clause.id);
    let slow = |case: &Case| case.needs.clock == CaseClock::Real || case.id.starts_with("orders/");
    proving.sort_by_key(|case| (slow(case), !first(case)));
    proving
}

/// Takes the guard away until a case reports its clause; tells the line that all survive. Notes
/// which cases have run.
fn kill(mark: &Mark, ran: &mut BTreeMap<&str, &Case>) -> Result<(), String> {
    let Mark { clause, guard, .. } = mark;
    let (place, clock) = (mark.place(), Clock::default());
    let begin = clock.now();
    let _edited = Edited::begin(&mark.statement, &mark.without);
    let mut seen = String::new();
    for case in cases_of(clause) {
        let verdict = wait(run_case(&Sqlite, case));
        ran.insert(case.id, case);
        if names(&verdict, clause) {
            let (id, took_ms) = (clause.id, clock.now().since(begin).as_millis());
            println!("{place:<24} {id:<12} killed by {:<44} after {took_ms:>5} ms", case.id);
            return Ok(());
        }
        if verdict != Verdict::Pass {
            seen.push_str(&format!("\n    {}: {}", case.id, told(&verdict)));
        }
    }
    println!("{place:<24} {:<12} SURVIVES", clause.id);
    Err(format!("  {place} {}: {guard}{seen}", clause.id))
}

/// What a case objects to although no guard is missing: if it fails anyway, then that it failed
/// without a guard proves nothing.
fn control(case: &Case) -> Option<String> {
    let verdict = wait(run_case(&Sqlite, case));
    (verdict != Verdict::Pass).then(|| format!("  {}: {}", case.id, told(&verdict)))
}

/// Whether a fault was reported, and names the clause. A case that only stopped says nothing
/// about which clause is broken.
fn names(verdict: &Verdict, clause: &Clause) -> bool {
    match verdict {
        Verdict::Fail(faults) | Verdict::Stopped { faults, .. } => {
            faults.iter().any(|fault| fault.clause.id == clause.id)
        }
        _ => false,
    }
}

/// A verdict in a line.
fn told(verdict: &Verdict) -> String {
    let fault = |fault: &Fault| format!("{}: {}", fault.clause.id, fault.what);
    let faults = |faults: &[Fault]| faults.iter().map(fault).collect::<Vec<_>>().join("; ");
    match verdict {
        Verdict::Fail(found) => faults(found),
        Verdict::Stopped { why, faults: found, .. } => format!("{why}; {}", faults(found)),
        other => format!("{other:?}"),
    }
}

/// On a runtime of its own, so that nothing of a store outlives its case.
fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(work)
}
