//! What an operator does about dead letters: look, repair, send back.

use leasehold::{
    Backend, BackendExt, CommitVerdict, Edit, Error, Filter, Intervention, List, Operator, Status,
    StoredTask, TaskRef, typed,
};

use crate::say;
use crate::tasks::{Mail, QUEUE};
use crate::trouble::Trouble;
use crate::watch::told;

/// Far more than there are.
const LETTERS_MAX: usize = 100;

/// Prints each dead letter with its reason and its history.
pub async fn list(store: &dyn Backend) -> Result<(), Error> {
    let dead = Filter::all().with_status(Status::Dead);
    let page = store.list(List::new(QUEUE, dead, LETTERS_MAX)).await?;
    for task in &page.tasks {
        say(format_args!("  dead letter: {}", summary(task)));
        for record in &task.history.records {
            say(format_args!("    attempt {}: {}", record.attempt, told(record)));
        }
    }
    Ok(())
}

fn summary(task: &StoredTask) -> String {
    let last = task.history.records.last();
    let message = last.map_or("", |record| record.message.as_str());
    format!("{}: {}: {message}", task.task_ref.id, task.state)
}

/// Mends the payload of a task and sends it back: two acts, each with the fence that was seen.
pub async fn repair(store: &dyn Backend, task: &TaskRef) -> Result<(), Trouble> {
    let seen = look(store, task).await?;
    let mended = typed::encode(&Mail { to: "ada@example.org".to_owned() })?;
    let edit = Intervention::Edit(Edit::default().with_payload(mended));
    act(store, &seen, edit, "the address was incomplete").await?;
    // Whoever still has the old picture before them cannot act on it, not even the same person.
    act(store, &seen, Intervention::Redrive, "the address is right now").await?;
    let seen = look(store, task).await?;
    act(store, &seen, Intervention::Redrive, "the address is right now").await
}

async fn look(store: &dyn Backend, task: &TaskRef) -> Result<StoredTask, Trouble> {
    let gone = || Trouble::Broken(format!("the task {task} is gone"));
    store.task(task).await?.ok_or_else(gone)
}

async fn act(
    store: &dyn Backend,
    seen: &StoredTask,
    act: Intervention,
    reason: &str,
) -> Result<(), Trouble> {
    let what = match &act {
        Intervention::Edit(_) => "edit",
        Intervention::Redrive => "redrive",
        _ => "act",
    };
    let verdict = match store.intervene(seen, act, &Operator::new("ada", reason)).await? {
        CommitVerdict::Applied(applied) => format!("applied, and gives it fence {}", applied.fence),
        CommitVerdict::Replayed => "applied before".to_owned(),
        CommitVerdict::Stale { fence, .. } => format!("stale, as the task is at fence {fence}"),
        CommitVerdict::Conflict(holder) => format!("in conflict with {holder}"),
        CommitVerdict::Gone => "too late, as the task is gone".to_owned(),
    };
    say(format_args!("  {what} of {} at fence {}: {verdict}", seen.task_ref.id, seen.fence));
    Ok(())
}
