//! Keeps the leases of what runs.

use leasehold::{Error, ErrorKind, LostReason, Renew, RenewItem, RenewVerdict};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::failure::Failure;
use crate::session::{LEASE, Session};

/// Renews all leases by one call, three times in the length of a lease; never ends by itself.
pub async fn pulse(session: &Session) -> Failure {
    let mut beat = interval(LEASE / 3);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let items = session.running.renews(LEASE);
        let guards: Vec<_> = items.iter().map(|item| item.guard.clone()).collect();
        let asked = session.clock.now();
        let replies = match timeout(LEASE / 3, renew(session, items)).await {
            Ok(Ok(replies)) => replies,
            Ok(Err(error)) if error.kind() != ErrorKind::Unavailable => return error.into(),
            // The next beat is the repeat. Leases that end before an answer comes are lost.
            Ok(Err(_)) | Err(_) => Vec::new(),
        };
        for (guard, reply) in guards.iter().zip(replies) {
            let task = &guard.task;
            match reply {
                Ok(RenewVerdict::Held { ttl_left }) => {
                    session.running.extend(guard, asked.after(ttl_left));
                }
                Ok(RenewVerdict::Busy) => {}
                // Its own commit was faster than this renew: nothing is wrong.
                Ok(RenewVerdict::Lost(LostReason::Decided)) => {}
                Ok(RenewVerdict::Lost(reason)) => {
                    session.running.lose(guard);
                    session.progress.line(&format!("lost {}: {reason:?}", task.id));
                }
                Err(error) => session.progress.line(&format!("not renewed: {error}")),
            }
        }
        for task in session.running.lose_ended(session.clock.now()) {
            session.progress.line(&format!("lost {}: no renew was answered in time", task.id));
        }
    }
}

async fn renew(
    session: &Session,
    items: Vec<RenewItem>,
) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    session.store.renew(Renew::new(items)).await
}
