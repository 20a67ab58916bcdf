//! The laws of commits.

use leasehold_conformance::model::Reply;
use leasehold_core::{
    Applied, Budget, CommitItem, CommitVerdict, EnqueueVerdict, ErrorKind, OnLeased, Purpose, Role,
    State, Timestamp, To,
};

use super::{Judged, Law, grows, must, queue, unchanged};
use crate::config::Config;
use crate::past::Past;
use crate::world::World;

pub fn committed(
    config: &Config,
    before: &World,
    item: &CommitItem,
    again: bool,
    reply: &Reply,
    world: &mut World,
) -> Judged {
    let (id, fence, now) = (&item.guard.task.id, item.guard.fence, before.model.now);
    let past = &before.past[id];
    let decided = past.shown == Some((fence, item.decision)) && remembers(past, now);
    let may = admits(past, item);
    let rival = queue::rival(config, before, id, item);
    let verdict = match reply {
        Reply::Committed(verdict) => verdict,
        Reply::Refused(ErrorKind::Invalid) => {
            let misfit = past.left.is_none() && past.fence == fence && !fits(past.state, item);
            must(Law::Applied, misfit, || format!("{item:?} is Invalid for {past:?}"))?;
            return unchanged(before, world, "what is Invalid");
        }
        other => return must(Law::Told, false, || format!("a commit answers {other:?}")),
    };
    if let CommitVerdict::Applied(applied) = verdict {
        let undone = past.operated.is_some_and(|operated| fence < operated);
        must(Law::Operator, !undone && (item.change.by != Role::Operator || may), || {
            format!("fence {fence} is applied: {past:?}")
        })?;
        must(Law::Live, may, || format!("fence {fence} is applied: {past:?}"))?;
        must(Law::Unique, rival.is_none(), || format!("{rival:?} has the key of {id}"))?;
        must(Law::Replayed, !again || !decided, || format!("{item:?} is applied twice"))?;
        return apply(config, before, item, applied, world);
    }
    must(Law::Applied, !may || rival.is_some(), || {
        format!("fence {fence} is told {verdict:?}, and counts: {past:?}")
    })?;
    let replayed = matches!(verdict, CommitVerdict::Replayed);
    must(Law::Replayed, replayed == decided, || format!("{item:?} is told {verdict:?}: {past:?}"))?;
    let none =
        past.left.is_some_and(|until| until <= now) || (past.left.is_none() && fence < past.born);
    let gone = matches!(verdict, CommitVerdict::Gone);
    must(Law::Gone, gone == none, || format!("fence {fence} is told {verdict:?}: {past:?}"))?;
    let true_word = match verdict {
        CommitVerdict::Stale { fence, state } => match past.left {
            Some(_) => state.is_none() && past.shown.map(|(shown, _)| shown) == Some(*fence),
            None => *state == Some(past.state) && *fence == past.fence,
        },
        CommitVerdict::Conflict(holder) => rival.as_deref() == Some(&holder.id),
        _ => true,
    };
    must(Law::Told, true_word, || format!("fence {fence} is told {verdict:?}: {past:?}"))?;
    unchanged(before, world, "what was not applied")
}

fn remembers(past: &Past, now: Timestamp) -> bool {
    past.left.is_none_or(|until| until > now)
}

/// Whether the decision counts: it shows the fence of the live claim, or is a late success.
fn admits(past: &Past, item: &CommitItem) -> bool {
    let current = past.left.is_none() && item.guard.fence == past.fence;
    (current && fits(past.state, item)) || is_late(past, item)
}

fn is_late(past: &Past, item: &CommitItem) -> bool {
    let success = item.change.by == Role::Worker && item.change.to == To::Succeeded;
    success
        && past.left.is_none()
        && past.run == Some(item.guard.fence)
        && past.fence > item.guard.fence
}

/// The table of moves.
fn fits(state: State, item: &CommitItem) -> bool {
    let change = &item.change;
    match change.by {
        Role::Worker => state == State::Leased(Purpose::Run),
        Role::Rescuer => state == State::Leased(Purpose::Rescue),
        Role::Operator => match change.to {
            To::Gone => true,
            To::Same => matches!(state, State::Waiting | State::Dead(_)),
            To::Waiting(_) if change.budget == Budget::Reset => state.is_finished(),
            To::Waiting(_) if change.on_leased == OnLeased::Revoke => !state.is_finished(),
            To::Waiting(_) => !state.is_finished() && state != State::Leased(Purpose::Run),
            _ => !state.is_finished(),
        },
    }
}

fn apply(
    config: &Config,
    before: &World,
    item: &CommitItem,
    applied: &Applied,
    world: &mut World,
) -> Judged {
    let (id, now) = (&item.guard.task.id, before.model.now);
    let old = &before.past[id];
    let (role, change) = (item.change.by, &item.change);
    grows(Some(old), applied.fence)?;
    let late = is_late(old, item);
    let overdue = !late && role != Role::Operator && old.until <= now;
    must(Law::Told, (applied.late, applied.overdue) == (late, overdue), || {
        format!("{applied:?} is late: {late}, overdue: {overdue}")
    })?;
    let mut past = old.clone();
    past.state = match change.to {
        To::Waiting(_) => State::Waiting,
        To::Succeeded => State::Succeeded,
        To::Dead(reason) => State::Dead(reason),
        To::Cancelled | To::Gone => State::Cancelled,
        To::Same => old.state,
    };
    past.deleted = change.to == To::Gone;
    past.fence = applied.fence;
    past.shown = Some((item.guard.fence, item.decision));
    if let To::Waiting(when) = change.to {
        past.due = when.instant(old.due, now);
    }
    match change.budget {
        Budget::Keep => {}
        Budget::SpendRetry => past.failures += 1,
        Budget::SpendRescue => past.rescues += 1,
        Budget::Reset => (past.failures, past.rescues) = (0, 0),
    }
    if role != Role::Rescuer {
        (past.run, past.unresolved) = (None, false);
    }
    if role == Role::Operator {
        (past.operated, past.starts) = (Some(applied.fence), 0);
        if old.state == State::Leased(Purpose::Run) && old.until > now {
            past.hold = past.hold.max(Some(old.until));
        }
    }
    let policy = config.find(id).policy;
    let within = past.failures <= policy.delivery.max_retries(&policy.retry)
        && past.rescues <= policy.delivery.max_rescues();
    must(Law::Budget, within, || format!("{id} spends more than it has: {past:?}"))?;
    world.past.insert(id.clone(), past);
    follow_ups(config, item, applied, world)
}

fn follow_ups(config: &Config, item: &CommitItem, applied: &Applied, world: &mut World) -> Judged {
    let (asked, told) = (&item.change.follow_ups, &applied.follow_ups);
    must(Law::FollowUps, asked.len() == told.len(), || {
        format!("{} follow-ups are answered by {}", asked.len(), told.len())
    })?;
    for (new, verdict) in asked.iter().zip(told) {
        queue::enqueued(config, world, new, verdict)?;
        let there = matches!(verdict, EnqueueVerdict::Duplicate { .. })
            || world.model.task(&new.id).is_some();
        must(Law::FollowUps, there, || {
            format!("{} was told {verdict:?} and is not there", new.id)
        })?;
    }
    Ok(())
}
