//! [`Draft`]: a typed task on its way to a store, with what its enqueue says beyond the type.

use std::time::Duration;

use crate::typed::{self, Task};
use crate::{Due, Error, Keep, LimitKey, NewTask, Priority, Retention, RetryPolicy, Timestamp};

/// A task that is about to be enqueued, by a client or as a follow-up.
///
/// Every typed task is made one ([`IntoDraft`]); its setters say what differs from the type.
/// What they are given is checked when the draft is enqueued.
#[derive(Debug)]
#[must_use = "a draft does nothing until it is enqueued"]
pub struct Draft {
    /// What a setter said, and else the type's.
    queue: Option<String>,
    default_queue: &'static str,
    /// The first error, for the call that enqueues to tell.
    new: Result<NewTask, Error>,
}

/// What can be enqueued: a typed task as it is, or a [`Draft`] of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a task",
    label = "cannot be enqueued",
    note = "above the type write `#[derive(serde::Serialize, serde::Deserialize, leasehold::Task)]` \
            and `#[task(kind = \"...\", delivery = at_least_once)]`",
    note = "a task is given and taken by value: `YourTask`, not `&YourTask`"
)]
pub trait IntoDraft {
    /// The draft.
    fn into_draft(self) -> Draft;
}

#[diagnostic::do_not_recommend]
impl<T: Task> IntoDraft for T {
    fn into_draft(self) -> Draft {
        Draft::new(&self)
    }
}

#[diagnostic::do_not_recommend]
impl IntoDraft for Draft {
    fn into_draft(self) -> Draft {
        self
    }
}

impl Draft {
    /// A task of this type, in the type's queue, due now.
    pub fn new<T: Task>(task: &T) -> Self {
        let new = typed::encode(task).map(|payload| {
            NewTask::new(T::KIND, payload, T::DELIVERY)
                .with_priority(T::PRIORITY)
                .with_retry(T::RETRY)
        });
        Self { queue: None, default_queue: T::QUEUE, new }
    }

    /// The queue's name and the task as the contract's enqueue takes it.
    ///
    /// # Errors
    /// Invalid when the task could not be serialized.
    pub fn into_parts(self) -> Result<(String, NewTask), Error> {
        let queue = self.queue.unwrap_or_else(|| self.default_queue.to_owned());
        Ok((queue, self.new?))
    }

    /// The same draft in this queue, unless a setter named one; the type's is left aside.
    pub fn or_queue(mut self, name: &str) -> Self {
        self.queue.get_or_insert_with(|| name.to_owned());
        self
    }

    fn with(mut self, change: impl FnOnce(NewTask) -> NewTask) -> Self {
        self.new = self.new.map(change);
        self
    }
}

/// The setters of [`Draft`], and the same for a builder that holds one.
macro_rules! draft_setters {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $body:expr;)+) => {
        impl Draft {
            /// Another queue than the type's.
            pub fn queue(mut self, name: impl Into<String>) -> Self {
                self.queue = Some(name.into());
                self
            }

            $($(#[$doc])*
            pub fn $name(self, $($argument: $type),*) -> Self {
                self.with($body)
            })+
        }

        impl crate::client::Enqueueing {
            /// Another queue than the type's.
            pub fn queue(self, name: impl Into<String>) -> Self {
                self.map(|draft| draft.queue(name))
            }

            $($(#[$doc])*
            pub fn $name(self, $($argument: $type),*) -> Self {
                self.map(|draft| draft.$name($($argument),*))
            })+
        }
    };
}

draft_setters! {
    /// An id of the caller's own instead of a fresh one: a second enqueue of it is a
    /// Duplicate (LH-ENQ-2), also for the queue's `id_memory` after the task has left.
    fn id(id: impl Into<String>) |new| new.with_id(id);

    /// Due after this delay by the store's clock, at most 100 years.
    fn delay(delay: Duration) |new| new.with_due(Due::In(delay));

    /// Due at this instant, at most the year 9999; the past means at once.
    fn due_at(instant: Timestamp) |new| new.with_due(Due::At(instant));

    /// Another priority than the type's: 0 to 9, 9 is served first.
    fn priority(priority: impl Into<Priority>) |new| new.with_priority(priority.into());

    /// At most one unfinished task of the queue holds this key; a second one is a Duplicate
    /// (LH-UNIQ-2).
    fn unique(key: impl Into<String>) |new| new.with_unique(key);

    /// Counts under the limit of `group` for `key`; the group's number is a setting of the
    /// queue, and without one the enqueue is Invalid.
    fn limit(group: impl Into<String>, key: impl Into<String>)
        |new| new.with_limit(LimitKey::new(group, key));

    /// Other retries than the type's.
    fn retry(retry: RetryPolicy) |new| new.with_retry(retry);

    /// Its own word about how long it stays once finished.
    fn retention(retention: Retention) |new| new.with_retention(retention);

    /// Keeps a success with its result for so long; by default it leaves as it finishes.
    fn keep_success(time: Duration) |new| {
        let retention = new.policy.retention.with_succeeded(Keep::For(time));
        new.with_retention(retention)
    };

    /// One more header, behind the others.
    fn header(name: impl Into<String>, value: impl Into<String>) |new| new.with_header(name, value);
}
