//! One charge put to the cases.

use std::time::Duration;

use leasehold_conformance::{Case, CaseClock, Fault, Kind, Verdict, cases, run_case};

use leasehold_core::Clock;

use crate::charge::Charge;
use crate::harness::Exam;

/// Cases that take 2 ms or more here in debug, as those that play orders or histories or wait
/// for a real clock do too: they are asked where a charge names them.
const DEAR: &[&str] = &[
    "budget/redrive_resets_both",
    "budget/two_budgets_are_independent",
    "budget/what_costs_nothing",
    "claim/a_herd_shares_nothing",
    "claim/kinds_are_all_that_is_granted",
    "claim/no_false_empty",
    "claim/what_cannot_start_hides_nothing",
    "commit/every_act_applies_once",
    "commit/every_ending_applies_once",
    "commit/finished_never_changes",
    "commit/gone_below_born",
    "commit/overdue_applies",
    "commit/verdict_true",
    "commit/wrong_state_is_invalid",
    "dead/no_cap_evicts",
    "dropped/a_burial_is_one_step",
    "enq/like_tasks_stay_apart",
    "enq/the_largest_batch",
    "follow/as_many_as_may_be",
    "follow/every_change_brings_them",
    "follow/takes_the_parents_key",
    "give/costs_nothing",
    "held/slot_stays_taken",
    "lapse/a_herd_shares_nothing",
    "lapse/decided_is_not_rescued",
    "lapse/live_is_safe_under_sweep",
    "lapse/recovery_takes_bounded_calls",
    "late/a_committed_run_has_no_right",
    "late/ends_at_an_operators_act",
    "late/only_success",
    "limit/every_change_frees_its_own_slot",
    "limit/gone_heir_strands_nobody",
    "limit/overdue_commit_frees_only_its_own",
    "limit/thousand_blocked_hide_nothing",
    "mode/starts_are_bounded",
    "oper/act_ends_every_older_right",
    "oper/edit_of_each_part",
    "oper/other_acts_are_invalid",
    "oper/stale_act_changes_nothing",
    "race/late_changes_but_success_are_stale",
    "race/matching_bury",
    "race/matching_fail",
    "race/matching_operator",
    "race/matching_run_after_rescue",
    "race/operator_after_decision",
    "race/operator_between_rescue_claim_and_decision",
    "race/operator_bury_between_claim_and_decision",
    "race/operator_cancel_between_claim_and_decision",
    "race/operator_delete_between_claim_and_decision",
    "race/operator_requeue_between_claim_and_decision",
    "race/operator_requeue_then_next_run",
    "race/operator_vs_operator",
    "race/redrive_then_old_commit",
    "race/same_holder_reclaims",
    "race/same_state_new_claim",
    "race/two_claims_same_instant",
    "race/worker_fail_vs_rescue",
    "race/worker_success_vs_rescue_requeue",
    "read/counts_go_by_status",
    "renew/changes_no_counter",
    "renew/decided_is_told",
    "retry/default_is_finite",
    "retry/exhausted_at_the_budget",
    "retry/history_is_bounded",
    "retry/long_message_is_cut",
    "uniq/freed_by_acts_and_loss",
    "uniq/freed_by_each_outcome_that_finishes",
    "uniq/redrive_takes_the_key_again",
    "verbs/ids_never_meet",
    "verbs/opaque_bytes",
    "verbs/queues_never_touch",
];

/// What became of a charge.
pub struct Finding {
    pub charge: &'static Charge,
    /// The named cases in their order, with the time until each had failed.
    pub kills: Vec<(&'static str, &'static str, Duration)>,
    /// How many cases failed that are not named.
    pub others: usize,
    /// How many cases were put to it.
    pub asked: usize,
    /// What is wrong with the charge or with the cases.
    pub complaints: Vec<String>,
}

impl Finding {
    /// Whether every named case has found it, and nothing unrelated failed.
    pub fn is_sound(&self) -> bool {
        self.complaints.is_empty() && !self.kills.is_empty()
    }
}

/// Puts the charge to its named cases and, as bystanders, to all that take little time.
pub fn run(charge: &'static Charge) -> Finding {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be built");
    let exam = Exam { features: charge.features, sin: charge.sin, wiring: charge.wiring };
    let mut finding =
        Finding { charge, kills: Vec::new(), others: 0, asked: 0, complaints: Vec::new() };
    for (id, _) in charge.killed_by {
        if !cases().iter().any(|case| case.id == *id) {
            finding.complaints.push(format!("there is no case {id}"));
        }
    }
    let clock = Clock::default();
    for case in cases().iter().filter(|case| is_asked(charge, case)) {
        let began = clock.now();
        let verdict = runtime.block_on(run_case(&exam, case));
        finding.asked += 1;
        judge(&mut finding, case, verdict, clock.now().since(began));
    }
    finding
}

fn is_asked(charge: &Charge, case: &Case) -> bool {
    // Orders, histories and lanes may find anything, so that none of them is a bystander.
    let named = matches!(case.kind, Kind::Named | Kind::Meta);
    // Where there is a network, these wait for handles that find their way back.
    let dear = case.id.starts_with("link/")
        || !named
        || case.needs.clock == CaseClock::Real
        || DEAR.contains(&case.id);
    !dear || charge.clause_of(case.id).is_some()
}

fn judge(finding: &mut Finding, case: &Case, verdict: Verdict, took: Duration) {
    let charge = finding.charge;
    let Some((faults, stopped)) = failure(verdict) else {
        if charge.clause_of(case.id).is_some() {
            finding.complaints.push(format!("{} passes: the sin survives it", case.id));
        }
        return;
    };
    let told = || format!("{} named [{}]{stopped}", case.id, clauses(&faults).join(", "));
    match charge.clause_of(case.id) {
        Some(clause) if faults.iter().any(|fault| fault.clause == clause) => {
            finding.kills.push((case.id, clause.id, took));
        }
        Some(clause) => finding.complaints.push(format!("{}, not {}", told(), clause.id)),
        None if charge.may_fail(case.id) => finding.others += 1,
        None => finding.complaints.push(format!("unrelated: {}", told())),
    }
}

/// The faults of a case that failed, and how it stopped if it did; `None` for one that did not.
fn failure(verdict: Verdict) -> Option<(Vec<Fault>, String)> {
    match verdict {
        Verdict::Pass | Verdict::Unsupported | Verdict::Inapplicable => None,
        Verdict::Fail(faults) => Some((faults, String::new())),
        Verdict::Stopped { why, faults, .. } => Some((faults, format!(", stopped: {why}"))),
        other => Some((Vec::new(), format!(", {other:?}"))),
    }
}

fn clauses(faults: &[Fault]) -> Vec<&'static str> {
    let mut ids: Vec<_> = faults.iter().map(|fault| fault.clause.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
