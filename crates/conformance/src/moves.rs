//! Every kind of change by name: how a run ends, what a rescuer decides, how an operator acts.

use std::time::Duration;

use leasehold_core::decide::{self, Entered, Intervention, Operator, Outcome, Retry, Unknown};
use leasehold_core::{
    CommitItem, DeadReason, Delivery, Edit, Guard, Lease, OnLeased, RetryPolicy, State, StoredTask,
};

use crate::actor::{failure, success};
use crate::context::Stop;

/// A decision that has been made on a claim or on a sight, and not been committed yet.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    /// The kind of change.
    pub name: &'static str,
    /// The state that it leads to.
    pub to: State,
    /// The commit; a clone of it repeats it.
    pub item: CommitItem,
}

/// The names of [`endings`].
pub(crate) const ENDINGS: [&str; 14] = [
    "success",
    "failure",
    "failure with a delay",
    "exhausted",
    "fatal",
    "panic",
    "timeout",
    "snooze",
    "release",
    "cancel",
    "undecodable",
    "unknown waits",
    "unknown",
    "corrupt",
];

/// The names of [`acts`].
pub(crate) const ACTS: [&str; 7] =
    ["cancel", "bury", "requeue", "revoke", "edit", "delete", "redrive"];

/// Every way in which the run of `lease` can end, the success first.
pub(crate) fn endings(lease: &Lease) -> Vec<Move> {
    let why = || "as the case says".to_owned();
    let dead = State::Dead;
    let fatal = Outcome::Failed { message: why(), retry: Retry::Never };
    let after = Outcome::Failed { message: why(), retry: Retry::After(Duration::from_secs(9)) };
    let ends = [
        (success(), State::Succeeded),
        (failure(), State::Waiting),
        (after, State::Waiting),
        (failure(), dead(DeadReason::Exhausted)),
        (fatal, dead(DeadReason::Rejected)),
        (Outcome::Panicked { message: why() }, State::Waiting),
        (Outcome::TimedOut, State::Waiting),
        (Outcome::Snoozed(Duration::from_secs(7)), State::Waiting),
        (Outcome::Released(Entered::Yes), State::Waiting),
        (Outcome::Cancelled { message: why() }, State::Cancelled),
        (Outcome::Undecodable { message: why() }, dead(DeadReason::Undecodable)),
        (Outcome::UnknownKind(Unknown::Wait), State::Waiting),
        (Outcome::UnknownKind(Unknown::Bury), dead(DeadReason::UnknownKind)),
        (Outcome::Corrupt, dead(DeadReason::Corrupt)),
    ];
    let decided = ENDINGS.into_iter().zip(ends).map(|(name, (outcome, to))| {
        let mut lease = lease.clone();
        if name == "exhausted" {
            lease.policy.retry = RetryPolicy::NONE;
        }
        let item = CommitItem::new(lease.guard(), decide::run(&lease, outcome, 1));
        Move { name, to, item }
    });
    decided.collect()
}

/// The ending of this name.
pub(crate) fn ending(lease: &Lease, name: &str) -> Result<Move, Stop> {
    let mut all = endings(lease).into_iter();
    all.find(|end| end.name == name).ok_or_else(|| Stop::because(format!("no ending is {name}")))
}

/// Deliveries by what the first rescue of a task does: put it back, or bury it.
pub(crate) const RESCUES: [(&str, Delivery); 2] =
    [("requeue", Delivery::at_least_once()), ("bury", Delivery::NotAfterLoss)];

/// What the rescuer with `lease` decides.
pub(crate) fn rescue(lease: &Lease) -> Move {
    let change = decide::rescue(lease);
    let (name, to) = match lease.policy.delivery.max_rescues() > lease.rescues {
        true => ("rescue that requeues", State::Waiting),
        false => ("rescue that buries", State::Dead(DeadReason::Lost)),
    };
    Move { name, to, item: CommitItem::new(lease.guard(), change) }
}

/// Every act of an operator that the state of `seen` admits, decided on this sight.
pub(crate) fn acts(seen: &StoredTask) -> Vec<Move> {
    let edit = Edit::default().with_payload("edited");
    let all = [
        (Intervention::Cancel, State::Cancelled),
        (Intervention::Bury, State::Dead(DeadReason::Operator)),
        (Intervention::Requeue(OnLeased::Refuse), State::Waiting),
        (Intervention::Requeue(OnLeased::Revoke), State::Waiting),
        (Intervention::Edit(edit), seen.state),
        (Intervention::Delete, State::Cancelled),
        (Intervention::Redrive, State::Waiting),
    ];
    let by = Operator::new("operator", "as the case says");
    let decided = ACTS.into_iter().zip(all).filter_map(|(name, (act, to))| {
        let change = decide::intervene(seen, act, &by).ok()?;
        let guard = Guard::new(seen.task_ref.clone(), seen.fence);
        Some(Move { name, to, item: CommitItem::new(guard, change) })
    });
    decided.collect()
}

/// The act of this name, which the state of `seen` must admit.
pub(crate) fn act(seen: &StoredTask, name: &str) -> Result<Move, Stop> {
    let why = || Stop::because(format!("{} admits no {name}", seen.state));
    acts(seen).into_iter().find(|act| act.name == name).ok_or_else(why)
}
