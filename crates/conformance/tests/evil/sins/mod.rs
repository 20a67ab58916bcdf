//! The sins, one table a file.

mod batches;
mod budgets;
mod claims;
mod commits;
mod dead;
mod enqueue;
mod fences;
mod follow;
mod guards;
mod keys;
mod late;
mod lines;
mod names;
mod operators;
mod purges;
mod reads;
mod records;
mod renews;
mod repeats;
mod rescues;
mod room;
mod serve;
mod slots;
mod times;

use leasehold_conformance::model::{Model, Op, Reply};
use leasehold_core::{CommitItem, CommitVerdict, NewTask, StoredTask};

use crate::charge::Charge;

/// Every sin, in the order of the tables.
pub fn all() -> impl Iterator<Item = &'static Charge> {
    const TABLES: &[&[Charge]] = &[
        guards::ALL,
        fences::ALL,
        commits::ALL,
        repeats::ALL,
        batches::ALL,
        late::ALL,
        renews::ALL,
        rescues::ALL,
        slots::ALL,
        room::ALL,
        keys::ALL,
        budgets::ALL,
        operators::ALL,
        dead::ALL,
        claims::ALL,
        enqueue::ALL,
        follow::ALL,
        serve::ALL,
        records::ALL,
        reads::ALL,
        purges::ALL,
        times::ALL,
        names::ALL,
        lines::ALL,
    ];
    TABLES.iter().copied().flatten()
}

/// Does `fault` to each task that is enqueued.
fn each_new(op: &mut Op, fault: impl Fn(&mut NewTask)) {
    if let Op::Enqueue(tasks) = op {
        tasks.iter_mut().for_each(fault);
    }
}

/// The commit that was just applied, and its task if that is still there.
fn applied<'a>(
    next: &'a mut Model,
    op: &'a Op,
    reply: &Reply,
) -> Option<(&'a CommitItem, &'a mut StoredTask)> {
    let (Op::Commit(item), Reply::Committed(CommitVerdict::Applied(_))) = (op, reply) else {
        return None;
    };
    Some((item, task(next, &item.guard.task.id)?))
}

/// The commit that was just told Stale, and its task if that is still there.
fn stale<'a>(
    next: &'a mut Model,
    op: &'a Op,
    reply: &Reply,
) -> Option<(&'a CommitItem, &'a mut StoredTask)> {
    let (Op::Commit(item), Reply::Committed(CommitVerdict::Stale { .. })) = (op, reply) else {
        return None;
    };
    Some((item, task(next, &item.guard.task.id)?))
}

/// The task under this id, to be changed.
fn task<'a>(model: &'a mut Model, id: &str) -> Option<&'a mut StoredTask> {
    model.tasks.get_mut(id).map(|kept| &mut kept.task)
}
