//! The laws of claims and renews.

use leasehold_core::{
    Claim, Claimed, Delivery, Lease, LostReason, Purpose, RenewItem, RenewVerdict, State,
};

use super::{Judged, Law, grows, must, unchanged};
use crate::action::Action;
use crate::config::Config;
use crate::past::Past;
use crate::world::World;

pub fn claimed(
    config: &Config,
    before: &World,
    action: &Action,
    asked: &Claim,
    claimed: &Claimed,
    world: &mut World,
) -> Judged {
    let known = action.actor().and_then(|at| before.hands[at].ticket.granted.clone());
    let seq = asked.ticket.map(|ticket| ticket.seq);
    match (seq, known) {
        (Some(seq), Some((newest, ..))) if seq < newest => {
            must(Law::Repeat, claimed.superseded && claimed.leases.is_empty(), || {
                format!("claim {seq} came after {newest} and was answered {claimed:?}")
            })?;
            return unchanged(before, world, "a claim that is superseded");
        }
        (Some(seq), Some((newest, id, fence))) if seq == newest => {
            repeated(before, &id, fence, claimed)?;
            return unchanged(before, world, "a claim that is repeated");
        }
        _ => {}
    }
    must(Law::Told, !claimed.superseded && claimed.leases.len() <= asked.max, || {
        format!("a first claim is answered {claimed:?}")
    })?;
    for lease in &claimed.leases {
        granted(config, asked, lease, world)?;
    }
    Ok(())
}

fn repeated(before: &World, id: &str, fence: leasehold_core::Fence, claimed: &Claimed) -> Judged {
    let past = &before.past[id];
    let live = past.is_leased() && past.fence == fence && past.until > before.model.now;
    let told: Vec<_> =
        claimed.leases.iter().map(|lease| (lease.task_ref.id.as_str(), lease.fence)).collect();
    let swept = told.is_empty() && may_be_swept(before, id);
    let right = if live { vec![(id, fence)] } else { Vec::new() };
    must(Law::Repeat, told == right || swept, || {
        format!("a claim that had granted {id} at {fence} was repeated: {told:?}, not {right:?}")
    })?;
    let left = claimed.leases.first().map(|lease| before.model.now.after(lease.ttl_left));
    must(Law::Repeat, left.is_none_or(|end| end == past.until), || {
        format!("the repeat tells an end at {left:?}, and it is {:?}", past.until)
    })
}

/// Whether a slot may have been given up although the lease seems to run: only a clock that
/// went back does that (LH-RENEW-8).
fn may_be_swept(before: &World, id: &str) -> bool {
    let limited = before.model.task(id).is_some_and(|task| task.limit.is_some());
    let over = |held: &crate::world::Held| held.over && held.lease.task_ref.id == id;
    limited && before.hands.iter().filter_map(|hand| hand.held.as_ref()).any(over)
}

fn granted(config: &Config, asked: &Claim, lease: &Lease, world: &mut World) -> Judged {
    let (id, now) = (&lease.task_ref.id, world.model.now);
    let new = config.find(id);
    let Some(past) = world.past.get_mut(id) else {
        return must(Law::Waits, false, || format!("{id} was granted and never enqueued"));
    };
    grows(Some(past), lease.fence)?;
    must(Law::Told, lease.purpose == asked.purpose, || {
        format!("a claim of {:?} is granted {:?}", asked.purpose, lease.purpose)
    })?;
    match lease.purpose {
        Purpose::Run => started(past, new, id, now)?,
        Purpose::Rescue => {
            let lapsed = past.is_leased() && past.until <= now;
            must(Law::Lapsed, lapsed, || format!("a rescue takes {id}: {past:?} at {now:?}"))?;
        }
    }
    must(Law::Told, lease.ttl_left == asked.ttl, || {
        format!("a lease of {:?} is told to have {:?}", asked.ttl, lease.ttl_left)
    })?;
    past.state = State::Leased(lease.purpose);
    past.fence = lease.fence;
    past.until = now.after(lease.ttl_left);
    if lease.purpose == Purpose::Run {
        past.run = Some(lease.fence);
        past.unresolved = true;
        past.starts += 1;
    }
    Ok(())
}

fn started(
    past: &Past,
    new: &leasehold_core::NewTask,
    id: &str,
    now: leasehold_core::Timestamp,
) -> Judged {
    let delivery = new.policy.delivery;
    let waits = past.left.is_none() && past.state == State::Waiting;
    let over = past.left.is_some() || past.state == State::Succeeded;
    must(Law::Finished, !over, || format!("{id} runs, and has succeeded or left"))?;
    let never = delivery.max_rescues() == 0 && past.unresolved;
    must(Law::Never, !never, || format!("{id} runs again after a run that was lost"))?;
    let once = delivery == Delivery::AtMostOnce && past.starts > 0;
    must(Law::Once, !once, || format!("{id} is to run at most once, and runs again"))?;
    must(Law::Waits, waits, || format!("{id} is granted to run: {past:?}"))?;
    let held = past.hold.is_some_and(|hold| hold > now);
    must(Law::Early, past.due <= now && !held, || format!("{id} runs early: {past:?} at {now:?}"))
}

pub fn renewed(
    config: &Config,
    before: &World,
    item: &RenewItem,
    verdict: &RenewVerdict,
    world: &mut World,
) -> Judged {
    let (id, fence, now) = (&item.guard.task.id, item.guard.fence, before.model.now);
    let past = &before.past[id];
    let live = past.is_leased() && past.fence == fence && past.until > now;
    match verdict {
        RenewVerdict::Held { ttl_left } => {
            must(Law::Renew, live, || format!("{fence} of {id} is Held: {past:?} at {now:?}"))?;
            let end = past.until.max(now.after(item.ttl));
            must(Law::Renew, now.after(*ttl_left) == end, || {
                format!("the lease of {id} has {ttl_left:?} left, and ends at {end:?}")
            })?;
            if let Some(past) = world.past.get_mut(id) {
                past.until = end;
            }
            Ok(())
        }
        RenewVerdict::Lost(reason) => {
            let swept = config.find(id).limit.is_some() && *reason == LostReason::Lapsed;
            must(Law::Renew, !live || (swept && may_be_swept(before, id)), || {
                format!("{fence} of {id} is {verdict:?}, and is live: {past:?} at {now:?}")
            })?;
            told_truly(past, id, fence, *reason)?;
            unchanged(before, world, "a renew that is Lost")
        }
        RenewVerdict::Busy => Ok(()),
    }
}

/// Lost says why: who cancels learns that it was heard (LH-RENEW-6).
fn told_truly(past: &Past, id: &str, fence: leasehold_core::Fence, reason: LostReason) -> Judged {
    let shown = past.shown.is_some_and(|(shown, _)| shown == fence);
    let true_word = match reason {
        LostReason::Lapsed => past.is_leased() && past.fence == fence,
        LostReason::Taken(now) => now == past.fence && past.fence > fence && !shown,
        LostReason::Cancelled => shown && past.state == State::Cancelled,
        LostReason::Revoked => shown && past.state != State::Cancelled && past.operated.is_some(),
        LostReason::Decided => shown || past.fence == fence,
        LostReason::Gone => past.left.is_some() || fence < past.born,
    };
    must(Law::Told, true_word, || format!("{fence} of {id} is Lost({reason:?}): {past:?}"))
}
