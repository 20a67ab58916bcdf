//! Takes leases, and starts a handler for each.

use std::sync::Arc;

use leasehold::{
    BackendExt, Claim, Claimed, ClaimerId, CommitItem, CommitVerdict, Entered, Error, Lease,
    Outcome, Purpose, Timestamp, decide, id,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::files::FilePath;
use crate::handler::{Done, handle};
use crate::session::{LEASE, Session, again};
use crate::work::End;

/// Claims no more than there are free handlers, until the queue has no unfinished task left
/// or `stop` turns true.
pub async fn claims(
    session: &Arc<Session>,
    mut stop: watch::Receiver<bool>,
    done: mpsc::Sender<Done>,
) -> Result<End, Error> {
    let free = Arc::new(Semaphore::new(session.workers));
    let mut tickets = Tickets { claimer: ClaimerId::fresh(), seq: 0 };
    loop {
        // A claim is never dropped half-way, or its leases would have to lapse.
        let Some(mut permits) = permits(&free, &mut stop).await else {
            session.running.stop();
            return Ok(End::Interrupted);
        };
        let (asked, claimed) = tickets.claim(session, permits.len()).await?;
        let nothing = claimed.leases.is_empty() && !claimed.more;
        for lease in claimed.leases {
            start(session, lease, asked, permits.pop(), &done).await?;
        }
        drop(permits);
        if !nothing {
            continue;
        }
        // What another process holds is not finished either: if that process dies, the
        // rescuer of this one puts its tasks back.
        if session.unfinished().await? == 0 {
            return Ok(End::Finished);
        }
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            () = session.wait() => {}
        }
    }
}

/// Every free handler, at least one; none when it is time to stop.
async fn permits(
    free: &Arc<Semaphore>,
    stop: &mut watch::Receiver<bool>,
) -> Option<Vec<OwnedSemaphorePermit>> {
    let first = tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => return None,
        first = free.clone().acquire_owned() => first.ok()?,
    };
    let mut permits = vec![first];
    while let Ok(permit) = free.clone().try_acquire_owned() {
        permits.push(permit);
    }
    Some(permits)
}

/// Names each claim of this loop, so that a repeat returns what was granted and never grants
/// twice (LH-CLAIM-9).
struct Tickets {
    claimer: ClaimerId,
    seq: u64,
}

impl Tickets {
    /// Also tells the instant from before the call: the leases are counted from there.
    async fn claim(
        &mut self,
        session: &Session,
        max: usize,
    ) -> Result<(Timestamp, Claimed), Error> {
        self.seq += 1;
        let (queue, holder) = (session.queue.as_str(), session.holder.as_str());
        let claim =
            Claim::new(queue, Purpose::Run, max, LEASE, holder).with_ticket(self.claimer, self.seq);
        again(|| async {
            let asked = session.clock.now();
            Ok((asked, session.store.claim(claim.clone()).await?))
        })
        .await
    }
}

/// Starts the handler of a lease, or gives the lease back when it must not start.
async fn start(
    session: &Arc<Session>,
    lease: Lease,
    asked: Timestamp,
    permit: Option<OwnedSemaphorePermit>,
    done: &mpsc::Sender<Done>,
) -> Result<(), Error> {
    let ends = asked.after(lease.ttl_left);
    if session.clock.now() >= ends {
        return give_back(session, &lease).await;
    }
    let Some(signal) = session.running.begin(&lease, ends) else {
        return give_back(session, &lease).await;
    };
    let (session, done) = (session.clone(), done.clone());
    tokio::spawn(async move {
        match handle(&session.dir, &lease, signal).await {
            // The channel is closed only when the run has failed as a whole.
            Some(outcome) => drop(done.send(Done { lease, outcome }).await),
            None => session.running.end(&lease.guard()),
        }
        drop(permit);
    });
    Ok(())
}

/// Releases a lease whose handler was not entered: its time is over already, or an earlier
/// attempt of the task, whose own lease was lost, has not yet ended in this process.
async fn give_back(session: &Session, lease: &Lease) -> Result<(), Error> {
    let change = decide::run(lease, Outcome::Released(Entered::No), id::jitter_seed());
    let item = CommitItem::new(lease.guard(), change);
    let name = FilePath::name_of_lease(lease);
    match again(|| session.store.commit_one(item.clone())).await? {
        CommitVerdict::Applied(_) | CommitVerdict::Replayed => {
            session.progress.line(&format!("released {name}: not started"));
        }
        CommitVerdict::Stale { fence, .. } => session.progress.stale(&name, lease.fence, fence),
        CommitVerdict::Conflict(_) | CommitVerdict::Gone => session.progress.gone(&name),
    }
    Ok(())
}
