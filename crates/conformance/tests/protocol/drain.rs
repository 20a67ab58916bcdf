//! The law of progress: from every world, plain work with no further fault finishes every task.

use leasehold_conformance::model::{Model, Op, Reply, predict_by};
use leasehold_core::decide::{self, Outcome};
use leasehold_core::{Claim, Claimed, CommitItem, CommitVerdict, DecisionId, Lease, Purpose};

use crate::config::{Config, QUEUE, TTL};
use crate::fault::Fault;
use crate::law::{Broken, Judged, Law};
use crate::world::World;

/// Rounds of waiting, rescuing and running: two tasks under a limit of one need four.
const ROUNDS: usize = 6;

/// Whether the queue of `world` can be worked off, whatever all hands still hold.
pub fn drains(config: &Config, fault: &dyn Fault, world: &World) -> Judged {
    let mut plain = Plain { fault, model: world.model.clone(), decisions: u128::MAX };
    for _ in 0..ROUNDS {
        if !plain.is_open() {
            return Ok(());
        }
        let waits = i64::try_from(TTL.as_millis() * 10).unwrap_or(0);
        plain.step(&Op::Shift(waits));
        plain.work(Purpose::Rescue);
        plain.work(Purpose::Run);
    }
    let open = plain.model.tasks.values().filter(|kept| !kept.task.state.is_finished());
    let open: Vec<_> =
        open.map(|kept| format!("{} is {}", kept.task.task_ref, kept.task.state)).collect();
    let what = format!("{} is stuck: {open:?}", config.name);
    if open.is_empty() { Ok(()) } else { Err(Broken { law: Law::Drain, what }) }
}

struct Plain<'a> {
    fault: &'a dyn Fault,
    model: Model,
    decisions: u128,
}

impl Plain<'_> {
    fn is_open(&self) -> bool {
        self.model.tasks.values().any(|kept| !kept.task.state.is_finished())
    }

    fn step(&mut self, op: &Op) -> Reply {
        let spoilt = self.fault.before(&self.model, op);
        let model = spoilt.as_ref().unwrap_or(&self.model);
        let (mut next, mut reply) = predict_by(self.fault.rules(), model, op);
        self.fault.after(&self.model, &mut next, op, &mut reply);
        self.model = next;
        reply
    }

    /// Claims all that there is, and commits what follows.
    fn work(&mut self, purpose: Purpose) {
        let claim = Claim::new(QUEUE, purpose, 10, TTL, "plain");
        let Reply::Claimed(Claimed { leases, .. }) = self.step(&Op::Claim(claim)) else { return };
        for lease in leases {
            let item = self.decide(&lease, purpose);
            let reply = self.step(&Op::Commit(item));
            let applied = matches!(reply, Reply::Committed(CommitVerdict::Applied(_)));
            if !applied {
                return;
            }
        }
    }

    fn decide(&mut self, lease: &Lease, purpose: Purpose) -> CommitItem {
        let success = Outcome::Succeeded { result: None, follow_ups: Vec::new() };
        let change = match purpose {
            Purpose::Run => decide::run(lease, success, 1),
            Purpose::Rescue => decide::rescue(lease),
        };
        let mut item = CommitItem::new(lease.guard(), change);
        item.decision = DecisionId::from_bits(self.decisions);
        self.decisions -= 1;
        item
    }
}
