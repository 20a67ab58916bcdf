//! A folder with a store and what the workers leave beside it, and the test's own handle.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use leasehold::{
    BackendExt, Client, Configure, Count, Draft, Error, ErrorKind, Event, Filter, IntoDraft, List,
    Receipt, Status, StoredTask, Task, TaskRef, connect,
};
use leasehold_process_tests::{Hold, WhenCancelled};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::support::Process;

/// How often a test looks for what has to come by itself: for 60 s.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS_MAX: u32 = 1_200;

/// Long enough that no test sees the end of it.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

pub struct Place {
    folder: TempDir,
    pub url: String,
    runtime: Runtime,
    client: Client,
}

/// The line that a handler leaves as it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    pub attempt: u32,
    pub pid: u32,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        let path = folder.path().join("tasks.db");
        let path = path.to_str().expect("temporary files have plain names");
        // No test here cuts the power, so none has to wait for the disk.
        let url = format!("sqlite:{path}?synchronous=normal");
        let (runtime, client) = open(&url);
        Self { folder, url, runtime, client }
    }

    fn effects_file(&self) -> PathBuf {
        self.folder.path().join("effects")
    }

    /// A worker on this store.
    pub fn start(&self, options: &[&str]) -> Process {
        let effects = self.effects_file();
        let effects = effects.to_str().expect("temporary files have plain names");
        Process::start(&[&[&self.url, "--effects", effects], options].concat())
    }

    /// A handle of the test's own, beside those of the processes.
    pub fn ask<T>(&self, question: impl AsyncFnOnce(&Client) -> Result<T, Error>) -> T {
        let answer = self.runtime.block_on(question(&self.client));
        answer.unwrap_or_else(|error| panic!("{error:?}"))
    }

    pub fn enqueue(&self, id: &str, task: impl IntoDraft) {
        let draft = kept(id, task);
        let receipt = self.ask(async |client| client.enqueue(draft).await);
        assert!(matches!(receipt, Receipt::Enqueued(_)), "{receipt:?}");
    }

    pub fn hold(&self, id: &str, when_cancelled: WhenCancelled) {
        self.enqueue(id, Draft::new(&Hold { when_cancelled }));
    }

    pub fn configure(&self, change: impl FnOnce(Configure) -> Configure) {
        let change = change(Configure::new(Hold::QUEUE));
        self.ask(async |client| client.store().configure(change).await);
    }

    /// Whether somebody can write: not while a process is stopped in the middle of a write.
    pub fn can_be_written(&self) -> bool {
        self.ask(async |client| {
            let nothing = Configure::new(Hold::QUEUE).with_retention(Default::default());
            match client.store().configure(nothing).await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == ErrorKind::Unavailable => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    /// The task, as the store has it.
    pub fn task(&self, id: &str) -> StoredTask {
        let task = TaskRef::new(Hold::QUEUE, id);
        let found = self.ask(async |client| client.store().task(&task).await);
        found.unwrap_or_else(|| panic!("{id} is kept"))
    }

    /// Every task, as the store has it.
    pub fn tasks(&self) -> Vec<StoredTask> {
        self.ask(async |client| {
            let (mut tasks, mut list) = (Vec::new(), List::new(Hold::QUEUE, Filter::all(), 1_000));
            loop {
                let page = client.store().list(list.clone()).await?;
                tasks.extend(page.tasks);
                match page.next {
                    Some(next) => list = list.after(next),
                    None => return Ok(tasks),
                }
            }
        })
    }

    /// How many tasks are in this status.
    pub fn count(&self, status: Status) -> u64 {
        let counts = self.ask(async |client| client.store().counts(Count::new(Hold::QUEUE)).await);
        counts.of(status)
    }

    /// Looks at a task until it is as it has to become.
    pub fn wait_for(&self, id: &str, is_so: impl Fn(&StoredTask) -> bool) -> StoredTask {
        self.look(|place| {
            let task = place.task(id);
            if is_so(&task) { Ok(task) } else { Err(format!("{task:#?}")) }
        })
    }

    /// Waits until no task is unfinished.
    pub fn wait_for_all(&self) {
        self.look(|place| {
            let count = Count::new(Hold::QUEUE);
            let counts = place.ask(async |client| client.store().counts(count).await);
            if counts.unfinished() == 0 { Ok(()) } else { Err(format!("{counts:#?}")) }
        });
    }

    /// Looks again and again until there is an answer and no more an account of what is amiss.
    fn look<T>(&self, at: impl Fn(&Self) -> Result<T, String>) -> T {
        let mut pace = self.runtime.block_on(async { tokio::time::interval(LOOK) });
        let mut last = String::new();
        for _ in 0..LOOKS_MAX {
            self.runtime.block_on(pace.tick());
            match at(self) {
                Ok(answer) => return answer,
                Err(amiss) => last = amiss,
            }
        }
        panic!("it never came to that: {last}")
    }

    /// What the handlers left, by task, in the order of their beginnings.
    pub fn effects(&self) -> HashMap<String, Vec<Effect>> {
        let text = fs::read_to_string(self.effects_file()).expect("a worker was here");
        let mut effects: HashMap<_, Vec<_>> = HashMap::new();
        for line in text.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [id, attempt, pid] = words[..] else { panic!("not an effect: {line:?}") };
            let number = |word: &str| word.parse().expect("the worker writes numbers");
            let effect = Effect { attempt: number(attempt), pid: number(pid) };
            effects.entry(id.to_owned()).or_default().push(effect);
        }
        effects
    }
}

/// A handle on a store, with what it takes to wait for its answers.
pub fn open(url: &str) -> (Runtime, Client) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let store = runtime.block_on(connect(url));
    let client = Client::new(store.unwrap_or_else(|error| panic!("{url}: {error:?}")));
    (runtime, client)
}

/// A task under this id that stays when it has succeeded.
pub fn kept(id: &str, task: impl IntoDraft) -> Draft {
    task.into_draft().id(id).keep_success(KEPT)
}

/// How often this happened to a task, by its own history.
pub fn times(task: &StoredTask, event: Event) -> u32 {
    assert_eq!(task.history.dropped, 0, "the history is whole");
    task.history.records.iter().map(|record| u32::from(record.event == event)).sum()
}
