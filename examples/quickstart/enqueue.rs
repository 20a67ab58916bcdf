//! Makes the tasks, once for each file.

use std::collections::HashSet;
use std::time::Duration;

use leasehold::{
    Backoff, Bounds, Commit, CommitItem, CommitVerdict, Configure, Delivery, Enqueue,
    EnqueueVerdict, Error, Filter, Guard, Intervention, Keep, List, NewTask, Operator, Purge,
    Retention, RetryPolicy, StoredTask, decide,
};

use crate::failure::Failure;
use crate::files::{FilePath, Found};
use crate::handler::KIND;
use crate::session::{Session, again};

/// Most tasks of one call.
const BATCH_MAX: usize = 500;

/// A finished file is not measured again for so long.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Enqueues a task for each file that has none; with `fresh` also sends finished ones back.
pub async fn enqueue(session: &Session, found: Found, fresh: bool) -> Result<(), Failure> {
    let bounds = session.store.capabilities().bounds;
    let tasks: Vec<_> = found.iter().map(|file| new_task(file, &bounds)).collect();
    settle(session).await?;
    let mut back = 0;
    if fresh {
        back = send_back(session, tasks.iter().map(|task| task.id.as_str()).collect()).await?;
    }
    let mut new = 0;
    for batch in tasks.chunks(BATCH_MAX) {
        let request = Enqueue::new(session.queue.as_str(), batch.to_vec());
        for verdict in again(|| session.store.enqueue(request.clone())).await? {
            match verdict {
                EnqueueVerdict::Enqueued { .. } => new += 1,
                // This file has its task already, finished or not.
                EnqueueVerdict::Duplicate { .. } => {}
            }
        }
    }
    let unfinished = session.unfinished().await?;
    session.progress.line(&format!(
        "quickstart: {} files, {new} new, {back} sent back, {unfinished} to do, queue {}",
        found.len(),
        session.queue
    ));
    Ok(())
}

fn new_task(file: &FilePath, bounds: &Bounds) -> NewTask {
    let payload = serde_json::to_vec(file).expect("a path is always JSON");
    // Ten, so that one may kill this program as often as one likes to watch it come back.
    let delivery = Delivery::AtLeastOnce { max_rescues: 10 };
    // Short, since a file that is gone stays gone, and somebody waits for the end.
    let backoff =
        Backoff::Exponential { first: Duration::from_millis(200), cap: Duration::from_secs(1) };
    NewTask::new(KIND, payload, delivery)
        .with_id(file.id(bounds))
        .with_retry(RetryPolicy::at_most(3).with_backoff(backoff))
        .with_retention(Retention::default().with_succeeded(Keep::For(KEPT)))
}

/// Lets go of what has been kept for long enough, so that it can be enqueued anew.
async fn settle(session: &Session) -> Result<(), Error> {
    // A finished task stays for a day, which is memory enough of its id (LH-ENQ-9).
    let request = Configure::new(session.queue.as_str()).with_id_memory(Duration::ZERO);
    let _ = again(|| session.store.configure(request.clone())).await?;
    let mut more = true;
    while more {
        let request = Purge::new(session.queue.as_str(), BATCH_MAX);
        more = again(|| session.store.purge(request.clone())).await?.more;
    }
    Ok(())
}

/// Redrives every finished task, and deletes those whose file is gone. Each is a decision on
/// the task as it was seen: if it has moved on since, nothing happens to it (LH-OPER-1).
async fn send_back(session: &Session, files: HashSet<&str>) -> Result<u64, Error> {
    let by = Operator::new("quickstart", "asked for by --fresh");
    let mut list = List::new(session.queue.as_str(), Filter::all(), BATCH_MAX);
    let mut back = 0;
    loop {
        let page = again(|| session.store.list(list.clone())).await?;
        let finished = page.tasks.iter().filter(|task| task.state.is_finished());
        let items: Result<Vec<_>, Error> = finished.map(|task| item(task, &files, &by)).collect();
        let request = Commit::new(items?);
        let replies = again(|| session.store.commit(request.clone())).await?;
        for (item, reply) in request.items.iter().zip(replies) {
            match reply? {
                CommitVerdict::Applied(_) | CommitVerdict::Replayed => {
                    back += u64::from(item.change.is_redrive());
                }
                // Another process does the same.
                CommitVerdict::Stale { .. } | CommitVerdict::Gone => {}
                CommitVerdict::Conflict(other) => {
                    session.progress.line(&format!("{} stands aside for {other}", item.guard.task));
                }
            }
        }
        match page.next {
            Some(next) => list = list.after(next),
            None => return Ok(back),
        }
    }
}

fn item(task: &StoredTask, files: &HashSet<&str>, by: &Operator) -> Result<CommitItem, Error> {
    let is_there = files.contains(task.task_ref.id.as_str());
    let act = if is_there { Intervention::Redrive } else { Intervention::Delete };
    let change = decide::intervene(task, act, by)?;
    Ok(CommitItem::new(Guard::new(task.task_ref.clone(), task.fence), change))
}
