//! What a backend's author writes: a [`Harness`] that makes a [`World`] for each case.

use std::error::Error as StdError;
use std::sync::Arc;

use async_trait::async_trait;
use leasehold_core::{Backend, Features, LimitKey, TaskRef};

use crate::case::Case;
use crate::orders::Orders;

/// Anything that keeps a world from being made or steered; it fails the case.
pub type HarnessError = Box<dyn StdError + Send + Sync + 'static>;

/// What a harness says of its backend.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The backend's name, as its capabilities tell it.
    pub name: &'static str,
    /// The features that it has; must equal what its capabilities tell.
    pub features: Features,
    /// How many orders of a race the store can play in some seconds.
    pub orders: Orders,
}

impl Profile {
    /// A backend called `name` with `features`.
    #[must_use]
    pub const fn new(name: &'static str, features: Features) -> Self {
        Self { name, features, orders: Orders::Usual }
    }

    /// The same backend with more or fewer orders of each race.
    #[must_use]
    pub const fn with_orders(mut self, orders: Orders) -> Self {
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
}

/// Makes worlds for one backend.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// What the backend is.
    fn profile(&self) -> Profile;

    /// A world for this case alone: empty, on the clock that `case.needs` asks for, and
    /// apart from every other world, since cases run side by side.
    async fn world(&self, case: &Case) -> Result<Box<dyn World>, HarnessError>;
}

/// One empty store, for one case.
#[async_trait]
pub trait World: Send + Sync {
    /// A new handle, as another process would have one.
    async fn open(&self, link: Link) -> Result<Arc<dyn Backend>, HarnessError>;

    /// Moves the store's clock, as every handle of this world sees it; negative moves it
    /// back. Only called on a manual clock. A store that has none leaves this out, and its
    /// cases on a manual clock stop.
    async fn shift(&self, _by_ms: i64) -> Result<(), HarnessError> {
        Err("this world has no manual clock".into())
    }

    /// The hooks that plant faults, if this world has them. A case that needs them is
    /// incomplete without, which is red.
    fn faults(&self) -> Option<&dyn Faults> {
        None
    }

    /// Every row or key that neither a task nor a clause explains, each as one line; checked
    /// after each case. An empty answer without a look passes, and proves nothing.
    async fn residue(&self) -> Result<Vec<String>, HarnessError>;

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

/// Faults that a case plants behind the backend's back. What is left out stops the cases that
/// need it; there will be more of them, so each has a body.
#[async_trait]
pub trait Faults: Send + Sync {
    /// Puts `record` in place of the task's stored record.
    async fn plant(&self, _task: &TaskRef, _record: PlantedRecord) -> Result<(), HarnessError> {
        unable()
    }

    /// Adds a slot under `key` that no task explains and that lasts another day (LH-LAPSE-8);
    /// only called when the backend has limits.
    async fn plant_slot(&self, _queue: &str, _key: &LimitKey) -> Result<(), HarnessError> {
        unable()
    }

    /// Makes the next fence at least `value`.
    async fn raise_fence(&self, _value: u64) -> Result<(), HarnessError> {
        unable()
    }
}

fn unable() -> Result<(), HarnessError> {
    Err("this world cannot plant that fault".into())
}
