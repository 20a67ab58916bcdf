//! The example `hello` as a reader meets it: short, without anything that has to be explained
//! first, and the same on another store.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// A process that has not ended by then hangs: the example takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// What must not be needed to say hello.
const TOO_MUCH: &[&str] = &["::<", "Box::pin", "Arc", "async_trait", "dyn ", "'static", "unwrap("];

#[test]
fn hello_needs_little() {
    let text = source();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() <= 30, "{} lines", lines.len());
    let uses = lines.iter().filter(|line| line.trim_start().starts_with("use ")).count();
    assert_eq!(uses, 1, "lines of use");
    for words in TOO_MUCH {
        assert!(!text.contains(words), "{words}");
    }
    assert_eq!(text.matches("memory:").count(), 1, "another store is one other string");
}

#[test]
fn hello_runs_on_memory() {
    assert_eq!(run(&[]), GREETING);
    assert_eq!(run(&["memory:"]), GREETING);
}

#[cfg(feature = "sqlite")]
#[test]
fn hello_runs_on_sqlite() {
    let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
    let path = folder.path().join("hello.db");
    let url = format!("sqlite:{}", path.to_str().expect("temporary files have plain names"));
    for _ in 0..2 {
        assert_eq!(run(&[&url]), GREETING);
        assert!(path.is_file(), "{url} made no file");
    }
}

const GREETING: &str = "hello, world: attempt 1\n1 of 1 succeeded\n";

fn source() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hello.rs");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What it prints.
fn run(arguments: &[&str]) -> String {
    let mut command = Command::new(binary());
    command.args(arguments);
    let (tell, told) = channel();
    thread::spawn(move || tell.send(command.output()));
    let output = told.recv_timeout(PATIENCE).expect("it ends").expect("it can be started");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// Cargo tells a test where binaries are, but not where examples are: beside its own folder.
fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.parent().and_then(Path::parent).expect("cargo puts tests in target/*/deps");
    let binary = target.join("examples").join(format!("hello{}", std::env::consts::EXE_SUFFIX));
    assert!(
        binary.is_file(),
        "{} is missing: build it by `cargo build --example hello`, or run scripts/test",
        binary.display()
    );
    binary
}
