//! The decisions: pure functions from what happened to the [`Change`] that a commit writes.
//!
//! No clock, no random number but the seed that is handed in, no store. Worker, rescuer and
//! operator all decide here, so that a fault of policy is mended once.

use crate::{
    Backoff, Bounds, Budget, Change, DeadReason, Delivery, Edit, Error, Event, Jitter, Keep, Lease,
    NewTask, OnLeased, Payload, Retention, Role, State, StoredTask, To, When,
};
use std::time::Duration;

/// Takeovers after which a rescue buries without reading policy or payload (LH-LAPSE-9).
pub const TAKEOVERS_MAX: u32 = 5;

/// The growing delay of a task whose kind this worker does not know: another worker, of a
/// newer release perhaps, may know it, and an old one must not see it too often.
const UNKNOWN_KIND_BACKOFF: Backoff =
    Backoff::Exponential { first: Duration::from_secs(1), cap: Duration::from_secs(5 * 60) };

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The handler succeeded.
    Succeeded {
        /// What it leaves, if the task is kept.
        result: Option<Payload>,
        /// Tasks for the same queue, made in the same step.
        follow_ups: Vec<NewTask>,
    },
    /// The handler told a failure.
    Failed {
        /// What went wrong.
        message: String,
        /// Whether and when to try again.
        retry: Retry,
    },
    /// The handler panicked; retried like a failure.
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The handler ran over its time; retried like a failure.
    TimedOut,
    /// The handler asks for later; no budget is spent (LH-GIVE-2).
    Snoozed(Duration),
    /// The worker gives the task back at shutdown; no budget is spent (LH-GIVE-1).
    Released(Entered),
    /// The worker gives the task back before its handler was entered, for later; no budget is
    /// spent (LH-GIVE-2).
    Postponed(Duration),
    /// The handler calls the task off.
    Cancelled {
        /// Why.
        message: String,
    },
    /// The payload could not be read.
    Undecodable {
        /// Why.
        message: String,
    },
    /// There is no handler for the kind.
    UnknownKind(Unknown),
    /// The lease is marked corrupt (LH-CLAIM-11).
    Corrupt,
}

/// Whether and when to try again after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// As the task's policy says.
    ByPolicy,
    /// After this delay instead of the policy's, within the same budget.
    After(Duration),
    /// Not at all: the task is buried, its budget untouched (LH-RETRY-3).
    Never,
}

/// Whether the handler was entered before the worker gave the task back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// Not one line of it ran.
    No,
    /// It may have had effects: an at-most-once task is not run again (LH-MODE-1).
    Yes,
}

/// What to do about a kind without a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Leave it, for longer each time, to a worker that knows it.
    Wait,
    /// Bury it.
    Bury,
}

/// The change that a run's holder commits. `seed` spreads the delay of a retry.
///
/// ```
/// use std::time::Duration;
/// use leasehold_core::{Backend, Claim, Delivery, MemoryBackend, NewTask, Purpose, To, When};
/// use leasehold_core::{BackendExt, decide::{self, Outcome, Retry}};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryBackend::new();
/// let new = NewTask::new("mail", "to: ada", Delivery::NotAfterLoss);
/// store.enqueue_one("q", new).await?;
/// let claim = Claim::new("q", Purpose::Run, 1, Duration::from_secs(30), "me");
/// let lease = &store.claim(claim).await?.leases[0];
///
/// let failed = Outcome::Failed { message: "no route".into(), retry: Retry::ByPolicy };
/// let change = decide::run(lease, failed, 7);
/// assert!(matches!(change.to, To::Waiting(When::After(delay)) if delay.as_secs() < 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn run(lease: &Lease, outcome: Outcome, seed: u64) -> Change {
    let worker = |to, event| Change::new(Role::Worker, to, event);
    let bury = |reason, event| worker(To::Dead(reason), event);
    let at_most_once = lease.policy.delivery == Delivery::AtMostOnce;
    let mut change = match outcome {
        Outcome::Succeeded { result, follow_ups } => {
            let mut change = worker(To::Succeeded, Event::Succeeded).with_follow_ups(follow_ups);
            change.result = result;
            change
        }
        Outcome::Failed { message, retry: Retry::Never } => {
            bury(DeadReason::Rejected, Event::Rejected).with_message(&message)
        }
        Outcome::Failed { message, retry: Retry::ByPolicy } => {
            fail(lease, Event::Failed, &message, None, seed)
        }
        Outcome::Failed { message, retry: Retry::After(delay) } => {
            fail(lease, Event::Failed, &message, Some(delay), seed)
        }
        Outcome::Panicked { message } => fail(lease, Event::Panicked, &message, None, seed),
        Outcome::TimedOut => {
            fail(lease, Event::TimedOut, "the handler ran over its time", None, seed)
        }
        Outcome::Snoozed(_) if at_most_once => bury(DeadReason::Rejected, Event::Snoozed)
            .with_message("an at-most-once task does not run again: its handler asked for later"),
        Outcome::Snoozed(delay) => snooze(delay, Event::Snoozed),
        Outcome::Released(Entered::Yes) if at_most_once => {
            bury(DeadReason::Rejected, Event::Released)
                .with_message("an at-most-once task does not run again: its worker was shut down")
        }
        Outcome::Released(_) => worker(To::Waiting(When::Unchanged), Event::Released),
        Outcome::Postponed(delay) => snooze(delay, Event::Released),
        Outcome::Cancelled { message } => {
            worker(To::Cancelled, Event::Cancelled).with_message(&message)
        }
        Outcome::Undecodable { message } => {
            bury(DeadReason::Undecodable, Event::Undecodable).with_message(&message)
        }
        Outcome::UnknownKind(Unknown::Bury) => bury(DeadReason::UnknownKind, Event::UnknownKind),
        Outcome::UnknownKind(Unknown::Wait) => {
            let delay = Jitter::Half.spread(UNKNOWN_KIND_BACKOFF.delay(lease.attempt), seed);
            snooze(delay, Event::UnknownKind)
        }
        Outcome::Corrupt => return bury(DeadReason::Corrupt, Event::Corrupt),
    };
    change.keep = kept(change.to, lease.policy.retention);
    change
}

fn fail(lease: &Lease, event: Event, message: &str, after: Option<Duration>, seed: u64) -> Change {
    let retry = &lease.policy.retry;
    if lease.failures >= lease.policy.delivery.max_retries(retry) {
        let to = To::Dead(DeadReason::Exhausted);
        return Change::new(Role::Worker, to, event).with_message(message);
    }
    let delay = after.unwrap_or_else(|| retry.delay(lease.failures.saturating_add(1), seed));
    let to = To::Waiting(When::After(delay.min(Bounds::DELAY_MAX)));
    Change::new(Role::Worker, to, event).with_budget(Budget::SpendRetry).with_message(message)
}

fn snooze(delay: Duration, event: Event) -> Change {
    // A handler's number is clamped, not refused: its run is over and must not be lost for
    // it (LH-TIME-6).
    let to = To::Waiting(When::After(delay.min(Bounds::DELAY_MAX)));
    let change = Change::new(Role::Worker, to, event);
    if delay > Bounds::DELAY_MAX {
        return change.with_message("the delay was cut to 100 years");
    }
    change
}

/// The change that a rescuer commits about a lapsed lease: back to Waiting at once while the
/// rescue budget lasts, else Dead(Lost) (LH-MODE-2).
#[must_use]
pub fn rescue(lease: &Lease) -> Change {
    let rescuer = |to| Change::new(Role::Rescuer, to, Event::Lapsed);
    let blind = lease.takeovers >= TAKEOVERS_MAX || lease.corrupt.is_some();
    let mut change = if lease.takeovers >= TAKEOVERS_MAX {
        rescuer(To::Dead(DeadReason::Lost))
            .with_message("every rescuer of this task was lost in its turn")
    } else if lease.corrupt.is_some() {
        rescuer(To::Dead(DeadReason::Lost)).with_message("its stored record cannot be read")
    } else if lease.rescues < lease.policy.delivery.max_rescues() {
        rescuer(To::Waiting(When::After(Duration::ZERO))).with_budget(Budget::SpendRescue)
    } else {
        rescuer(To::Dead(DeadReason::Lost))
            .with_message("the lease lapsed and the rescue budget is spent")
    };
    if !blind {
        change.keep = kept(change.to, lease.policy.retention);
    }
    change
}

/// An operator's act on one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intervention {
    /// Call an unfinished task off (LH-OPER-3).
    Cancel,
    /// Make an unfinished task a dead letter (LH-OPER-6).
    Bury,
    /// Make an unfinished task due now (LH-OPER-4).
    Requeue(OnLeased),
    /// Change a Waiting or Dead task (LH-OPER-5).
    Edit(Edit),
    /// Remove a task in any state (LH-OPER-7).
    Delete,
    /// Send a finished task back with fresh budgets (LH-DEAD-5).
    Redrive,
}

/// Who acts, and why: both enter the task's history (LH-OPER-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// A person's or tool's name.
    pub name: String,
    /// For whoever reads the history.
    pub reason: String,
}

impl Operator {
    /// `name` acts because of `reason`.
    #[must_use]
    pub fn new(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name: name.into(), reason: reason.into() }
    }
}

/// The change that an operator commits with the fence of `seen`.
///
/// # Errors
/// Invalid when the state of `seen` does not admit the act.
pub fn intervene(seen: &StoredTask, act: Intervention, by: &Operator) -> Result<Change, Error> {
    let act_of = |to, event| Change::new(Role::Operator, to, event);
    let now = To::Waiting(When::After(Duration::ZERO));
    let mut change = match act {
        Intervention::Cancel => act_of(To::Cancelled, Event::Cancelled),
        Intervention::Bury => act_of(To::Dead(DeadReason::Operator), Event::Buried),
        Intervention::Requeue(on_leased) => Change { on_leased, ..act_of(now, Event::Requeued) },
        Intervention::Edit(edit) => {
            Change { edit: Some(Box::new(edit)), ..act_of(To::Same, Event::Edited) }
        }
        Intervention::Delete => act_of(To::Gone, Event::Deleted),
        Intervention::Redrive => act_of(now, Event::Redriven).with_budget(Budget::Reset),
    }
    .with_message(&by.reason);
    change.actor = Some(by.name.clone());
    change.keep = kept(change.to, seen.policy.retention);
    if change.fits(seen.state) {
        return Ok(change);
    }
    let what = format!("a task that is {} does not admit this act", seen.state);
    Err(Error::invalid(what).with_task(&seen.task_ref))
}

/// The policy's word about how long the task stays; what does not end it needs none.
fn kept(to: To, retention: Retention) -> Option<Keep> {
    match to {
        To::Same | To::Gone => None,
        _ => retention.of(to.state(State::Waiting)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::{Fence, Purpose};
    use crate::policy::RetryPolicy;
    use crate::{Retention, State, Timestamp};

    fn task(delivery: Delivery) -> StoredTask {
        let new = NewTask::new("kind", "payload", delivery).with_retry(RetryPolicy::at_most(2));
        StoredTask::enqueued("q", new.with_id("t"), Fence::new(1), Timestamp::from_millis(0))
    }

    fn lease(delivery: Delivery) -> Lease {
        Lease::of(task(delivery), Timestamp::from_millis(0))
    }

    fn failed(retry: Retry) -> Outcome {
        Outcome::Failed { message: "no route".into(), retry }
    }

    fn goes(lease: &Lease, outcome: Outcome) -> (To, Budget, Event) {
        let change = run(lease, outcome, 7);
        assert_eq!(change.by, Role::Worker);
        (change.to, change.budget, change.event)
    }

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn each_outcome_goes_where_the_contract_says() {
        let lease = lease(Delivery::at_least_once());
        let by_policy = RetryPolicy::at_most(2).delay(1, 7);
        let later = |delay| To::Waiting(When::After(delay));
        let dead = To::Dead;
        let unknown = Jitter::Half.spread(UNKNOWN_KIND_BACKOFF.delay(0), 7);
        let message = String::new();
        let table = [
            (
                Outcome::Succeeded { result: None, follow_ups: vec![] },
                (To::Succeeded, Budget::Keep, Event::Succeeded),
            ),
            (failed(Retry::ByPolicy), (later(by_policy), Budget::SpendRetry, Event::Failed)),
            (failed(Retry::After(HOUR)), (later(HOUR), Budget::SpendRetry, Event::Failed)),
            (failed(Retry::Never), (dead(DeadReason::Rejected), Budget::Keep, Event::Rejected)),
            (
                Outcome::Panicked { message: message.clone() },
                (later(by_policy), Budget::SpendRetry, Event::Panicked),
            ),
            (Outcome::TimedOut, (later(by_policy), Budget::SpendRetry, Event::TimedOut)),
            (Outcome::Snoozed(HOUR), (later(HOUR), Budget::Keep, Event::Snoozed)),
            (
                Outcome::Released(Entered::Yes),
                (To::Waiting(When::Unchanged), Budget::Keep, Event::Released),
            ),
            (Outcome::Postponed(HOUR), (later(HOUR), Budget::Keep, Event::Released)),
            (
                Outcome::Cancelled { message: message.clone() },
                (To::Cancelled, Budget::Keep, Event::Cancelled),
            ),
            (
                Outcome::Undecodable { message },
                (dead(DeadReason::Undecodable), Budget::Keep, Event::Undecodable),
            ),
            (
                Outcome::UnknownKind(Unknown::Wait),
                (later(unknown), Budget::Keep, Event::UnknownKind),
            ),
            (
                Outcome::UnknownKind(Unknown::Bury),
                (dead(DeadReason::UnknownKind), Budget::Keep, Event::UnknownKind),
            ),
            (Outcome::Corrupt, (dead(DeadReason::Corrupt), Budget::Keep, Event::Corrupt)),
        ];
        for (outcome, want) in table {
            assert_eq!(goes(&lease, outcome.clone()), want, "{outcome:?}");
        }
    }

    #[test]
    fn the_retry_budget_ends_and_a_handlers_delay_does_not_lengthen_it() {
        let mut lease = lease(Delivery::at_least_once());
        lease.failures = 2;
        for retry in [Retry::ByPolicy, Retry::After(HOUR)] {
            let (to, budget, _) = goes(&lease, failed(retry));
            assert_eq!((to, budget), (To::Dead(DeadReason::Exhausted), Budget::Keep));
        }
    }

    #[test]
    fn at_most_once_never_runs_again_once_the_handler_was_entered() {
        let lease = lease(Delivery::AtMostOnce);
        let outcomes = [failed(Retry::ByPolicy), failed(Retry::After(HOUR)), Outcome::TimedOut]
            .into_iter()
            .chain([Outcome::Snoozed(HOUR), Outcome::Released(Entered::Yes)]);
        for outcome in outcomes {
            let (to, ..) = goes(&lease, outcome.clone());
            assert!(matches!(to, To::Dead(_)), "{outcome:?} goes to {to:?}");
        }
        let unknown = Outcome::UnknownKind(Unknown::Wait);
        let before = [Outcome::Released(Entered::No), Outcome::Postponed(HOUR), unknown];
        for outcome in before {
            let (to, ..) = goes(&lease, outcome.clone());
            assert!(matches!(to, To::Waiting(_)), "{outcome:?} goes to {to:?}");
        }
    }

    #[test]
    fn a_snooze_beyond_all_reason_is_cut_and_says_so() {
        let change = run(&lease(Delivery::NotAfterLoss), Outcome::Snoozed(Duration::MAX), 1);
        assert_eq!(change.to, To::Waiting(When::After(Bounds::DELAY_MAX)));
        assert!(change.message.contains("100 years"));
    }

    #[test]
    fn a_rescue_spends_its_own_budget_and_buries_at_its_end() {
        let mut lapsed = lease(Delivery::AtLeastOnce { max_rescues: 1 });
        lapsed.failures = 2;
        let back = rescue(&lapsed);
        assert_eq!(
            (back.to, back.budget),
            (To::Waiting(When::After(Duration::ZERO)), Budget::SpendRescue)
        );
        lapsed.rescues = 1;
        assert_eq!(rescue(&lapsed).to, To::Dead(DeadReason::Lost));
        assert_eq!(rescue(&lease(Delivery::NotAfterLoss)).to, To::Dead(DeadReason::Lost));
        assert_eq!(rescue(&lease(Delivery::AtMostOnce)).to, To::Dead(DeadReason::Lost));
    }

    #[test]
    fn a_rescue_that_was_taken_over_too_often_buries_without_the_policy() {
        let mut lapsed = lease(Delivery::at_least_once());
        lapsed.takeovers = TAKEOVERS_MAX - 1;
        assert!(matches!(rescue(&lapsed).to, To::Waiting(_)));
        lapsed.takeovers = TAKEOVERS_MAX;
        assert_eq!(rescue(&lapsed).to, To::Dead(DeadReason::Lost));
    }

    #[test]
    fn a_lost_task_stays_a_day_whatever_its_policy_says() {
        let mut lapsed = lease(Delivery::NotAfterLoss);
        lapsed.policy.retention = Retention::default().with_dead(Keep::For(HOUR));
        assert_eq!(rescue(&lapsed).keep, Some(Keep::For(24 * HOUR)));
    }

    #[test]
    fn each_act_is_admitted_in_its_states_only() {
        let states = [
            State::Waiting,
            State::Leased(Purpose::Run),
            State::Leased(Purpose::Rescue),
            State::Succeeded,
            State::Dead(DeadReason::Lost),
            State::Cancelled,
        ];
        let table = [
            (Intervention::Cancel, [true, true, true, false, false, false]),
            (Intervention::Bury, [true, true, true, false, false, false]),
            (Intervention::Requeue(OnLeased::Refuse), [true, false, true, false, false, false]),
            (Intervention::Requeue(OnLeased::Revoke), [true, true, true, false, false, false]),
            (Intervention::Edit(Edit::default()), [true, false, false, false, true, false]),
            (Intervention::Delete, [true; 6]),
            (Intervention::Redrive, [false, false, false, true, true, true]),
        ];
        let by = Operator::new("ada", "3 a.m.");
        for (act, admitted) in table {
            for (state, admitted) in states.into_iter().zip(admitted) {
                let mut seen = task(Delivery::at_least_once());
                seen.state = state;
                let change = intervene(&seen, act.clone(), &by);
                assert_eq!(change.is_ok(), admitted, "{act:?} on {state}");
            }
        }
    }

    #[test]
    fn an_act_names_who_and_why() {
        let seen = task(Delivery::at_least_once());
        let by = Operator::new("ada", "wrong customer");
        let change = intervene(&seen, Intervention::Cancel, &by).expect("it is waiting");
        assert_eq!(
            (change.actor.as_deref(), change.message.as_str()),
            (Some("ada"), "wrong customer")
        );
    }
}
