//! What an exploration has to meet: every verdict and every state, by name.

use std::collections::BTreeMap;

use leasehold_conformance::model::{Op, Reply};
use leasehold_core::{
    Claimed, CommitVerdict, DuplicateCause, EnqueueVerdict, LostReason, RenewVerdict, Role,
};

use crate::step::Step;

/// Every verdict that a store can give to what is done here. Busy is not among them: it tells of
/// a foreign transaction, and here each call is one step.
pub const VERDICTS: &[&str] = &[
    "enqueued",
    "duplicate id",
    "duplicate id left",
    "duplicate key",
    "granted",
    "granted nothing",
    "superseded",
    "held",
    "lost lapsed",
    "lost taken",
    "lost cancelled",
    "lost revoked",
    "lost decided",
    "lost gone",
    "applied worker",
    "applied rescuer",
    "applied operator",
    "applied overdue",
    "applied late",
    "replayed",
    "stale worker",
    "stale rescuer",
    "stale operator",
    "stale left",
    "conflict",
    "gone",
    "refused",
];

/// Counts what the step met.
pub fn count(step: &Step, reached: &mut BTreeMap<&'static str, u64>) {
    let mut meet = |label| *reached.entry(label).or_default() += 1;
    for kept in step.world.model.tasks.values() {
        meet(kept.task.state.as_str());
    }
    match (&step.op, &step.reply) {
        (_, Reply::Enqueued(verdicts)) => verdicts.iter().for_each(|one| meet(enqueue(one))),
        (_, Reply::Claimed(claimed)) => meet(claim(claimed)),
        (_, Reply::Renewed(verdict)) => meet(renew(verdict)),
        (Op::Commit(item), Reply::Committed(verdict)) => {
            meet(commit(item.change.by, verdict));
            if let CommitVerdict::Applied(applied) = verdict {
                applied.follow_ups.iter().for_each(|one| meet(enqueue(one)));
            }
        }
        (_, Reply::Refused(_)) => meet("refused"),
        _ => {}
    }
}

fn enqueue(verdict: &EnqueueVerdict) -> &'static str {
    match verdict {
        EnqueueVerdict::Enqueued { .. } => "enqueued",
        EnqueueVerdict::Duplicate { cause: DuplicateCause::Key, .. } => "duplicate key",
        EnqueueVerdict::Duplicate { state: None, .. } => "duplicate id left",
        EnqueueVerdict::Duplicate { .. } => "duplicate id",
    }
}

fn claim(claimed: &Claimed) -> &'static str {
    match claimed {
        Claimed { superseded: true, .. } => "superseded",
        claimed if claimed.leases.is_empty() => "granted nothing",
        _ => "granted",
    }
}

fn renew(verdict: &RenewVerdict) -> &'static str {
    match verdict {
        RenewVerdict::Held { .. } => "held",
        RenewVerdict::Lost(LostReason::Lapsed) => "lost lapsed",
        RenewVerdict::Lost(LostReason::Taken(_)) => "lost taken",
        RenewVerdict::Lost(LostReason::Cancelled) => "lost cancelled",
        RenewVerdict::Lost(LostReason::Revoked) => "lost revoked",
        RenewVerdict::Lost(LostReason::Decided) => "lost decided",
        RenewVerdict::Lost(LostReason::Gone) => "lost gone",
        RenewVerdict::Busy => "busy",
    }
}

fn commit(by: Role, verdict: &CommitVerdict) -> &'static str {
    match (verdict, by) {
        (CommitVerdict::Applied(applied), _) if applied.late => "applied late",
        (CommitVerdict::Applied(applied), _) if applied.overdue => "applied overdue",
        (CommitVerdict::Applied(_), Role::Worker) => "applied worker",
        (CommitVerdict::Applied(_), Role::Rescuer) => "applied rescuer",
        (CommitVerdict::Applied(_), Role::Operator) => "applied operator",
        (CommitVerdict::Replayed, _) => "replayed",
        (CommitVerdict::Stale { state: None, .. }, _) => "stale left",
        (CommitVerdict::Stale { .. }, Role::Worker) => "stale worker",
        (CommitVerdict::Stale { .. }, Role::Rescuer) => "stale rescuer",
        (CommitVerdict::Stale { .. }, Role::Operator) => "stale operator",
        (CommitVerdict::Conflict(_), _) => "conflict",
        (CommitVerdict::Gone, _) => "gone",
    }
}
