//! [`Log`]: tells what happened by `tracing`, under the target `leasehold`.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use leasehold_core::{Budget, Change, Event, Lease, To};

use crate::observe::{Notice, Observer, Verdict};

/// The observer that every worker has.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Kinds without a handler that were told already: a rolling release would tell thousands.
    unknown_kinds: Mutex<HashSet<String>>,
}

impl Observer for Log {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Claimed { lease } => {
                tracing::debug!(target: "leasehold", task = %lease.task_ref, kind = lease.kind,
                    fence = lease.fence.value(), attempt = lease.attempt, "claimed");
            }
            Notice::Lost { lease, loss } => {
                tracing::warn!(target: "leasehold", task = %lease.task_ref, kind = lease.kind,
                    fence = lease.fence.value(), ?loss, "lost the lease: the handler is cancelled");
            }
            Notice::Decided { lease, change, verdict } => self.decided(lease, change, verdict),
            Notice::Rescued { lease, change, verdict } => rescued(lease, change, verdict),
            Notice::Purged { queue, tasks } => {
                tracing::debug!(target: "leasehold", queue, tasks, "purged");
            }
            // Once a change of state: the loop's counter has the others.
            Notice::Failing { queue, name, error, tries: 1 } => {
                tracing::error!(target: "leasehold", queue, name = %name, %error, "a loop fails, and goes on");
            }
            Notice::Failing { queue, name, error, tries } => {
                tracing::debug!(target: "leasehold", queue, name = %name, %error, tries, "a loop still fails");
            }
            Notice::Recovered { queue, name, tries } => {
                tracing::info!(target: "leasehold", queue, name = %name, tries, "a loop works again");
            }
        }
    }
}

impl Log {
    fn decided(&self, lease: &Lease, change: &Change, verdict: &Verdict) {
        let (task, kind) = (&lease.task_ref, lease.kind.as_str());
        if let Some(line) = astray(verdict) {
            tracing::warn!(target: "leasehold", %task, kind, event = ?change.event, ?verdict, "{line}");
            return;
        }
        let late = matches!(verdict, Verdict::Applied { late: true, .. });
        // Not `message`: that is the name of the line's own text.
        let why = change.message.as_str();
        match change.to {
            To::Dead(reason) => {
                tracing::error!(target: "leasehold", %task, kind, %reason, why, "buried");
            }
            To::Waiting(_) if change.budget == Budget::SpendRetry => {
                tracing::warn!(target: "leasehold", %task, kind, event = ?change.event, why,
                    failures = lease.failures + 1, "failed, and is tried again");
            }
            To::Waiting(_) if change.event == Event::UnknownKind => self.unknown_kind(lease),
            _ if late => {
                tracing::warn!(target: "leasehold", %task, kind, "succeeded late, and it counts");
            }
            _ => {
                tracing::info!(target: "leasehold", %task, kind, event = ?change.event, why, "ended");
            }
        }
    }

    fn unknown_kind(&self, lease: &Lease) {
        let mut told = self.unknown_kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(lease.kind.clone()) {
            tracing::warn!(target: "leasehold", task = %lease.task_ref, kind = lease.kind,
                "no handler for this kind: its tasks are left to a worker that has one");
        }
    }
}

fn rescued(lease: &Lease, change: &Change, verdict: &Verdict) {
    let (task, kind) = (&lease.task_ref, lease.kind.as_str());
    match (verdict, change.to) {
        (Verdict::Applied { .. }, To::Dead(reason)) => {
            tracing::error!(target: "leasehold", %task, kind, %reason, why = change.message.as_str(),
                "its worker was lost: buried");
        }
        (Verdict::Applied { .. }, _) => {
            tracing::warn!(target: "leasehold", %task, kind, rescues = lease.rescues + 1,
                "its worker was lost: put back");
        }
        (Verdict::Stale { .. } | Verdict::Gone, _) => {
            tracing::info!(target: "leasehold", %task, kind, ?verdict, "needed no rescue after all");
        }
        _ => {
            let line = astray(verdict).unwrap_or_default();
            tracing::warn!(target: "leasehold", %task, kind, ?verdict, "rescue: {line}");
        }
    }
}

/// What to say of a decision that is not known to count.
fn astray(verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Applied { .. } => None,
        Verdict::Stale { .. } => Some("came too late, and changed nothing"),
        Verdict::Unknown { .. } => Some("a try got no answer, and it may have counted"),
        Verdict::Gone => Some("the task is gone"),
        Verdict::Refused(_) => Some("refused by the store: the lease is left to lapse"),
        Verdict::Unanswered => Some("no answer before the worker stopped"),
    }
}
