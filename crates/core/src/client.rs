//! [`Client`]: enqueues typed tasks, looks at them and waits for their end. Needs no worker.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{self, Deadline, within};
use crate::draft::{Draft, IntoDraft};
use crate::request::admit;
use crate::{
    Backend, Capabilities, DuplicateCause, Enqueue, EnqueueVerdict, Error, ErrorKind, Found, Get,
    Left, NewTask, State, StoredTask, TaskRef,
};

/// How long a call waits for the store unless a client says otherwise.
const DEADLINE: Duration = Duration::from_secs(30);

/// The first and the longest pause between two looks at a task whose end is awaited.
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_secs(1);

/// A store, as the code that makes tasks sees it. Clones share the store and cost nothing.
///
/// ```
/// use std::sync::Arc;
/// use leasehold_core::{Client, Delivery, MemoryBackend, Receipt, typed::Task};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
/// impl Task for Welcome {
///     const KIND: &'static str = "mail.welcome";
///     const DELIVERY: Delivery = Delivery::at_least_once();
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let client = Client::new(Arc::new(MemoryBackend::new()));
/// let first = client.enqueue(Welcome { user: 7 }).unique("welcome 7").priority(6).await?;
/// let again = client.enqueue(Welcome { user: 7 }).unique("welcome 7").await?;
/// assert!(matches!(again, Receipt::Duplicate { .. }));
/// assert_eq!(again.task(), first.task());
/// # Ok::<(), leasehold_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Client {
    store: Arc<dyn Backend>,
    deadline: Duration,
}

/// What became of an enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    /// The task is stored, and can be claimed once it is due (LH-ENQ-4).
    Enqueued(TaskRef),
    /// Nothing was stored.
    Duplicate {
        /// What was taken already.
        cause: DuplicateCause,
        /// The task that has the id or holds the unique key.
        holder: TaskRef,
        /// Its state, or `None` when it has left and is only remembered (LH-ENQ-9).
        state: Option<State>,
    },
}

impl Receipt {
    /// The task that is there now: the new one, or the holder of the id or the key.
    #[must_use]
    pub fn task(&self) -> &TaskRef {
        match self {
            Self::Enqueued(task) | Self::Duplicate { holder: task, .. } => task,
        }
    }
}

/// How waiting for a task's end came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It has ended, and is still there with its history, and its result if it left one.
    Finished(Box<StoredTask>),
    /// It has ended and left, and this is remembered (LH-ENQ-9). To read a result, keep the
    /// success for a while: [`Draft::keep_success`].
    Left(Left),
    /// The time is over, and it has not ended.
    Unfinished(Box<StoredTask>),
    /// No such task, or one that left too long ago.
    Nothing,
}

impl Client {
    /// A client of this store.
    #[must_use]
    pub fn new(store: Arc<dyn Backend>) -> Self {
        Self { store, deadline: DEADLINE }
    }

    /// The same client whose calls wait so long for the store, 30 s by default; they then
    /// answer Unavailable.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The store, for everything that the contract has beyond this.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Backend> {
        &self.store
    }

    /// Enqueues a task: set what differs from its type, and await.
    ///
    /// # Errors
    /// Of the awaited call: Invalid when a part of the task is, Unsupported when the store
    /// lacks a feature that it needs; both without effect. Unavailable when the store did not
    /// answer: the task may be stored or not. To repeat such a call safely, give the task an
    /// [`id`](Draft::id).
    ///
    /// # Cancel safety
    /// A dropped future equals Unavailable.
    pub fn enqueue(&self, task: impl IntoDraft) -> Enqueueing {
        Enqueueing { client: self.clone(), draft: task.into_draft() }
    }

    /// Enqueues many tasks, typed ones or drafts; one receipt a task, in order.
    ///
    /// They go out in as few calls as the store's bounds allow. Each call is of one queue and
    /// takes effect as a whole or not at all (LH-ENQ-7); all of them together do not.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue). A task that is Invalid by itself refuses all before any
    /// effect; after an error of the store the tasks of earlier calls are stored.
    ///
    /// # Cancel safety
    /// After a dropped future any of the calls may have been applied, each once or not at all.
    pub async fn enqueue_many<D: IntoDraft>(
        &self,
        tasks: impl IntoIterator<Item = D>,
    ) -> Result<Vec<Receipt>, Error> {
        let mut queues: BTreeMap<String, Vec<(usize, NewTask)>> = BTreeMap::new();
        let mut count = 0;
        for task in tasks {
            let (queue, new) = task.into_draft().into_parts()?;
            queues.entry(queue).or_default().push((count, new));
            count += 1;
        }
        let calls = calls(queues, &self.store.capabilities())?;
        let mut receipts = vec![None; count];
        for (request, places) in calls {
            for (place, receipt) in places.into_iter().zip(self.send(request).await?) {
                receipts[place] = Some(receipt);
            }
        }
        let all: Option<Vec<_>> = receipts.into_iter().collect();
        all.ok_or_else(broken)
    }

    /// The task as the store has it, or what is remembered of it.
    ///
    /// # Errors
    /// Those of [`Backend::get`].
    pub async fn look(&self, task: &TaskRef) -> Result<Found, Error> {
        within(self.deadline, self.store.get(Get::new(task.clone()))).await
    }

    /// Waits until the task has ended, at most so long. It asks the store again and again,
    /// first often and then once a second.
    ///
    /// # Errors
    /// Those of [`Backend::get`], but for Unavailable: then it asks again until the time is
    /// over.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn wait_for_end(&self, task: &TaskRef, max: Duration) -> Result<End, Error> {
        let deadline = Deadline::after(max);
        let mut pause = LOOK_FIRST;
        loop {
            // A last look gets some time even at the very end.
            let patience = deadline.left().clamp(LOOK_FIRST, self.deadline.max(LOOK_FIRST));
            let look = self.store.get(Get::new(task.clone()));
            let unfinished = match within(patience, look).await {
                Ok(Found::Task(task)) if task.state.is_finished() => {
                    return Ok(End::Finished(task));
                }
                Ok(Found::Left(left)) => return Ok(End::Left(left)),
                Ok(Found::Nothing) => return Ok(End::Nothing),
                Ok(Found::Task(task)) => Ok(End::Unfinished(task)),
                Err(error) if error.kind() == ErrorKind::Unavailable => Err(error),
                Err(error) => return Err(error),
            };
            let left = deadline.left();
            if left.is_zero() {
                return unfinished;
            }
            clock::pause(pause.min(left)).await;
            pause = (pause * 2).min(LOOK_MAX);
        }
    }

    async fn send(&self, request: Enqueue) -> Result<Vec<Receipt>, Error> {
        let queue = request.queue.as_str();
        let tasks: Vec<_> = request.tasks.iter().map(|new| TaskRef::new(queue, &new.id)).collect();
        let verdicts = within(self.deadline, self.store.enqueue(request)).await?;
        if verdicts.len() != tasks.len() {
            return Err(broken());
        }
        Ok(tasks.into_iter().zip(verdicts).map(|(task, verdict)| receipt(task, verdict)).collect())
    }
}

/// Cuts tasks into calls that the store takes, and checks each of them before the first is
/// sent; with every call the places of its tasks among all.
fn calls(
    queues: BTreeMap<String, Vec<(usize, NewTask)>>,
    store: &Capabilities,
) -> Result<Vec<(Enqueue, Vec<usize>)>, Error> {
    let bounds = &store.bounds;
    let mut calls = Vec::new();
    for (queue, tasks) in queues {
        let mut call = (Enqueue::new(queue.as_str(), Vec::new()), Vec::new());
        let mut bytes = 0;
        for (place, new) in tasks {
            let (size, count) = (new.payload.len(), call.1.len());
            let full = count >= bounds.batch_max || bytes + size > bounds.batch_bytes_max;
            if count > 0 && full {
                calls.push(std::mem::replace(
                    &mut call,
                    (Enqueue::new(queue.as_str(), Vec::new()), Vec::new()),
                ));
                bytes = 0;
            }
            bytes += size;
            call.0.tasks.push(new);
            call.1.push(place);
        }
        calls.push(call);
    }
    calls.iter().try_for_each(|(request, _)| admit(store, request))?;
    Ok(calls)
}

impl From<Arc<dyn Backend>> for Client {
    fn from(store: Arc<dyn Backend>) -> Self {
        Self::new(store)
    }
}

/// An enqueue that has not been sent: await it. Its setters are those of [`Draft`].
#[derive(Debug)]
#[must_use = "an enqueue is sent when it is awaited"]
pub struct Enqueueing {
    client: Client,
    draft: Draft,
}

impl Enqueueing {
    pub(crate) fn map(self, change: impl FnOnce(Draft) -> Draft) -> Self {
        Self { client: self.client, draft: change(self.draft) }
    }
}

impl IntoFuture for Enqueueing {
    type Output = Result<Receipt, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (queue, new) = self.draft.into_parts()?;
            let receipts = self.client.send(Enqueue::new(queue, vec![new])).await?;
            receipts.into_iter().next().ok_or_else(broken)
        })
    }
}

fn receipt(task: TaskRef, verdict: EnqueueVerdict) -> Receipt {
    match verdict {
        EnqueueVerdict::Enqueued { .. } => Receipt::Enqueued(task),
        EnqueueVerdict::Duplicate { cause, holder, state } => {
            Receipt::Duplicate { cause, holder, state }
        }
    }
}

fn broken() -> Error {
    Error::new(ErrorKind::Internal, "a backend broke LH-GEN-2: one reply an item")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BackendExt, Bounds, Delivery, MemoryBackend, Payload, Retention, typed};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Ping {
        n: u32,
    }

    impl typed::Task for Ping {
        const KIND: &'static str = "ping";
        const DELIVERY: Delivery = Delivery::at_least_once();
        const QUEUE: &'static str = "pings";
    }

    fn client() -> Client {
        Client::new(Arc::new(MemoryBackend::new()))
    }

    #[tokio::test]
    async fn an_enqueue_says_what_its_setters_said() {
        let client = client();
        let receipt = client
            .enqueue(Ping { n: 1 })
            .queue("others")
            .id("first")
            .delay(Duration::from_secs(60))
            .priority(9)
            .unique("one")
            .retry(crate::RetryPolicy::at_most(2))
            .keep_success(Duration::from_secs(5))
            .header("trace", "abc")
            .await
            .expect("it is valid");
        assert_eq!(receipt, Receipt::Enqueued(TaskRef::new("others", "first")));
        let Found::Task(task) = client.look(receipt.task()).await.expect("memory answers") else {
            panic!("it is there")
        };
        assert_eq!((task.kind.as_str(), task.payload), ("ping", Payload::from(r#"{"n":1}"#)));
        assert_eq!(task.due.since(task.enqueued_at), Duration::from_secs(60));
        assert_eq!((task.priority.level(), task.unique.as_deref()), (9, Some("one")));
        assert_eq!(task.policy.retry.max_retries, 2);
        let kept = Retention::default().with_succeeded(crate::Keep::For(Duration::from_secs(5)));
        assert_eq!(task.policy.retention, kept);
        assert_eq!(task.headers.get("trace"), Some("abc"));
    }

    #[tokio::test]
    async fn a_duplicate_names_the_holder_by_id_and_by_key() {
        let client = client();
        let first = client.enqueue(Ping { n: 1 }).id("a").unique("k").await.expect("it is new");
        for (again, why) in [
            (client.enqueue(Ping { n: 2 }).id("a").await, DuplicateCause::Id),
            (client.enqueue(Ping { n: 2 }).unique("k").await, DuplicateCause::Key),
        ] {
            let again = again.expect("a duplicate is no error");
            let Receipt::Duplicate { cause, state, .. } = &again else { panic!("{again:?}") };
            assert_eq!((*cause, *state), (why, Some(State::Waiting)));
            assert_eq!(again.task(), first.task());
        }
    }

    #[tokio::test]
    async fn many_tasks_are_answered_in_order_across_calls_and_queues() {
        let client = client();
        let max = u32::try_from(Bounds::default().batch_max).expect("it is small");
        let drafts = (0..max + 10).map(|n| {
            let draft = Draft::new(&Ping { n }).id(format!("{n}"));
            if n % 7 == 0 { draft.queue("sevens") } else { draft }
        });
        let receipts = client.enqueue_many(drafts).await.expect("all are valid");
        assert_eq!(receipts.len(), max as usize + 10);
        for (n, receipt) in receipts.iter().enumerate() {
            let queue = if n % 7 == 0 { "sevens" } else { "pings" };
            assert_eq!(*receipt, Receipt::Enqueued(TaskRef::new(queue, n.to_string())));
        }
        let none = client.enqueue_many(Vec::<Ping>::new()).await.expect("nothing to do");
        assert_eq!(none, []);
    }

    #[tokio::test]
    async fn one_invalid_task_refuses_all_of_them() {
        let client = client();
        let drafts = [Draft::new(&Ping { n: 1 }), Draft::new(&Ping { n: 2 }).id("")];
        let error = client.enqueue_many(drafts).await.expect_err("an empty id is no name");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let counts = client.store.counts(crate::Count::new("pings")).await.expect("it counts");
        assert_eq!(counts.total(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_task_is_waited_for() {
        let client = client();
        let nothing = client.wait_for_end(&TaskRef::new("pings", "x"), Duration::ZERO).await;
        assert_eq!(nothing.expect("it reads"), End::Nothing);

        let receipt = client.enqueue(Ping { n: 1 }).await.expect("it is new");
        let waited = client.wait_for_end(receipt.task(), Duration::from_secs(5)).await;
        assert!(matches!(waited, Ok(End::Unfinished(_))), "{waited:?}");

        let Ok(Found::Task(task)) = client.look(receipt.task()).await else {
            panic!("it is there")
        };
        let by = crate::Operator::new("ada", "no longer needed");
        let cancel = client.store.intervene(&task, crate::Intervention::Cancel, &by).await;
        assert!(matches!(cancel, Ok(crate::CommitVerdict::Applied(_))), "{cancel:?}");
        let Ok(End::Finished(task)) = client.wait_for_end(receipt.task(), Duration::MAX).await
        else {
            panic!("it has ended")
        };
        assert_eq!(task.state, State::Cancelled);
        assert_eq!(task.result_as::<u32>().expect("there is none"), None);
    }
}
