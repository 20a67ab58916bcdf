//! Runs cases and judges them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use leasehold_core::clause::GEN_9;
use leasehold_core::{Capabilities, Clock, Features};

use crate::case::{Case, CaseClock};
use crate::cases::refuses;
use crate::context::{Context, Ended, Stop, Why};
use crate::harness::{Harness, MissingHook, Profile, World};
use crate::known::Known;
use crate::report::Report;
use crate::settings::Settings;
use crate::table::cases;
use crate::trace::{self, panicked};
use crate::verdict::Verdict;

/// How many cases [`run`] has under way at a time.
const AT_ONCE: usize = 8;

/// The longest that a world may take to show a record of a case that has failed.
const DUMP_LIMIT: Duration = Duration::from_secs(10);

/// A case that has been run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took, its world included; to the millisecond.
    pub duration: Duration,
    /// The order of its calls as lanes and the store's records, if it did not end well.
    pub trace: Option<String>,
    /// What its first handle told of the backend.
    pub(crate) capabilities: Option<Capabilities>,
    /// The clock on which its world ran.
    pub(crate) clock: Option<CaseClock>,
}

impl Outcome {
    /// Whether it turns a run red: a provisional case only does where `strict`.
    #[must_use]
    pub fn is_red(&self, strict: bool) -> bool {
        self.verdict.is_red() && (strict || !self.case.provisional)
    }
}

/// What every case of a run shares.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Every case that there is.
    pub suite: &'static [Case],
    pub profile: Profile,
    pub settings: Settings,
    pub known: Known,
}

impl Plan {
    /// Asks the harness what it says of its backend. The error is a sentence for its author.
    pub fn of(
        harness: &dyn Harness,
        settings: &Settings,
        suite: &'static [Case],
    ) -> Result<Self, String> {
        let asked = catch_unwind(AssertUnwindSafe(|| {
            (harness.profile(), Known::parse(harness.known(), suite))
        }));
        let (profile, known) =
            asked.map_err(|panic| format!("the harness panicked: {}", panicked(&*panic)))?;
        Ok(Self { suite, profile, settings: settings.clone(), known: known? })
    }

    /// The cases that the settings admit.
    pub fn admitted(&self) -> impl Iterator<Item = &'static Case> {
        self.suite.iter().filter(|case| self.settings.filter.admits(case))
    }
}

/// Runs every case that the settings admit, some side by side, and answers what came out. It
/// never panics: whatever keeps the run from starting is in the report, which is red then.
///
/// Runs on a tokio runtime with its clock enabled.
pub async fn run(harness: &dyn Harness, settings: &Settings) -> Report {
    run_suite(harness, settings, cases()).await
}

pub(crate) async fn run_suite(
    harness: &dyn Harness,
    settings: &Settings,
    suite: &'static [Case],
) -> Report {
    let plan = match Plan::of(harness, settings, suite) {
        Ok(plan) => plan,
        Err(why) => return Report::refused(settings, suite, why),
    };
    let running = stream::iter(plan.admitted().map(|case| prove(harness, case, &plan)));
    let outcomes = running.buffer_unordered(AT_ONCE).collect().await;
    Report::new(&plan, outcomes)
}

/// Runs one case in a world of its own, with the usual settings.
pub async fn run_case(harness: &dyn Harness, case: &Case) -> Verdict {
    match Plan::of(harness, &Settings::default(), cases()) {
        Ok(plan) => prove(harness, case, &plan).await.verdict,
        Err(why) => Verdict::Stopped { why, faults: Vec::new() },
    }
}

/// Runs one case in a world of its own and judges it by the harness's lists.
pub(crate) async fn prove(harness: &dyn Harness, case: &Case, plan: &Plan) -> Outcome {
    let begin = Clock::System.now();
    let mut proved = proved(harness, case, plan).await;
    proved.verdict = listed(proved.verdict, case, &plan.known);
    let Proved { verdict, trace, capabilities, clock } = proved;
    let duration = Clock::System.now().since(begin);
    Outcome { case: *case, verdict, duration, trace, capabilities, clock }
}

struct Proved {
    verdict: Verdict,
    trace: Option<String>,
    capabilities: Option<Capabilities>,
    clock: Option<CaseClock>,
}

impl From<Verdict> for Proved {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, trace: None, capabilities: None, clock: None }
    }
}

/// What the verdict is worth where the harness lists the case.
fn listed(verdict: Verdict, case: &Case, known: &Known) -> Verdict {
    match (verdict, known.failing(case), known.waived(case)) {
        (Verdict::Pass, Some(reason), _) | (Verdict::Pass, None, Some(reason)) => {
            Verdict::Unexpected { reason: reason.clone() }
        }
        (how @ (Verdict::Fail(_) | Verdict::Stopped { .. }), Some(reason), _) => {
            Verdict::Known { reason: reason.clone(), how: Box::new(how) }
        }
        (Verdict::Incomplete { why, .. }, _, waived) => {
            Verdict::Incomplete { why, waived: waived.cloned() }
        }
        (other, _, _) => other,
    }
}

async fn proved(harness: &dyn Harness, case: &Case, plan: &Plan) -> Proved {
    let profile = &plan.profile;
    if case.needs.lacking && profile.features == Features::all() {
        return Verdict::Inapplicable.into();
    }
    let world = match guarded("the making of its world", case.limit(), harness.world(case)).await {
        Ok(Ok(world)) => world,
        Ok(Err(error)) => return ended_early(Stop::from(error)).into(),
        Err(why) => return ended_early(Stop::because(why)).into(),
    };
    let missing = case.needs.features - profile.features;
    let mut context = Context::new(world, profile.clone(), &plan.settings);
    let body = guarded("the case", case.limit(), carry_out(&mut context, case, missing)).await;
    let stopped = match body {
        Ok(Ok(())) => None,
        Ok(Err(Stop(why))) => Some(why),
        Err(why) => Some(Why::Stopped(why)),
    };
    let ended = context.end();
    let no_clock = matches!(&stopped, Some(Why::Incomplete(why)) if *why == no_clock());
    let verdict = judged(case, missing, stopped, &ended);
    let trace = match &verdict {
        Verdict::Fail(_) | Verdict::Stopped { .. } => Some(trace_of(&ended).await),
        _ => None,
    };
    let Ended { world, capabilities, .. } = ended;
    let clock = (!no_clock).then_some(case.needs.clock);
    let verdict = closed(world, case, verdict).await;
    Proved { verdict, trace, capabilities, clock }
}

/// The case itself, or the refusals of what the backend does not declare.
async fn carry_out(context: &mut Context, case: &Case, missing: Features) -> Result<(), Stop> {
    if missing.is_empty() {
        if case.needs.clock == CaseClock::Manual {
            context.ask_for_clock().await?;
        }
        if case.needs.faults {
            context.planting()?;
        }
        (case.body)(context).await?;
    } else {
        refuses::each(context, missing).await?;
    }
    context.check_residue().await
}

fn judged(case: &Case, missing: Features, stopped: Option<Why>, ended: &Ended) -> Verdict {
    let faults = ended.faults.clone();
    match stopped {
        Some(Why::Stopped(why)) => return Verdict::Stopped { why, faults },
        _ if !faults.is_empty() => return Verdict::Fail(faults),
        Some(Why::Incomplete(why)) => return Verdict::Incomplete { why, waived: None },
        Some(Why::Vacuous(why)) => return Verdict::Vacuous(vec![why]),
        Some(Why::Inapplicable) => return Verdict::Inapplicable,
        None => {}
    }
    let looked_at = |id: &str| ended.checked.contains(id);
    if !missing.is_empty() {
        return match looked_at(GEN_9.id) {
            true => Verdict::Unsupported,
            false => Verdict::Vacuous(vec!["no refusal was seen".to_owned()]),
        };
    }
    // A case that passes without a look at a clause proves nothing about it.
    let unseen = case.clauses.iter().filter(|clause| !looked_at(clause.id));
    let unseen: Vec<_> = unseen.map(|clause| format!("{} was not looked at", clause.id)).collect();
    match unseen.is_empty() {
        true => Verdict::Pass,
        false => Verdict::Vacuous(unseen),
    }
}

/// Closes the world, also of a case that has failed.
async fn closed(world: Box<dyn World>, case: &Case, verdict: Verdict) -> Verdict {
    let why = match guarded("the closing of its world", case.limit(), world.close()).await {
        Ok(Ok(())) => return verdict,
        Ok(Err(error)) => format!("the world did not close: {error}"),
        Err(why) => why,
    };
    match verdict {
        Verdict::Fail(faults) => Verdict::Stopped { why, faults },
        Verdict::Stopped { why: first, faults } => {
            Verdict::Stopped { why: format!("{first}; then {why}"), faults }
        }
        _ => Verdict::Stopped { why, faults: Vec::new() },
    }
}

fn ended_early(Stop(why): Stop) -> Verdict {
    match why {
        Why::Stopped(why) => Verdict::Stopped { why, faults: Vec::new() },
        Why::Incomplete(why) => Verdict::Incomplete { why, waived: None },
        Why::Vacuous(why) => Verdict::Vacuous(vec![why]),
        Why::Inapplicable => Verdict::Inapplicable,
    }
}

async fn trace_of(ended: &Ended) -> String {
    let made = guarded("the store's dump", DUMP_LIMIT, trace::records(ended)).await;
    trace::text(ended, made.unwrap_or_else(|why| why))
}

fn no_clock() -> String {
    MissingHook::MANUAL_CLOCK.to_string()
}

/// The result of `call`, unless it takes longer than `limit` or panics.
async fn guarded<T>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = T>,
) -> Result<T, String> {
    match AssertUnwindSafe(tokio::time::timeout(limit, call)).catch_unwind().await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(_)) => Err(format!("{what} was not done after {limit:?}")),
        Err(panic) => Err(format!("{what} panicked: {}", panicked(&*panic))),
    }
}

#[cfg(test)]
mod tests;
