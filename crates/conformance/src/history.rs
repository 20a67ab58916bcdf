//! [`History`]: the calls of a case in their order, kept cheaply while it runs and shown as
//! lanes when it fails; [`Recorded`] notes them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use leasehold_core::{
    Backend, Capabilities, Claim, Claimed, Commit, CommitVerdict, Configure, Count, Counts,
    Enqueue, EnqueueVerdict, Error, Found, Get, List, Page, Purge, Purged, QueuePage,
    QueueSettings, Queues, Renew, RenewVerdict, TaskRef, Wake,
};

use crate::short::{Asked, Replied};

/// How many entries are kept up to the first fault, and how many after it.
const KEPT: usize = 200;

/// One line of a history.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every entry is a call")]
pub(crate) enum Entry {
    /// A call; without a reply it was dropped, or the case ended first.
    Call { lane: usize, at_ms: i64, asked: Asked, replied: Option<Replied> },
    /// The store's clock was moved.
    Clock { by_ms: i64 },
    /// What the case says about what follows.
    Note(String),
    /// Where the fault of this number was found.
    Fault(usize),
}

/// Everything that a history holds.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The names of the handles, one a lane.
    pub lanes: Vec<String>,
    pub entries: VecDeque<Entry>,
    /// How many entries came before the first that is kept.
    pub dropped: usize,
    /// How many came after the last that is kept.
    pub late: usize,
    now_ms: i64,
    /// Where in `entries` the first fault stands.
    fault: Option<usize>,
}

/// The calls of one case on all of its handles.
#[derive(Debug, Clone, Default)]
pub(crate) struct History(Arc<Mutex<Kept>>);

impl History {
    /// The same handle, each of whose calls is noted in a lane of this name.
    pub fn record(&self, name: &str, inner: Arc<dyn Backend>) -> Arc<dyn Backend> {
        let mut kept = self.kept();
        let namesakes = kept.lanes.iter().filter(|lane| lane.split('#').next() == Some(name));
        let name = match namesakes.count() {
            0 => name.to_owned(),
            others => format!("{name}#{}", others + 1),
        };
        kept.lanes.push(name);
        let lane = kept.lanes.len() - 1;
        Arc::new(Recorded { inner, history: self.clone(), lane })
    }

    pub fn shifted(&self, by_ms: i64) {
        let mut kept = self.kept();
        kept.now_ms = kept.now_ms.saturating_add(by_ms);
        kept.push(Entry::Clock { by_ms });
    }

    pub fn note(&self, what: String) {
        self.kept().push(Entry::Note(what));
    }

    pub fn fault(&self, number: usize) {
        let mut kept = self.kept();
        if kept.fault.is_none() {
            kept.fault = Some(kept.entries.len());
            kept.entries.push_back(Entry::Fault(number));
        } else {
            kept.push(Entry::Fault(number));
        }
    }

    /// The tasks of the calls before the first fault, the last one first.
    pub fn tasks(&self, max: usize) -> Vec<TaskRef> {
        let kept = self.kept();
        let until = kept.fault.unwrap_or(kept.entries.len());
        let mut tasks = Vec::new();
        for entry in kept.entries.range(..until).rev() {
            let Entry::Call { asked, replied, .. } = entry else { continue };
            let replied = replied.iter().flat_map(Replied::tasks);
            for task in asked.tasks().into_iter().chain(replied) {
                if tasks.len() < max && !tasks.contains(&task) {
                    tasks.push(task);
                }
            }
        }
        tasks
    }

    /// What is kept by now.
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing panics under the lock, and a case that panicked elsewhere is still shown.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self, lane: usize, asked: Asked) -> usize {
        let mut kept = self.kept();
        let at_ms = kept.now_ms;
        kept.push(Entry::Call { lane, at_ms, asked, replied: None })
    }

    fn replied(&self, number: usize, reply: Replied) {
        let mut kept = self.kept();
        let at = number.checked_sub(kept.dropped);
        if let Some(Entry::Call { replied, .. }) = at.and_then(|at| kept.entries.get_mut(at)) {
            *replied = Some(reply);
        }
    }
}

impl Kept {
    /// Adds an entry and answers its number since the case began. The entries that led to
    /// the first fault are never dropped for later ones.
    fn push(&mut self, entry: Entry) -> usize {
        let number = self.dropped + self.entries.len() + self.late;
        match self.fault {
            Some(at) if self.entries.len() > at + KEPT => self.late += 1,
            Some(_) => self.entries.push_back(entry),
            None => {
                if self.entries.len() == KEPT {
                    self.entries.pop_front();
                    self.dropped += 1;
                }
                self.entries.push_back(entry);
            }
        }
        number
    }
}

/// A handle whose calls are noted.
#[derive(Debug)]
struct Recorded {
    inner: Arc<dyn Backend>,
    history: History,
    lane: usize,
}

impl Recorded {
    async fn noted<T>(
        &self,
        asked: Asked,
        call: impl Future<Output = Result<T, Error>>,
        short: impl FnOnce(&T) -> Replied,
    ) -> Result<T, Error> {
        let number = self.history.asked(self.lane, asked);
        let reply = call.await;
        let noted = match &reply {
            Ok(reply) => short(reply),
            Err(error) => Replied::failed(error),
        };
        self.history.replied(number, noted);
        reply
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Backend for Recorded {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn enqueue(&self, request: Enqueue) -> Result<Vec<EnqueueVerdict>, Error> {
        let asked = Asked::enqueue(&request);
        self.noted(asked, self.inner.enqueue(request), |reply| Replied::enqueued(reply)).await
    }

    async fn claim(&self, request: Claim) -> Result<Claimed, Error> {
        let asked = Asked::Claim(request.clone());
        self.noted(asked, self.inner.claim(request), Replied::claimed).await
    }

    async fn renew(&self, request: Renew) -> Result<Vec<Result<RenewVerdict, Error>>, Error> {
        let asked = Asked::renew(&request);
        self.noted(asked, self.inner.renew(request), |reply| Replied::renewed(reply)).await
    }

    async fn commit(&self, request: Commit) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        let asked = Asked::commit(&request);
        self.noted(asked, self.inner.commit(request), |reply| Replied::committed(reply)).await
    }

    async fn get(&self, request: Get) -> Result<Found, Error> {
        let asked = Asked::Get(request.task.clone());
        self.noted(asked, self.inner.get(request), Replied::found).await
    }

    async fn list(&self, request: List) -> Result<Page, Error> {
        let asked = Asked::list(&request);
        self.noted(asked, self.inner.list(request), Replied::page).await
    }

    async fn counts(&self, request: Count) -> Result<Counts, Error> {
        let asked = Asked::Counts(request.queue.clone());
        self.noted(asked, self.inner.counts(request), Replied::counts).await
    }

    async fn queues(&self, request: Queues) -> Result<QueuePage, Error> {
        let asked = Asked::Queues(request.max);
        self.noted(asked, self.inner.queues(request), Replied::queues).await
    }

    async fn configure(&self, request: Configure) -> Result<QueueSettings, Error> {
        let asked = Asked::Configure(Box::new(request.clone()));
        self.noted(asked, self.inner.configure(request), Replied::settings).await
    }

    async fn purge(&self, request: Purge) -> Result<Purged, Error> {
        let asked = Asked::Purge { queue: request.queue.clone(), max: request.max };
        self.noted(asked, self.inner.purge(request), Replied::purged).await
    }

    async fn wait(&self, queue: &str, max: Duration) -> Wake {
        self.inner.wait(queue, max).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(history: &History, from: usize, to: usize) {
        (from..to).for_each(|number| history.note(number.to_string()));
    }

    fn first_and_last(history: &History) -> [String; 2] {
        let kept = history.kept();
        let text = |entry: Option<&Entry>| format!("{:?}", entry.expect("there are entries"));
        [text(kept.entries.front()), text(kept.entries.back())]
    }

    #[test]
    fn the_last_calls_are_kept_and_the_others_counted() {
        let history = History::default();
        notes(&history, 0, KEPT + 50);
        let kept = history.kept();
        assert_eq!((kept.entries.len(), kept.dropped), (KEPT, 50));
        drop(kept);
        assert_eq!(first_and_last(&history), ["Note(\"50\")", "Note(\"249\")"]);
    }

    #[test]
    fn what_led_to_the_first_fault_is_never_dropped() {
        let history = History::default();
        notes(&history, 0, KEPT + 50);
        history.fault(1);
        notes(&history, 0, 3 * KEPT);
        let kept = history.kept();
        assert_eq!((kept.dropped, kept.late), (50, 2 * KEPT));
        assert_eq!(kept.entries.len(), 2 * KEPT + 1);
        drop(kept);
        assert_eq!(first_and_last(&history), ["Note(\"50\")", "Note(\"199\")"]);
    }

    #[test]
    fn a_reply_finds_its_call_or_a_call_that_was_dropped() {
        let history = History::default();
        let first = history.asked(0, Asked::Queues(1));
        notes(&history, 0, KEPT - 1);
        history.replied(first, Replied::Nothing);
        assert!(first_and_last(&history)[0].contains("Some(Nothing)"));
        let second = history.asked(0, Asked::Queues(2));
        history.replied(first, Replied::Nothing); // it is not kept any more
        history.replied(second, Replied::Nothing);
        assert!(first_and_last(&history)[1].contains("Queues(2)"));
        assert!(first_and_last(&history)[1].contains("Some(Nothing)"));
        assert!(first_and_last(&history)[0].contains("Note"));
    }

    #[test]
    fn each_handle_has_a_lane_of_its_own() {
        let history = History::default();
        let memory: Arc<dyn Backend> = Arc::new(leasehold_core::MemoryBackend::new());
        for name in ["worker", "rescuer", "worker"] {
            history.record(name, memory.clone());
        }
        assert_eq!(history.kept().lanes, ["worker", "rescuer", "worker#2"]);
    }
}
