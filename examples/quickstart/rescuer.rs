//! Takes care of what a lost process left behind.

use std::time::Duration;

use leasehold::{Claim, ClaimerId, Commit, CommitItem, CommitVerdict, Error, Purpose, To, decide};
use tokio::time::{MissedTickBehavior, interval};

use crate::failure::Failure;
use crate::files::FilePath;
use crate::progress::why;
use crate::session::{LEASE, Session, again};

const PASS: Duration = Duration::from_secs(1);

/// Most lapsed leases of one claim.
const RESCUES_MAX: usize = 100;

/// Looks for lapsed leases each second, those of other processes too; never ends by itself.
pub async fn rescuer(session: &Session) -> Failure {
    let claimer = ClaimerId::fresh();
    let mut seq = 0;
    let mut beat = interval(PASS);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let mut more = true;
        while more {
            seq += 1;
            more = match pass(session, claimer, seq).await {
                Ok(more) => more,
                Err(error) => return error.into(),
            };
        }
        // Brings the bar up to date with what other processes do.
        if let Err(error) = session.unfinished().await {
            return error.into();
        }
    }
}

/// Claims what has lapsed and decides about it; tells whether there is more.
async fn pass(session: &Session, claimer: ClaimerId, seq: u64) -> Result<bool, Error> {
    let (queue, holder) = (session.queue.as_str(), session.holder.as_str());
    let claim =
        Claim::new(queue, Purpose::Rescue, RESCUES_MAX, LEASE, holder).with_ticket(claimer, seq);
    let claimed = again(|| session.store.claim(claim.clone())).await?;
    let (leases, more) = (claimed.leases, claimed.more);
    if leases.is_empty() {
        return Ok(more);
    }
    let item = |lease| CommitItem::new(leasehold::Lease::guard(lease), decide::rescue(lease));
    let commit = Commit::new(leases.iter().map(item).collect());
    let replies = again(|| session.store.commit(commit.clone())).await?;
    for ((lease, item), reply) in leases.iter().zip(&commit.items).zip(replies) {
        let name = FilePath::name_of_lease(lease);
        let line = match (reply, item.change.to) {
            (Ok(CommitVerdict::Applied(_) | CommitVerdict::Replayed), To::Dead(reason)) => {
                format!("dead {name}: {}", why(reason, &item.change.message))
            }
            (Ok(CommitVerdict::Applied(_) | CommitVerdict::Replayed), _) => {
                format!("rescued {name}: its lease had lapsed")
            }
            // Its own run was faster after all, or another rescuer: the task is in good hands.
            (Ok(CommitVerdict::Stale { .. } | CommitVerdict::Gone), _) => {
                format!("rescue of {name} was not needed")
            }
            (Ok(CommitVerdict::Conflict(other)), _) => {
                format!("rescue of {name} met {other}")
            }
            // The rescue lapses in its turn, and the next pass takes it over.
            (Err(error), _) => format!("rescue of {name} did not work: {error}"),
        };
        session.progress.line(&line);
    }
    Ok(more)
}
