//! The ways in: [`main`], a test binary of its own, and [`run_test`], one test of many.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::case::Case;
use crate::harness::Harness;
use crate::report::Report;
use crate::run::{Outcome, Plan, prove};
use crate::settings::{Settings, is_process_per_case};
use crate::table::cases;
use crate::trace::{explained, replay};
use crate::verdict::Verdict;

/// Runs the suite as a test binary of its own: one test a case, named by the case's id.
///
/// The binary is a `[[test]]` with `harness = false`. It understands the arguments that the
/// usual test binaries do, works under `cargo test` and `cargo nextest`, and is told more by
/// the variables that [`Settings`] lists; under `cargo test` it can write a [`Report`].
pub fn main(harness: impl Harness) -> ExitCode {
    match Settings::from_env() {
        Ok(settings) => main_with(harness, settings, std::env::args_os()),
        Err(why) => refused(&why),
    }
}

/// [`main`] with the settings and arguments given, not read; the first argument is the name of
/// the program.
pub fn main_with(
    harness: impl Harness,
    settings: Settings,
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> ExitCode {
    let arguments = Arguments::from_iter(arguments);
    let plan = match Plan::of(&harness, &settings, cases()) {
        Ok(plan) => plan,
        Err(why) => return refused(&why),
    };
    if plan.admitted().next().is_none() {
        return refused(&format!("no case is left of: {}", settings.filter));
    }
    let shared = Arc::new(Shared { harness, plan, outcomes: Mutex::default() });
    let trials = shared.plan.admitted().map(|case| trial(&shared, case)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if arguments.list {
        return ExitCode::SUCCESS;
    }
    let outcomes =
        std::mem::take(&mut *shared.outcomes.lock().unwrap_or_else(PoisonError::into_inner));
    // Nothing is said of a run that a filter in the arguments left empty, as other binaries do.
    if !outcomes.is_empty() && !told(&Report::new(&shared.plan, outcomes), &settings) {
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

struct Shared<H> {
    harness: H,
    plan: Plan,
    outcomes: Mutex<Vec<Outcome>>,
}

fn trial<H: Harness>(shared: &Arc<Shared<H>>, case: &'static Case) -> Trial {
    let shared = shared.clone();
    Trial::ignorable_test(case.id, move || {
        let plan = &shared.plan;
        let outcome = proved_apart(&shared.harness, case, plan)?;
        let ended = completion(&outcome, plan, &replay(plan, case));
        shared.outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
        ended
    })
}

/// How the outcome reads in a list of tests.
fn completion(outcome: &Outcome, plan: &Plan, replay: &str) -> Result<Completion, Failed> {
    if outcome.is_red(plan.settings.strict) {
        return Err(explained(outcome, plan, replay).into());
    }
    match &outcome.verdict {
        Verdict::Pass | Verdict::Unsupported | Verdict::Inapplicable => Ok(Completion::Completed),
        other => {
            let details = other.details();
            let first = details.iter().flat_map(|detail| detail.lines()).next();
            let provisional = if outcome.case.provisional { "provisional, " } else { "" };
            let reason = format!("{provisional}{}: {}", other.word(), first.unwrap_or_default());
            Ok(Completion::ignored_with(reason))
        }
    }
}

/// Writes what was asked for and prints the last line; false when the run is red for it.
fn told(report: &Report, settings: &Settings) -> bool {
    let mut written = true;
    for path in &settings.reports {
        match report.write(path) {
            Ok(()) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                eprintln!("leasehold-conformance: the report is in {}", path.display());
            }
            Err(why) => {
                eprintln!("leasehold-conformance: {why}");
                written = false;
            }
        }
    }
    if !is_process_per_case() {
        eprintln!("leasehold-conformance, seed {}: {}", report.seed, report.totals);
    }
    written
}

fn refused(why: &str) -> ExitCode {
    eprintln!("leasehold-conformance: {why}");
    ExitCode::from(2)
}

/// Runs the case called `id` as a test of its own; what [`suite!`](crate::suite) expands to.
///
/// # Panics
/// When the case is red, with everything that is known of it; whatever else is not a plain
/// pass is printed. Also when the settings cannot be used, or ask for a report. Their filter
/// is for [`main`] and [`run`](crate::run): here the test runner's own picks the tests.
pub fn run_test(harness: &dyn Harness, id: &str) {
    let case = cases().iter().find(|case| case.id == id).expect("the table has every test");
    let settings = Settings::from_env().unwrap_or_else(|why| panic!("{why}"));
    assert!(
        settings.reports.is_empty(),
        "LH_REPORT cannot be written by suite!, whose tests do not know of each other: use \
         leasehold_conformance::main"
    );
    let plan = Plan::of(harness, &settings, cases()).unwrap_or_else(|why| panic!("{why}"));
    let outcome = proved_apart(harness, case, &plan).unwrap_or_else(|why| panic!("{why}"));
    // The path of the test before the case's own name is known to whoever wrote the macro.
    let test = id.replace('/', "::");
    let replay = replay(&plan, case).replace(&format!("--exact {id}"), &test);
    let text = explained(&outcome, &plan, &replay);
    match (outcome.is_red(settings.strict), &outcome.verdict) {
        (true, _) => panic!("{text}"),
        (false, Verdict::Pass) => {}
        (false, _) => println!("{text}"),
    }
}

/// Runs the case on a runtime of its own.
pub(crate) fn proved_apart(
    harness: &dyn Harness,
    case: &Case,
    plan: &Plan,
) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime can be built: {error}"))?;
    Ok(runtime.block_on(prove(harness, case, plan)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use leasehold_core::Features;

    use super::*;
    use crate::harness::Profile;
    use crate::known::Known;

    /// What is shown of a test that does not fail, or its failure.
    fn completed(
        verdict: Verdict,
        provisional: bool,
        strict: bool,
    ) -> Result<Option<String>, String> {
        let settings = Settings { strict, ..Settings::default() };
        let (profile, known) = (Profile::new("memory", Features::all()), Known::default());
        let plan = Plan { suite: cases(), profile, settings, known };
        let (capabilities, clock, trace, duration) = (None, None, None, Duration::ZERO);
        let mut case = cases()[0];
        case.provisional = provisional;
        let outcome = Outcome { case, verdict, duration, trace, capabilities, clock };
        match completion(&outcome, &plan, "run it") {
            Ok(Completion::Completed) => Ok(None),
            Ok(Completion::Ignored { reason }) => Ok(reason),
            Err(failed) => Err(failed.message().unwrap_or_default().to_owned()),
        }
    }

    fn stopped() -> Verdict {
        Verdict::Stopped { why: "no way on".to_owned(), faults: Vec::new() }
    }

    #[test]
    fn what_is_red_fails_its_test_and_says_why() {
        let failed = completed(stopped(), false, false).expect_err("it is red");
        let want =
            "refuses/undeclared_features on memory: stopped\nstopped: no way on\nagain: run it\n";
        assert_eq!(failed, want);
        assert!(completed(Verdict::Vacuous(vec!["x".to_owned()]), false, false).is_err());
        assert!(completed(stopped(), true, true).is_err());
    }

    #[test]
    fn what_is_neither_red_nor_proved_is_not_shown_as_passed() {
        let told = |verdict, provisional| {
            let reason = completed(verdict, provisional, false).expect("it is not red");
            reason.expect("it has a reason")
        };
        assert_eq!(told(stopped(), true), "provisional, fail: stopped: no way on");
        let how = Box::new(stopped());
        let known = Verdict::Known { reason: "next release".to_owned(), how };
        assert_eq!(told(known, false), "known: on the list: next release");
        let (why, waived) = ("no clock".to_owned(), Some("none here".to_owned()));
        let waived = Verdict::Incomplete { why, waived };
        assert_eq!(told(waived, false), "incomplete: no clock");
        for passed in [Verdict::Pass, Verdict::Unsupported, Verdict::Inapplicable] {
            assert_eq!(completed(passed, false, false), Ok(None));
        }
    }
}
