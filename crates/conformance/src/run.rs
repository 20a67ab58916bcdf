//! Runs cases and judges them.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use crate::case::Case;
use crate::cases::refuses;
use crate::context::{Context, Fault, Stop};
use crate::harness::Harness;
use crate::table::cases;
use futures_util::FutureExt;
use leasehold_core::Features;

/// The longest that a case may take: far more than any needs, so that a hang is told. Where all
/// orders of a race are played, there are many calls.
fn limit(case: &Case) -> Duration {
    Duration::from_secs(if case.id.starts_with("orders/") { 600 } else { 60 })
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The clauses hold.
    Pass,
    /// Clauses are broken; each with what was seen.
    Fail(Vec<Fault>),
    /// The case could not be carried through; red as well.
    #[non_exhaustive]
    Stopped {
        /// What kept it.
        why: String,
        /// What it had found until then.
        faults: Vec<Fault>,
    },
    /// The backend does not declare a feature that the case needs, and was seen to refuse it.
    Unsupported,
    /// The case is about backends that lack a feature, and this one has all.
    Inapplicable,
    /// The harness lacks a hook that the case needs; red.
    #[non_exhaustive]
    Incomplete {
        /// Which one.
        why: String,
    },
    /// The case ended without a look at these of its clauses; red.
    Vacuous(Vec<&'static str>),
}

/// Runs one case in a world of its own.
pub async fn run_case(harness: &dyn Harness, case: &Case) -> Verdict {
    let profile = harness.profile();
    let missing = case.needs.features - profile.features;
    if case.needs.lacking && profile.features == Features::all() {
        return Verdict::Inapplicable;
    }
    let world = match harness.world(case).await {
        Ok(world) => world,
        Err(error) => {
            let why = format!("there is no world: {error}");
            return Verdict::Stopped { why, faults: Vec::new() };
        }
    };
    if missing.is_empty() && case.needs.faults && world.faults().is_none() {
        let why = match world.close().await {
            Ok(()) => "this world cannot plant faults".to_owned(),
            Err(error) => format!("this world cannot plant faults, and did not close: {error}"),
        };
        return Verdict::Incomplete { why };
    }
    let mut context = Context::new(world, profile);
    let body = async {
        if missing.is_empty() {
            (case.body)(&mut context).await?;
        } else {
            refuses::each(&mut context, missing).await?;
        }
        context.check_residue().await
    };
    let limit = limit(case);
    let ended = AssertUnwindSafe(tokio::time::timeout(limit, body)).catch_unwind().await;
    let stopped = match ended {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(Stop(why)))) => Some(why),
        Ok(Err(_)) => Some(format!("not done after {limit:?}")),
        Err(_) => Some("the case panicked".to_owned()),
    };
    let (world, faults, unchecked) = context.into_parts(case.clauses);
    let closed = world.close().await.map_err(|error| format!("the world did not close: {error}"));
    match stopped.or(closed.err()) {
        Some(why) => Verdict::Stopped { why, faults },
        None if !faults.is_empty() => Verdict::Fail(faults),
        None if !missing.is_empty() => Verdict::Unsupported,
        None if !unchecked.is_empty() => Verdict::Vacuous(unchecked),
        None => Verdict::Pass,
    }
}

/// Runs the case called `id` as a test of its own; what [`suite!`](crate::suite) expands to.
///
/// # Panics
/// Unless the case passes, is unsupported or inapplicable; the latter two are printed.
pub fn run_test(harness: &dyn Harness, id: &str) {
    let case = cases().iter().find(|case| case.id == id).expect("the table has every test");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let verdict = runtime.expect("a runtime can be built").block_on(run_case(harness, case));
    let name = harness.profile().name;
    let told = |faults: Vec<Fault>| {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        faults.join("\n")
    };
    match verdict {
        Verdict::Pass => {}
        Verdict::Unsupported => println!("{id}: unsupported, and refused as it must be"),
        Verdict::Inapplicable => println!("{id}: nothing to refuse, every feature is declared"),
        Verdict::Fail(faults) => panic!("{id} on {name}:\n{}", told(faults)),
        Verdict::Stopped { why, faults } => {
            panic!("{id} on {name} stopped: {why}\n{}", told(faults))
        }
        Verdict::Incomplete { why } => panic!("{id} on {name} is incomplete: {why}"),
        Verdict::Vacuous(unchecked) => {
            panic!("{id} on {name} is vacuous: it looked at nothing of {}", unchecked.join(", "))
        }
    }
}
