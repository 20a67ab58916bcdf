//! The SQLite store beside the executable specification: the same random verbs on one manual
//! clock, the same answers, the same tasks and counters. Fences differ in value and must agree
//! in order.
//!
//! A failure names its seed: with `LH_SEED=<seed>` in the environment the test plays that one
//! alone, and with `LH_HISTORIES=<n>` it plays the first n.

#[path = "against_memory/fences.rs"]
mod fences;
#[path = "against_memory/pair.rs"]
mod pair;
#[path = "against_memory/play.rs"]
mod play;
#[path = "against_memory/random.rs"]
mod random;
#[path = "shared/residue.rs"]
mod residue;

use std::panic::AssertUnwindSafe;

/// Histories of a run, and verbs of a history: some seconds in all.
const HISTORIES: u64 = 24;
const VERBS: usize = 125;

#[test]
fn random_histories_agree() {
    let seeds = match (number("LH_SEED"), number("LH_HISTORIES")) {
        (Some(seed), _) => seed..seed + 1,
        (None, histories) => 0..histories.unwrap_or(HISTORIES),
    };
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime can be built");
        let history = AssertUnwindSafe(|| runtime.block_on(play::history(seed, VERBS)));
        if let Err(panic) = std::panic::catch_unwind(history) {
            eprintln!("the history of LH_SEED={seed} does not agree");
            std::panic::resume_unwind(panic);
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text}")))
}
