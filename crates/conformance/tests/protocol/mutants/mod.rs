//! The mutants: protocols with one fault each, which the laws have to reject.

mod decisions;
mod guards;
mod keys;
mod points;
mod stores;

use crate::config::Config;
use crate::fault::Fault;
use crate::law::Law;

/// A protocol with one fault.
pub struct Mutant {
    pub name: &'static str,
    /// Where it shows.
    pub config: fn() -> Config,
    pub expected: Expected,
    pub fault: Box<dyn Fault>,
}

/// What has to become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// This law rejects it.
    Rejected(Law),
    /// No law can, for this reason.
    Survives(&'static str),
}

impl Mutant {
    fn new(
        name: &'static str,
        config: fn() -> Config,
        law: Law,
        fault: impl Fault + 'static,
    ) -> Self {
        Self { name, config, expected: Expected::Rejected(law), fault: Box::new(fault) }
    }

    fn surviving(mut self, reason: &'static str) -> Self {
        self.expected = Expected::Survives(reason);
        self
    }
}

pub fn all() -> Vec<Mutant> {
    let mut all = guards::mutants();
    all.extend(decisions::mutants());
    all.extend(stores::mutants());
    all.extend(keys::mutants());
    all
}
