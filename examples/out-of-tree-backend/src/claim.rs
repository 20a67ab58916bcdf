//! claim, the only way a task changes hands, and renew, which keeps it there.

use leasehold_core::*;
use redb::{Error as Fault, ReadableTable};

use crate::error::reply;
use crate::record::Entry;
use crate::store::{INDEX, Reads, Step, instant, tag};

pub(crate) fn claim(step: &Step, request: Claim) -> Result<Claimed, Fault> {
    let Some(settings) = step.tx.settings(&request.queue)? else { return Ok(Claimed::default()) };
    let mut found = Vec::new();
    match request.purpose {
        Purpose::Run if settings.paused => {}
        // In the order of service, rank by rank. What is not due is not looked at, so that its
        // number costs nothing (LH-CLAIM-12).
        Purpose::Run => {
            for rank in 0..=9 {
                find(step, &request, tag::READY, &[rank], &mut found)?;
            }
        }
        Purpose::Rescue => find(step, &request, tag::LEASE, &[], &mut found)?,
    }
    let more = found.len() == request.max;
    let leases = found.into_iter().map(|entry| grant(step, &request, entry));
    Ok(Claimed::new(leases.collect::<Result<_, _>>()?, more))
}

/// Adds the tasks under a tag and rank whose time has come, until there are as many as are
/// asked for. A record of a newer version is passed over and counted (LH-CLAIM-11). What the
/// index says is judged by the head, which is its source (LH-LAPSE-8).
fn find(step: &Step, ask: &Claim, tag: u8, rank: &[u8], to: &mut Vec<Entry>) -> Result<(), Fault> {
    let queue = ask.queue.as_str();
    let status = if tag == tag::READY { Status::Ready } else { Status::Lapsed };
    let end = [rank, &instant(step.now), &[u8::MAX; 9]].concat();
    let index = step.tx.open_table(INDEX)?;
    let mut rows = index.range((queue, tag, rank)..(queue, tag, &*end))?;
    while to.len() < ask.max
        && let Some(row) = rows.next()
    {
        let mut entry = match step.tx.entry(queue, row?.1.value()) {
            Ok(Some(entry)) => entry,
            Ok(None) => continue,
            // The head is of a newer version as well.
            Err(Fault::Corrupted(_)) => {
                step.count(queue, "skipped_newer", 1)?;
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let format = step.tx.fill(&mut entry.task)?;
        match entry.task.status(step.now) == status {
            true if format > stored::FORMAT => _ = step.count(queue, "skipped_newer", 1)?,
            true => to.push(entry),
            false => {}
        }
    }
    Ok(())
}

/// Fence, run, attempt and lease end in one step (LH-CLAIM-5).
fn grant(step: &Step, request: &Claim, before: Entry) -> Result<Lease, Fault> {
    let mut after = before.clone();
    let task = &mut after.task;
    task.fence = step.fence()?;
    task.until = Some(step.now.after(request.ttl));
    task.holder = Some(request.holder.clone());
    match request.purpose {
        Purpose::Run => {
            task.run = Some(task.fence);
            task.attempt = task.attempt.saturating_add(1);
        }
        Purpose::Rescue if task.state == State::Leased(Purpose::Rescue) => {
            task.takeovers = task.takeovers.saturating_add(1);
            step.count(&request.queue, "takeovers", 1)?;
        }
        Purpose::Rescue => _ = step.count(&request.queue, "lapsed", 1)?,
    }
    task.state = State::Leased(request.purpose);
    step.put(Some(&before), Some(&after))?;
    Ok(Lease::of(after.task, step.now))
}

type Renewed = Result<RenewVerdict, Error>;

pub(crate) fn renew(step: &Step, request: Renew) -> Result<Vec<Renewed>, Fault> {
    request.items.iter().map(|item| reply(renew_one(step, item))).collect()
}

fn renew_one(step: &Step, item: &RenewItem) -> Result<Renewed, Fault> {
    if let Err(invalid) = item.check(&step.capabilities.bounds) {
        return Ok(Err(invalid));
    }
    let (TaskRef { queue, id }, fence) = (&item.guard.task, item.guard.fence);
    let seen = step.tx.entry(queue, id)?;
    let lost = match (&seen, step.tx.left(queue, id, step.now)?) {
        (Some(entry), _) => entry.task.lost(fence, step.now),
        (None, left) => Some(left.map_or(LostReason::Gone, |left| left.lost(fence))),
    };
    let (Some(before), None) = (seen, lost) else {
        if step.tx.settings(queue)?.is_some() {
            step.count(queue, "lost_renews", 1)?;
        }
        return Ok(Ok(RenewVerdict::Lost(lost.unwrap_or(LostReason::Gone))));
    };
    let mut after = before.clone();
    // A renew never shortens a lease (LH-RENEW-1).
    let until = step.now.after(item.ttl).max(before.task.until.unwrap_or(step.now));
    after.task.until = Some(until);
    after.task.note = item.note.clone().or(after.task.note);
    step.put(Some(&before), Some(&after))?;
    Ok(Ok(RenewVerdict::Held { ttl_left: until.since(step.now) }))
}
