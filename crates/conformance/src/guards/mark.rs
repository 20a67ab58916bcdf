//! [`Mark`]: which line of a backend's scripts or statements guards which clause.

use std::io;
use std::path::Path;

use leasehold_core::clause::{self, Clause};

/// What stands before the clause on a guard line.
const SIGN: &str = " -- guard ";

/// What stands before the clauses in a file's head.
const HEAD: &str = "-- Clauses: ";

/// A file whose lines may be marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path below the folder, with `/` and without its ending.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

impl Source {
    /// A file of this name with this text.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Every file in the folder and in the folders below it, in the order of their names.
    ///
    /// # Errors
    /// When the folder or a file cannot be read, or a file is not UTF-8.
    pub fn read_all(folder: &Path) -> io::Result<Vec<Self>> {
        let mut sources = Vec::new();
        read_into(folder, "", &mut sources)?;
        sources.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(sources)
    }

    /// The clauses that the head says the file keeps, on one comment line or several.
    fn listed(&self) -> Vec<&str> {
        let head = self.text.lines().skip_while(|line| !line.starts_with(HEAD));
        let mut listed = Vec::new();
        for line in head.map_while(|line| line.strip_prefix("-- ")) {
            let line = line.strip_prefix("Clauses: ").unwrap_or(line).trim();
            listed.extend(line.split(',').map(str::trim).filter(|id| !id.is_empty()));
            if !line.ends_with(',') {
                break;
            }
        }
        listed
    }
}

fn read_into(folder: &Path, prefix: &str, sources: &mut Vec<Source>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(stem) = path.file_stem() else { continue };
        let name = format!("{prefix}{}", stem.to_string_lossy());
        if path.is_dir() {
            read_into(&path, &format!("{name}/"), sources)?;
        } else {
            sources.push(Source { name, text: std::fs::read_to_string(&path)? });
        }
    }
    Ok(())
}

/// A line that guards a clause, and its file without the line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mark {
    /// The name of its [`Source`].
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The line itself, without the mark.
    pub guard: String,
    /// What it guards.
    pub clause: &'static Clause,
    /// The text of the file without the line.
    pub without: String,
}

impl Mark {
    /// Where the line stands, as people look it up.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// Every mark of every file, in the order of the files and their lines; at least one.
///
/// # Errors
/// All that is wrong, a sentence each: a clause that the contract does not have, in a mark or in a
/// head; a clause of a mark that the head does not list; no mark at all.
pub fn marks(sources: &[Source]) -> Result<Vec<Mark>, Vec<String>> {
    let (mut marks, mut wrong) = (Vec::new(), Vec::new());
    for source in sources {
        let unknown = source.listed().into_iter().filter(|id| clause::find(id).is_none());
        wrong.extend(unknown.map(|id| format!("{}: its head lists {id:?}", source.name)));
        for mark in in_source(source) {
            match mark {
                Ok(mark) => marks.push(mark),
                Err(what) => wrong.push(what),
            }
        }
    }
    if marks.is_empty() && wrong.is_empty() {
        wrong.push("no line is marked".to_owned());
    }
    if wrong.is_empty() { Ok(marks) } else { Err(wrong) }
}

fn in_source(source: &Source) -> Vec<Result<Mark, String>> {
    let Source { name, text } = source;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let listed = source.listed();
    let mark = |(at, line): (usize, &&str)| {
        let (guard, id) = line.trim_end().split_once(SIGN)?;
        let Some(clause) = clause::find(id) else {
            return Some(Err(format!("{name}:{}: the contract has no clause {id:?}", at + 1)));
        };
        if !listed.contains(&id) {
            return Some(Err(format!("{name}:{}: the head does not list {id}", at + 1)));
        }
        let rest = lines.iter().enumerate().filter(|(other, _)| *other != at);
        Some(Ok(Mark {
            file: name.clone(),
            line: at + 1,
            guard: guard.trim().to_owned(),
            clause,
            without: rest.map(|(_, line)| *line).collect(),
        }))
    };
    lines.iter().enumerate().filter_map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_the_whole_end_of_its_line_and_in_the_head() {
        let lines = [
            "-- Clauses: LH-GEN-1,",
            "--          LH-GEN-11",
            "if a then return end -- guard LH-GEN-1",
            "if b then return end -- guard LH-GEN-1, b",
            "if c then return end -- guard LH-GEN-2",
        ];
        let source = Source::new("s", lines.join("\n"));
        let found = in_source(&source);
        let [Ok(mark), Err(unknown), Err(unlisted)] = &found[..] else {
            panic!("a mark, two faults")
        };
        let guard = "if a then return end";
        assert_eq!((mark.place().as_str(), mark.guard.as_str()), ("s:3", guard));
        assert_eq!(mark.without, [lines[0], lines[1], lines[3], lines[4]].join("\n"));
        assert_eq!(unknown, "s:4: the contract has no clause \"LH-GEN-1, b\"");
        assert_eq!(unlisted, "s:5: the head does not list LH-GEN-2");
        let head = "s: its head lists \"LH-GEN-11\"".to_owned();
        let wrong = marks(&[source]).expect_err("they are wrong");
        assert_eq!(wrong, [head, unknown.clone(), unlisted.clone()]);
    }

    #[test]
    fn a_head_is_one_line_or_goes_on_after_a_comma() {
        let one = Source::new("s", "-- a\n-- Clauses: LH-GEN-1, LH-GEN-2\n-- LH-GEN-3\nselect 1");
        assert_eq!(one.listed(), ["LH-GEN-1", "LH-GEN-2"]);
        assert_eq!(Source::new("s", "select 1").listed(), [""; 0]);
    }

    #[test]
    fn no_mark_at_all_is_wrong() {
        assert_eq!(
            marks(&[Source::new("s", "select 1")]).expect_err("it is"),
            ["no line is marked"]
        );
    }
}
