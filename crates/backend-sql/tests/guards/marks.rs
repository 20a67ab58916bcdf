//! The marks in the statements: which line guards which clause.

use std::fs;
use std::path::Path;

use leasehold_core::clause::{self, Clause};

/// What stands before the clause on a guard line.
const SIGN: &str = "-- guard ";

/// A line of a statement that guards a clause.
pub struct Mark {
    /// The statement's name.
    pub statement: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The line itself.
    pub guard: String,
    /// What it guards.
    pub clause: &'static Clause,
    /// The statement without the line.
    pub without: String,
}

impl Mark {
    /// Where the line stands, as people look it up.
    pub fn place(&self) -> String {
        format!("{}:{}", self.statement, self.line)
    }
}

/// Every mark of every statement, by name and line; or all that is wrong with them.
pub fn marks() -> Result<Vec<Mark>, Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite");
    let entries = fs::read_dir(folder).expect("the statements are there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let (mut marks, mut wrong) = (Vec::new(), Vec::new());
    for path in paths {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let text = fs::read_to_string(&path).expect("a text");
        for mark in in_statement(&name, &text) {
            match mark {
                Ok(mark) => marks.push(mark),
                Err(what) => wrong.push(what),
            }
        }
    }
    if wrong.is_empty() { Ok(marks) } else { Err(wrong) }
}

fn in_statement(name: &str, text: &str) -> Vec<Result<Mark, String>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mark = |(at, line): (usize, &&str)| {
        let (guard, id) = line.trim_end().split_once(SIGN)?;
        let Some(clause) = clause::find(id) else {
            return Some(Err(format!("{name}:{}: the contract has no clause {id:?}", at + 1)));
        };
        if !listed(text).any(|listed| listed == id) {
            return Some(Err(format!("{name}:{}: the head does not list {id}", at + 1)));
        }
        let rest = lines.iter().enumerate().filter(|(other, _)| *other != at);
        Some(Ok(Mark {
            statement: name.to_owned(),
            line: at + 1,
            guard: guard.trim().to_owned(),
            clause,
            without: rest.map(|(_, line)| *line).collect(),
        }))
    };
    lines.iter().enumerate().filter_map(mark).collect()
}

/// The clauses that a statement's head says it keeps.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    let head = text.lines().find_map(|line| line.strip_prefix("-- Clauses: "));
    head.unwrap_or_default().split(", ")
}

#[test]
fn a_mark_is_the_whole_end_of_its_line_and_in_the_head() {
    let lines = [
        "-- Clauses: LH-GEN-1, LH-GEN-11",
        "where a -- guard LH-GEN-1",
        "and b -- guard LH-GEN-1, b",
        "and c -- guard LH-GEN-2",
    ];
    let found = in_statement("s", &lines.join("\n"));
    let [Ok(mark), Err(unknown), Err(unlisted)] = &found[..] else { panic!("a mark, two faults") };
    assert_eq!((mark.place().as_str(), mark.guard.as_str()), ("s:2", "where a"));
    assert_eq!(mark.without, format!("{}\n{}\n{}", lines[0], lines[2], lines[3]));
    assert_eq!(unknown, "s:3: the contract has no clause \"LH-GEN-1, b\"");
    assert_eq!(unlisted, "s:4: the head does not list LH-GEN-2");
}
