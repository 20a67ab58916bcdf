//! The table of all trials.

use std::collections::BTreeSet;
use std::fmt::Write;

use leasehold_conformance::cases;

use crate::not_here::{Elsewhere, NOT_HERE};
use crate::trial::Finding;

/// Prints every sin with its killers, the clause that each names, and the time to kill.
pub fn print(findings: &[Finding]) {
    for finding in findings {
        let charge = finding.charge;
        let Finding { others, asked, .. } = finding;
        match charge.no {
            0 => println!("{}: {}", charge.name, charge.what),
            no => println!("{no}. {}: {}", charge.name, charge.what),
        }
        if !charge.met.is_empty() {
            println!("    met     {}", charge.met);
        }
        for (case, clause, took) in &finding.kills {
            println!("    killer  {case} by {clause} in {} ms", took.as_millis());
        }
        println!("    others  {others} of {asked} cases, all related");
        if !charge.elsewhere.is_empty() {
            println!("    also    {}", charge.elsewhere);
        }
    }
    println!("not here:");
    for Elsewhere { what, why, covered_by } in NOT_HERE {
        println!("    {what}: {why}; instead: {covered_by}");
    }
    let untouched = unattacked(findings);
    println!("clauses with a case that no sin attacks: {}", untouched.len());
    for id in untouched {
        println!("    {id}");
    }
    let killed = findings.iter().filter(|finding| finding.is_sound()).count();
    println!("sins: {}, killed: {killed}", findings.len());
}

/// What is wrong, sin by sin; empty when nothing is.
pub fn failures(findings: &[Finding]) -> String {
    let mut told = String::new();
    for finding in findings.iter().filter(|finding| !finding.is_sound()) {
        _ = writeln!(told, "\n{}: {}", finding.charge.name, finding.charge.what);
        if finding.charge.killed_by.is_empty() {
            _ = writeln!(told, "    no case is named");
        }
        for complaint in &finding.complaints {
            _ = writeln!(told, "    {complaint}");
        }
    }
    told
}

/// The clauses that cases name and no sin is killed by.
fn unattacked(findings: &[Finding]) -> Vec<&'static str> {
    let killed_by = findings.iter().flat_map(|finding| finding.charge.killed_by);
    let attacked: BTreeSet<_> = killed_by.map(|(_, clause)| clause.id).collect();
    let mut left = Vec::new();
    for clause in cases().iter().flat_map(|case| case.clauses) {
        if !attacked.contains(clause.id) && !left.contains(&clause.id) {
            left.push(clause.id);
        }
    }
    left
}
