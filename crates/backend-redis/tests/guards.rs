//! No guard of a script is there for nothing. A line that keeps a clause is marked
//! (`-- guard LH-FAMILY-n` at its end). Here each marked line is taken away in turn, and a case
//! of that clause must then report a fault that names the clause; as the scripts are written, the
//! same cases pass. So nobody can lose a guard, and no case can go blind, unseen.
//!
//! It proves nothing about lines without a mark, nor about guards that stand in Rust.

#[path = "guards/marks.rs"]
mod marks;
mod shared;

use std::collections::BTreeMap;

use leasehold_conformance::{Case, CaseClock, Fault, Orders, Verdict, cases, run_case};
use leasehold_core::Clock;
use leasehold_core::clause::{Clause, LAPSE_8};
use leasehold_redis::Edited;

use marks::{Mark, marks};
use shared::harness::Redis;
use shared::raw::Raw;
use shared::servers::Found;

/// Enough that no guard of today is missed, and few enough that all of them are tried.
const ORDERS: Orders = Orders::Some(20);

#[test]
#[ignore = "it runs for a quarter of an hour: scripts/nightly"]
fn each_guard_that_is_taken_away_is_missed_by_a_case() {
    let marks = marks().unwrap_or_else(|wrong| panic!("{}", wrong.join("\n")));
    assert!(!marks.is_empty(), "no line is marked");
    let unknown = marks::unknown_in_heads();
    assert!(unknown.is_empty(), "no clauses of the contract:\n{}", unknown.join("\n"));
    let server = wait(Found::find());
    let unloaded = wait(unloaded(&server.url(), &marks));
    assert!(unloaded.is_empty(), "{}", unloaded.join("\n"));

    let harness = wait(Redis::at(server.url())).expect("the server answers").with_orders(ORDERS);
    let (mut ran, mut survivors) = (BTreeMap::new(), Vec::new());
    for mark in &marks {
        survivors.extend(kill(&harness, mark, &mut ran).err());
    }
    println!("guards: {}, killed: {}", marks.len(), marks.len() - survivors.len());
    assert!(survivors.is_empty(), "no case misses these guards:\n{}", survivors.join("\n"));
    let wrong: Vec<_> = ran.into_values().filter_map(|case| control(&harness, case)).collect();
    assert!(wrong.is_empty(), "with every guard in its place:\n{}", wrong.join("\n"));
}

/// What is no Lua any more without its guard line.
async fn unloaded(url: &str, marks: &[Mark]) -> Vec<String> {
    let raw = Raw::open(url).await.expect("the server answers");
    let mut wrong = Vec::new();
    for mark in marks {
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(&mark.without).clone();
        if let Err(error) = raw.ask::<String>(&load).await {
            wrong.push(format!("{}: without the line, it is no Lua: {error}", mark.place()));
        }
    }
    wrong
}

/// The cases that prove a clause: those whose first clause it is before others, and those that
/// wait on the real clock or play many orders last. Which comes first only decides how soon a
/// guard is missed. Every case looks at what is left in the end, and by that proves LH-LAPSE-8.
fn cases_of(clause: &Clause) -> Vec<&'static Case> {
    let lists = |case: &Case| case.clauses.iter().any(|one| one.id == clause.id);
    let first = |case: &Case| case.clauses.first().is_some_and(|one| one.id == clause.id);
    let many = ["orders/", "model/", "lanes/"];
    let slow = |case: &Case| {
        case.needs.clock == CaseClock::Real || many.iter().any(|of| case.id.starts_with(of))
    };
    let proves = |case: &&Case| lists(case) || (clause.id == LAPSE_8.id && !slow(case));
    let mut proving: Vec<_> = cases().iter().filter(proves).collect();
    proving.sort_by_key(|case| (slow(case), !first(case), !lists(case)));
    proving
}

/// Takes the guard away until a case reports its clause; tells the line that all survive. Notes
/// which cases have run.
fn kill(harness: &Redis, mark: &Mark, ran: &mut BTreeMap<&str, &Case>) -> Result<(), String> {
    let Mark { clause, guard, .. } = mark;
    let (place, clock) = (mark.place(), Clock::default());
    let begin = clock.now();
    let _edited = Edited::begin(&mark.file, &mark.without);
    let mut seen = String::new();
    for case in cases_of(clause) {
        let verdict = wait(run_case(harness, case));
        ran.insert(case.id, case);
        if names(&verdict, clause) {
            let (id, took_ms) = (clause.id, clock.now().since(begin).as_millis());
            println!("{place:<20} {id:<12} killed by {:<44} after {took_ms:>5} ms", case.id);
            return Ok(());
        }
        if !matches!(verdict, Verdict::Pass | Verdict::Inapplicable) {
            seen.push_str(&format!("\n    {}: {}", case.id, told(&verdict)));
        }
    }
    println!("{place:<20} {:<12} SURVIVES", clause.id);
    Err(format!("  {place} {}: {guard}{seen}", clause.id))
}

/// What a case objects to although no guard is missing: if it fails anyway, then that it failed
/// without a guard proves nothing.
fn control(harness: &Redis, case: &Case) -> Option<String> {
    let verdict = wait(run_case(harness, case));
    let good = matches!(verdict, Verdict::Pass | Verdict::Inapplicable);
    (!good).then(|| format!("  {}: {}", case.id, told(&verdict)))
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
