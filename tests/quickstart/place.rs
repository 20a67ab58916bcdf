//! A folder with files and a store beside it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use leasehold::{Backend, Error, Event, Filter, List, Queues, State, StoredTask, connect};
use tempfile::TempDir;

use crate::process::Process;

pub struct Place {
    folder: TempDir,
    pub url: String,
}

/// What the example's last line should say of these tasks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub files: usize,
    pub succeeded: usize,
    pub dead: usize,
    pub runs: u32,
    pub retries: u32,
    pub rescues: u32,
}

impl Place {
    /// A folder of `count` small files, no two alike, and a store without a task.
    pub fn with_files(count: usize) -> Self {
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        let path = folder.path().join("tasks.db");
        let url = format!("sqlite:{}", path.to_str().expect("temporary files have plain names"));
        let place = Self { folder, url };
        fs::create_dir(place.files()).expect("the folder is new");
        place.add_files(0, count);
        place
    }

    /// Adds files number `from` to `to`, that one excluded.
    pub fn add_files(&self, from: usize, to: usize) {
        for number in from..to {
            let part = self.files().join(format!("part{}", number % 10));
            fs::create_dir_all(&part).expect("the folder can be written to");
            let text = format!("This is file {number}.\n").repeat(1 + number % 50);
            fs::write(part.join(format!("{number:04}.txt")), text).expect("as above");
        }
    }

    pub fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub fn start(&self, arguments: &[&str]) -> Process {
        let files = self.files();
        let files = files.to_str().expect("temporary files have plain names");
        Process::start(&[&[files, "--url", &self.url], arguments].concat())
    }

    /// A handle of this test's own, beside those of the processes.
    pub fn ask<T>(
        &self,
        question: impl AsyncFnOnce(Arc<dyn Backend>, String) -> Result<T, Error>,
    ) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime
            .expect("a runtime starts")
            .block_on(async {
                let store = connect(&self.url).await?;
                let queues = store.queues(Queues::new(2)).await?.queues;
                assert_eq!(queues.len(), 1, "one folder has one queue: {queues:?}");
                question(store, queues[0].name.clone()).await
            })
            .unwrap_or_else(|error: Error| panic!("{error:?}"))
    }

    /// Every task, as the store has it.
    pub fn tasks(&self) -> Vec<StoredTask> {
        self.ask(async |store, queue| {
            let (mut tasks, mut list) = (Vec::new(), List::new(queue, Filter::all(), 1_000));
            loop {
                let page = store.list(list.clone()).await?;
                tasks.extend(page.tasks);
                match page.next {
                    Some(next) => list = list.after(next),
                    None => return Ok(tasks),
                }
            }
        })
    }

    /// What the last line has to be.
    pub fn last_line(&self, tasks: &[StoredTask]) -> String {
        let Sums { files, succeeded, dead, runs, retries, rescues } = Sums::of(tasks);
        format!(
            "quickstart: {files} files, {succeeded} succeeded, {dead} dead, {runs} runs, \
             {retries} retries, {rescues} rescues, store {}",
            self.url
        )
    }
}

impl Sums {
    pub fn of(tasks: &[StoredTask]) -> Self {
        let mut sums = Self { files: tasks.len(), ..Self::default() };
        for task in tasks {
            sums.succeeded += usize::from(task.state == State::Succeeded);
            sums.dead += usize::from(matches!(task.state, State::Dead(_)));
            sums.runs += task.attempt;
            sums.retries += task.failures;
            sums.rescues += task.rescues;
        }
        sums
    }
}

/// How often this happened to a task, by its own history.
pub fn times(task: &StoredTask, event: Event) -> usize {
    assert_eq!(task.history.dropped, 0, "the history is whole");
    task.history.records.iter().filter(|record| record.event == event).count()
}
