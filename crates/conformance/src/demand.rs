//! What has to come for a case to go on, under the clause that asks for it: without it the case
//! reports that clause, and then stops.

use std::fmt::Debug;

use leasehold_core::clause::Clause;
use leasehold_core::{Applied, Claimed, CommitVerdict, EnqueueVerdict, Error, Fence, Lease};

use crate::context::{Context, Stop};

/// The one lease of a claim.
pub(crate) fn lease(
    cx: &mut Context,
    clause: Clause,
    what: &str,
    mut claimed: Claimed,
) -> Result<Lease, Stop> {
    let one = claimed.leases.pop().filter(|_| claimed.leases.is_empty());
    demanded(cx, clause, what, one.ok_or(claimed))
}

/// What an applied commit tells.
pub(crate) fn applied(
    cx: &mut Context,
    clause: Clause,
    what: &str,
    verdict: CommitVerdict,
) -> Result<Applied, Stop> {
    let applied = match verdict {
        CommitVerdict::Applied(applied) => Ok(applied),
        other => Err(other),
    };
    demanded(cx, clause, what, applied)
}

/// The fence of a task that is new.
pub(crate) fn enqueued(
    cx: &mut Context,
    clause: Clause,
    what: &str,
    verdict: EnqueueVerdict,
) -> Result<Fence, Stop> {
    let fence = match verdict {
        EnqueueVerdict::Enqueued { fence } => Ok(fence),
        other => Err(other),
    };
    demanded(cx, clause, what, fence)
}

/// What a call answers that may not fail.
pub(crate) fn answered<T>(
    cx: &mut Context,
    clause: Clause,
    what: &str,
    answer: Result<T, Error>,
) -> Result<T, Stop> {
    demanded(cx, clause, what, answer)
}

/// The lease at this place of a claim that has been checked before.
pub(crate) fn nth(leases: &[Lease], n: usize) -> Result<&Lease, Stop> {
    leases.get(n).ok_or_else(|| Stop::because(format!("no lease at place {n} of {leases:?}")))
}

fn demanded<T, E: Debug>(
    cx: &mut Context,
    clause: Clause,
    what: &str,
    got: Result<T, E>,
) -> Result<T, Stop> {
    cx.check_that(clause, what, got.is_ok(), got.as_ref().err());
    got.map_err(|got| Stop::because(format!("{what}: {got:?}")))
}
