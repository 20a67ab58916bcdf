//! How a [`Report`] is made of outcomes.

use leasehold_core::clause::{self, Clause};
use leasehold_core::{CONTRACT_VERSION, Capabilities, Durability, Failover, Features};

use super::{
    BackendReport, CaseReport, ClauseReport, DurabilityReport, Gap, Group, Report, Totals,
};
use crate::case::{Case, CaseClock, Kind, Level};
use crate::harness::Profile;
use crate::known::Known;
use crate::orders::Orders;
use crate::run::{Outcome, Plan};
use crate::settings::{Filter, Settings, feature_names};
use crate::trace;
use crate::untested::{PARTLY, UNTESTED};
use crate::verdict::{Verdict, Word};

impl Report {
    /// The report of these outcomes, in whatever order they came.
    pub(crate) fn new(plan: &Plan, mut outcomes: Vec<Outcome>) -> Self {
        let place = |id: &str| plan.suite.iter().position(|case| case.id == id);
        outcomes.sort_by_key(|outcome| place(outcome.case.id));
        let settings = &plan.settings;
        let strict = settings.strict;
        let mut report = Self {
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            contract: format!("{}.{}", CONTRACT_VERSION.0, CONTRACT_VERSION.1),
            green: !outcomes.is_empty() && !outcomes.iter().any(|outcome| outcome.is_red(strict)),
            partial: partial(plan, &outcomes),
            problems: Vec::new(),
            backend: backend(&plan.profile, &outcomes),
            seed: settings.seed,
            orders: orders(settings.orders.unwrap_or(plan.profile.orders)),
            strict,
            reproduce: format!("{}{}", settings.variables(), trace::command(plan)),
            totals: totals(outcomes.iter()),
            levels: levels(&outcomes),
            features: features(&outcomes),
            kinds: kinds(&outcomes),
            clauses: clause::ALL.iter().filter_map(|one| clause_report(one, &outcomes)).collect(),
            untested: gaps(UNTESTED),
            partly: gaps(PARTLY),
            cases: outcomes.iter().map(|outcome| case_report(outcome, plan)).collect(),
        };
        if outcomes.is_empty() {
            report.problems.push("no case ran".to_owned());
        }
        report
    }

    /// The report of a run that could not start.
    pub(crate) fn refused(settings: &Settings, suite: &'static [Case], why: String) -> Self {
        let profile = Profile::new("unknown", Features::empty());
        let known = Known::default();
        let plan = Plan { suite, profile, settings: settings.clone(), known };
        let mut report = Self::new(&plan, Vec::new());
        report.problems = vec![why];
        report
    }
}

fn partial(plan: &Plan, outcomes: &[Outcome]) -> Vec<String> {
    let (filter, all) = (&plan.settings.filter, plan.suite.len());
    let mut reasons = Vec::new();
    if *filter != Filter::all() {
        reasons.push(format!("only {filter}"));
    }
    if outcomes.len() != all {
        reasons.push(format!("{} of {all} cases ran", outcomes.len()));
    }
    match totals(outcomes.iter()).incomplete {
        0 => {}
        count => reasons.push(format!("{count} incomplete, for want of a hook")),
    }
    reasons
}

fn backend(profile: &Profile, outcomes: &[Outcome]) -> BackendReport {
    let capabilities: Option<&Capabilities> =
        outcomes.iter().find_map(|outcome| outcome.capabilities.as_ref());
    BackendReport {
        name: profile.name.to_owned(),
        version: profile.version.clone(),
        server_version: profile.server_version.clone(),
        declared: feature_names(profile.features).collect(),
        refused: feature_names(refused(profile, outcomes)).collect(),
        durability: capabilities.map(|told| durability(told.durability)),
        durability_setup: profile.durability.clone(),
        clocks: clocks(outcomes),
    }
}

/// What is not declared and every use of it was refused, wherever a case looked.
fn refused(profile: &Profile, outcomes: &[Outcome]) -> Features {
    let missing = Features::all() - profile.features;
    let is_seen = |feature: &Features| {
        let about = |outcome: &&Outcome| outcome.case.needs.features.contains(*feature);
        let mut about = outcomes.iter().filter(about).peekable();
        about.peek().is_some() && about.all(|outcome| outcome.verdict == Verdict::Unsupported)
    };
    missing.iter().filter(is_seen).collect()
}

fn durability(told: Durability) -> DurabilityReport {
    let failover = match told.failover {
        Failover::Single => "single",
        Failover::No => "no",
        Failover::Yes => "yes",
        Failover::ByWaiting => "by-waiting",
    };
    let Durability { process_crash, host_crash, .. } = told;
    DurabilityReport { process_crash, host_crash, failover: failover.to_owned() }
}

fn clocks(outcomes: &[Outcome]) -> Vec<String> {
    let ran_on = |clock| outcomes.iter().any(|outcome| outcome.clock == Some(clock));
    let named = [(CaseClock::Manual, "manual"), (CaseClock::Real, "real")];
    named.iter().filter(|(clock, _)| ran_on(*clock)).map(|(_, name)| (*name).to_owned()).collect()
}

fn totals<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Totals {
    Totals::of(outcomes.map(|outcome| outcome.verdict.word()))
}

fn group(name: &str, outcomes: &[Outcome], is_in: impl Fn(&Outcome) -> bool) -> Option<Group> {
    let totals = totals(outcomes.iter().filter(|outcome| is_in(outcome)));
    (totals.cases > 0).then(|| Group { name: name.to_owned(), totals })
}

fn levels(outcomes: &[Outcome]) -> Vec<Group> {
    let is_core = |outcome: &Outcome| outcome.case.level() == Level::Core;
    let core = group("core", outcomes, is_core);
    let extended = group("extended", outcomes, |outcome| !is_core(outcome));
    core.into_iter().chain(extended).collect()
}

fn features(outcomes: &[Outcome]) -> Vec<Group> {
    let one = |feature: Features| {
        let name = feature_names(feature).next()?;
        group(&name, outcomes, |outcome| outcome.case.needs.features.contains(feature))
    };
    Features::all().iter().filter_map(one).collect()
}

fn kinds(outcomes: &[Outcome]) -> Vec<Group> {
    let one = |kind: Kind| group(kind.word(), outcomes, |outcome| outcome.case.kind == kind);
    Kind::ALL.into_iter().filter_map(one).collect()
}

fn clause_report(clause: &Clause, outcomes: &[Outcome]) -> Option<ClauseReport> {
    let names_it = |outcome: &&Outcome| outcome.case.clauses.iter().any(|own| own.id == clause.id);
    let own: Vec<_> = outcomes.iter().filter(names_it).collect();
    let slowest = own.iter().max_by_key(|outcome| outcome.duration)?;
    Some(ClauseReport {
        id: clause.id.to_owned(),
        level: clause.level.to_string(),
        verdict: own.iter().map(|outcome| outcome.verdict.word()).max().unwrap_or(Word::Pass),
        cases: own.len(),
        slowest: slowest.case.id.to_owned(),
        slowest_ms: millis(slowest),
        text: clause.text.to_owned(),
    })
}

fn case_report(outcome: &Outcome, plan: &Plan) -> CaseReport {
    let case = &outcome.case;
    CaseReport {
        id: case.id.to_owned(),
        kind: case.kind.word().to_owned(),
        needs: feature_names(case.needs.features).collect(),
        since: case.since.to_owned(),
        provisional: case.provisional,
        clauses: case.clauses.iter().map(|clause| clause.id.to_owned()).collect(),
        verdict: outcome.verdict.word(),
        red: outcome.is_red(plan.settings.strict),
        duration_ms: millis(outcome),
        details: outcome.verdict.details(),
        trace: outcome.trace.clone(),
        replay: trace::replay(plan, case),
    }
}

fn millis(outcome: &Outcome) -> u64 {
    u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX)
}

fn gaps(list: &[(&str, &str)]) -> Vec<Gap> {
    list.iter()
        .map(|(clause, why)| Gap { clause: (*clause).to_owned(), why: (*why).to_owned() })
        .collect()
}

fn orders(orders: Orders) -> String {
    match orders {
        Orders::Usual => "as usual".to_owned(),
        Orders::All => "all".to_owned(),
        Orders::Some(count) => format!("{count} of each race"),
    }
}
