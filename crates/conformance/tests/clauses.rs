//! The clauses, their document and the list of cases hang together.

use std::path::Path;

use leasehold_conformance::{PARTLY, UNTESTED};
use leasehold_core::clause::{self, Level};

#[path = "clauses/rules.rs"]
mod rules;

/// Extended features that have landed: their clauses need cases.
const LANDED: &[&str] = &["limits", "unique", "kinds", "replay", "follow-ups"];

#[test]
fn the_contract_and_its_table_are_the_same() {
    let table: Vec<String> = clause::ALL
        .iter()
        .map(|clause| {
            format!("- **{}** [{}, {}] {}", clause.id, clause.level, clause.proof, clause.text)
        })
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/contract.md");
    let document = std::fs::read_to_string(path).expect("the contract is in docs");
    assert_eq!(rules::differences(&document, &table), [""; 0], "docs/contract.md and clause.rs");
}

#[test]
fn every_clause_has_a_case_or_a_reason() {
    let is_required = |level: Level| match level {
        Level::Core => true,
        Level::Extended(feature) => LANDED.contains(&feature),
        Level::Worker => false,
    };
    let required: Vec<_> =
        clause::ALL.iter().filter(|c| is_required(c.level)).map(|c| c.id).collect();
    assert_eq!(rules::unproved(&required, &cases(), UNTESTED), [""; 0], "clauses without a case");
}

#[test]
fn every_reason_holds() {
    let known: Vec<_> = clause::ALL.iter().map(|clause| clause.id).collect();
    assert_eq!(rules::stale_reasons(&known, &cases(), UNTESTED), [""; 0], "UNTESTED");
    assert_eq!(rules::overstated(&cases(), PARTLY), [""; 0], "PARTLY");
}

#[test]
fn every_case_names_its_clauses() {
    assert_eq!(rules::faulty_cases(&cases()), [""; 0], "ids and clauses of the cases");
}

fn cases() -> Vec<rules::Case> {
    leasehold_conformance::cases()
        .iter()
        .map(|case| rules::Case {
            id: case.id,
            clauses: case.clauses.iter().map(|clause| clause.id).collect(),
        })
        .collect()
}
