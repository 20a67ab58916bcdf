//! The track record says nothing that the tree does not have: each name in it is a case of the
//! suite or a test, and each report that a case cites names that case.

use std::collections::BTreeSet;
use std::fs;

#[path = "track_record/tree.rs"]
mod tree;

fn document() -> String {
    fs::read_to_string(tree::root().join("docs/track-record.md")).expect("it is in docs")
}

/// The rows of the table under this heading, each as its cells.
fn rows<'a>(document: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let mut lines = document.lines().skip_while(|line| *line != heading).skip(1);
    let table = lines.by_ref().take_while(|line| !line.starts_with("## "));
    let rows = table.filter(|line| line.starts_with('|') && !line.starts_with("|-"));
    rows.skip(1).map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What stands between backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Names that are neither a path, nor a case, nor a test.
fn unknown(text: &str, cases: &BTreeSet<&str>, tests: &BTreeSet<String>) -> Vec<String> {
    let is_known = |name: &&str| match name.contains('/') {
        true => cases.contains(name) || tree::root().join(name).exists(),
        false => tests.contains(*name),
    };
    let unknown: BTreeSet<_> = names(text).filter(|name| !is_known(name)).collect();
    unknown.into_iter().map(str::to_owned).collect()
}

fn cases() -> BTreeSet<&'static str> {
    leasehold_conformance::cases().iter().map(|case| case.id).collect()
}

#[test]
fn each_name_is_a_case_or_a_test() {
    let document = document();
    assert!(names(&document).count() > 300, "the names are no longer between backticks");
    assert_eq!(unknown(&document, &cases(), &tree::tests()), [""; 0]);
}

#[test]
fn a_name_that_the_tree_does_not_have_is_found() {
    let text = "`claim/order_of_service`, `claim/no_such_case`, `tests/process`, `no_such_test`, \
                `each_name_is_a_case_or_a_test`, `unknown`";
    let want = ["claim/no_such_case", "no_such_test", "unknown"];
    assert_eq!(unknown(text, &cases(), &tree::tests()), want);
}

#[test]
fn each_row_says_something() {
    let document = document();
    for (heading, cells, least) in [
        ("## Faults of queues in general", 4, 26),
        ("## Faults of our own", 2, 20),
        ("## Public reports", 3, 118),
        ("## The seeds", 2, 20),
    ] {
        let rows = rows(&document, heading);
        assert!(rows.len() >= least, "{heading}: {} rows", rows.len());
        for row in rows {
            assert_eq!(row.len(), cells, "{heading}: {row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{heading}: {row:?}");
        }
    }
}

#[test]
fn each_report_has_one_row_with_the_cases_that_cite_it() {
    let document = document();
    let rows = rows(&document, "## Public reports");
    let numbers: Vec<usize> = rows
        .iter()
        .map(|row| match row[0] {
            number if tree::is_number(number) => number[1..].parse().expect("digits"),
            other => panic!("{other} is no number of a report"),
        })
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "not in order, or twice: {numbers:?}");
    let mut faults = Vec::new();
    let citations = tree::citations();
    assert!(citations.len() > 30, "no case cites a report any more: {citations:?}");
    for (number, cases) in citations {
        let row = rows.iter().find(|row| row[0] == number);
        let named: Vec<_> = row.iter().flat_map(|row| names(row[2])).collect();
        for case in cases.iter().filter(|case| !named.contains(&case.as_str())) {
            faults.push(format!("{case} cites {number}, whose row does not name it"));
        }
    }
    assert_eq!(faults, [""; 0]);
}
