//! No guard of a script is there for nothing: without its line a case must fail, and name the
//! clause. See [`leasehold_conformance::guards`].

mod shared;

use std::path::Path;
use std::thread::available_parallelism;

use leasehold_conformance::guards::{Mark, Source, examine, marks};
use leasehold_redis::Edited;

use shared::harness::Redis;
use shared::raw::Raw;
use shared::servers::Found;

#[test]
fn each_guard_that_is_taken_away_is_missed_by_a_case() {
    let lua = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua");
    let sources = Source::read_all(&lua).expect("the scripts are there");
    let marks = marks(&sources).unwrap_or_else(|wrong| panic!("{}", wrong.join("\n")));
    let server = wait(Found::find());
    let unloaded = wait(unloaded(&server.url(), &marks));
    assert!(unloaded.is_empty(), "{}", unloaded.join("\n"));

    let whole = wait(Redis::at(server.url())).expect("the server answers");
    let without = |mark: Option<&Mark>| match mark.map(|m| Edited::new(&m.file, &m.without)) {
        Some(edited) => whole.clone().with_config(move |c| c.with_edited(edited.clone())),
        None => whole.clone(),
    };
    let lanes = available_parallelism().map_or(1, usize::from);
    let findings = examine(&marks, lanes, without);
    println!("{findings}");
    assert_eq!(findings.complaints(), "");
}

/// What is no Lua any more without its guard line.
async fn unloaded(url: &str, marks: &[Mark]) -> Vec<String> {
    let raw = Raw::open(url).await.expect("the server answers");
    let mut wrong = Vec::new();
    for mark in marks {
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(&mark.without).clone();
        if let Err(error) = raw.ask::<String>(&load).await {
            wrong.push(format!("{}: without the line, it is no Lua: {error}", mark.place()));
        }
    }
    wrong
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(work)
}
