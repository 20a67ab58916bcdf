//! Files that a source includes: they must be part of what its crate publishes.

use crate::rust::{Kind, Token, closing, tokens};

const MACROS: &[&str] = &["include", "include_str", "include_bytes"];

/// Includes that leave the crate of the file at `path`, as `line: what`. `crates` are the
/// folders with a manifest, the root's as an empty path.
pub fn leaving(path: &str, source: &str, crates: &[String]) -> Vec<String> {
    let code: Vec<_> =
        tokens(source).into_iter().filter(|token| token.kind != Kind::Comment).collect();
    let home = crate_of(path, crates);
    let mut offenders = Vec::new();
    for (at, name) in code.iter().enumerate() {
        let is_call = MACROS.contains(&name.text)
            && code.get(at + 1).is_some_and(|mark| mark.text == "!")
            && code.get(at + 2).is_some_and(|mark| mark.text == "(");
        if !is_call {
            continue;
        }
        let end = closing(&code, at + 2).unwrap_or(code.len() - 1);
        let fault = match target(path, home, &code[at + 3..end]) {
            Target::Built => continue,
            Target::Unclear => "no literal path to check".to_owned(),
            Target::Path(target) => match normal(&target) {
                Some(target) if crate_of(&target, crates) == home => continue,
                Some(target) => format!("{target} is outside of the crate"),
                None => format!("{target} is outside of the tree"),
            },
        };
        offenders.push(format!("{}: {}!: {fault}", name.line, name.text));
    }
    offenders
}

enum Target {
    /// From the root, not yet normalised.
    Path(String),
    /// Made by a build script, so no file of the tree.
    Built,
    Unclear,
}

/// Where an include leads: its literals one after the other, from the file's folder, or from
/// the crate's when they follow `env!("CARGO_MANIFEST_DIR")`.
fn target(path: &str, home: &str, arguments: &[Token<'_>]) -> Target {
    let literal = |token: &Token<'_>| token.text.trim_matches('"').to_owned();
    let mut texts = arguments.iter().filter(|token| token.kind == Kind::Literal).map(literal);
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if arguments.iter().any(|token| token.text == "env") {
        return match texts.next().as_deref() {
            Some("CARGO_MANIFEST_DIR") => {
                Target::Path(format!("{home}/{}", texts.collect::<String>()))
            }
            _ => Target::Built,
        };
    }
    let text: String = texts.collect();
    if text.is_empty() { Target::Unclear } else { Target::Path(format!("{folder}/{text}")) }
}

/// The path without `.` and `..`, or none when it climbs out of the root.
fn normal(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The innermost crate folder that a path lies in.
fn crate_of<'a>(path: &str, crates: &'a [String]) -> &'a str {
    let holds = |folder: &&String| {
        folder.is_empty()
            || path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    crates.iter().filter(holds).max_by_key(|folder| folder.len()).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::leaving;

    fn leaving_core(source: &str) -> usize {
        let crates = ["", "crates/core", "crates/core-more"].map(str::to_owned);
        leaving("crates/core/src/lib.rs", source, &crates).len()
    }

    #[test]
    fn an_include_may_not_leave_its_crate() {
        for path in ["../../../docs/contract.md", "../../core-more/a.md", "../../../../x"] {
            assert_eq!(leaving_core(&format!("const A: &str = include_str!(\"{path}\");")), 1);
        }
        assert_eq!(leaving_core("include!(concat!(\"../../\", $name));"), 1);
        let manifest = "include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../a\"));";
        assert_eq!(leaving_core(manifest), 1);
        assert_eq!(leaving_core("include_str!($path);"), 1);
    }

    #[test]
    fn an_include_inside_its_crate_is_fine() {
        for source in [
            "#![doc = include_str!(\"../README.md\")]",
            "include_str!(concat!(\"../sql/\", $verb, \".sql\"));",
            "include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/sql/claim.sql\"));",
            "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));",
            "// include_str!(\"../../../x\")",
        ] {
            assert_eq!(leaving_core(source), 0, "{source}");
        }
    }

    #[test]
    fn the_root_crate_does_not_own_its_members_files() {
        let crates = ["", "crates/core"].map(str::to_owned);
        let source = "include_str!(\"../crates/core/README.md\"); include_str!(\"../README.md\");";
        assert_eq!(leaving("src/lib.rs", source, &crates).len(), 1);
    }
}
