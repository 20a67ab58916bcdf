//! [`Context`]: what a case holds while it runs, and where it reports what it saw.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::net::SocketAddr;
use std::sync::OnceLock;

use leasehold_core::clause::{Clause, LAPSE_8};
use leasehold_core::{BackendExt, Capabilities, Error, TaskRef};

use crate::actor::Actor;
use crate::harness::{Faults, HarnessError, Link, MissingHook, Profile, World};
use crate::history::History;
use crate::model::Breach;
use crate::orders::Orders;
use crate::settings::Settings;

/// One broken clause.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The clause.
    pub clause: Clause,
    /// What was looked at.
    pub what: String,
    /// What was seen.
    pub got: String,
    /// What the clause asks for.
    pub want: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clause, what, got, want } = self;
        writeln!(f, "{}: {what}", clause.id)?;
        writeln!(f, "  wanted {}", want.replace('\n', "\n  "))?;
        writeln!(f, "  got    {}", got.replace('\n', "\n  "))?;
        write!(f, "  clause {}", clause.text)
    }
}

/// Why a case could not go on: something that had to work did not.
#[derive(Debug)]
pub struct Stop(pub(crate) Why);

/// What a case that could not go on counts as.
#[derive(Debug)]
pub(crate) enum Why {
    /// A fail.
    Stopped(String),
    /// Incomplete: a hook is missing.
    Incomplete(String),
    /// Vacuous: what had to happen did not.
    Vacuous(String),
    /// Inapplicable: such a store has nothing that the case is about.
    Inapplicable,
}

impl Stop {
    /// Stops the case with this reason.
    #[must_use]
    pub fn because(why: impl Into<String>) -> Self {
        Self(Why::Stopped(why.into()))
    }

    /// The same with more words behind the reason.
    pub(crate) fn and(self, more: &str) -> Self {
        Self(match self.0 {
            Why::Stopped(why) => Why::Stopped(why + more),
            Why::Incomplete(why) => Why::Incomplete(why + more),
            Why::Vacuous(why) => Why::Vacuous(why + more),
            Why::Inapplicable => Why::Inapplicable,
        })
    }

    /// Ends a case about something that such a store does not have.
    pub(crate) fn inapplicable() -> Self {
        Self(Why::Inapplicable)
    }

    /// Ends a case that has proved nothing, as when the fault that it needs never came about.
    #[must_use]
    pub fn vacuous(why: impl Into<String>) -> Self {
        Self(Why::Vacuous(why.into()))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::because(format!("a call failed: {error:?}"))
    }
}

impl From<HarnessError> for Stop {
    fn from(error: HarnessError) -> Self {
        match error.downcast_ref::<MissingHook>() {
            Some(hook) => Self(Why::Incomplete(hook.to_string())),
            None => Self::because(format!("the harness failed: {error}")),
        }
    }
}

/// A running case: its world, and the faults that it has found so far.
pub struct Context {
    world: Box<dyn World>,
    profile: Profile,
    seed: u64,
    orders: Orders,
    faults: Vec<Fault>,
    checked: BTreeSet<&'static str>,
    history: History,
    capabilities: OnceLock<Capabilities>,
}

/// What is left of a case that has ended.
pub(crate) struct Ended {
    pub world: Box<dyn World>,
    pub faults: Vec<Fault>,
    /// The clauses that a check has named.
    pub checked: BTreeSet<&'static str>,
    pub history: History,
    /// What the first handle told of its backend.
    pub capabilities: Option<Capabilities>,
}

impl Context {
    /// The queue that cases use unless they say otherwise.
    pub const QUEUE: &'static str = "q";

    pub(crate) fn new(world: Box<dyn World>, profile: Profile, settings: &Settings) -> Self {
        Self {
            world,
            seed: settings.seed,
            orders: settings.orders.unwrap_or(profile.orders),
            profile,
            faults: Vec::new(),
            checked: BTreeSet::new(),
            history: History::default(),
            capabilities: OnceLock::new(),
        }
    }

    pub(crate) fn end(self) -> Ended {
        let Self { world, faults, checked, history, capabilities, .. } = self;
        Ended { world, faults, checked, history, capabilities: capabilities.into_inner() }
    }

    /// The seed of everything random in this case.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many orders an order case plays.
    #[must_use]
    pub fn orders(&self) -> Orders {
        self.orders
    }

    /// What the harness says of its backend.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// A new handle, held by somebody called `name`, on [`Context::QUEUE`]; its calls are a
    /// lane of their own when a failure is shown.
    ///
    /// # Errors
    /// When the harness cannot open one.
    pub async fn actor(&self, name: &str) -> Result<Actor, Stop> {
        self.actor_by(Link::Direct, name).await
    }

    /// The same with a handle that reaches the store by this link.
    ///
    /// # Errors
    /// When the harness cannot open one.
    pub async fn actor_by(&self, link: Link, name: &str) -> Result<Actor, Stop> {
        let backend = self.world.open(link).await?;
        self.capabilities.get_or_init(|| backend.capabilities());
        Ok(Actor::new(self.history.record(name, backend), name))
    }

    /// Where the store's server listens.
    ///
    /// # Errors
    /// When there is no network between the handles and such a store: the case is inapplicable.
    pub fn address(&self) -> Result<SocketAddr, Stop> {
        self.world.address().ok_or_else(Stop::inapplicable)
    }

    /// Says what follows, for whoever reads the lanes of a failure.
    pub fn note(&self, what: impl Into<String>) {
        self.history.note(what.into());
    }

    /// Moves the store's clock.
    ///
    /// # Errors
    /// When the harness cannot.
    pub async fn shift(&self, by_ms: i64) -> Result<(), Stop> {
        self.world.shift(by_ms).await?;
        self.history.shifted(by_ms);
        Ok(())
    }

    /// Whether the world has the manual clock that the case asks for.
    pub(crate) async fn ask_for_clock(&self) -> Result<(), Stop> {
        Ok(self.world.shift(0).await?)
    }

    /// Reports what the model does not allow, with the calls that led there.
    pub(crate) fn breach(&mut self, breach: &Breach, calls: &[String]) {
        self.checked.insert(breach.clause.id);
        let what = format!("{}\n  {}", breach.what, calls.join("\n  "));
        self.fault(breach.clause, &what, breach.got.clone(), breach.want.clone());
    }

    /// The hooks that plant faults.
    ///
    /// # Errors
    /// When the world has none; a case that calls this says so in its needs.
    pub fn planting(&self) -> Result<&dyn Faults, Stop> {
        self.world.faults().ok_or_else(|| HarnessError::from(MissingHook("faults to plant")).into())
    }

    /// Reports a fault unless `got` equals `want`; the case goes on.
    pub fn check<T: Debug + PartialEq<U>, U: Debug>(
        &mut self,
        clause: Clause,
        what: &str,
        got: T,
        want: U,
    ) {
        self.checked.insert(clause.id);
        if got != want {
            self.fault(clause, what, format!("{got:#?}"), format!("{want:#?}"));
        }
    }

    /// Reports a fault unless `holds`, showing `got`; the case goes on.
    pub fn check_that(&mut self, clause: Clause, what: &str, holds: bool, got: impl Debug) {
        self.checked.insert(clause.id);
        if !holds {
            self.fault(clause, what, format!("{got:#?}"), "what the clause says".to_owned());
        }
    }

    /// Reports a fault unless everything about the task is as it was in `before`.
    ///
    /// # Errors
    /// When the task cannot be read.
    pub async fn check_untouched(
        &mut self,
        clause: Clause,
        what: &str,
        by: &Actor,
        before: &leasehold_core::StoredTask,
    ) -> Result<(), Stop> {
        let now = by.backend().task(&before.task_ref).await?;
        self.check(clause, what, now.as_ref(), Some(before));
        Ok(())
    }

    /// Reports a fault unless there is no task under the id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn check_gone(
        &mut self,
        clause: Clause,
        what: &str,
        by: &Actor,
        id: &str,
    ) -> Result<(), Stop> {
        let now = by.backend().task(&TaskRef::new(by.queue(), id)).await?;
        self.check(clause, what, now, None);
        Ok(())
    }

    /// Whatever the store holds that no task explains.
    pub(crate) async fn residue(&self) -> Result<Vec<String>, Stop> {
        Ok(self.world.residue().await?)
    }

    /// Reports a fault for whatever the store holds that no task explains.
    pub(crate) async fn check_residue(&mut self) -> Result<(), Stop> {
        let left = self.residue().await?;
        if !left.is_empty() {
            let want = "nothing that no task explains".to_owned();
            self.fault(LAPSE_8, "what is left in the store", left.join("\n"), want);
        }
        Ok(())
    }

    fn fault(&mut self, clause: Clause, what: &str, got: String, want: String) {
        self.faults.push(Fault { clause, what: what.to_owned(), got, want });
        self.history.fault(self.faults.len());
    }
}
