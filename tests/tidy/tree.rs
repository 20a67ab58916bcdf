//! The files of the tree as plain text, and where a crate begins.

use std::fs;
use std::path::{Path, PathBuf};

/// A file by its path from the root, always with `/`, and its text.
pub struct File {
    pub path: String,
    pub text: String,
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text of one file that must be there.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file with one of these extensions, sorted by path, hidden folders and build output
/// left out.
pub fn files(extensions: &[&str]) -> Vec<File> {
    let mut files = Vec::new();
    walk(&root(), &mut |path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| extensions.contains(&extension)) {
            let path = relative(path);
            files.push(File { text: read(&path), path });
        }
    });
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!files.is_empty(), "no file with the extension {extensions:?} in {:?}", root());
    files
}

/// The folders that hold a manifest, the root's as an empty path.
pub fn crates() -> Vec<String> {
    let mut crates = Vec::new();
    walk(&root(), &mut |path| {
        if path.file_name().is_some_and(|name| name == "Cargo.toml") {
            let manifest = relative(path);
            crates.push(manifest.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned());
        }
    });
    crates
}

/// Whether the L2 limits count this file: sources, examples and the root's tests.
pub fn is_counted(path: &str) -> bool {
    let mut parts = path.split('/');
    match parts.next() {
        Some("src" | "examples" | "tests") => true,
        Some("crates") => parts.nth(1) == Some("src"),
        _ => false,
    }
}

fn walk(folder: &Path, visit: &mut impl FnMut(&Path)) {
    // Cargo marks its output with this file, whatever the folder is called.
    if folder.join("CACHEDIR.TAG").exists() {
        return;
    }
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    for entry in entries {
        let path = entry.unwrap_or_else(|error| panic!("{folder:?}: {error}")).path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            walk(&path, visit);
        } else {
            visit(&path);
        }
    }
}

fn relative(path: &Path) -> String {
    let path = path.strip_prefix(root()).expect("the walk begins at the root");
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::is_counted;

    #[test]
    fn sources_examples_and_root_tests_are_counted() {
        for path in ["src/lib.rs", "crates/core/src/memory/claim.rs", "examples/a/b.rs"] {
            assert!(is_counted(path), "{path}");
        }
        for path in ["crates/core/tests/model.rs", "bench/src/main.rs", "build.rs"] {
            assert!(!is_counted(path), "{path}");
        }
    }
}
