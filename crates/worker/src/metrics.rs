//! Counters for whatever recorder the program has installed, by the crate `metrics`.

use leasehold_core::{Change, Lease, To};
use metrics::counter;

use crate::observe::{Notice, Observer, Verdict};

/// The observer behind the feature `metrics`; the crate's front page lists its counters.
#[derive(Debug)]
pub(crate) struct Metrics;

impl Observer for Metrics {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Claimed { lease } => of("leasehold_claimed_total", lease),
            Notice::Lost { lease, .. } => of("leasehold_lost_total", lease),
            Notice::Decided { lease, change, verdict } => {
                counter!("leasehold_decided_total", "queue" => lease.task_ref.queue.clone(),
                    "kind" => lease.kind.clone(), "event" => change.event.to_string(),
                    "verdict" => word(verdict))
                .increment(1);
                if matches!(verdict, Verdict::Applied { late: true, .. }) {
                    of("leasehold_late_successes_total", lease);
                }
                dead_letter(lease, change, verdict);
            }
            Notice::Rescued { lease, change, verdict } => {
                counter!("leasehold_rescues_total", "queue" => lease.task_ref.queue.clone(),
                    "kind" => lease.kind.clone(), "verdict" => word(verdict))
                .increment(1);
                dead_letter(lease, change, verdict);
            }
            Notice::Purged { queue, tasks } => {
                let tasks = u64::try_from(*tasks).unwrap_or(u64::MAX);
                counter!("leasehold_purged_total", "queue" => (*queue).to_owned()).increment(tasks);
            }
            Notice::Failing { queue, name, .. } => {
                counter!("leasehold_loop_errors_total", "queue" => (*queue).to_owned(),
                    "loop" => name.to_string())
                .increment(1);
            }
            Notice::Recovered { .. } => {}
        }
    }
}

fn of(name: &'static str, lease: &Lease) {
    counter!(name, "queue" => lease.task_ref.queue.clone(), "kind" => lease.kind.clone())
        .increment(1);
}

fn dead_letter(lease: &Lease, change: &Change, verdict: &Verdict) {
    if let (To::Dead(reason), true) = (change.to, verdict.counts()) {
        counter!("leasehold_dead_letters_total", "queue" => lease.task_ref.queue.clone(),
            "kind" => lease.kind.clone(), "reason" => reason.to_string())
        .increment(1);
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Applied { .. } => "applied",
        Verdict::Stale { .. } => "stale",
        Verdict::Unknown { .. } => "unknown",
        Verdict::Gone => "gone",
        Verdict::Refused(_) => "refused",
        Verdict::Unanswered => "unanswered",
    }
}
