//! [`Findings`]: which guards are missed, and by which case.

use std::fmt;
use std::time::Duration;

/// What came out of taking guards away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Findings {
    /// The guards that a case misses, in the order of their marks.
    pub kills: Vec<Kill>,
    /// Those that none misses.
    pub survivors: Vec<Survivor>,
    /// What the cases that miss a guard object to with every guard in its place, a line a case.
    pub unsound: Vec<String>,
}

/// A guard that a case misses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kill {
    /// File and line.
    pub place: String,
    /// The clause that the line guards.
    pub clause: &'static str,
    /// The first case that reported the clause.
    pub case: &'static str,
    /// How long it took to find it.
    pub took: Duration,
}

/// A guard that no case misses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survivor {
    /// File and line.
    pub place: String,
    /// The clause that the line guards.
    pub clause: &'static str,
    /// The line itself.
    pub guard: String,
    /// What cases object to without the line, though they do not name its clause; a line a case.
    pub seen: Vec<String>,
}

impl Findings {
    /// All that is wrong, in lines; empty when each guard is missed by a case that can be trusted.
    #[must_use]
    pub fn complaints(&self) -> String {
        let mut told = String::new();
        if !self.survivors.is_empty() {
            told.push_str("no case misses these guards:\n");
            told.extend(self.survivors.iter().map(|survivor| format!("{survivor}\n")));
        }
        if !self.unsound.is_empty() {
            told.push_str("with every guard in its place:\n");
            told.extend(self.unsound.iter().map(|line| format!("  {line}\n")));
        }
        told
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Kill { place, clause, case, took } in &self.kills {
            let took_ms = took.as_millis();
            writeln!(f, "{place:<24} {clause:<12} killed by {case:<52} after {took_ms:>6} ms")?;
        }
        for Survivor { place, clause, .. } in &self.survivors {
            writeln!(f, "{place:<24} {clause:<12} SURVIVES")?;
        }
        let killed = self.kills.len();
        write!(f, "guards: {}, killed: {killed}", killed + self.survivors.len())
    }
}

impl fmt::Display for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, clause, guard, seen } = self;
        write!(f, "  {place} {clause}: {guard}")?;
        seen.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}
