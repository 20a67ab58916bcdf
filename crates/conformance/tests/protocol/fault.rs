//! [`Fault`]: where a protocol may be wrong.

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::{Change, Lease};

use crate::config::Ending;

/// One fault. Each part left out is as the contract wants it.
pub trait Fault: Sync {
    /// Whether there is none.
    fn is_none(&self) -> bool {
        false
    }

    /// The rules by which the store decides.
    fn rules(&self) -> &dyn Rules {
        &Contract
    }

    /// What a worker makes of its decision.
    fn decided(&self, _lease: &Lease, _ending: Ending, change: Change) -> Change {
        change
    }

    /// What a rescuer makes of its decision.
    fn rescued(&self, _lease: &Lease, change: Change) -> Change {
        change
    }

    /// What the store holds and hears before a step, if not what it should.
    fn before(&self, _model: &Model, _op: &Op) -> Option<Model> {
        None
    }

    /// What the store holds and answers after a step.
    fn after(&self, _before: &Model, _next: &mut Model, _op: &Op, _reply: &mut Reply) {}
}

/// No fault.
pub struct Right;

impl Fault for Right {
    fn is_none(&self) -> bool {
        true
    }
}
