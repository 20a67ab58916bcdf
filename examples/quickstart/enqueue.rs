//! Makes the tasks, once for each file.

use std::collections::HashSet;
use std::time::Duration;

use leasehold::{
    BackendExt, Backoff, Bounds, CommitVerdict, Configure, Draft, Error, Filter, Intervention,
    List, Operator, Purge, Receipt, RetryPolicy,
};

use crate::files::{FilePath, Found};
use crate::measure::Measure;
use crate::session::{Session, again};
use crate::trouble::Trouble;

/// Most tasks of one call.
const BATCH_MAX: usize = 500;

/// A finished file is not measured again for so long.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Enqueues a task for each file that has none; with `fresh` also sends finished ones back.
pub async fn enqueue(session: &Session, found: &Found, fresh: bool) -> Result<(), Trouble> {
    let Session { client, queue, progress } = session;
    settle(session).await?;
    let bounds = client.store().capabilities().bounds;
    let back = if fresh { send_back(session, found, &bounds).await? } else { 0 };
    let drafts = || found.iter().map(|file| draft(file, queue, &bounds));
    let receipts = again(|| client.enqueue_many(drafts())).await?;
    // The others have their task already, finished or not.
    let new = receipts.iter().filter(|receipt| matches!(receipt, Receipt::Enqueued(_))).count();
    let (files, to_do) = (found.len(), session.counts().await?.unfinished());
    progress.line(&format!(
        "quickstart: {files} files, {new} new, {back} sent back, {to_do} to do, queue {queue}"
    ));
    Ok(())
}

fn draft(file: &FilePath, queue: &str, bounds: &Bounds) -> Draft {
    // Short, since a file that is gone stays gone, and somebody waits for the end.
    let backoff =
        Backoff::Exponential { first: Duration::from_millis(200), cap: Duration::from_secs(1) };
    Draft::new(&Measure(file.clone()))
        .queue(queue)
        .id(file.id(bounds))
        .retry(RetryPolicy::at_most(3).with_backoff(backoff))
        .keep_success(KEPT)
}

/// Lets go of what has been kept for long enough, so that it can be enqueued anew.
async fn settle(session: &Session) -> Result<(), Error> {
    let store = session.client.store();
    // A finished task stays for a day, which is memory enough of its id (LH-ENQ-9).
    let request = Configure::new(session.queue.as_str()).with_id_memory(Duration::ZERO);
    let _ = again(|| store.configure(request.clone())).await?;
    let mut more = true;
    while more {
        let request = Purge::new(session.queue.as_str(), BATCH_MAX);
        more = again(|| store.purge(request.clone())).await?.more;
    }
    Ok(())
}

/// Redrives every finished task, and deletes those whose file is gone. Each is a decision on
/// the task as it was seen: if it has moved on since, nothing happens to it (LH-OPER-1).
async fn send_back(session: &Session, found: &Found, bounds: &Bounds) -> Result<u64, Error> {
    let store = session.client.store();
    let files: HashSet<_> = found.iter().map(|file| file.id(bounds)).collect();
    let by = Operator::new("quickstart", "asked for by --fresh");
    let mut list = List::new(session.queue.as_str(), Filter::all(), BATCH_MAX);
    let mut back = 0;
    loop {
        let page = again(|| store.list(list.clone())).await?;
        for task in page.tasks.iter().filter(|task| task.state.is_finished()) {
            let is_there = files.contains(&task.task_ref.id);
            let act = if is_there { Intervention::Redrive } else { Intervention::Delete };
            match again(|| store.intervene(task, act.clone(), &by)).await? {
                CommitVerdict::Applied(_) => back += u64::from(is_there),
                // Another process does the same. No task here has a key to conflict about.
                CommitVerdict::Replayed | CommitVerdict::Stale { .. } => {}
                CommitVerdict::Gone | CommitVerdict::Conflict(_) => {}
            }
        }
        match page.next {
            Some(next) => list = list.after(next),
            None => return Ok(back),
        }
    }
}
