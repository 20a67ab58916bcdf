//! A worker at work on the stage, and an observer that writes down what it was told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold_core::{Backend, Error, Event};
use leasehold_core::{
    BackendExt, CommitVerdict, Count, Counts, Intervention, Operator, State, StoredTask, TaskRef,
};
use leasehold_worker::{Health, Notice, Observer, Report, Tally, Verdict, Worker};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Stage, settle};

/// A worker at work. To drop it is as sudden as to kill its process.
pub struct Working {
    pub health: Health,
    work: JoinHandle<Result<Report, Error>>,
    stop: oneshot::Sender<()>,
}

impl Working {
    pub fn start<S: Send + Sync + 'static>(worker: Worker<S>) -> Self {
        let health = worker.health();
        let (stop, told) = oneshot::channel();
        let work = tokio::spawn(worker.run_until(async { drop(told.await) }));
        Self { health, work, stop }
    }

    pub fn tally(&self) -> Tally {
        self.health.report().tally
    }

    /// Kills it, and comes back when nothing of it is left.
    pub async fn kill(mut self) {
        self.work.abort();
        let ended = (&mut self.work).await.expect_err("it was killed");
        assert!(ended.is_cancelled(), "the worker's own code panicked");
        settle().await;
    }

    /// Whether it still works: a worker ends by a stop and by nothing else.
    pub fn works(&self) -> bool {
        !self.work.is_finished() && !self.stop.is_closed()
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// What a worker has done when no task is left; one that never comes to it fails the test.
pub async fn drained<S: Send + Sync + 'static>(worker: Worker<S>) -> Report {
    let drained = tokio::time::timeout(Duration::from_secs(600), worker.drain()).await;
    drained.expect("in ten minutes it has done all").expect("it starts")
}

/// State, attempt, failures and rescues of a task: what a decision may change.
pub type Standing = (State, u32, u32, u32);

pub fn standing(task: &StoredTask) -> Standing {
    (task.state, task.attempt, task.failures, task.rescues)
}

impl Stage {
    /// Lets time pass in small steps until something holds, for ten minutes at most.
    pub async fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        const STEP: Duration = Duration::from_millis(100);
        for _ in 0..6_000 {
            settle().await;
            if holds() {
                return;
            }
            self.pass(STEP).await;
        }
        panic!("in ten minutes it never came to this: {what}");
    }

    /// The same for a task's place in the store.
    pub async fn until_it_is(&self, task: &TaskRef, want: State) -> StoredTask {
        let now = || self.now(task).map(|task| task.state);
        self.until(&format!("{task} is {want}"), || now() == Some(want)).await;
        self.task(task).await
    }

    /// A task as it is at this very moment, for those who cannot wait: memory never waits.
    pub fn now(&self, task: &TaskRef) -> Option<StoredTask> {
        at_once(self.store.memory().task(task)).expect("memory answers")
    }

    pub fn counts(&self, queue: &str) -> Counts {
        at_once(self.store.memory().counts(Count::new(queue))).expect("memory answers")
    }

    /// An operator's act on a task as it is now.
    pub async fn act(&self, task: &TaskRef, act: Intervention) -> CommitVerdict {
        let seen = self.task(task).await;
        let by = Operator::new("ada", "staged");
        self.store.memory().intervene(&seen, act, &by).await.expect("it is admitted")
    }
}

/// The value of a future that does not wait.
pub fn at_once<T>(future: impl Future<Output = T>) -> T {
    futures_util::FutureExt::now_or_never(future).expect("memory never waits")
}

/// Writes down what it is told, a line each.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    /// The lines that begin with this word.
    pub fn of(&self, word: &str) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.split(' ').next() == Some(word));
        lines
    }
}

impl Observer for Told {
    fn notice(&self, notice: &Notice<'_>) {
        let decided = |event: Event, verdict: &Verdict| format!("{event}: {}", word(verdict));
        let line = match notice {
            Notice::Claimed { lease } => format!("claimed {}", lease.task_ref.id),
            Notice::Lost { lease, loss } => format!("lost {} {loss:?}", lease.task_ref.id),
            Notice::Decided { lease, change, verdict } => {
                format!("decided {} {}", lease.task_ref.id, decided(change.event, verdict))
            }
            Notice::Rescued { lease, change, verdict } => {
                format!("rescued {} {}", lease.task_ref.id, decided(change.event, verdict))
            }
            Notice::Purged { queue, tasks } => format!("purged {queue} {tasks}"),
            Notice::Failing { name, tries, .. } => format!("failing {name} {tries}"),
            Notice::Recovered { name, tries, .. } => format!("recovered {name} {tries}"),
            _ => "news".to_owned(),
        };
        self.0.lock().unwrap().push(line);
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Applied { late: true, .. } => "applied late",
        Verdict::Applied { overdue: true, .. } => "applied overdue",
        Verdict::Applied { .. } => "applied",
        Verdict::Stale { .. } => "stale",
        Verdict::Unknown { now: Some(_), .. } => "unknown",
        Verdict::Unknown { now: None, .. } => "unknown, and the store does not say",
        Verdict::Gone => "gone",
        Verdict::Refused(_) => "refused",
        Verdict::Unanswered => "unanswered",
        _ => "a new verdict",
    }
}
