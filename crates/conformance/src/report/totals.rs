//! [`Totals`]: how many cases ended how.

use std::fmt;

use serde::Serialize;

use crate::verdict::Word;

/// How many cases ended how; displays as one line that names all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// All of them.
    pub cases: usize,
    /// The clauses hold.
    pub pass: usize,
    /// Broken, stopped, or passing against a list that says otherwise.
    pub fail: usize,
    /// Refused, as it must be.
    pub unsupported: usize,
    /// A hook was missing.
    pub incomplete: usize,
    /// Failed, and known to.
    pub known: usize,
    /// Nothing was looked at.
    pub vacuous: usize,
    /// About something that this backend does not have.
    pub inapplicable: usize,
}

impl Totals {
    /// The totals of these verdicts.
    pub(crate) fn of(words: impl IntoIterator<Item = Word>) -> Self {
        let mut totals = Self::default();
        for word in words {
            totals.cases += 1;
            *match word {
                Word::Pass => &mut totals.pass,
                Word::Fail => &mut totals.fail,
                Word::Unsupported => &mut totals.unsupported,
                Word::Incomplete => &mut totals.incomplete,
                Word::Known => &mut totals.known,
                Word::Vacuous => &mut totals.vacuous,
                Word::Inapplicable => &mut totals.inapplicable,
            } += 1;
        }
        totals
    }

    /// How many ended by this word.
    #[must_use]
    pub const fn count(&self, word: Word) -> usize {
        match word {
            Word::Pass => self.pass,
            Word::Fail => self.fail,
            Word::Unsupported => self.unsupported,
            Word::Incomplete => self.incomplete,
            Word::Known => self.known,
            Word::Vacuous => self.vacuous,
            Word::Inapplicable => self.inapplicable,
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cases:", self.cases)?;
        for (at, word) in Word::ALL.into_iter().enumerate() {
            write!(f, "{} {} {word}", if at == 0 { "" } else { "," }, self.count(word))?;
        }
        Ok(())
    }
}
