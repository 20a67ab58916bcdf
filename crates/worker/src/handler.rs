//! [`Handler`]: the code that works on tasks of one kind.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold_core::{Capabilities, Delivery, Error, ErrorKind, Payload, Task, typed};

use crate::context::{Context, Run};
use crate::done::{Done, IntoDone};
use crate::failure::Failure;
use crate::signature::{Arguments, Async, Fallible, Function};

/// Code for tasks of one type: `async fn(task: T, cx: Context<App>) -> Result<_, Failure>`,
/// or a closure of that shape. Implemented for every such function and for nothing else.
///
/// `S` is the worker's state; `A` only carries types that are inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler of a worker with state `{S}`",
    label = "not `async fn(task: YourTask, cx: Context<{S}>) -> Result<_, Failure>`",
    note = "a handler is an `async fn`; the task comes first, the context second; it returns \
            `Result<_, Failure>`",
    note = "the context names the worker's state: `Context<App>` after `.state(app)`, else `Context`"
)]
pub trait Handler<S, A>: Send + Sync + 'static {
    /// The type of its tasks.
    type Task: Task;

    /// Works on one task.
    fn call(
        &self,
        task: Self::Task,
        cx: Context<S>,
    ) -> impl Future<Output = Result<Done, Failure>> + Send + 'static;
}

impl<S, A, T, M, F, Fut> Handler<S, (A, T, M)> for F
where
    F: Function<A, Returned = Fut> + Send + Sync + 'static,
    A: Arguments<S, T>,
    T: Task,
    Fut: Async<Output: Fallible<Value: IntoDone<M>>> + Send + 'static,
{
    type Task = T;

    fn call(
        &self,
        task: T,
        cx: Context<S>,
    ) -> impl Future<Output = Result<Done, Failure>> + Send + 'static {
        let bounds = cx.bounds().clone();
        let running = Function::call(self, A::new(task, cx));
        async move { running.await.result()?.into_done(&bounds) }
    }
}

/// A handler's answer, or the words of its panic.
pub(crate) type Answer = Result<Result<Done, Failure>, String>;

/// A handler at work. It holds the task and the context, and frees both when it is dropped.
pub(crate) type Running = Pin<Box<dyn Future<Output = Answer> + Send>>;

type Start = Box<dyn Fn(&Payload, Arc<Run>) -> Result<Running, Error> + Send + Sync>;

/// A handler whose types are erased.
pub(crate) struct Registered {
    kind: &'static str,
    queue: &'static str,
    delivery: Delivery,
    pub(crate) timeout: Duration,
    accepts_loss: bool,
    start: Start,
}

impl Registered {
    pub(crate) fn new<S, A, H>(handler: H, state: Arc<S>) -> Self
    where
        S: Send + Sync + 'static,
        H: Handler<S, A>,
    {
        let handler = Arc::new(handler);
        let start = move |payload: &Payload, run: Arc<Run>| -> Result<Running, Error> {
            let task = typed::decode::<H::Task>(payload)?;
            let (handler, state) = (handler.clone(), state.clone());
            // The call itself is inside, so that a panic before its first await is caught too.
            let running = async move { handler.call(task, Context::new(run, state)).await };
            let caught = AssertUnwindSafe(running).catch_unwind();
            Ok(Box::pin(caught.map(|ended| ended.map_err(|panic| words(&*panic)))))
        };
        Self {
            kind: H::Task::KIND,
            queue: H::Task::QUEUE,
            delivery: H::Task::DELIVERY,
            timeout: H::Task::TIMEOUT,
            accepts_loss: H::Task::ACCEPT_LOSS,
            start: Box::new(start),
        }
    }

    /// Reads the payload, and makes the future that works on it.
    ///
    /// # Errors
    /// Corrupt when the payload is not what the kind takes.
    pub(crate) fn start(&self, payload: &Payload, run: Arc<Run>) -> Result<Running, Error> {
        (self.start)(payload, run)
    }

    /// # Errors
    /// Invalid or Unsupported when tasks of this kind cannot be worked from this store.
    fn check(&self, store: &Capabilities) -> Result<(), Error> {
        store.bounds.check_name("kind", self.kind)?;
        store.bounds.check_name("queue", self.queue)?;
        if self.timeout.is_zero() {
            let kind = self.kind;
            return Err(Error::invalid(format!("kind {kind:?} has no time: no handler could end")));
        }
        let never = self.delivery.max_rescues() == 0;
        // LH-MODE-4
        if never && store.durability.can_lose_a_claim() && !self.accepts_loss {
            let what = format!(
                "kind {:?} must not run again after a lost worker, but the store {} can lose a \
                 confirmed claim: use a more durable store, or let the kind say accept_loss",
                self.kind, store.name
            );
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        Ok(())
    }
}

/// The words of a panic.
pub(crate) fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

/// The handlers of a worker by kind.
pub(crate) struct Registry(HashMap<&'static str, Arc<Registered>>);

impl Registry {
    /// # Errors
    /// Invalid when there is none, or two of one kind; else what a handler's own check says.
    pub(crate) fn new(handlers: Vec<Registered>, store: &Capabilities) -> Result<Self, Error> {
        if handlers.is_empty() {
            return Err(Error::invalid("a worker without a handler: call .handler(..) first"));
        }
        let mut by_kind = HashMap::new();
        for handler in handlers {
            handler.check(store)?;
            let kind = handler.kind;
            if by_kind.insert(kind, Arc::new(handler)).is_some() {
                return Err(Error::invalid(format!(
                    "two handlers of kind {kind:?}: a kind has one handler in a worker"
                )));
            }
        }
        Ok(Self(by_kind))
    }

    pub(crate) fn get(&self, kind: &str) -> Option<&Arc<Registered>> {
        self.0.get(kind)
    }

    /// In the order of their bytes.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.0.keys().copied().collect();
        kinds.sort_unstable();
        kinds
    }

    pub(crate) fn queues(&self) -> impl Iterator<Item = &'static str> {
        self.0.values().map(|handler| handler.queue)
    }
}
