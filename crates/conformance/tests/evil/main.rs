//! The suite's own exam: stores with one fault each, and the cases that have to find it.

mod backend;
mod charge;
mod harness;
mod network;
mod not_here;
mod report;
mod sin;
mod sins;
mod trial;
mod wired;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use leasehold_core::Features;

use crate::charge::Charge;
use crate::harness::Exam;
use crate::network::Wiring;
use crate::sin::Innocent;
use crate::trial::Finding;

/// The store without a fault passes the whole suite; so each verdict below is the fault's.
mod innocent {
    use super::*;
    leasehold_conformance::suite!(Exam {
        features: Features::all(),
        sin: || Arc::new(Innocent),
        wiring: Wiring::Sound,
    });
}

/// The numbers 1 to 42 are the faults that the suite was designed against.
#[test]
fn the_list_is_whole() {
    let missing: Vec<u8> = (1..=42).filter(|no| !sins::all().any(|c| c.no == *no)).collect();
    assert_eq!(missing, [0; 0], "numbers without a sin");
    let mut names: Vec<_> = sins::all().map(|charge| charge.name).collect();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "names that two sins have: {twice:?}");
}

/// Nothing less than all: a sin that survives is a case that is missing.
#[test]
fn every_sin_is_found() {
    let charges: Vec<&'static Charge> = sins::all().collect();
    let findings = try_all(&charges);
    report::print(&findings);
    let failed = report::failures(&findings);
    assert!(failed.is_empty(), "{failed}");
}

/// Side by side, as each trial is slow rather than wide.
fn try_all(charges: &[&'static Charge]) -> Vec<Finding> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut found = Vec::new();
        while let Some(charge) = charges.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.push((charge.name, trial::run(charge)));
        }
        found
    };
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    let found: Vec<_> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("a trial never panics")).collect()
    });
    let mut findings: Vec<_> = found.into_iter().map(|(_, finding)| finding).collect();
    let place = |finding: &Finding| charges.iter().position(|c| c.name == finding.charge.name);
    findings.sort_by_key(place);
    findings
}
