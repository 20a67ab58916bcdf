//! What a store does beside the rules: budgets, rights, records and follow-ups.

use std::time::Duration;

use leasehold_conformance::model::{Model, Op, Reply, predict};
use leasehold_core::{
    Applied, CommitItem, CommitVerdict, Fence, Lease, Purpose, Role, Shown, State, To,
};

use super::Mutant;
use super::points::{After, Before};
use crate::action::child;
use crate::casts;
use crate::config::TTL;
use crate::law::Law;

pub fn mutants() -> Vec<Mutant> {
    let mut all = commits();
    all.extend(records());
    all.extend(follow_ups());
    all.extend(claims());
    all
}

/// The commit that this step applied, if it applied one.
pub fn applied<'a>(op: &'a Op, reply: &'a Reply) -> Option<(&'a CommitItem, &'a Applied)> {
    match (op, reply) {
        (Op::Commit(item), Reply::Committed(CommitVerdict::Applied(applied))) => {
            Some((item, applied))
        }
        _ => None,
    }
}

fn is_stale(reply: &Reply) -> bool {
    matches!(reply, Reply::Committed(CommitVerdict::Stale { .. }))
}

fn commits() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "a rescue spends the retry budget",
            casts::race,
            Law::Budget,
            After(|_, next, op, reply| {
                let Some((item, _)) = applied(op, reply) else { return };
                if let Some(kept) = next.tasks.get_mut(&item.guard.task.id) {
                    kept.task.failures += u32::from(item.change.by == Role::Rescuer);
                }
            }),
        ),
        Mutant::new(
            "Stale is reported as Applied",
            casts::race,
            Law::Live,
            After(|_, next, _, reply| {
                if is_stale(reply) {
                    let fence = Fence::new(next.fence_max().value() + 1);
                    *reply = Reply::Committed(CommitVerdict::Applied(Applied::new(fence)));
                }
            }),
        ),
        Mutant::new(
            "a Stale commit is shown all the same",
            casts::race,
            Law::Unchanged,
            After(|_, next, op, reply| {
                let Op::Commit(item) = op else { return };
                let kept = next.tasks.get_mut(&item.guard.task.id).filter(|_| is_stale(reply));
                if let Some(kept) = kept {
                    let shown = Shown::new(item.guard.fence, item.decision, item.change.by);
                    kept.task.shown = Some(shown);
                }
            }),
        ),
        Mutant::new(
            "a claim to rescue ends the right to a late success",
            casts::race,
            Law::Applied,
            After(|_, next, _, reply| {
                let Reply::Claimed(claimed) = reply else { return };
                for lease in claimed.leases.iter().filter(|l| l.purpose == Purpose::Rescue) {
                    if let Some(kept) = next.tasks.get_mut(&lease.task_ref.id) {
                        kept.task.run = None;
                    }
                }
            }),
        ),
        Mutant::new(
            "an operator's act leaves the right to a late success",
            casts::two_operators,
            Law::Operator,
            After(|before, next, op, reply| keep_run(before, next, op, reply, false)),
        ),
        Mutant::new(
            "a redrive leaves the right to a late success",
            casts::never,
            Law::Operator,
            After(|before, next, op, reply| keep_run(before, next, op, reply, true)),
        ),
    ]
}

fn keep_run(before: &Model, next: &mut Model, op: &Op, reply: &Reply, redrive: bool) {
    let Some((item, _)) = applied(op, reply) else { return };
    let meant = item.change.by == Role::Operator && item.change.is_redrive() == redrive;
    let (id, run) = (&item.guard.task.id, before.task(&item.guard.task.id));
    if let (true, Some(kept)) = (meant, next.tasks.get_mut(id)) {
        kept.task.run = run.and_then(|task| task.run);
    }
}

fn records() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "a dead letter is not kept",
            casts::race,
            Law::DeadLetter,
            After(|_, next, _, _| {
                next.tasks.retain(|_, kept| !matches!(kept.task.state, State::Dead(_)));
            }),
        ),
        Mutant::new(
            "time alone puts a lapsed task back",
            casts::race,
            Law::Moves,
            After(|_, next, op, _| {
                let now = next.now;
                let tasks = next.tasks.values_mut().map(|kept| &mut kept.task);
                let lapsed = tasks.filter(|task| task.until.is_some_and(|until| until <= now));
                for task in lapsed.filter(|_| matches!(op, Op::Shift(_))) {
                    (task.state, task.until) = (State::Waiting, None);
                }
            }),
        ),
        Mutant::new(
            "a rescue never buries",
            casts::never,
            Law::DeadLetter,
            After(|_, next, op, reply| {
                let Some((item, _)) = applied(op, reply) else { return };
                let kept = next.tasks.get_mut(&item.guard.task.id);
                if let Some(kept) = kept.filter(|_| item.change.by == Role::Rescuer) {
                    kept.task.state = State::Waiting;
                }
            }),
        ),
        Mutant::new(
            "a delete frees the id before the lease would have ended",
            casts::used_again,
            Law::Record,
            After(|_, next, op, reply| {
                let Some((item, _)) = applied(op, reply) else { return };
                if item.change.to == To::Gone {
                    next.tasks.remove(&item.guard.task.id);
                }
            }),
        ),
        Mutant::new(
            "a purge does not wait for a lease that was taken away",
            casts::used_again,
            Law::Record,
            After(|_, next, op, _| {
                if matches!(op, Op::Purge(_)) {
                    next.tasks.retain(|_, kept| kept.expires.is_none());
                }
            }),
        ),
        Mutant::new(
            "an id is forgotten with its task",
            casts::remembered,
            Law::Enqueue,
            Before(|model, op| {
                if matches!(op, Op::Enqueue(_)) {
                    model.left.clear();
                }
            }),
        ),
        Mutant::new(
            "a repeated enqueue overwrites",
            casts::remembered,
            Law::Enqueue,
            Before(|model, op| {
                let Op::Enqueue(tasks) = op else { return };
                for new in tasks {
                    model.tasks.remove(&new.id);
                }
            }),
        ),
    ]
}

fn follow_ups() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "follow-ups are made again when a commit is repeated",
            casts::follow_up,
            Law::Unchanged,
            After(|_, next, op, reply| {
                let replayed = matches!(reply, Reply::Committed(CommitVerdict::Replayed));
                one_more(next, op, replayed);
            }),
        ),
        Mutant::new(
            "follow-ups are made by a Stale commit",
            casts::follow_up,
            Law::Unchanged,
            After(|_, next, op, reply| one_more(next, op, is_stale(reply))),
        ),
        Mutant::new(
            "follow-ups are made twice",
            casts::follow_up,
            Law::FollowUps,
            After(|_, next, op, reply| one_more(next, op, applied(op, reply).is_some())),
        ),
        Mutant::new(
            "a late success loses its follow-ups",
            casts::follow_up,
            Law::FollowUps,
            After(|_, next, op, reply| {
                if applied(op, reply).is_some_and(|(_, applied)| applied.late) {
                    next.tasks.remove(&child().id);
                }
            }),
        ),
    ]
}

fn one_more(next: &mut Model, op: &Op, if_so: bool) {
    let Op::Commit(item) = op else { return };
    if if_so && !item.change.follow_ups.is_empty() {
        let again = child().clone().with_id("child again");
        *next = predict(next, &Op::Enqueue(vec![again])).0;
    }
}

fn claims() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "claims are not recorded",
            casts::replay,
            Law::Repeat,
            After(|_, next, _, _| next.claims.clear()),
        ),
        Mutant::new(
            "the record of a claim is kept in the lease",
            casts::replay,
            Law::Repeat,
            After(|_, next, _, _| {
                let Model { claims, tasks, .. } = next;
                claims.retain(|_, record| {
                    record.granted.iter().all(|(id, fence)| {
                        tasks.get(id).is_some_and(|kept| kept.task.fence == *fence)
                    })
                });
            }),
        ),
        Mutant::new(
            "a repeated claim returns the answer that was stored",
            casts::replay,
            Law::Repeat,
            After(|before, next, op, reply| {
                let (Op::Claim(claim), Reply::Claimed(claimed)) = (op, reply) else { return };
                let Some(ticket) = claim.ticket else { return };
                let record = before.claims.get(&ticket.claimer);
                let Some(record) = record.filter(|record| record.seq == ticket.seq) else { return };
                claimed.leases = record
                    .granted
                    .iter()
                    .filter_map(|(id, fence)| {
                        let mut task = next.task(id)?.clone();
                        task.fence = *fence;
                        task.state = State::Leased(claim.purpose);
                        task.until = Some(next.now.after(TTL));
                        Some(Lease::of(task, next.now))
                    })
                    .collect();
            }),
        ),
        Mutant::new(
            "a lease that is told is shorter than the one that was granted",
            casts::race,
            Law::Told,
            After(|_, _, _, reply| {
                let Reply::Claimed(claimed) = reply else { return };
                for lease in &mut claimed.leases {
                    lease.ttl_left -= Duration::from_secs(1);
                }
            }),
        ),
    ]
}
