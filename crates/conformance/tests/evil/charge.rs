//! [`Charge`]: a sin, and the cases that have to find it.

use std::sync::Arc;

use leasehold_core::Features;
use leasehold_core::clause::Clause;

use crate::network::Wiring;
use crate::sin::{Innocent, Sin};

/// One store with one fault.
#[derive(Clone, Copy)]
pub struct Charge {
    /// Its number on the list of 42 that the suite began with; 0 for those found since.
    pub no: u8,
    /// Its name, which the table and the messages use.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub what: &'static str,
    /// Where stores have been met that do so, or how soon a model check finds it, if known.
    pub met: &'static str,
    /// Makes the store's fault, once for each world.
    pub sin: fn() -> Arc<dyn Sin>,
    /// What is between the store and its handles.
    pub wiring: Wiring,
    /// What the store declares.
    pub features: Features,
    /// Each of these cases has to fail, and to name this clause in a fault.
    pub killed_by: &'static [(&'static str, Clause)],
    /// What may fail besides: cases and whole families, with blanks between. Anything else is a
    /// fault of the case that failed, or of the sin, which is then more than one.
    pub also: &'static str,
    /// What else finds it, besides named cases.
    pub elsewhere: &'static str,
}

impl Charge {
    /// No fault at all; a charge says how it differs.
    pub const NONE: Charge = Charge {
        no: 0,
        name: "innocent",
        what: "nothing",
        met: "",
        sin: || Arc::new(Innocent),
        wiring: Wiring::None,
        features: Features::all(),
        killed_by: &[],
        also: "",
        elsewhere: "",
    };

    /// Whether `case` has to fail, and by which clause.
    pub fn clause_of(&self, case: &str) -> Option<Clause> {
        self.killed_by.iter().find(|(id, _)| *id == case).map(|(_, clause)| *clause)
    }

    /// Whether `case` may fail.
    pub fn may_fail(&self, case: &str) -> bool {
        let family = case.split('/').next();
        self.also.split_whitespace().any(|also| also == case || Some(also) == family)
    }
}
