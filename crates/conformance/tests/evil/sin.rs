//! [`Sin`]: where a store may be wrong.

use std::sync::Arc;

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::{Capabilities, Error, List, Page, Purged, QueueInfo, Timestamp};

/// One fault. Each part left out is as the contract wants it.
///
/// Every method is called under the store's lock, so that a sin with a memory of its own sees
/// the calls in the order in which they take effect.
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

    /// What the store tells of itself, whatever it is.
    fn capabilities(&self, _capabilities: &mut Capabilities) {}

    /// What is left of a refusal of a call of this verb.
    fn admit(&self, _verb: &str, admitted: Result<(), Error>) -> Result<(), Error> {
        admitted
    }

    /// The first of two steps that the store makes of one; whether it did. The caller may be
    /// gone before the second, which is the whole step.
    fn torn(&self, _model: &mut Model, _op: &Op) -> bool {
        false
    }

    /// Before a step by the handle `by`: what the store holds and what it has heard.
    fn before(&self, _by: usize, _model: &mut Model, _op: &mut Op) {}

    /// After a step: what the store held, holds and is about to answer.
    fn after(&self, _before: &Model, _next: &mut Model, _op: &Op, _reply: &mut Reply) {}

    /// The answers of a call of renew or commit, item by item.
    fn batch(&self, answers: Vec<Answer>) -> Result<Vec<Answer>, Error> {
        Ok(answers)
    }

    /// The answer to a list.
    fn listed(&self, _model: &Model, _request: &List, _now: Timestamp, _page: &mut Page) {}

    /// The answer to a purge of at most `max`.
    fn purged(&self, _model: &Model, _max: usize, _purged: &mut Purged) {}

    /// All that is left to list of the queues.
    fn queues(&self, _queues: &mut Vec<QueueInfo>) {}
}

/// What one item of a batch is answered.
pub type Answer = Result<Reply, Error>;

/// No fault: the control without which the others prove nothing.
pub struct Innocent;

impl Sin for Innocent {}

/// The store that keeps these rules, and is right apart from them.
pub fn ruled<R: Rules + 'static>(rules: R) -> Arc<dyn Sin> {
    Arc::new(Ruled(rules))
}

struct Ruled<R>(R);

impl<R: Rules> Sin for Ruled<R> {
    fn rules(&self) -> &dyn Rules {
        &self.0
    }
}

/// What may be wrong before a step.
pub type Before = fn(&mut Model, &mut Op);

/// The store that goes wrong before each step.
pub fn before(fault: Before) -> Arc<dyn Sin> {
    Arc::new(WrongBefore(fault))
}

struct WrongBefore(Before);

impl Sin for WrongBefore {
    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        self.0(model, op);
    }
}

/// What may be wrong after a step.
pub type After = fn(&Model, &mut Model, &Op, &mut Reply);

/// The store that goes wrong after each step.
pub fn after(fault: After) -> Arc<dyn Sin> {
    Arc::new(WrongAfter(fault))
}

struct WrongAfter(After);

impl Sin for WrongAfter {
    fn after(&self, before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        self.0(before, next, op, reply);
    }
}
