//! The exhaustive check of the protocol: every state that a small cast can reach, with a lapse
//! possible at any moment, by the very rules of the model. The laws that hold in each are written
//! apart from these rules. That the laws see something is shown by mutants, protocols with one
//! fault each, which they have to reject.
//!
//! `cargo test --release -p leasehold-conformance --test protocol -- --nocapture` explores the
//! whole; a debug build explores a smaller cast of each configuration.

mod action;
mod canon;
mod casts;
mod config;
mod drain;
mod explore;
mod fault;
mod law;
mod mutants;
mod past;
mod reached;
mod step;
mod trace;
mod world;

use std::collections::BTreeSet;

use leasehold_core::State;

use crate::explore::{Found, explore};
use crate::fault::Right;
use crate::mutants::Expected;

#[test]
fn every_reachable_state_keeps_every_law() {
    if cfg!(debug_assertions) {
        println!("a debug build: each configuration is a size smaller than with --release");
    }
    let mut faults = Vec::new();
    let (mut states, mut transitions) = (0, 0);
    for config in casts::all() {
        let found = explore(&config, &Right);
        let Found { states: its, transitions: moves, depth, time, reached, broken } = &found;
        println!(
            "{:<16} {its:>8} states {moves:>9} transitions {depth:>3} deep {time:?}",
            config.name
        );
        (states, transitions) = (states + its, transitions + moves);
        if let Some((broken, way)) = broken {
            let trace = trace::told(&config, &Right, way);
            faults.push(format!("{}: {:?}: {}\n{trace}", config.name, broken.law, broken.what));
            continue;
        }
        let missed = config.expects.iter().filter(|label| !reached.contains_key(**label));
        faults.extend(missed.map(|label| format!("{}: {label} was not reached", config.name)));
    }
    println!("{states} states, {transitions} transitions");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_verdict_and_every_state_is_expected_of_some_configuration() {
    let expected: BTreeSet<_> =
        casts::all().into_iter().flat_map(|config| config.expects).collect();
    let all = reached::VERDICTS.iter().copied().chain(State::ALL.iter().map(|s| s.as_str()));
    let missing: Vec<_> = all.clone().filter(|label| !expected.contains(label)).collect();
    assert_eq!(missing, [""; 0], "what no configuration has to reach");
    let unknown: Vec<_> =
        expected.iter().filter(|label| !all.clone().any(|one| one == **label)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are no verdicts");
    println!(
        "each of {} verdicts and {} states is expected of some configuration",
        reached::VERDICTS.len(),
        State::ALL.len()
    );
}

#[test]
fn every_mutant_is_rejected_by_its_law() {
    let (mut rejected, mut faults) = (0, Vec::new());
    let all = mutants::all();
    for mutant in &all {
        let config = (mutant.config)();
        let found = explore(&config, &*mutant.fault);
        let (time, states, name) = (found.time, found.states, mutant.name);
        let told = match (&found.broken, mutant.expected) {
            (Some((broken, way)), _) => {
                rejected += 1;
                format!("{:?} after {} steps, {states} states, {time:?}", broken.law, way.len())
            }
            (None, Expected::Survives(why)) => format!("survives {states} states: {why}"),
            (None, Expected::Rejected(_)) => format!("SURVIVES {states} states"),
        };
        println!("{name} ({}): {told}", config.name);
        let seen = found.broken.as_ref().map(|(broken, _)| broken.law);
        let wanted = match mutant.expected {
            Expected::Rejected(law) => Some(law),
            Expected::Survives(_) => None,
        };
        if seen != wanted {
            let trace = found.broken.as_ref().map_or(String::new(), |(broken, way)| {
                format!("{}\n{}", broken.what, trace::told(&config, &*mutant.fault, way))
            });
            faults.push(format!("{name}: {seen:?} instead of {wanted:?}: {trace}"));
        }
    }
    println!("mutants: {}, rejected: {rejected}", all.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
