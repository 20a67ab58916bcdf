//! [`Verdict`]: how a case ended, and [`Word`], the word of it that reports count.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::context::Fault;

/// How many faults of a case are told in full.
const TOLD: usize = 5;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The clauses hold.
    Pass,
    /// Clauses are broken; each with what was seen.
    Fail(Vec<Fault>),
    /// The case could not be carried through; counts as a fail.
    #[non_exhaustive]
    Stopped {
        /// What kept it.
        why: String,
        /// What it had found until then.
        faults: Vec<Fault>,
    },
    /// It passes although the harness lists it as known to fail, or as incomplete; counts as a
    /// fail, so that the list is kept true.
    #[non_exhaustive]
    Unexpected {
        /// What the list says.
        reason: String,
    },
    /// The case ended without a look at something that it is about; red. Each is told.
    Vacuous(Vec<String>),
    /// The harness lacks a hook that the case needs; red unless waived.
    #[non_exhaustive]
    Incomplete {
        /// Which one.
        why: String,
        /// Why the harness's author lets it be.
        waived: Option<String>,
    },
    /// It fails, and the harness lists it as known to.
    #[non_exhaustive]
    Known {
        /// What the list says.
        reason: String,
        /// How it failed.
        how: Box<Verdict>,
    },
    /// The backend does not declare a feature that the case needs, and was seen to refuse it.
    Unsupported,
    /// The case is about something that this backend has not: a feature to refuse, a lock that a
    /// stranger could hold, a step that could fail in its middle.
    Inapplicable,
}

/// The word by which a verdict is counted, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// About something that this backend does not have.
    Inapplicable,
    /// The clauses hold.
    Pass,
    /// Refused, as it must be.
    Unsupported,
    /// Fails, and is known to.
    Known,
    /// A hook is missing.
    Incomplete,
    /// Nothing was looked at.
    Vacuous,
    /// Broken, stopped, or passing against a list that says otherwise.
    Fail,
}

impl Word {
    /// Every word, in the order in which totals tell them.
    pub const ALL: [Word; 7] = [
        Self::Pass,
        Self::Fail,
        Self::Unsupported,
        Self::Incomplete,
        Self::Known,
        Self::Vacuous,
        Self::Inapplicable,
    ];

    /// The word itself.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Inapplicable => "inapplicable",
            Self::Pass => "pass",
            Self::Unsupported => "unsupported",
            Self::Known => "known",
            Self::Incomplete => "incomplete",
            Self::Vacuous => "vacuous",
            Self::Fail => "fail",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Verdict {
    /// The word by which it is counted.
    #[must_use]
    pub const fn word(&self) -> Word {
        match self {
            Self::Pass => Word::Pass,
            Self::Fail(_) | Self::Stopped { .. } | Self::Unexpected { .. } => Word::Fail,
            Self::Vacuous(_) => Word::Vacuous,
            Self::Incomplete { .. } => Word::Incomplete,
            Self::Known { .. } => Word::Known,
            Self::Unsupported => Word::Unsupported,
            Self::Inapplicable => Word::Inapplicable,
        }
    }

    /// Whether it turns a run red, where the case binds.
    #[must_use]
    pub const fn is_red(&self) -> bool {
        match self {
            Self::Fail(_) | Self::Stopped { .. } | Self::Unexpected { .. } | Self::Vacuous(_) => {
                true
            }
            Self::Incomplete { waived, .. } => waived.is_none(),
            Self::Known { .. } | Self::Pass | Self::Unsupported | Self::Inapplicable => false,
        }
    }

    /// What is to be said of it beyond the word, a paragraph each; nothing of a pass.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Pass => Vec::new(),
            Self::Fail(faults) => told(faults),
            Self::Stopped { why, faults } => {
                let mut all = told(faults);
                all.push(format!("stopped: {why}"));
                all
            }
            Self::Unexpected { reason } => {
                vec![format!("it passes: take it off the list, which says: {reason}")]
            }
            Self::Vacuous(missing) => missing.clone(),
            Self::Incomplete { why, waived: None } => vec![why.clone()],
            Self::Incomplete { why, waived: Some(reason) } => {
                vec![why.clone(), format!("waived: {reason}")]
            }
            Self::Known { reason, how } => {
                let mut all = vec![format!("on the list: {reason}")];
                all.extend(how.details());
                all
            }
            Self::Unsupported => vec!["not declared, and refused as it must be".to_owned()],
            Self::Inapplicable => vec!["about something that this backend has not".to_owned()],
        }
    }
}

/// The first faults, and of the others only which clauses they break: each fault may show
/// two whole tasks, and a case that plays many orders may find one in each.
fn told(faults: &[Fault]) -> Vec<String> {
    let mut all: Vec<String> = faults.iter().take(TOLD).map(ToString::to_string).collect();
    let others = faults.get(TOLD..).unwrap_or_default();
    if !others.is_empty() {
        let clauses: BTreeSet<_> = others.iter().map(|fault| fault.clause.id).collect();
        let clauses: Vec<_> = clauses.into_iter().collect();
        all.push(format!("and {} more faults, of {}", others.len(), clauses.join(", ")));
    }
    all
}

#[cfg(test)]
mod tests {
    use leasehold_core::clause::{ENQ_1, FENCE_2};

    use super::*;

    #[test]
    fn many_faults_are_told_in_short() {
        let fault = |clause| Fault { clause, what: "w".into(), got: "g".into(), want: "x".into() };
        let mut faults = vec![fault(FENCE_2); TOLD];
        assert_eq!(Verdict::Fail(faults.clone()).details().len(), TOLD);
        faults.extend([fault(FENCE_2), fault(ENQ_1), fault(ENQ_1)]);
        let details = Verdict::Fail(faults).details();
        assert_eq!(details.len(), TOLD + 1);
        assert_eq!(details[TOLD], "and 3 more faults, of LH-ENQ-1, LH-FENCE-2");
    }
}
