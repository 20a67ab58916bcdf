//! [`Case`]: one named proof, and what it needs of a harness.

use std::fmt;

use futures_util::future::BoxFuture;
use leasehold_core::Features;
use leasehold_core::clause::Clause;

use crate::context::{Context, Stop};

/// The clock that a case's world has to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseClock {
    /// A hand that [`World::shift`](crate::World::shift) moves, so that every instant is exact.
    Manual,
    /// The store's own clock: what a manual clock stands in for is seen for itself.
    Real,
}

/// What a case needs beyond the verbs of the contract's core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// Features of the backend; without them the case is unsupported, once the backend has
    /// been seen to refuse them.
    pub features: Features,
    /// The clock of its world.
    pub clock: CaseClock,
    /// Whether it is about a feature that the backend lacks; inapplicable to one that has all.
    pub lacking: bool,
    /// Whether it plants faults ([`World::faults`](crate::World::faults)).
    pub faults: bool,
}

impl Needs {
    /// The contract's core on a manual clock.
    pub const CORE: Needs = Needs {
        features: Features::empty(),
        clock: CaseClock::Manual,
        lacking: false,
        faults: false,
    };

    /// The same, and these features.
    #[must_use]
    pub const fn features(mut self, features: Features) -> Self {
        self.features = self.features.union(features);
        self
    }

    /// The same on the store's own clock.
    #[must_use]
    pub const fn real_clock(mut self) -> Self {
        self.clock = CaseClock::Real;
        self
    }

    /// The same for a backend that lacks a feature.
    #[must_use]
    pub const fn lacking(mut self) -> Self {
        self.lacking = true;
        self
    }

    /// The same with planted faults.
    #[must_use]
    pub const fn faults(mut self) -> Self {
        self.faults = true;
        self
    }
}

/// The body of a case.
pub(crate) type Body = for<'a> fn(&'a mut Context) -> BoxFuture<'a, Result<(), Stop>>;

/// One named proof that a backend keeps some clauses.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// `family/what_must_hold`, stable for ever; the name of the test as well.
    pub id: &'static str,
    /// The clauses that it proves.
    pub clauses: &'static [Clause],
    /// What it needs of the harness.
    pub needs: Needs,
    pub(crate) body: Body,
}

impl Case {
    pub(crate) const fn new(
        id: &'static str,
        clauses: &'static [Clause],
        needs: Needs,
        body: Body,
    ) -> Self {
        Self { id, clauses, needs, body }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("id", &self.id).field("needs", &self.needs).finish()
    }
}
