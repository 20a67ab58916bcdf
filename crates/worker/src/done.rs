//! [`Done`]: how a handler ends that did not fail.

use std::time::Duration;

use leasehold_core::{Bounds, Error, Payload, typed};
use serde::Serialize;

use crate::failure::Failure;

/// An end that is no failure, for handlers that have more to say than success.
///
/// A handler that always succeeds returns `Result<(), Failure>`, or `Result<T, Failure>` to
/// leave a result of its own.
///
/// ```
/// use std::time::Duration;
/// use leasehold_worker::{Done, Failure};
///
/// fn weigh(ready: bool, wanted: bool) -> Result<Done, Failure> {
///     if !wanted {
///         return Ok(Done::cancel("the order was withdrawn"));
///     }
///     if !ready {
///         return Ok(Done::snooze(Duration::from_secs(60)));
///     }
///     Done::result(&17)
/// }
/// # weigh(true, true).unwrap();
/// ```
#[derive(Debug)]
pub struct Done(pub(crate) Ending);

#[derive(Debug)]
pub(crate) enum Ending {
    Succeeded(Option<Payload>),
    Snoozed(Duration),
    Cancelled(String),
}

impl Done {
    /// The task has succeeded and leaves nothing behind.
    #[must_use]
    pub fn success() -> Self {
        Self(Ending::Succeeded(None))
    }

    /// The task has succeeded and leaves this value as JSON, for as long as it is kept
    /// (LH-PURGE-1). The worker buries the task when the store does not take so large a result.
    ///
    /// # Errors
    /// A fatal failure when the type refuses to be serialized.
    pub fn result<T: Serialize>(value: &T) -> Result<Self, Failure> {
        let result = typed::encode_result(value).map_err(fatal)?;
        Ok(Self(Ending::Succeeded(result)))
    }

    /// The task is to run again after this delay; no budget is spent (LH-GIVE-2). An
    /// at-most-once task is buried instead, as it never runs again (LH-MODE-1).
    #[must_use]
    pub fn snooze(delay: Duration) -> Self {
        Self(Ending::Snoozed(delay))
    }

    /// The task is called off, for this reason.
    #[must_use]
    pub fn cancel(reason: impl Into<String>) -> Self {
        Self(Ending::Cancelled(reason.into()))
    }
}

/// What a handler may return beside a [`Failure`]: a [`Done`], or any value that serde can
/// write, which then is the result. `M` only tells the two apart and is inferred.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `Result<{Self}, Failure>`",
    label = "neither `Done` nor a value that serde can write",
    note = "return `Result<(), Failure>`, `Result<Done, Failure>`, or derive `serde::Serialize` \
            for the result's type"
)]
pub trait IntoDone<M> {
    /// The end that this value means.
    ///
    /// # Errors
    /// A fatal failure when the value cannot be a result within these bounds: the work is
    /// done, and no retry would make its result smaller.
    fn into_done(self, bounds: &Bounds) -> Result<Done, Failure>;
}

/// Marks [`Done`] as it is.
#[derive(Debug)]
pub enum AsItIs {}

/// Marks a value that is the result.
#[derive(Debug)]
pub enum AsResult {}

impl IntoDone<AsItIs> for Done {
    fn into_done(self, bounds: &Bounds) -> Result<Done, Failure> {
        if let Ending::Succeeded(Some(result)) = &self.0 {
            bounds.check_result(result).map_err(fatal)?;
        }
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoDone<AsResult> for T {
    fn into_done(self, bounds: &Bounds) -> Result<Done, Failure> {
        IntoDone::<AsItIs>::into_done(Done::result(&self)?, bounds)
    }
}

fn fatal(error: Error) -> Failure {
    Failure::from(error).fatal()
}
