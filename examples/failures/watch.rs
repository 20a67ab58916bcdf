//! Prints what becomes of a task, as the store has it.

use std::time::Duration;

use leasehold::{
    Backend, BackendExt, Clock, Record, State, Status, StoredTask, TaskRef, Timestamp,
};
use tokio::time::interval;

use crate::say;
use crate::trouble::Trouble;
use crate::workers::Workers;

/// How often the store is looked at until a task has ended: for 30 s. The longest wait, for a
/// task that is lost three times, takes about 6 s.
const LOOKS_MAX: u32 = 1_500;
const LOOK: Duration = Duration::from_millis(20);

/// One task, and what was printed of it last.
pub struct Watch {
    task: TaskRef,
    seen: Option<Sight>,
}

/// What makes a line when it changes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sight {
    status: Status,
    state: State,
    attempt: u32,
    failures: u32,
    rescues: u32,
    records: usize,
}

impl Watch {
    pub fn new(task: TaskRef) -> Self {
        Self { task, seen: None }
    }

    /// Looks at the task until it has ended, prints each change, and keeps workers alive.
    pub async fn until_it_ends(
        &mut self,
        store: &dyn Backend,
        workers: &mut Workers,
    ) -> Result<(), Trouble> {
        let mut pace = interval(LOOK);
        for _ in 0..LOOKS_MAX {
            pace.tick().await;
            let Some(task) = store.task(&self.task).await? else {
                return Err(Trouble::Broken(format!("the task {} is gone", self.task)));
            };
            self.show(&task);
            if task.state.is_finished() {
                return Ok(());
            }
            workers.replace_the_dead()?;
        }
        let patience = LOOK * LOOKS_MAX;
        Err(Trouble::Broken(format!("the task {} has not ended in {patience:?}", self.task)))
    }

    fn show(&mut self, task: &StoredTask) {
        // On this one machine the clock is also the store's: elsewhere this would be a guess.
        let now = Clock::default().now();
        let sight = Sight::of(task, now);
        if self.seen != Some(sight) {
            let before = self.seen.map_or(0, |seen| seen.records);
            say(line(task, sight, now, before));
            self.seen = Some(sight);
        }
    }
}

impl Sight {
    fn of(task: &StoredTask, now: Timestamp) -> Self {
        Self {
            status: task.status(now),
            state: task.state,
            attempt: task.attempt,
            failures: task.failures,
            rescues: task.rescues,
            records: task.history.records.len(),
        }
    }
}

fn line(task: &StoredTask, sight: Sight, now: Timestamp, records_before: usize) -> String {
    let Sight { status, state, attempt, failures, rescues, .. } = sight;
    let name = match status {
        // To run it, or to decide about a lapsed lease.
        Status::Leased => state.as_str(),
        other => other.as_str(),
    };
    let since = now.since(task.enqueued_at).as_secs_f64();
    let holder = task.holder.as_ref().map(|holder| format!("by {holder}"));
    let news = task.history.records.iter().skip(records_before).map(told);
    let words: Vec<_> = holder.into_iter().chain(news).collect();
    let line = format!(
        "  {since:>6.2} s  {name:<13}  attempt {attempt}  failures {failures}  rescues {rescues}  {}",
        words.join("; ")
    );
    line.trim_end().to_owned()
}

/// A record of the history in words.
pub fn told(record: &Record) -> String {
    let Record { event, message, actor, .. } = record;
    let by = actor.as_ref().map_or(String::new(), |actor| format!(" by {actor}"));
    if message.is_empty() { format!("{event}{by}") } else { format!("{event}{by}: {message}") }
}
