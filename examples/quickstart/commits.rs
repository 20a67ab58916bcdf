//! Writes what was decided, and tells what became of it.

use leasehold::{
    Applied, Budget, Change, Commit, CommitItem, CommitVerdict, Error, ErrorKind, Lease, To,
    decide, id,
};
use tokio::sync::mpsc;
use tokio::time::interval;

use crate::files::FilePath;
use crate::handler::Done;
use crate::progress::why;
use crate::session::{AGAIN, AGAIN_MAX, Session};

/// Most decisions of one call. While a call is out the next ones gather.
pub const BATCH_MAX: usize = 100;

/// Commits every outcome that comes, until the last handler has ended.
pub async fn commits(session: &Session, mut done: mpsc::Receiver<Done>) -> Result<(), Error> {
    while let Some(first) = done.recv().await {
        let mut batch = vec![Decision::of(first)];
        while batch.len() < BATCH_MAX
            && let Ok(next) = done.try_recv()
        {
            batch.push(Decision::of(next));
        }
        commit(session, batch).await?;
    }
    Ok(())
}

/// A decision on its way: the same item, with the same id, each time that it is sent.
struct Decision {
    lease: Lease,
    item: CommitItem,
    /// A try got no answer, so that it may have been applied.
    unanswered: bool,
}

impl Decision {
    fn of(done: Done) -> Self {
        let change = decide::run(&done.lease, done.outcome, id::jitter_seed());
        let item = CommitItem::new(done.lease.guard(), change);
        Self { lease: done.lease, item, unanswered: false }
    }
}

async fn commit(session: &Session, mut batch: Vec<Decision>) -> Result<(), Error> {
    let mut pace = interval(AGAIN);
    for round in 1..=AGAIN_MAX {
        let items = batch.iter().map(|decision| decision.item.clone()).collect();
        let replies = match session.store.commit(Commit::new(items)).await {
            Err(error) if error.kind() == ErrorKind::Unavailable && round < AGAIN_MAX => {
                batch.iter_mut().for_each(|decision| decision.unanswered = true);
                pace.tick().await;
                continue;
            }
            replies => replies?,
        };
        let mut left = Vec::new();
        for (mut decision, reply) in batch.into_iter().zip(replies) {
            match reply {
                Ok(verdict) => conclude(session, &decision, verdict),
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    if round == AGAIN_MAX {
                        return Err(error);
                    }
                    decision.unanswered = true;
                    left.push(decision);
                }
                // The task keeps its lease, which lapses: the rescuer decides.
                Err(error) => {
                    session.running.end(&decision.item.guard);
                    let name = FilePath::name_of_lease(&decision.lease);
                    session.progress.line(&format!("refused {name}: {error}"));
                }
            }
        }
        if left.is_empty() {
            break;
        }
        batch = left;
        pace.tick().await;
    }
    Ok(())
}

/// Speaks only now that the verdict is known (LH-OBS-2).
fn conclude(session: &Session, decision: &Decision, verdict: CommitVerdict) {
    let Decision { lease, item, unanswered } = decision;
    session.running.end(&item.guard);
    let (progress, name) = (&session.progress, FilePath::name_of_lease(lease));
    match verdict {
        CommitVerdict::Applied(Applied { late: true, .. }) => {
            progress.line(&format!("late {name}: it lapsed, and its success still counted"));
            decided(session, &name, &item.change);
        }
        CommitVerdict::Applied(_) | CommitVerdict::Replayed => {
            decided(session, &name, &item.change);
        }
        // The first try may have been applied, and a later step have come since.
        CommitVerdict::Stale { fence, .. } if *unanswered => progress.unknown(&name, fence),
        CommitVerdict::Stale { fence, .. } => progress.stale(&name, lease.fence, fence),
        CommitVerdict::Conflict(_) | CommitVerdict::Gone => progress.gone(&name),
    }
}

fn decided(session: &Session, name: &str, change: &Change) {
    let (progress, words) = (&session.progress, change.message.as_str());
    match change.to {
        To::Succeeded => progress.ok(name),
        To::Dead(reason) => progress.line(&format!("dead {name}: {}", why(reason, words))),
        To::Waiting(_) if change.budget == Budget::SpendRetry => {
            progress.line(&format!("retry {name}: {words}"));
        }
        To::Waiting(_) => progress.line(&format!("released {name}")),
        To::Cancelled => progress.line(&format!("cancelled {name}: {words}")),
        // Only operators decide these.
        To::Same | To::Gone => {}
    }
}
