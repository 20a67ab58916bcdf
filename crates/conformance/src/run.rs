//! Runs cases and judges them.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold_core::clause;

use crate::case::Case;
use crate::cases::refuses;
use crate::context::{Context, Fault, Stop};
use crate::harness::{Harness, World};
use crate::table::cases;

/// The longest that a case may take: far more than any needs, so that a hang is told.
const LIMIT: Duration = Duration::from_secs(60);

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The clauses hold.
    Pass,
    /// Clauses are broken; each with what was seen.
    Fail(Vec<Fault>),
    /// The case could not be carried through; red as well.
    Stopped(String),
    /// The backend does not declare a feature that the case needs, and was seen to refuse it.
    Unsupported,
    /// The harness lacks a hook that the case needs; red.
    Incomplete(&'static str),
}

/// Runs one case in a world of its own.
pub async fn run_case(harness: &dyn Harness, case: &Case) -> Verdict {
    let world = match harness.world(case).await {
        Ok(world) => world,
        Err(error) => return Verdict::Stopped(format!("there is no world: {error}")),
    };
    if case.needs.faults && world.faults().is_none() {
        return Verdict::Incomplete("this world cannot plant faults");
    }
    let missing = case.needs.features - harness.profile().features;
    let mut context = Context::new(world, harness.profile());
    let body = async {
        if missing.is_empty() {
            (case.body)(&mut context).await
        } else {
            refuses::each(&mut context, missing).await
        }
    };
    let ended = AssertUnwindSafe(tokio::time::timeout(LIMIT, body)).catch_unwind().await;
    let (world, mut faults) = context.into_parts();
    let stopped = match ended {
        Ok(Ok(Ok(()))) => residue(&*world, &mut faults).await.err(),
        Ok(Ok(Err(stop))) => Some(stop),
        Ok(Err(_)) => Some(Stop::because(format!("not done after {LIMIT:?}"))),
        Err(_) => Some(Stop::because("the case panicked")),
    };
    let closed = world.close().await;
    match (stopped, closed) {
        (Some(Stop(why)), _) => {
            let found: Vec<_> = faults.iter().map(|fault| format!("\n{fault}")).collect();
            Verdict::Stopped(format!("{why}{}", found.concat()))
        }
        (None, Err(error)) => Verdict::Stopped(format!("the world did not close: {error}")),
        (None, Ok(())) if !faults.is_empty() => Verdict::Fail(faults),
        (None, Ok(())) if !missing.is_empty() => Verdict::Unsupported,
        (None, Ok(())) => Verdict::Pass,
    }
}

async fn residue(world: &dyn World, faults: &mut Vec<Fault>) -> Result<(), Stop> {
    for found in world.residue().await? {
        faults.push(Fault {
            clause: clause::LAPSE_8,
            what: "what is left in the store after the case".to_owned(),
            got: found,
            want: "nothing that no task explains".to_owned(),
        });
    }
    Ok(())
}

/// Runs the case called `id` as a test of its own; what [`suite!`](crate::suite) expands to.
///
/// # Panics
/// Unless the case passes, or is unsupported.
pub fn run_test(harness: &dyn Harness, id: &str) {
    let case = cases().iter().find(|case| case.id == id).expect("the table has every test");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let verdict = runtime.expect("a runtime can be built").block_on(run_case(harness, case));
    match verdict {
        Verdict::Pass => {}
        Verdict::Unsupported => println!("{id}: unsupported, and refused as it must be"),
        Verdict::Fail(faults) => {
            let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
            panic!("{id} on {}:\n{}", harness.profile().name, faults.join("\n"));
        }
        Verdict::Stopped(why) => panic!("{id} on {} stopped: {why}", harness.profile().name),
        Verdict::Incomplete(why) => panic!("{id} is incomplete: {why}"),
    }
}
