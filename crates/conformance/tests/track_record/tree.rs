//! The names that the tree has: the tests, and the numbers that cases cite.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every test of the tree by its function's name, those of examples among them.
pub fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for folder in ["crates", "examples", "src", "tests"] {
        visit(&root().join(folder), &mut |path| {
            tests.extend(tests_of(&read(path)).into_iter().map(str::to_owned));
        });
    }
    assert!(tests.len() > 100, "the tests of the tree moved");
    tests
}

/// Each number that a case of the suite cites, with the ids of the cases.
pub fn citations() -> BTreeMap<String, BTreeSet<String>> {
    let folder = root().join("crates/conformance/src/cases");
    let mut citations: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    visit(&folder, &mut |path| {
        let below = path.strip_prefix(&folder).expect("it is in the folder");
        let family = below.components().next().expect("it has a name");
        let family = Path::new(family.as_os_str()).file_stem().expect("it has a stem");
        for (name, number) in citations_of(&read(path)) {
            let id = format!("{}/{name}", family.to_string_lossy());
            citations.entry(number).or_default().insert(id);
        }
    });
    citations
}

/// The functions that an attribute marks as tests.
fn tests_of(source: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in source.lines().map(str::trim) {
        let is_mark = line.starts_with("#[")
            && (line.ends_with("test]") || line.contains("test(") || line.contains("::test]"));
        if let Some(name) = function(line) {
            if std::mem::take(&mut marked) {
                names.push(name);
            }
        } else if is_mark {
            marked = true;
        } else if !(line.starts_with("#[") || line.starts_with("//") || line.is_empty()) {
            marked = false;
        }
    }
    names
}

/// The cases of a file, each with the numbers that its comment cites.
fn citations_of(source: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut cited = Vec::new();
    for line in source.lines() {
        if let Some(comment) = line.strip_prefix("/// ") {
            let words = comment.split(|c: char| !c.is_ascii_alphanumeric());
            cited.extend(words.filter(|word| is_number(word)).map(str::to_owned));
        } else if let Some(name) = line.strip_prefix("pub(crate) ").and_then(function) {
            found.extend(cited.drain(..).map(|number| (name, number)));
        } else {
            cited.clear();
        }
    }
    found
}

/// Whether a word is the number of a report: `C` and two or three digits.
pub fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('C').unwrap_or_default();
    (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The name of the function that this line begins.
fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    Some(&rest[..end])
}

fn visit(folder: &Path, each: &mut impl FnMut(&Path)) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    for entry in entries {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            visit(&path, each);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            each(&path);
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

#[test]
fn a_test_is_told_from_a_function() {
    let source = "
        #[test]
        fn plain() {}
        /// What it is for.
        #[tokio::test(start_paused = true)]
        // LH-GEN-1
        async fn with_a_runtime() {}
        #[test]
        #[cfg(unix)]
        fn with_a_condition() {}
        fn helper() {}
        #[cfg(test)]
        mod tests {
            use super::*;
            fn another() {}
            #[test]
            fn of_a_property(number in 0..9_u32) {}
        }
    ";
    let want = ["plain", "with_a_runtime", "with_a_condition", "of_a_property"];
    assert_eq!(tests_of(source), want);
}

#[test]
fn a_citation_belongs_to_the_case_below_it() {
    let source = "\
//! C01 of the whole file.
/// C02, C103: what must hold,
/// also C04.
pub(crate) async fn first(cx: &mut Context) {}
/// C05 is a helper's.
async fn helper() {}
/// C6 and LC07 are no numbers.
pub(crate) async fn second(cx: &mut Context) {}
";
    let want = [("first", "C02"), ("first", "C103"), ("first", "C04")];
    assert_eq!(citations_of(source), want.map(|(name, number)| (name, number.to_owned())));
}
