//! What the contract's document, its table and the list of cases must agree on.

use std::collections::BTreeSet;

/// What these checks need to know of a conformance case.
pub struct Case {
    pub id: &'static str,
    pub clauses: Vec<&'static str>,
}

/// Where the document and the table differ, line by line in their order.
pub fn differences(document: &str, table: &[String]) -> Vec<String> {
    let told: Vec<&str> = document.lines().filter(|line| line.starts_with("- **LH-")).collect();
    let mut faults = Vec::new();
    for line in &told {
        if !table.iter().any(|row| row == line) {
            faults.push(format!("only in the document: {line}"));
        }
    }
    for row in table {
        if !told.contains(&row.as_str()) {
            faults.push(format!("only in the table: {row}"));
        }
    }
    if faults.is_empty() && told != *table {
        let at = told.iter().zip(table).position(|(line, row)| line != row);
        let line = at.map_or("a clause that stands twice", |at| told[at]);
        faults.push(format!("the order differs from here on: {line}"));
    }
    faults
}

/// Entries for clauses proved in part that say nothing, or whose clause has no case at all.
pub fn overstated(cases: &[Case], partly: &[(&str, &str)]) -> Vec<String> {
    let named = named(cases);
    let fault = |(id, missing): &(&str, &str)| match (named.contains(id), missing.trim()) {
        (false, _) => Some(format!("{id}: has no case, so it belongs among the untested")),
        (true, "") => Some(format!("{id}: does not say what is missing")),
        (true, _) => None,
    };
    partly.iter().filter_map(fault).collect()
}

/// Required clauses that no case names and nobody has given a reason for.
pub fn unproved(required: &[&str], cases: &[Case], untested: &[(&str, &str)]) -> Vec<String> {
    let named = named(cases);
    let has_reason = |id: &str| untested.iter().any(|(clause, _)| *clause == id);
    required
        .iter()
        .filter(|id| !named.contains(*id) && !has_reason(id))
        .map(|id| (*id).to_owned())
        .collect()
}

/// Entries for untested clauses that say nothing, or nothing true any more.
pub fn stale_reasons(known: &[&str], cases: &[Case], untested: &[(&str, &str)]) -> Vec<String> {
    let named = named(cases);
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for (id, reason) in untested {
        if !known.contains(id) {
            faults.push(format!("{id}: there is no such clause"));
        }
        if named.contains(id) {
            faults.push(format!("{id}: has a case, so it is tested"));
        }
        if reason.trim().is_empty() {
            faults.push(format!("{id}: no reason"));
        }
        if !seen.insert(id) {
            faults.push(format!("{id}: stands twice"));
        }
    }
    faults
}

/// Cases that prove nothing, or whose id is taken or not of the form `family/what_must_hold`.
pub fn faulty_cases(cases: &[Case]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for case in cases {
        if case.clauses.is_empty() {
            faults.push(format!("{}: names no clause", case.id));
        }
        if !is_case_id(case.id) {
            faults.push(format!("{}: not of the form family/what_must_hold", case.id));
        }
        if !seen.insert(case.id) {
            faults.push(format!("{}: two cases have this id", case.id));
        }
    }
    faults
}

fn named(cases: &[Case]) -> BTreeSet<&str> {
    cases.iter().flat_map(|case| case.clauses.iter().copied()).collect()
}

fn is_case_id(id: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let is_name = |name: &str| name.split('_').all(is_word);
    id.split_once('/').is_some_and(|(family, rest)| is_name(family) && is_name(rest))
}

#[cfg(test)]
mod tests {
    use super::{Case, differences, faulty_cases, overstated, stale_reasons, unproved};

    fn case(id: &'static str, clauses: &[&'static str]) -> Case {
        Case { id, clauses: clauses.to_vec() }
    }

    #[test]
    fn document_and_table_must_be_the_same() {
        let table = ["- **LH-A-1** [Core, N] One.", "- **LH-A-2** [Core, N] Two."];
        let document = format!("# Title\n\n{}\n\nProse.\n{}\n", table[0], table[1]);
        let table = table.map(str::to_owned);
        assert_eq!(differences(&document, &table), [""; 0]);
        assert_eq!(differences(&document.replace("Two", "Too"), &table).len(), 2);
        assert_eq!(differences(&document, &table[..1]).len(), 1);
        assert_eq!(differences(&table[0], &table).len(), 1);
        assert_eq!(differences(&format!("{}\n{}", table[1], table[0]), &table).len(), 1);
        assert_eq!(differences(&format!("{document}{}", table[1]), &table).len(), 1);
    }

    #[test]
    fn a_required_clause_needs_a_case_or_a_reason() {
        let cases = [case("a/b", &["LH-A-1"])];
        let required = ["LH-A-1", "LH-A-2", "LH-A-3"];
        assert_eq!(unproved(&required, &cases, &[("LH-A-2", "soak only")]), ["LH-A-3"]);
    }

    #[test]
    fn a_reason_must_be_one_and_still_hold() {
        let cases = [case("a/b", &["LH-A-1"])];
        let faults = |untested| stale_reasons(&["LH-A-1", "LH-A-2"], &cases, untested).len();
        assert_eq!(faults(&[("LH-A-2", "soak only")]), 0);
        assert_eq!(faults(&[("LH-A-1", "soak only")]), 1);
        assert_eq!(faults(&[("LH-A-2", " ")]), 1);
        assert_eq!(faults(&[("LH-B-1", "soak only")]), 1);
        assert_eq!(faults(&[("LH-A-2", "soak only"), ("LH-A-2", "again")]), 1);
    }

    #[test]
    fn what_is_proved_in_part_has_a_case_and_says_what_is_missing() {
        let cases = [case("a/b", &["LH-A-1"])];
        assert_eq!(overstated(&cases, &[("LH-A-1", "the rest: soak")]), [""; 0]);
        assert_eq!(overstated(&cases, &[("LH-A-1", " ")]).len(), 1);
        assert_eq!(overstated(&cases, &[("LH-A-2", "the rest: soak")]).len(), 1);
    }

    #[test]
    fn a_case_has_clauses_and_an_id_of_its_own() {
        assert_eq!(faulty_cases(&[case("late/success_after_2_rescues", &["LH-A-1"])]), [""; 0]);
        assert_eq!(faulty_cases(&[case("a/b", &[])]).len(), 1);
        assert_eq!(faulty_cases(&[case("a/b", &["X"]), case("a/b", &["X"])]).len(), 1);
        for id in ["ab", "a/", "/b", "a/B", "a/b__c", "a/b/c", "a/b-c"] {
            assert_eq!(faulty_cases(&[case(id, &["X"])]).len(), 1, "{id}");
        }
    }
}
