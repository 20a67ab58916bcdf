//! The report as a table for people.

use std::fmt::{self, Write as _};

use super::{BackendReport, CaseReport, DurabilityReport, Report};
use crate::verdict::Word;

/// As text: what was looked at, a row for each clause, the cases that did not simply pass,
/// and in the last line how many cases ended how.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "leasehold-conformance {}, contract {}", self.suite, self.contract)?;
        show_backend(&self.backend, f)?;
        let strict = if self.strict { ", provisional cases bind" } else { "" };
        writeln!(f, "seed        {}, orders {}{strict}", self.seed, self.orders)?;
        for reason in &self.partial {
            writeln!(f, "PARTIAL     {reason}")?;
        }
        for problem in &self.problems {
            writeln!(f, "PROBLEM     {problem}")?;
        }
        show_clauses(self, f)?;
        for gap in &self.untested {
            writeln!(f, "{:<13} untested: {}", gap.clause, gap.why)?;
        }
        for gap in &self.partly {
            writeln!(f, "{:<13} in part: {}", gap.clause, gap.why)?;
        }
        for case in self.cases.iter().filter(|case| is_told(case)) {
            show_case(case, f)?;
        }
        writeln!(f)?;
        for (what, groups) in
            [("level", &self.levels), ("feature", &self.features), ("kind", &self.kinds)]
        {
            for group in groups {
                writeln!(f, "{:<22}{}", format!("{what} {}", group.name), group.totals)?;
            }
        }
        let colour = if self.green { "green" } else { "red" };
        let partial = if self.partial.is_empty() { "" } else { ", partial" };
        writeln!(f, "{colour}{partial}: {}", self.totals)
    }
}

fn show_backend(backend: &BackendReport, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let told = |version: &Option<String>| version.clone().unwrap_or_else(|| "not told".to_owned());
    let list = |names: &[String]| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    let (version, server) = (told(&backend.version), told(&backend.server_version));
    writeln!(f, "backend     {}, version {version}, server {server}", backend.name)?;
    writeln!(f, "features    declared: {}", list(&backend.declared))?;
    writeln!(f, "            refused: {}", list(&backend.refused))?;
    let class = backend.durability.as_ref().map_or("not told".to_owned(), durability);
    let setup = backend.durability_setup.iter().fold(String::new(), |mut text, setup| {
        _ = write!(text, " ({setup})");
        text
    });
    writeln!(f, "durability  {class}{setup}")?;
    writeln!(f, "clocks      {}", list(&backend.clocks))
}

/// The class in words.
pub(super) fn durability(told: &DurabilityReport) -> String {
    let survives = |yes: bool| if yes { "survives" } else { "does not survive" };
    let failover = match told.failover.as_str() {
        "single" => "single node",
        "no" => "failover may lose",
        "by-waiting" => "failover safe by waiting",
        _ => "failover safe",
    };
    format!(
        "{} a crash of the process, {} one of the host, {failover}",
        survives(told.process_crash),
        survives(told.host_crash)
    )
}

fn show_clauses(report: &Report, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "\n{:<13} {:<22} {:<12} cases  slowest", "clause", "level", "worst")?;
    for clause in &report.clauses {
        let (id, level, verdict, cases) = (&clause.id, &clause.level, clause.verdict, clause.cases);
        write!(f, "{id:<13} {level:<22} {verdict:<12} {cases:>5}")?;
        writeln!(f, "  {} ms {}", clause.slowest_ms, clause.slowest)?;
    }
    Ok(())
}

/// A refusal of what is not declared is the rule, and each would be one more line.
fn is_told(case: &CaseReport) -> bool {
    !matches!(case.verdict, Word::Pass | Word::Unsupported | Word::Inapplicable)
}

fn show_case(case: &CaseReport, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let provisional = if case.provisional { " (provisional)" } else { "" };
    writeln!(f, "\n{}{provisional}: {}", case.id, case.verdict)?;
    for line in case.details.iter().flat_map(|detail| detail.lines()) {
        writeln!(f, "    {line}")?;
    }
    writeln!(f, "    again: {}", case.replay)
}
