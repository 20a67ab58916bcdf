//! [`Settings`]: what a run is asked for. The environment is read here and nowhere else.

use std::fmt;
use std::path::PathBuf;

use leasehold_core::clause::{self, Clause};
use leasehold_core::{DecisionId, Features};

use crate::case::{Case, Level};
use crate::orders::Orders;
use crate::report::Format;

/// Which cases run: those that every given part admits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Filter {
    /// Only the cases that bind every backend.
    pub core_only: bool,
    /// Only the cases that prove this clause.
    pub clause: Option<Clause>,
    /// Only the cases that need all of these features.
    pub features: Option<Features>,
    /// Only the cases whose id has this part.
    pub id: Option<String>,
}

/// What a run is asked for; by default every case, as it binds.
///
/// [`main`](crate::main) and [`suite!`](crate::suite) read it from the environment:
///
/// | variable | means |
/// |---|---|
/// | `LH_SEED` | the seed of everything random, 0 to 2^64 - 1; `fresh` draws one, else it is 1 |
/// | `LH_ORDERS` | `all`, or how many orders of each race are played; else as the harness says |
/// | `LH_STRICT` | `1`: provisional cases bind now |
/// | `LH_LEVEL` | `core`: only the cases that bind every backend |
/// | `LH_CLAUSE` | only the cases that prove this clause, such as `LH-FENCE-2` |
/// | `LH_FEATURE` | only the cases that need this feature, such as `follow-ups` |
/// | `LH_REPORT` | where to write the report: `.json`, `.xml` (JUnit), `.md` (a table for a README) or `.txt`; several with commas between them. Cargo starts tests in the folder of their package |
///
/// The last four are for `main`. The report needs all cases in one process, so `LH_REPORT` is
/// refused under cargo nextest and by `suite!`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The seed of everything random.
    pub seed: u64,
    /// How many orders of a race to play; as the harness says where it is `None`.
    pub orders: Option<Orders>,
    /// Whether provisional cases bind.
    pub strict: bool,
    /// Which cases run.
    pub filter: Filter,
    /// Where [`main`](crate::main) writes its report; the name's ending picks the form.
    pub reports: Vec<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        let (orders, filter, reports) = (None, Filter::default(), Vec::new());
        Self { seed: Self::SEED, orders, strict: false, filter, reports }
    }
}

impl Settings {
    /// The seed of a run that names none: always the same, so that the same commit gives the
    /// same answer.
    pub const SEED: u64 = 1;

    /// Reads the environment.
    ///
    /// # Errors
    /// A sentence about the first variable that cannot be used.
    pub fn from_env() -> Result<Self, String> {
        Self::parse(|name| std::env::var(name).ok())
    }

    /// The same from any source of variables.
    ///
    /// # Errors
    /// A sentence about the first variable that cannot be used.
    pub fn parse(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        // An empty variable is one that somebody wanted to be unset.
        let variable = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let mut settings = Self::default();
        if let Some(text) = variable("LH_SEED") {
            settings.seed = seed(text.trim())?;
        }
        if let Some(text) = variable("LH_ORDERS") {
            settings.orders = Some(orders(text.trim())?);
        }
        settings.strict = match variable("LH_STRICT").as_deref().map(str::trim) {
            None | Some("0") => false,
            Some("1") => true,
            Some(other) => return Err(format!("LH_STRICT is 0 or 1, not {other}")),
        };
        settings.filter.core_only = match variable("LH_LEVEL").as_deref().map(str::trim) {
            None => false,
            Some("core") => true,
            Some(other) => return Err(format!("LH_LEVEL can only be core, not {other}")),
        };
        if let Some(text) = variable("LH_CLAUSE") {
            settings.filter.clause = Some(known_clause(text.trim())?);
        }
        if let Some(text) = variable("LH_FEATURE") {
            settings.filter.features = Some(known_feature(text.trim())?);
        }
        if let Some(text) = variable("LH_REPORT") {
            settings.reports = reports(&text)?;
            // There a report would hold the one case of the process that came last.
            if variable("NEXTEST").is_some() {
                return Err("LH_REPORT cannot be written under cargo nextest, which gives every \
                            case a process of its own: use cargo test"
                    .to_owned());
            }
        }
        Ok(settings)
    }

    /// The same with this seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same with so many orders a case.
    #[must_use]
    pub fn with_orders(mut self, orders: Orders) -> Self {
        self.orders = Some(orders);
        self
    }

    /// The same with provisional cases that bind.
    #[must_use]
    pub fn with_strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// The same for these cases only.
    #[must_use]
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// The same with a report at this path.
    #[must_use]
    pub fn with_report(mut self, path: impl Into<PathBuf>) -> Self {
        self.reports.push(path.into());
        self
    }

    /// The variables that make a case run again as it did, each followed by a space.
    pub(crate) fn variables(&self) -> String {
        let orders = match self.orders {
            None => String::new(),
            Some(Orders::Usual) => String::new(),
            Some(Orders::All) => "LH_ORDERS=all ".to_owned(),
            Some(Orders::Some(count)) => format!("LH_ORDERS={count} "),
        };
        let strict = if self.strict { "LH_STRICT=1 " } else { "" };
        format!("LH_SEED={} {orders}{strict}", self.seed)
    }
}

impl Filter {
    /// Every case.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// The same, but only the cases that bind every backend.
    #[must_use]
    pub fn core_only(mut self) -> Self {
        self.core_only = true;
        self
    }

    /// The same, but only the cases that prove this clause.
    #[must_use]
    pub fn with_clause(mut self, clause: Clause) -> Self {
        self.clause = Some(clause);
        self
    }

    /// The same, but only the cases that need all of these features.
    #[must_use]
    pub fn with_features(mut self, features: Features) -> Self {
        self.features = Some(features);
        self
    }

    /// The same, but only the cases whose id has this part.
    #[must_use]
    pub fn with_id(mut self, part: impl Into<String>) -> Self {
        self.id = Some(part.into());
        self
    }

    /// Whether the case runs.
    #[must_use]
    pub fn admits(&self, case: &Case) -> bool {
        let clause = self.clause.map(|clause| clause.id);
        (!self.core_only || case.level() == Level::Core)
            && clause.is_none_or(|id| case.clauses.iter().any(|clause| clause.id == id))
            && self.features.is_none_or(|needed| case.needs.features.contains(needed))
            && self.id.as_ref().is_none_or(|part| case.id.contains(part.as_str()))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.core_only.then(|| "level core".to_owned()));
        parts.extend(self.clause.map(|clause| format!("clause {}", clause.id)));
        let features = feature_names(self.features.unwrap_or(Features::empty()));
        parts.extend(features.map(|name| format!("feature {name}")));
        parts.extend(self.id.as_ref().map(|part| format!("ids with {part}")));
        match parts.is_empty() {
            true => f.write_str("every case"),
            false => f.write_str(&parts.join(", ")),
        }
    }
}

/// The words that refusals, reports and `LH_FEATURE` use for features.
pub(crate) fn feature_names(features: Features) -> impl Iterator<Item = String> {
    features.iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-"))
}

/// Whether the test runner gives every case a process of its own.
pub(crate) fn is_process_per_case() -> bool {
    std::env::var_os("NEXTEST").is_some()
}

fn seed(text: &str) -> Result<u64, String> {
    match text {
        // The lower half of a random id.
        "fresh" => Ok((DecisionId::fresh().bits() & u128::from(u64::MAX)) as u64),
        _ => {
            text.parse().map_err(|_| format!("LH_SEED is a number below 2^64 or fresh, not {text}"))
        }
    }
}

fn orders(text: &str) -> Result<Orders, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(Orders::All),
        (_, Ok(count)) if count > 0 => Ok(Orders::Some(count)),
        _ => Err(format!("LH_ORDERS is all or a number above 0, not {text}")),
    }
}

fn known_clause(text: &str) -> Result<Clause, String> {
    let found = clause::ALL.iter().find(|clause| clause.id == text);
    found.copied().ok_or_else(|| format!("LH_CLAUSE names no clause of the contract: {text}"))
}

fn known_feature(text: &str) -> Result<Features, String> {
    let named = |feature: &Features| feature_names(*feature).any(|name| name == text);
    let all: Vec<_> = feature_names(Features::all()).collect();
    Features::all()
        .iter()
        .find(named)
        .ok_or_else(|| format!("LH_FEATURE is one of {}, not {text}", all.join(", ")))
}

fn reports(text: &str) -> Result<Vec<PathBuf>, String> {
    let paths: Vec<PathBuf> =
        text.split(',').map(str::trim).filter(|path| !path.is_empty()).map(Into::into).collect();
    for path in &paths {
        Format::of(path).map_err(|error| format!("LH_REPORT: {error}"))?;
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::cases;

    fn parse(variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::parse(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn every_variable_is_read() {
        let read = parse(&[
            ("LH_SEED", "18446744073709551615"),
            ("LH_ORDERS", "all"),
            ("LH_STRICT", "1"),
            ("LH_LEVEL", "core"),
            ("LH_CLAUSE", "LH-FENCE-2"),
            ("LH_FEATURE", "follow-ups"),
            ("LH_REPORT", "a.json, b/c.xml,d.md,e.txt"),
        ]);
        let filter = Filter::all()
            .core_only()
            .with_clause(clause::FENCE_2)
            .with_features(Features::FOLLOW_UPS);
        let mut want = Settings::default().with_seed(u64::MAX).with_orders(Orders::All);
        want = want.with_strict().with_filter(filter);
        for path in ["a.json", "b/c.xml", "d.md", "e.txt"] {
            want = want.with_report(path);
        }
        assert_eq!(read, Ok(want));
        assert_eq!(parse(&[("LH_ORDERS", "200")]).map(|s| s.orders), Ok(Some(Orders::Some(200))));
        assert_eq!(parse(&[("LH_SEED", ""), ("LH_REPORT", " ")]), Ok(Settings::default()));
        let drawn = || parse(&[("LH_SEED", "fresh")]).expect("a seed").seed;
        assert_ne!(drawn(), drawn());
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_name() {
        let wrong = [
            ("LH_SEED", "-1"),
            ("LH_SEED", "18446744073709551616"),
            ("LH_ORDERS", "0"),
            ("LH_ORDERS", "some"),
            ("LH_STRICT", "yes"),
            ("LH_LEVEL", "extended"),
            ("LH_CLAUSE", "LH-FENCE-99"),
            ("LH_FEATURE", "follow"),
            ("LH_REPORT", "report.html"),
            ("LH_REPORT", "a.json,report"),
        ];
        for (name, text) in wrong {
            let error = parse(&[(name, text)]).expect_err(text);
            assert!(error.starts_with(name), "{error}");
        }
    }

    #[test]
    fn no_report_where_each_case_is_a_process() {
        let under = ("NEXTEST", "1");
        let error = parse(&[("LH_REPORT", "a.json"), under]).expect_err("it would be wrong");
        assert!(error.contains("under cargo nextest"), "{error}");
        assert!(parse(&[("LH_SEED", "7"), under]).is_ok());
    }

    #[test]
    fn a_filter_admits_what_each_of_its_parts_admits() {
        let admitted = |filter: Filter| cases().iter().filter(move |case| filter.admits(case));
        assert_eq!(admitted(Filter::all()).count(), cases().len());
        assert!(admitted(Filter::all().core_only()).all(|case| case.needs.features.is_empty()));
        let of_clause = |case: &Case| case.clauses.contains(&clause::LIMIT_1);
        let limited = Filter::all().with_clause(clause::LIMIT_1);
        assert!(admitted(limited.clone()).all(of_clause));
        assert_eq!(
            admitted(limited.clone()).count(),
            cases().iter().filter(|c| of_clause(c)).count()
        );
        let both = limited.with_features(Features::KINDS).with_id("starve");
        let ids: Vec<_> = admitted(both.clone()).map(|case| case.id).collect();
        assert_eq!(ids, ["limit/kinds_never_starve_under_a_key"]);
        assert_eq!(both.to_string(), "clause LH-LIMIT-1, feature kinds, ids with starve");
        assert_eq!(admitted(both.core_only()).count(), 0);
    }
}
