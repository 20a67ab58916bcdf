//! Wrong slots and wrong unique keys.

use leasehold_conformance::model::{Model, Op, Reply};
use leasehold_core::CommitVerdict;

use super::Mutant;
use super::points::{After, Before, By, Slots};
use super::stores::applied;
use crate::casts;
use crate::fault::Fault;
use crate::law::Law;

pub fn mutants() -> Vec<Mutant> {
    let mut all = slots();
    all.extend(unique());
    all
}

fn slots() -> Vec<Mutant> {
    vec![
        Mutant::new("a claim ignores the limit", casts::limit, Law::Limit, By(Slots::Ignored)),
        Mutant::new(
            "a slot ends while its lease is renewed",
            casts::limit,
            Law::Limit,
            By(Slots::NotExtended),
        ),
        Mutant::new(
            "an operator's act frees the slot",
            casts::limit,
            Law::Limit,
            By(Slots::FreedByAll),
        ),
        Mutant::new(
            "a Stale commit frees the slot",
            casts::limit,
            Law::Unchanged,
            After(|_, next, op, reply| {
                let Op::Commit(item) = op else { return };
                if matches!(reply, Reply::Committed(CommitVerdict::Stale { .. })) {
                    let id = &item.guard.task.id;
                    next.slots.values_mut().for_each(|s| s.retain(|(its, _), _| its != id));
                }
            }),
        ),
        Mutant::new(
            "a late success frees a slot by count",
            casts::limit,
            Law::Renew,
            After(|_, next, op, reply| {
                if applied(op, reply).is_some_and(|(_, applied)| applied.late) {
                    next.slots.values_mut().for_each(|slots| drop(slots.pop_last()));
                }
            }),
        ),
        Mutant::new("a slot belongs to the task", casts::limit, Law::Limit, By(Slots::OfTheTask))
            .surviving(
                "only an applied commit frees a slot, and while the fence guards commits no two \
                 runs of one task have one at a time",
            ),
    ]
}

/// A redrive that does not look for the key's holder: it reads the task as one without a key.
struct Unlooked;

impl Fault for Unlooked {
    fn before(&self, model: &Model, op: &Op) -> Option<Model> {
        let Op::Commit(item) = op else { return None };
        let mut spoilt = model.clone();
        let kept = spoilt.tasks.get_mut(&item.guard.task.id)?;
        kept.task.unique = kept.task.unique.take().filter(|_| !item.change.is_redrive());
        Some(spoilt)
    }

    fn after(&self, before: &Model, next: &mut Model, op: &Op, _: &mut Reply) {
        let Op::Commit(item) = op else { return };
        let id = &item.guard.task.id;
        if let (Some(kept), Some(then)) = (next.tasks.get_mut(id), before.task(id)) {
            kept.task.unique.clone_from(&then.unique);
        }
    }
}

fn unique() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "a redrive takes the key from its holder",
            casts::unique,
            Law::Unique,
            Unlooked,
        ),
        Mutant::new(
            "a key passes on before the lease that was taken away has ended",
            casts::unique,
            Law::Unique,
            Before(|model, op| {
                if matches!(op, Op::Enqueue(_)) {
                    model.held_keys.clear();
                }
            }),
        ),
        Mutant::new(
            "a late success frees the key by its name",
            casts::key_after_loss,
            Law::Unique,
            After(|_, next, op, reply| {
                let late = applied(op, reply).is_some_and(|(_, applied)| applied.late);
                let open = next.tasks.values_mut().filter(|kept| !kept.task.state.is_finished());
                open.filter(|_| late).for_each(|kept| kept.task.unique = None);
            }),
        ),
        Mutant::new(
            "a key is free as soon as its task is claimed",
            casts::unique,
            Law::Unique,
            Before(|model, op| {
                if matches!(op, Op::Enqueue(_)) {
                    let tasks = model.tasks.values_mut();
                    let leased = tasks.filter(|kept| kept.task.until.is_some());
                    leased.for_each(|kept| kept.task.unique = None);
                }
            }),
        ),
    ]
}
