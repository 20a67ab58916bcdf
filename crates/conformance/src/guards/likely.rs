//! In which order the cases are tried that may miss a guard. It decides only how soon one does.

use std::collections::BTreeSet;

use leasehold_core::clause::{Clause, LAPSE_8};

use crate::case::{Case, CaseClock, Kind};

/// How many of the cases that miss a guard beside this one are tried before all others.
const NEXT_DOOR: usize = 4;

/// Whether every case proves the clause, and not only those that say so: each looks at what is left
/// in the end.
pub(super) fn is_everywhere(clause: &Clause) -> bool {
    clause.id == LAPSE_8.id
}

/// The cases that prove a clause, the likely and quick ones first. `near` are cases that miss
/// other guards, the nearest first: where every case proves the clause, they know the place.
pub(super) fn proving(
    clause: &Clause,
    suite: &'static [Case],
    near: &[&'static Case],
) -> Vec<&'static Case> {
    let first = |case: &Case| case.clauses.first().is_some_and(|one| one.id == clause.id);
    let mut listing: Vec<_> = suite.iter().filter(|case| lists(case, clause)).collect();
    listing.sort_by_key(|case| (cost(case), !first(case)));
    if !is_everywhere(clause) {
        return listing;
    }
    let slow = listing.iter().position(|case| cost(case) > 0).unwrap_or(listing.len());
    let slow = listing.split_off(slow);
    let (next_door, further) = near.split_at(near.len().min(NEXT_DOOR));
    let quick = suite.iter().filter(|case| cost(case) == 0);
    let all = next_door.iter().copied().chain(listing).chain(further.iter().copied());
    let mut proving: Vec<&Case> = all.chain(quick).chain(slow).collect();
    let mut seen = BTreeSet::new();
    proving.retain(|case| seen.insert(case.id));
    proving
}

/// The quick cases that do not say that they prove the clause, those of its family first. What
/// one of them sees tells whoever looks for a missing case or a wrong mark where to look.
pub(super) fn bystanders(clause: &Clause, suite: &'static [Case]) -> Vec<&'static Case> {
    let is_by = |case: &&Case| cost(case) == 0 && !lists(case, clause);
    let mut others: Vec<_> = suite.iter().filter(is_by).collect();
    others.sort_by_key(|case| family(clause) != case.id.split('/').next().map(str::to_owned));
    others
}

fn lists(case: &Case, clause: &Clause) -> bool {
    case.clauses.iter().any(|one| one.id == clause.id)
}

/// The word between `LH-` and the number, as the ids of cases have it.
fn family(clause: &Clause) -> Option<String> {
    clause.id.split('-').nth(1).map(str::to_lowercase)
}

/// Ranks a staged case before one that waits on the real clock, and both before those that play
/// many orders or histories.
fn cost(case: &Case) -> u8 {
    match (case.kind, case.needs.clock) {
        (Kind::Named | Kind::Meta, CaseClock::Manual) => 0,
        (Kind::Named | Kind::Meta, CaseClock::Real) => 1,
        (Kind::Stress, _) => 2,
        (Kind::Order, _) => 3,
        (Kind::Model, _) => 4,
    }
}

#[cfg(test)]
mod tests {
    use leasehold_core::clause::{LATE_1, TIME_1};

    use super::*;
    use crate::table::cases;

    fn ids(cases: &[&'static Case]) -> Vec<&'static str> {
        cases.iter().map(|case| case.id).collect()
    }

    #[test]
    fn staged_cases_that_are_about_the_clause_come_first_and_many_orders_last() {
        let tried = proving(&LATE_1, cases(), &[]);
        let first_order = tried.iter().position(|case| case.kind == Kind::Order);
        let first_order = first_order.expect("some play orders");
        assert!(tried[..first_order].iter().all(|case| case.kind == Kind::Named));
        assert!(tried[first_order..].iter().all(|case| case.kind == Kind::Order));
        assert_eq!(tried[0].clauses[0].id, LATE_1.id);
        let clocks = proving(&TIME_1, cases(), &[]).into_iter().map(|case| case.needs.clock);
        assert!(clocks.is_sorted_by_key(|clock| clock == CaseClock::Real));
    }

    #[test]
    fn every_staged_case_proves_that_nothing_is_left_and_the_neighbours_come_first() {
        let find = |id: &str| cases().iter().find(|case| case.id == id).expect(id);
        let near = ["late/ends_at_next_run", "verbs/opaque_bytes"].map(find);
        let tried = ids(&proving(&LAPSE_8, cases(), &near));
        assert_eq!(tried[..2], ["late/ends_at_next_run", "verbs/opaque_bytes"]);
        assert!(lists(find(tried[2]), &LAPSE_8), "{}", tried[2]);
        let quick: Vec<_> = cases().iter().filter(|case| cost(case) == 0).collect();
        assert!(ids(&quick).iter().all(|id| tried.contains(id)));
        assert_eq!(tried.iter().collect::<BTreeSet<_>>().len(), tried.len());
    }

    #[test]
    fn bystanders_prove_something_else_and_kin_come_first() {
        let others = bystanders(&LATE_1, cases());
        assert!(others.iter().all(|case| !lists(case, &LATE_1) && cost(case) == 0));
        assert!(others[0].id.starts_with("late/"), "{}", others[0].id);
    }
}
