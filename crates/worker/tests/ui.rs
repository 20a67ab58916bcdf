//! What the compiler says about code that is nearly right: each file in `tests/ui/` is one such
//! mistake, and the `.stderr` beside it the whole error, as a user reads it. The first line
//! names the mistake, a note the way out, and no wall of types follows.
//!
//! After a change of the words: `TRYBUILD=overwrite cargo test -p leasehold-worker --test ui`,
//! then read the diff. One case alone: the same with `-- each_mistake trybuild=not_async` behind it.
//!
//! Half of an error is the compiler's own, so the files hold for one compiler, the one that
//! `rust-version` in Cargo.toml names. Another one may fail here and be no worse: run this test
//! with the named one (`cargo +VERSION test`), and never write the files with another. Where
//! `rust-version` is raised, write them anew in the same change.

use std::process::Command;
use std::sync::Arc;

use leasehold_core::{Client, MemoryBackend};

#[path = "ui/right/forms.rs"]
mod forms;

#[test]
fn each_mistake_is_named_in_a_short_error() {
    name_another_compiler();
    // Only mistakes: a case that has to pass would make trybuild build every dependency, where
    // it now only checks them, and one case after the other.
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

/// Tells why words may differ. It is no reason to skip.
fn name_another_compiler() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(rustc).arg("--version").output().expect("the compiler can be asked");
    let version = String::from_utf8_lossy(&asked.stdout);
    let named = env!("CARGO_PKG_RUST_VERSION");
    if !version.starts_with(&format!("rustc {named}.")) {
        eprintln!("the .stderr files are those of rustc {named}, and this is {version}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_right_form_compiles_and_runs() {
    let client = Client::new(Arc::new(MemoryBackend::new()));
    forms::enqueue(&client).await.expect("all of them are valid");
    let report = forms::worker(&client).drain().await.expect("it starts");
    let tally = report.tally;
    // The one that follows up makes two; one is called off, and one finds no file.
    assert_eq!((tally.succeeded, tally.cancelled, tally.buried), (9, 1, 1), "{tally:?}");
}
