//! A folder with a store in it, and what the example should tell of that store.

use std::path::Path;

use leasehold::{Delivery, Error, Filter, List, State, StoredTask, connect};
use tempfile::TempDir;

pub struct Place {
    folder: TempDir,
    pub url: String,
}

impl Place {
    /// An empty folder, and the URL of a store that is not there yet.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        let path = folder.path().join("tasks.db");
        let url = format!("sqlite:{}", path.to_str().expect("temporary files have plain names"));
        Self { folder, url }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Every task, as the store has it.
    pub fn tasks(&self) -> Vec<StoredTask> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime
            .expect("a runtime starts")
            .block_on(async {
                let store = connect(&self.url).await?;
                let page = store.list(List::new("failures", Filter::all(), 1_000)).await?;
                assert!(page.next.is_none(), "the tasks fit on one page");
                Ok(page.tasks)
            })
            .unwrap_or_else(|error: Error| panic!("{error:?}"))
    }
}

/// What the last line has to be.
pub fn last_line(tasks: &[StoredTask]) -> String {
    let succeeded = tasks.iter().filter(|task| task.state == State::Succeeded).count();
    let dead = tasks.iter().filter(|task| matches!(task.state, State::Dead(_))).count();
    let runs: u32 = tasks.iter().map(|task| task.attempt).sum();
    let failures: u32 = tasks.iter().map(|task| task.failures).sum();
    let rescues: u32 = tasks.iter().map(|task| task.rescues).sum();
    format!(
        "failures: {} tasks, {succeeded} succeeded, {dead} dead, {runs} runs, \
         {failures} failures, {rescues} rescues",
        tasks.len()
    )
}

/// The words of a task's row in the table.
pub fn row(task: &StoredTask) -> Vec<String> {
    let (word, max_rescues) = match task.policy.delivery {
        Delivery::AtLeastOnce { max_rescues } => ("at_least_once", max_rescues),
        Delivery::NotAfterLoss => ("not_after_loss", 0),
        Delivery::AtMostOnce => ("at_most_once", 0),
    };
    let row = format!(
        "{} {word} {} {} {} of {} {} of {max_rescues}",
        task.task_ref.id,
        task.state,
        task.attempt,
        task.failures,
        task.policy.retry.max_retries,
        task.rescues
    );
    row.split_whitespace().map(str::to_owned).collect()
}
