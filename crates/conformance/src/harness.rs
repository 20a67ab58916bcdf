//! What a backend's author writes: a [`Harness`] that makes a [`World`] for each case.

use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use leasehold_core::{Backend, Features, LimitKey, TaskRef};

use crate::case::Case;
use crate::orders::Orders;

/// Anything that keeps a world from being made or steered; it fails the case.
pub type HarnessError = Box<dyn StdError + Send + Sync + 'static>;

/// A hook that a harness leaves out. As a [`HarnessError`] it makes the case that needed the
/// hook incomplete, where any other error stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingHook(pub &'static str);

impl MissingHook {
    pub(crate) const MANUAL_CLOCK: MissingHook = MissingHook("manual clock");
}

impl fmt::Display for MissingHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this world has no {}", self.0)
    }
}

impl StdError for MissingHook {}

/// What a harness says of its backend.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The backend's name, as its capabilities tell it.
    pub name: &'static str,
    /// The features that it has; must equal what its capabilities tell.
    pub features: Features,
    /// The version of the backend's own crate.
    pub version: Option<String>,
    /// The version of the server or library that it stores in.
    pub server_version: Option<String>,
    /// How the store was set up as to durability, in words; the class itself is read from the
    /// backend's capabilities.
    pub durability: Option<String>,
    /// The command that runs this suite, without `--` and what follows it.
    pub command: Option<String>,
    /// How many orders of a race the store can play in some seconds.
    pub orders: Orders,
}

impl Profile {
    /// A backend called `name` with `features`.
    #[must_use]
    pub const fn new(name: &'static str, features: Features) -> Self {
        let (version, server_version, durability, command) = (None, None, None, None);
        let orders = Orders::Usual;
        Self { name, features, version, server_version, durability, command, orders }
    }

    /// The same with the version of the backend's own crate, mostly
    /// `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// The same with the version of the server or library that it stores in.
    #[must_use]
    pub fn with_server_version(mut self, version: impl Into<String>) -> Self {
        self.server_version = Some(version.into());
        self
    }

    /// The same with words on how the store was set up, such as `synchronous = normal`.
    #[must_use]
    pub fn with_durability(mut self, words: impl Into<String>) -> Self {
        self.durability = Some(words.into());
        self
    }

    /// The same with the command that runs this suite, for whoever reads a report or a
    /// failure; guessed from the test binary's name otherwise.
    #[must_use]
    pub fn with_command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// The same backend with more or fewer orders of each race.
    #[must_use]
    pub fn with_orders(mut self, orders: Orders) -> Self {
        self.orders = orders;
        self
    }
}

/// How a new handle reaches the store. A harness answers an error for a link that it does
/// not know: to open another one instead would make the race that the case stages go unseen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Link {
    /// As a user's would.
    Direct,
    /// By way of this address, where a [`Gate`](crate::Gate) stands before the server of
    /// [`World::address`]: every connection of the handle goes there. It has to give up a call
    /// that is not answered within 15 s; to do so after a second or two keeps the cases quick.
    Through(SocketAddr),
}

/// Makes worlds for one backend.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// What the backend is.
    fn profile(&self) -> Profile;

    /// A world for this case alone: empty, on the clock that `case.needs` asks for, and
    /// apart from every other world, since cases run side by side.
    async fn world(&self, case: &Case) -> Result<Box<dyn World>, HarnessError>;

    /// The cases that are known to fail, and those that cannot be complete here, each with a
    /// reason: the text of a `known-failures.toml`, mostly by `include_str!`. Nothing unless
    /// a harness says otherwise.
    ///
    /// ```toml
    /// [[known]]
    /// case = "limit/zero_stops_the_group"
    /// reason = "a number of 0 is taken for 1 until the next release"
    ///
    /// [[waived]]
    /// case = "fence/high_fences_are_exact"
    /// reason = "the store has no way to raise its counter"
    /// ```
    fn known(&self) -> &str {
        ""
    }
}

/// One empty store, for one case.
#[async_trait]
pub trait World: Send + Sync {
    /// A new handle, as another process would have one.
    async fn open(&self, link: Link) -> Result<Arc<dyn Backend>, HarnessError>;

    /// Where the server listens, so that a case can put a [`Gate`](crate::Gate) before it and
    /// open a [`Link::Through`] that. `None` says that handles reach such a store without a
    /// network; the cases of what a network does are inapplicable then.
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    /// Moves the store's clock, as every handle of this world sees it; negative moves it
    /// back, and 0 only asks whether there is such a clock. Only called on a manual one. A
    /// store that has none leaves this out, and its cases on a manual clock are incomplete.
    async fn shift(&self, _by_ms: i64) -> Result<(), HarnessError> {
        Err(MissingHook::MANUAL_CLOCK.into())
    }

    /// The hooks that plant faults, if this world has them. A case that needs them is
    /// incomplete without, which is red.
    fn faults(&self) -> Option<&dyn Faults> {
        None
    }

    /// Every row or key that neither a task nor a clause explains, each as one line; checked
    /// after each case. An empty answer without a look passes, and proves nothing.
    async fn residue(&self) -> Result<Vec<String>, HarnessError>;

    /// The task's record as the store keeps it, for a failure's text; `None` where it cannot be
    /// shown. Only called after a case has failed.
    async fn dump(&self, _task: &TaskRef) -> Option<String> {
        None
    }

    /// Ends the world; called also after a case has panicked.
    async fn close(self: Box<Self>) -> Result<(), HarnessError> {
        Ok(())
    }
}

/// A stored record that this build did not write (LH-CLAIM-11).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlantedRecord {
    /// The record cannot be read, in a version that the store knows; these are its bytes.
    Broken(Vec<u8>),
    /// The record is of a newer version.
    Newer,
}

/// An entry of an index that disagrees with the tasks' records (LH-LAPSE-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlantedIndex {
    /// The leased task is missing where lapsed leases are looked for.
    LapseMissing,
    /// The task stands there as if its lease had ended long ago. It has none that has lapsed, or
    /// there is no such task.
    LapseSurplus,
    /// The waiting task is missing where claims look for work.
    ReadyMissing,
    /// The task stands there as if it were ready now. It does not wait, or there is no such task.
    ReadySurplus,
}

/// Faults that a case plants behind the backend's back. Cases that need what is left out are
/// incomplete; there will be more of them, so each has a body.
#[async_trait]
pub trait Faults: Send + Sync {
    /// Puts `record` in place of the task's stored record.
    async fn plant(&self, _task: &TaskRef, _record: PlantedRecord) -> Result<(), HarnessError> {
        unable("way to plant a record")
    }

    /// Adds a slot under `key` that no task explains and that lasts another day (LH-LAPSE-8);
    /// only called when the backend has limits.
    async fn plant_slot(&self, _queue: &str, _key: &LimitKey) -> Result<(), HarnessError> {
        unable("way to plant a slot")
    }

    /// Makes an index disagree with the records. `None` says that nothing in such a store could:
    /// it looks into the records themselves, or its engine keeps them and each index in step.
    async fn plant_index(
        &self,
        _task: &TaskRef,
        _planted: PlantedIndex,
    ) -> Result<Option<()>, HarnessError> {
        unable("way to plant an entry of an index")
    }

    /// Makes the next fence of the queue at least `value`; a store with one source for all
    /// queues may raise that.
    async fn raise_fence(&self, _queue: &str, _value: u64) -> Result<(), HarnessError> {
        unable("way to raise the fence")
    }

    /// Locks the task against every other writer, as a stranger's open transaction does. `None`
    /// says that there is nothing in such a store that a stranger could lock.
    async fn hold(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        unable("way to lock a task")
    }

    /// Makes the store itself fail each step that writes the task, or would make it, as late in
    /// the step as can be. `None` says that no step of such a store can fail in its middle.
    async fn refuse(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        unable("way to make a step fail")
    }
}

/// A fault that lasts until it is lifted.
#[async_trait]
pub trait Lasting: Send {
    /// Ends it.
    async fn lift(self: Box<Self>) -> Result<(), HarnessError>;
}

fn unable<T>(hook: &'static str) -> Result<T, HarnessError> {
    Err(MissingHook(hook).into())
}
