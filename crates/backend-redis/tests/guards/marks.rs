//! The marks in the scripts: which line guards which clause.

use std::fs;
use std::path::Path;

use leasehold_core::clause::{self, Clause};

/// What stands before the clause on a guard line.
const SIGN: &str = " -- guard ";

/// A line of a script file that guards a clause.
pub struct Mark {
    /// The file, below `lua` and without its ending.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The line itself.
    pub guard: String,
    /// What it guards.
    pub clause: &'static Clause,
    /// The file without the line.
    pub without: String,
}

impl Mark {
    /// Where the line stands, as people look it up.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// Every mark of every file, by name and line; or all that is wrong with them.
pub fn marks() -> Result<Vec<Mark>, Vec<String>> {
    let lua = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua");
    let (mut marks, mut wrong) = (Vec::new(), Vec::new());
    for folder in ["", "part/"] {
        let entries = fs::read_dir(lua.join(folder)).expect("the scripts are there");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.is_file());
        paths.sort();
        for path in paths {
            let name = path.file_stem().expect("a name").to_string_lossy();
            let text = fs::read_to_string(&path).expect("a text");
            for mark in in_file(&format!("{folder}{name}"), &text) {
                match mark {
                    Ok(mark) => marks.push(mark),
                    Err(what) => wrong.push(what),
                }
            }
        }
    }
    if wrong.is_empty() { Ok(marks) } else { Err(wrong) }
}

fn in_file(file: &str, text: &str) -> Vec<Result<Mark, String>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let listed = listed(text);
    let mark = |(at, line): (usize, &&str)| {
        let (guard, id) = line.trim_end().split_once(SIGN)?;
        let Some(clause) = clause::find(id) else {
            return Some(Err(format!("{file}:{}: the contract has no clause {id:?}", at + 1)));
        };
        if !listed.iter().any(|listed| listed == id) {
            return Some(Err(format!("{file}:{}: the head does not list {id}", at + 1)));
        }
        let rest = lines.iter().enumerate().filter(|(other, _)| *other != at);
        Some(Ok(Mark {
            file: file.to_owned(),
            line: at + 1,
            guard: guard.trim().to_owned(),
            clause,
            without: rest.map(|(_, line)| *line).collect(),
        }))
    };
    lines.iter().enumerate().filter_map(mark).collect()
}

/// The clauses that a file's head says it keeps, on one comment line or several.
fn listed(text: &str) -> Vec<String> {
    let head = text.lines().skip_while(|line| !line.starts_with("-- Clauses: "));
    let mut listed = Vec::new();
    for line in head.map_while(|line| line.strip_prefix("-- ")) {
        let line = line.strip_prefix("Clauses: ").unwrap_or(line).trim();
        listed.extend(line.split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()));
        if !line.ends_with(',') {
            break;
        }
    }
    listed
}

/// Every clause that a head lists is one of the contract.
pub fn unknown_in_heads() -> Vec<String> {
    let lua = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua");
    let mut unknown = Vec::new();
    for folder in [lua.clone(), lua.join("part")] {
        for entry in fs::read_dir(folder).expect("the scripts are there") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                let text = fs::read_to_string(&path).expect("a text");
                let ids = listed(&text).into_iter().filter(|id| clause::find(id).is_none());
                unknown.extend(ids.map(|id| format!("{}: {id:?}", path.display())));
            }
        }
    }
    unknown
}

#[test]
fn a_mark_is_the_whole_end_of_its_line_and_in_the_head() {
    let lines = [
        "-- Clauses: LH-GEN-1,",
        "--          LH-GEN-11",
        "if a then return end -- guard LH-GEN-1",
        "if b then return end -- guard LH-GEN-1, b",
        "if c then return end -- guard LH-GEN-2",
    ];
    let found = in_file("s", &lines.join("\n"));
    let [Ok(mark), Err(unknown), Err(unlisted)] = &found[..] else { panic!("a mark, two faults") };
    let guard = "if a then return end";
    assert_eq!((mark.place().as_str(), mark.guard.as_str()), ("s:3", guard));
    assert_eq!(mark.without, [lines[0], lines[1], lines[3], lines[4]].join("\n"));
    assert_eq!(unknown, "s:4: the contract has no clause \"LH-GEN-1, b\"");
    assert_eq!(unlisted, "s:5: the head does not list LH-GEN-2");
    assert_eq!(listed(&lines.join("\n")), ["LH-GEN-1", "LH-GEN-11"]);
}
