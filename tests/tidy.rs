//! House rules that a machine can check, on the text of the tree. Each check lists all that
//! it objects to; `docs/glossary.md` and `CONTRIBUTING.md` tell the rules.

use std::fs;

#[path = "tidy/guide.rs"]
mod guide;
#[path = "tidy/includes.rs"]
mod includes;
#[path = "tidy/rust.rs"]
mod rust;
#[path = "tidy/tree.rs"]
mod tree;
#[path = "tidy/words.rs"]
mod words;

/// L2: lines of code in a file and in a function.
const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 60;

/// The contract with its executable specification stays small enough to be read in a sitting.
const SPECIFICATION_LINES_MAX: usize = 1_020;

/// A whole backend, written from outside, that a stranger reads before writing another.
const OUTSIDE_LINES_MAX: usize = 699;

/// Its harness, which the guide shows whole.
const HARNESS_LINES_MAX: usize = 60;

/// Files that L2 does not count.
const NOT_COUNTED: &[&str] = &[
    // The clauses as data: as long as the contract is.
    "crates/core/src/clause.rs",
];

/// Files that must name the words which nothing else may use.
const NAMES_FOREIGN_WORDS: &[&str] = &["docs/glossary.md", "tests/tidy/words.rs"];

#[test]
fn files_are_short() {
    let mut offenders = Vec::new();
    for file in counted_files() {
        let lines = rust::code_lines(&file.text);
        if lines > FILE_LINES_MAX {
            offenders.push(format!("{}: {lines} lines of code", file.path));
        }
    }
    report(&format!("a file has at most {FILE_LINES_MAX} lines of code (L2)"), &offenders);
}

#[test]
fn functions_are_short() {
    let mut offenders = Vec::new();
    for file in counted_files() {
        for function in rust::functions(&file.text) {
            if function.lines > FUNCTION_LINES_MAX {
                let rust::Function { name, line, lines } = function;
                offenders.push(format!("{}:{line}: {name} has {lines} lines", file.path));
            }
        }
    }
    report(
        &format!(
            "a function has at most {FUNCTION_LINES_MAX} lines of code (L2); one that is a \
             flat match is marked by a comment before it: // {}",
            rust::FLAT_MATCH
        ),
        &offenders,
    );
}

#[test]
fn the_specification_can_be_read_in_a_sitting() {
    let is_part = |path: &str| {
        ["crates/core/src/backend.rs", "crates/core/src/decide.rs"].contains(&path)
            || path.starts_with("crates/core/src/memory/")
    };
    let parts: Vec<_> = tree::files(&["rs"]).into_iter().filter(|f| is_part(&f.path)).collect();
    assert!(parts.len() >= 3, "the contract, its decisions or the memory backend moved");
    let counts: Vec<_> =
        parts.iter().map(|file| (rust::code_lines(&file.text), &file.path)).collect();
    let sum: usize = counts.iter().map(|(lines, _)| lines).sum();
    let offenders: Vec<_> = counts.iter().map(|(lines, path)| format!("{path}: {lines}")).collect();
    report(
        &format!(
            "the contract, its decisions and the memory backend have {sum} lines of code \
             together, and may have {SPECIFICATION_LINES_MAX}"
        ),
        if sum > SPECIFICATION_LINES_MAX { &offenders } else { &[] },
    );
}

#[test]
fn the_backend_from_outside_is_short() {
    let root = "examples/out-of-tree-backend";
    let files = tree::files(&["rs"]);
    let sources = files.iter().filter(|file| file.path.starts_with(&format!("{root}/src/")));
    let sum: usize = sources.map(|file| rust::code_lines(&file.text)).sum();
    assert!(sum > 0, "the example backend moved");
    let harness = tree::read(&format!("{root}/tests/conformance.rs")).lines().count();
    let (most, lines) = (OUTSIDE_LINES_MAX, HARNESS_LINES_MAX);
    assert!(sum <= most, "the example backend has {sum} lines of code, and may have {most}");
    assert!(harness <= lines, "its harness has {harness} lines, and may have {lines}");
}

#[test]
fn the_guide_shows_what_there_is() {
    let guide = "docs/writing-a-backend.md";
    let text = tree::read(guide);
    assert!(text.contains("```rust"), "{guide} shows Rust code");
    let offenders: Vec<_> = on(guide, guide::drifted(&text, tree::read)).collect();
    report("code in the guide is the example's, word for word", &offenders);
}

#[test]
fn one_word_a_thing() {
    let mut offenders = Vec::new();
    for file in tree::files(&["rs", "sql", "lua", "md", "toml"]) {
        if !NAMES_FOREIGN_WORDS.contains(&file.path.as_str()) {
            offenders.extend(on(&file.path, words::foreign_words(&file.text)));
        }
    }
    report(
        "docs/glossary.md has our words for these; a line that cites another product is \
         marked: tidy: allow",
        &offenders,
    );
}

#[test]
fn nothing_sleeps() {
    let mut offenders = Vec::new();
    for file in tree::files(&["rs"]) {
        offenders.extend(on(&file.path, words::sleeps(&file.text)));
    }
    report(
        "signals and the manual clock instead of a sleep (X5); where only the wall clock will \
         do, the same line says why: // tidy: allow, and the reason",
        &offenders,
    );
}

#[test]
fn includes_stay_in_their_crate() {
    let crates = tree::crates();
    let mut offenders = Vec::new();
    for file in tree::files(&["rs"]) {
        offenders.extend(on(&file.path, includes::leaving(&file.path, &file.text, &crates)));
    }
    report("a published crate holds all that it includes (D2)", &offenders);
}

#[test]
fn the_readme_is_compiled() {
    let is_code = |token: &rust::Token<'_>| token.kind != rust::Kind::Comment;
    let code: String = rust::tokens(&tree::read("src/lib.rs"))
        .iter()
        .filter(|token| is_code(token))
        .map(|token| token.text)
        .collect();
    let is_included = code.contains("#[cfg(doctest)]#[doc=include_str!(\"../README.md\")]")
        || code.contains("#![cfg_attr(doctest,doc=include_str!(\"../README.md\"))]");
    assert!(is_included, "src/lib.rs includes README.md as documentation under cfg(doctest)");
    assert!(tree::read("README.md").contains("```rust"), "README.md shows Rust code");
}

#[test]
fn scripts_can_be_run() {
    let folder = tree::root().join("scripts");
    let entries = fs::read_dir(&folder).expect("scripts/ is there");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("scripts/ can be read").path()).collect();
    paths.push(tree::root().join(".ci/run"));
    let mut offenders = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        if !text.starts_with("#!") {
            offenders.push(format!("{}: no line #! at its top", path.display()));
        }
        if !is_executable(&path) {
            offenders.push(format!("{}: not executable", path.display()));
        }
    }
    report("a script names its interpreter and is executable", &offenders);
}

#[cfg(unix)]
fn is_executable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    metadata.permissions().mode() & 0o111 == 0o111
}

#[cfg(not(unix))]
fn is_executable(_: &std::path::Path) -> bool {
    true
}

fn counted_files() -> Vec<tree::File> {
    let mut files = tree::files(&["rs"]);
    files.retain(|file| tree::is_counted(&file.path) && !NOT_COUNTED.contains(&file.path.as_str()));
    files
}

fn on(path: &str, faults: Vec<String>) -> impl Iterator<Item = String> {
    faults.into_iter().map(move |fault| format!("{path}:{fault}"))
}

fn report(rule: &str, offenders: &[String]) {
    let count = offenders.len();
    assert!(offenders.is_empty(), "{rule}\n{count} found:\n  {}", offenders.join("\n  "));
}
