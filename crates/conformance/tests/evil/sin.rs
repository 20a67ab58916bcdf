//! [`Sin`]: where a store may be wrong.

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::{Error, Timestamp};

/// One fault. Each part left out is as the contract wants it.
pub trait Sin: Send + Sync {
    /// The rules by which the store decides.
    fn rules(&self) -> &dyn Rules {
        &Contract
    }

    /// The store's clock, when it should show `now`.
    fn now(&self, now: Timestamp) -> Timestamp {
        now
    }

    /// Under which name a queue is kept.
    fn queue(&self, name: &str) -> String {
        name.to_owned()
    }

    /// What is left of a refusal.
    fn admit(&self, admitted: Result<(), Error>) -> Result<(), Error> {
        admitted
    }

    /// Before a step: what the store holds and what it has heard.
    fn before(&self, _model: &mut Model, _op: &mut Op) {}

    /// After a step: what the store held, holds and is about to answer.
    fn after(&self, _before: &Model, _next: &mut Model, _op: &Op, _reply: &mut Reply) {}
}

/// No fault: the control without which the others prove nothing.
pub struct Innocent;

impl Sin for Innocent {}
