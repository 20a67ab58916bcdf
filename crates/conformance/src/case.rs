//! [`Case`]: one named proof, what it needs of a harness, and what it binds.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use leasehold_core::clause::Clause;
use leasehold_core::{Clock, Features, ManualClock};

use crate::context::{Context, Stop};

/// The clock that a case's world has to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseClock {
    /// A hand that [`World::shift`](crate::World::shift) moves, so that every instant is exact.
    Manual,
    /// The store's own clock: what a manual clock stands in for is seen for itself.
    Real,
}

/// How a case looks for faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// One staged situation.
    Named,
    /// Orders of the steps of some actors, each played in a queue of its own.
    Order,
    /// Histories drawn from a seed, each reply judged by the model.
    Model,
    /// Many handles at once.
    Stress,
    /// What the backend tells of itself, on which all other cases rely.
    Meta,
}

impl Kind {
    /// Every kind, in the order of reports.
    pub const ALL: [Kind; 5] = [Self::Named, Self::Order, Self::Model, Self::Stress, Self::Meta];

    /// The word that reports use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Order => "order",
            Self::Model => "model",
            Self::Stress => "stress",
            Self::Meta => "meta",
        }
    }
}

/// Whom a case binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Every backend.
    Core,
    /// Every backend that declares these features.
    Extended(Features),
}

impl CaseClock {
    /// The clock to give a store: moved by `hand`, or the system's.
    #[must_use]
    pub fn of(self, hand: &ManualClock) -> Clock {
        match self {
            Self::Manual => Clock::from(hand.clone()),
            Self::Real => Clock::System,
        }
    }
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

/// What the words of a case's line in the table say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traits {
    pub needs: Needs,
    pub kind: Kind,
    pub since: &'static str,
    pub provisional: bool,
}

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
    /// How it looks for faults.
    pub kind: Kind,
    /// The first version of the suite that had it, major and minor.
    pub since: &'static str,
    /// Whether it is new: it runs and is reported, and turns nothing red until the next minor
    /// version of the suite, unless [`Settings::strict`](crate::Settings::strict).
    pub provisional: bool,
    pub(crate) body: Body,
}

impl Case {
    pub(crate) const fn new(
        id: &'static str,
        clauses: &'static [Clause],
        traits: Traits,
        body: Body,
    ) -> Self {
        let Traits { needs, kind, since, provisional } = traits;
        Self { id, clauses, needs, kind, since, provisional, body }
    }

    /// Whom it binds: every backend, unless it needs features.
    #[must_use]
    pub const fn level(&self) -> Level {
        match self.needs.features.is_empty() {
            true => Level::Core,
            false => Level::Extended(self.needs.features),
        }
    }

    /// The longest that it may take: far more than any needs, so that a hang is told.
    #[must_use]
    pub const fn limit(&self) -> Duration {
        match self.kind {
            Kind::Named | Kind::Meta => Duration::from_secs(60),
            Kind::Order | Kind::Model | Kind::Stress => Duration::from_secs(600),
        }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("id", &self.id).field("needs", &self.needs).finish()
    }
}
