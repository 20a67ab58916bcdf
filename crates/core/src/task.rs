//! The task: as a caller makes it ([`NewTask`]) and as a store tells it ([`StoredTask`]).

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::change::{Record, Role};
use crate::clock::Timestamp;
use crate::error::Error;
use crate::id::{self, DecisionId};
use crate::lease::Fence;
use crate::limit::{Bounds, LimitKey, check_size};
use crate::policy::{Delivery, Policy, Retention, RetryPolicy};
use crate::state::{State, Status};

/// Queue and id: the only way to address a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskRef {
    /// The queue that the task waits under.
    pub queue: String,
    /// The id, unique in the queue.
    pub id: String,
}

impl TaskRef {
    /// The task `id` of `queue`. Names are checked when a verb takes them, not here.
    #[must_use]
    pub fn new(queue: impl Into<String>, id: impl Into<String>) -> Self {
        Self { queue: queue.into(), id: id.into() }
    }

    /// Checks both names (LH-GEN-7).
    ///
    /// # Errors
    /// Invalid, naming the part that is not a name.
    pub fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        bounds.check_name("queue", &self.queue)?;
        bounds.check_name("id", &self.id)
    }
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.queue, self.id)
    }
}

/// Opaque bytes: no backend ever parses them (LH-GEN-6), and `Debug` shows only their number.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Payload(Bytes);

impl Payload {
    /// The bytes, as they were given.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is not one byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<Bytes>> From<T> for Payload {
    fn from(bytes: T) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

/// Names and values that ride along with a task, such as a trace context, in the order given;
/// a name may come twice. `Debug` shows the names only, as a value may be a secret.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// No header.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds one behind the others.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    /// The first value under `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(its, _)| *its == name).map(|(_, value)| value)
    }

    /// Each name and value, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        let headers = headers.into_iter();
        Self(headers.map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// Importance, 0 to 9: 9 is served first, 4 is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// Served last.
    pub const LOWEST: Priority = Priority(0);
    /// Served first.
    pub const HIGHEST: Priority = Priority(9);
    /// 4.
    pub const DEFAULT: Priority = Priority(4);

    /// The priority `level`; above 9 is 9.
    #[must_use]
    pub const fn new(level: u8) -> Self {
        Self(if level > 9 { 9 } else { level })
    }

    /// 0 to 9.
    #[must_use]
    pub const fn level(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl From<u8> for Priority {
    /// Above 9 is 9.
    fn from(level: u8) -> Self {
        Self::new(level)
    }
}

/// When a new task may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// At once.
    Now,
    /// After this delay by the store's clock, at most 100 years.
    In(Duration),
    /// At this instant, at most the year 9999; the past means at once, without overtaking
    /// what waits already (LH-ENQ-3).
    At(Timestamp),
}

impl Due {
    /// The instant by the store's clock, never before `now`.
    #[must_use]
    pub fn instant(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Now => now,
            Self::In(delay) => now.after(delay),
            Self::At(instant) => instant.max(now),
        }
    }

    /// # Errors
    /// Invalid when out of range (LH-TIME-6).
    pub(crate) fn check(self) -> Result<(), Error> {
        match self {
            Self::Now => Ok(()),
            Self::In(delay) => Bounds::check_delay(delay),
            Self::At(instant) => Bounds::check_due(instant),
        }
    }
}

/// A task that a caller is about to enqueue. The queue is named by the call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewTask {
    /// Unique in the queue; a second enqueue of it is a Duplicate (LH-ENQ-2).
    pub id: String,
    /// The name that picks the handler.
    pub kind: String,
    /// What the handler gets.
    pub payload: Payload,
    /// What rides along.
    pub headers: Headers,
    /// Default 4.
    pub priority: Priority,
    /// Default now.
    pub due: Due,
    /// Retries, delivery, retention.
    pub policy: Policy,
    /// The concurrency limit that counts this task, if any.
    pub limit: Option<LimitKey>,
    /// At most one unfinished task of the queue holds the same key (LH-UNIQ-1).
    pub unique: Option<String>,
}

impl NewTask {
    /// A task of `kind` with a fresh id, due now. `delivery` says what follows a lost worker
    /// and has no default (LH-MODE-1).
    #[must_use]
    pub fn new(kind: impl Into<String>, payload: impl Into<Payload>, delivery: Delivery) -> Self {
        Self::named(id::task_id(), kind, payload, delivery)
    }

    /// The same under an id of the caller's own.
    #[must_use]
    pub fn named(
        id: impl Into<String>,
        kind: impl Into<String>,
        payload: impl Into<Payload>,
        delivery: Delivery,
    ) -> Self {
        Self {
            id: id.into(),
            kind: kind.into(),
            payload: payload.into(),
            headers: Headers::new(),
            priority: Priority::default(),
            due: Due::Now,
            policy: Policy::new(delivery),
            limit: None,
            unique: None,
        }
    }

    /// The same task under an id of the caller's own.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// The same task with one more header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push(name, value);
        self
    }

    /// The same task at another priority.
    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The same task at another time.
    #[must_use]
    pub fn with_due(mut self, due: Due) -> Self {
        self.due = due;
        self
    }

    /// The same task with other retries.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.policy.retry = retry;
        self
    }

    /// The same task with its own retention.
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.policy.retention = retention;
        self
    }

    /// The same task under a concurrency limit.
    #[must_use]
    pub fn with_limit(mut self, limit: LimitKey) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The same task with a unique key.
    #[must_use]
    pub fn with_unique(mut self, key: impl Into<String>) -> Self {
        self.unique = Some(key.into());
        self
    }

    /// Checks every name, size and time (LH-ENQ-5, LH-ENQ-10).
    ///
    /// # Errors
    /// Invalid, naming the first part that is out of bounds.
    pub fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        bounds.check_name("id", &self.id)?;
        bounds.check_name("kind", &self.kind)?;
        if let Some(limit) = &self.limit {
            bounds.check_name("limit group", &limit.group)?;
            bounds.check_name("limit key", &limit.key)?;
        }
        if let Some(key) = &self.unique {
            bounds.check_name("unique key", key)?;
        }
        let mut headers_bytes = 0;
        for (name, value) in self.headers.iter() {
            bounds.check_name("header name", name)?;
            headers_bytes += name.len() + value.len();
        }
        check_size("the headers' size in bytes", headers_bytes, bounds.headers_bytes_max)?;
        check_size("the payload's size in bytes", self.payload.len(), bounds.payload_bytes_max)?;
        self.due.check()?;
        self.policy.check()
    }
}

/// The last applied commit of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shown {
    /// The fence that it showed.
    pub fence: Fence,
    /// Its decision id.
    pub decision: DecisionId,
    /// Who decided.
    pub by: Role,
}

impl Shown {
    /// The commit `decision` by `by` that showed `fence`.
    #[must_use]
    pub fn new(fence: Fence, decision: DecisionId, by: Role) -> Self {
        Self { fence, decision, by }
    }
}

/// What a task went through: the first record and the newest ones, oldest first (LH-RETRY-5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// At most [`Bounds::history_max`] records.
    pub records: Vec<Record>,
    /// How many records between the first and the others were dropped.
    pub dropped: u32,
}

impl History {
    /// Adds the newest record; above `max` the oldest but the first is dropped.
    pub fn push(&mut self, record: Record, max: usize) {
        self.records.push(record);
        while self.records.len() > max.max(2) {
            self.records.remove(1);
            self.dropped = self.dropped.saturating_add(1);
        }
    }
}

/// A task as the store has it at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredTask {
    /// Queue and id.
    pub task_ref: TaskRef,
    /// The name that picks the handler.
    pub kind: String,
    /// As enqueued, or as last edited.
    pub payload: Payload,
    /// As enqueued.
    pub headers: Headers,
    /// As enqueued, or as last edited.
    pub priority: Priority,
    /// As enqueued, or as last edited.
    pub policy: Policy,
    /// As enqueued.
    pub limit: Option<LimitKey>,
    /// As enqueued; held while the task is unfinished.
    pub unique: Option<String>,
    /// The stored state.
    pub state: State,
    /// When the task was enqueued.
    pub enqueued_at: Timestamp,
    /// Not before this instant, nor before `held_until`.
    pub due: Timestamp,
    /// The current fence: what a commit has to show (LH-COMMIT-1).
    pub fence: Fence,
    /// The fence of the enqueue.
    pub born: Fence,
    /// The newest run whose right to a late success stands (LH-LATE-1).
    pub run: Option<Fence>,
    /// The last applied commit.
    pub shown: Option<Shown>,
    /// End of the lease; only while leased.
    pub until: Option<Timestamp>,
    /// Who holds the lease, a label for people; only while leased.
    pub holder: Option<String>,
    /// End of a lease that an operator took away, also an inherited one (LH-OPER-11).
    pub held_until: Option<Timestamp>,
    /// Runs so far; never reset, no budget.
    pub attempt: u32,
    /// Spent of the retry budget.
    pub failures: u32,
    /// Spent of the rescue budget.
    pub rescues: u32,
    /// Lapses of the pending rescue itself (LH-LAPSE-9).
    pub takeovers: u32,
    /// What a renew stored last: progress or a checkpoint.
    pub note: Option<Payload>,
    /// What a success left, if it is kept.
    pub result: Option<Payload>,
    /// When the task finished; only while finished.
    pub finished_at: Option<Timestamp>,
    /// What it went through.
    pub history: History,
    /// The raw bytes of a stored record that cannot be read (LH-CLAIM-11); policy and headers
    /// are then placeholders.
    pub corrupt: Option<Payload>,
}

impl StoredTask {
    /// The task right after its enqueue at `now` (LH-ENQ-1). Backends also start from it
    /// when they read a stored task, and set what has changed since.
    #[must_use]
    pub fn enqueued(queue: &str, new: NewTask, born: Fence, now: Timestamp) -> Self {
        Self {
            task_ref: TaskRef::new(queue, new.id),
            kind: new.kind,
            payload: new.payload,
            headers: new.headers,
            priority: new.priority,
            policy: new.policy,
            limit: new.limit,
            unique: new.unique,
            state: State::Waiting,
            enqueued_at: now,
            due: new.due.instant(now),
            fence: born,
            born,
            run: None,
            shown: None,
            until: None,
            holder: None,
            held_until: None,
            attempt: 0,
            failures: 0,
            rescues: 0,
            takeovers: 0,
            note: None,
            result: None,
            finished_at: None,
            history: History::default(),
            corrupt: None,
        }
    }

    /// The earliest instant of a Run claim: due and held until have passed (LH-CLAIM-1).
    #[must_use]
    pub fn ready_at(&self) -> Timestamp {
        self.held_until.map_or(self.due, |held| held.max(self.due))
    }

    /// What a person sees at `now`.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> Status {
        match self.state {
            State::Waiting if self.ready_at() <= now => Status::Ready,
            State::Waiting => Status::Scheduled,
            State::Leased(_) if self.until.is_some_and(|until| until > now) => Status::Leased,
            State::Leased(_) => Status::Lapsed,
            State::Succeeded => Status::Succeeded,
            State::Dead(_) => Status::Dead,
            State::Cancelled => Status::Cancelled,
        }
    }
}
