//! [`perform`]: an [`Op`] of the model as a call to a backend.

use leasehold_core::{Backend, BackendExt, Count, Enqueue, Error, ErrorKind, Get, Purge, TaskRef};

use crate::model::{Op, Reply};

/// Makes the call on `queue`. A refusal is a reply; the clock is not moved, since no verb does.
///
/// # Errors
/// Whatever leaves open what happened: Unavailable, Corrupt or Internal.
///
/// # Cancel safety
/// That of the verb.
pub async fn perform(backend: &dyn Backend, queue: &str, op: &Op) -> Result<Reply, Error> {
    let told = match op.clone() {
        Op::Enqueue(tasks) => {
            backend.enqueue(Enqueue::new(queue, tasks)).await.map(Reply::Enqueued)
        }
        Op::Claim(claim) => backend.claim(claim).await.map(Reply::Claimed),
        Op::Renew(item) => backend.renew_one(item).await.map(Reply::Renewed),
        Op::Commit(item) => backend.commit_one(item).await.map(Reply::Committed),
        Op::Get(id) => backend.get(Get::new(TaskRef::new(queue, id))).await.map(Reply::Found),
        Op::Count => backend.counts(Count::new(queue)).await.map(Reply::Counted),
        Op::Configure(request) => backend.configure(request).await.map(Reply::Configured),
        Op::Purge(max) => {
            let purged = backend.purge(Purge::new(queue, max)).await;
            purged.map(|purged| Reply::Purged(purged.tasks))
        }
        Op::Shift(_) => Ok(Reply::Shifted),
    };
    match told {
        Err(error) if refuses(error.kind()) => Ok(Reply::Refused(error.kind())),
        told => told,
    }
}

fn refuses(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Invalid | ErrorKind::Unsupported)
}
