//! The laws: what must hold of every history, written from the contract's sentences and from
//! what the answers told ([`Past`](crate::past::Past)). They share nothing with the rules of the
//! model, so that a wrong rule cannot excuse itself.

mod claim;
mod commit;
mod queue;

use leasehold_conformance::model::{self, Model, Op, Reply};
use leasehold_core::{EnqueueVerdict, Fence, Purpose, RenewVerdict};

use crate::action::Action;
use crate::config::{Config, GROUP};
use crate::past::Past;
use crate::world::World;

/// What must never happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// LH-COMMIT-1, LH-LATE-1: a decision is applied from the live claim, or as a late success.
    Live,
    /// LH-COMMIT-1: and then it is applied, not refused.
    Applied,
    /// LH-OPER-1, LH-OPER-2: what an operator did is not undone on an older picture, and an
    /// operator acts on nothing but what was seen.
    Operator,
    /// LH-FENCE-1, LH-FENCE-3: the fences of one id strictly grow.
    Fences,
    /// LH-COMMIT-4: Replayed is told to the last applied decision, and to that one always.
    Replayed,
    /// LH-COMMIT-8: Gone is told below `born` or where nothing is known, and only there.
    Gone,
    /// LH-COMMIT-9: a verdict tells what is so.
    Told,
    /// LH-FENCE-2, LH-GEN-8: what was not applied changed nothing.
    Unchanged,
    /// LH-CLAIM-1, LH-CLAIM-6: a Run claim takes what waits.
    Waits,
    /// LH-CLAIM-1, LH-OPER-11: and nothing before its time.
    Early,
    /// LH-LAPSE-1: a Rescue claim takes a lease that has ended.
    Lapsed,
    /// LH-OPER-11: no two handlers of one task run at once.
    Alone,
    /// LH-LIMIT-1: no more handlers of a key run at once than the limit says.
    Limit,
    /// LH-UNIQ-1, LH-UNIQ-3: one unfinished task for a key, and one handler at a time.
    Unique,
    /// LH-BUDGET-1 to LH-BUDGET-4: each budget is spent by its own cause, and kept.
    Budget,
    /// LH-MODE-2: under Never no run follows one that ended without an applied decision.
    Never,
    /// LH-MODE-1: an at-most-once task is started once.
    Once,
    /// LH-RENEW-1, LH-RENEW-2: the live, unlapsed claim is Held, and nothing else is.
    Renew,
    /// LH-CLAIM-9: a repeated claim grants nothing, and returns what still goes on.
    Repeat,
    /// LH-ENQ-2, LH-ENQ-9: an id is taken once while it is known.
    Enqueue,
    /// LH-ENQ-8: follow-ups appear with the applied commit, once.
    FollowUps,
    /// LH-COMMIT-10: what has finished stays so.
    Finished,
    /// LH-DEAD-6: a dead letter does not vanish.
    DeadLetter,
    /// LH-OPER-11: a record stays while a lease that was taken away could still run.
    Record,
    /// The table of moves: nothing moves but by a claim or an applied commit.
    Moves,
    /// LH-LAPSE-4, LH-CLAIM-8: whatever has happened, plain work finishes every task.
    Drain,
    /// Not a clause: the relation that judges stores takes every answer that the rules give.
    Relation,
}

/// A law that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    pub law: Law,
    pub what: String,
}

pub type Judged = Result<(), Broken>;

/// A violation unless `holds`.
pub fn must(law: Law, holds: bool, what: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(Broken { law, what: what() }) }
}

/// Judges one answer by what has happened before, and adds to the past what it tells.
pub fn judge(
    config: &Config,
    before: &World,
    action: &Action,
    op: &Op,
    reply: &Reply,
    world: &mut World,
) -> Judged {
    match (op, reply) {
        (Op::Enqueue(tasks), Reply::Enqueued(verdicts)) => {
            for (new, verdict) in tasks.iter().zip(verdicts) {
                queue::enqueued(config, world, new, verdict)?;
            }
            if verdicts.iter().all(|one| matches!(one, EnqueueVerdict::Duplicate { .. })) {
                unchanged(before, world, "a Duplicate")?;
            }
        }
        (Op::Claim(asked), Reply::Claimed(claimed)) => {
            claim::claimed(config, before, action, asked, claimed, world)?;
        }
        (Op::Renew(item), Reply::Renewed(verdict)) => {
            claim::renewed(config, before, item, verdict, world)?;
        }
        (Op::Commit(item), reply) => {
            let again = matches!(action, Action::CommitAgain { .. });
            commit::committed(config, before, item, again, reply, world)?;
        }
        (Op::Get(id), Reply::Found(found)) => queue::found(world, id, found)?,
        (Op::Purge(_), Reply::Purged(_)) | (Op::Shift(_), Reply::Shifted) => {}
        (op, reply) => {
            return must(Law::Told, false, || format!("{} answers {reply:?}", op.name()));
        }
    }
    queue::stands(config, before, world)
}

/// A new fence for an id: greater than any that it ever had.
fn grows(past: Option<&Past>, fence: Fence) -> Judged {
    let last = past.map(|past| past.fence);
    must(Law::Fences, last.is_none_or(|last| last < fence), || {
        format!("fence {fence} was given after {last:?}")
    })
}

/// What judges stores from outside agrees with what the rules do.
pub fn relation(before: &Model, op: &Op, reply: &Reply) -> Judged {
    match model::step(before, op, reply) {
        Ok(_) => Ok(()),
        Err(breach) => must(Law::Relation, false, || breach.to_string()),
    }
}

/// Nothing but counters, and slots that had ended, differs.
fn unchanged(before: &World, world: &World, why: &str) -> Judged {
    let (one, two) = (&before.model, &world.model);
    let standing = |model: &Model| {
        let all = model.slots.iter().flat_map(|(key, slots)| {
            slots.iter().map(move |((id, fence), until)| (key.clone(), id.clone(), *fence, *until))
        });
        all.filter(|(.., until)| *until > model.now).collect::<Vec<_>>()
    };
    let same = one.tasks == two.tasks
        && one.left == two.left
        && one.held_keys == two.held_keys
        && one.claims == two.claims
        && one.fences == two.fences
        && standing(one) == standing(two);
    must(Law::Unchanged, same, || format!("{why} changed something"))
}

/// At each grant and at each Held renew: who runs, runs alone, as far as it has to. A handler
/// runs from the answer to its claim to its commit, or to the end of its lease by its own clock.
pub fn alone(config: &Config, world: &World, reply: &Reply) -> Judged {
    let begins = match reply {
        Reply::Claimed(claimed) => !claimed.leases.is_empty(),
        Reply::Renewed(verdict) => matches!(verdict, RenewVerdict::Held { .. }),
        _ => false,
    };
    if !begins {
        return Ok(());
    }
    let held = world.hands.iter().filter_map(|hand| hand.held.as_ref());
    let running: Vec<_> = held
        .filter(|held| !held.over && held.lease.purpose == Purpose::Run)
        .map(|held| (&held.lease.task_ref.id, config.find(&held.lease.task_ref.id)))
        .collect();
    for (at, (id, new)) in running.iter().enumerate() {
        let others = &running[at + 1..];
        let twice = others.iter().any(|(other, _)| other == id);
        must(Law::Alone, !twice, || format!("two handlers of {id} run at once"))?;
        let key = |(_, other): &(_, &leasehold_core::NewTask)| other.unique == new.unique;
        let rival = new.unique.is_some() && others.iter().any(key);
        must(Law::Unique, !rival, || format!("two handlers of {id}'s key run at once"))?;
    }
    let limited = running
        .iter()
        .filter(|(_, new)| new.limit.as_ref().is_some_and(|limit| limit.group == GROUP));
    let (count, max) = (limited.count(), config.limit.unwrap_or(u32::MAX) as usize);
    must(Law::Limit, count <= max, || format!("{count} handlers run under a limit of {max}"))
}
