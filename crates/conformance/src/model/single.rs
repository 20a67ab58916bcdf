//! One task of a claim, apart from the others: what concurrent claims are judged by.
//!
//! Two claims that overlap may share the tasks in any way, so each grant is a step of its own
//! and the order of service is not judged.

use std::collections::VecDeque;

use leasehold_core::{Claim, Fence, Guard, Lease, Purpose};

use super::play::{Choices, Play};
use super::queue::Model;
use super::rules::{Contract, Rules};

/// Whether `claim` could be granted the task under `id` now, its limit included.
#[must_use]
pub fn grantable(model: &Model, claim: &Claim, id: &str) -> bool {
    let mut next = model.clone();
    let mut choices = Choices::default();
    let broken = Vec::new();
    let play = Play { model: &mut next, rules: &Contract, choices: &mut choices, broken };
    let Some(task) = model.task(id) else { return false };
    let key = task.limit.as_ref().filter(|_| claim.purpose == Purpose::Run);
    play.may_take(claim, task) && key.is_none_or(|key| Contract.has_room(model, key))
}

/// The queue after `claim` was granted the task under `id` with `fence`, and the lease; `None`
/// where that may not be.
#[must_use]
pub fn grant(model: &Model, claim: &Claim, id: &str, fence: Fence) -> Option<(Model, Lease)> {
    if !grantable(model, claim, id) {
        return None;
    }
    let mut next = model.clone();
    let mut choices = Choices { fences: VecDeque::from([fence]), ..Choices::default() };
    let broken = Vec::new();
    let mut play = Play { model: &mut next, rules: &Contract, choices: &mut choices, broken };
    let lease = play.grant(id, claim);
    play.broken.is_empty().then_some((next, lease))
}

/// The lease under `fence` of the task under `id`, if it goes on: what a repeat of its claim
/// tells (LH-CLAIM-9).
#[must_use]
pub fn standing(model: &Model, id: &str, fence: Fence) -> Option<Lease> {
    let task = model.task(id).filter(|task| task.fence == fence)?;
    let guard = Guard::new(task.task_ref.clone(), fence);
    let over = Contract.lost(model, task, &guard).is_some();
    (!over).then(|| Lease::of(task.clone(), model.now))
}
