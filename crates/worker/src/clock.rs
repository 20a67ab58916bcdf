//! The only code of the worker that reads time. It reads the monotonic clock, and measures
//! only this process's own patience with it: what a store decides, it decides by its own
//! clock (LH-TIME-1).

use std::time::Duration;

pub(crate) use tokio::time::Instant;

/// Further than any worker runs, and near enough to be added to an instant.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The instant that it is.
#[expect(clippy::disallowed_methods, reason = "the home of time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The instant so long after `from`.
pub(crate) fn after(from: Instant, time: Duration) -> Instant {
    from.checked_add(time.min(FAR)).unwrap_or(from)
}

/// Comes back at `instant`, at once when it has passed.
pub(crate) async fn until(instant: Instant) {
    tokio::time::sleep_until(instant).await; // tidy: allow, the worker's deadlines wait here
}

/// Comes back after `time`.
pub(crate) async fn pause(time: Duration) {
    until(after(now(), time)).await;
}
