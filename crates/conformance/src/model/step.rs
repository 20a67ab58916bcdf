//! [`step`]: the one relation that says whether a store may answer so.

use std::collections::VecDeque;
use std::fmt;

use leasehold_core::clause::{self, Clause};
use leasehold_core::{
    Claimed, CommitVerdict, EnqueueVerdict, Fence, Purpose, RenewVerdict, Role, To,
};

use super::op::{Op, Reply};
use super::play::{Choices, Play};
use super::queue::Model;
use super::rules::{Contract, Rules};

/// Why a store may not answer so.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breach {
    /// The clause that says so.
    pub clause: Clause,
    /// What is wrong.
    pub what: String,
    /// What was answered.
    pub got: String,
    /// What would have been right; where a store may choose, one right answer of several.
    pub want: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clause, what, got, want } = self;
        write!(f, "{}: {what}\n  wanted {want}\n  got    {got}", clause.id)
    }
}

/// The queue after `op` was answered by `reply`, if the contract allows that answer.
///
/// It judges a quiet queue: one step after the other, so that a claim has to follow the order of
/// service (LH-CLAIM-3). What is a store's own choice is taken from the reply: the values of
/// fences, the order of rescues, and how many due tasks a claim admits when it says `more`.
///
/// # Errors
/// The first breach that was found; the model is then of no use any more.
pub fn step(model: &Model, op: &Op, reply: &Reply) -> Result<Model, Box<Breach>> {
    let mut choices = chosen(op, reply);
    let (next, want, broken) = play(&Contract, model, op, &mut choices);
    if let Some((clause, what)) = broken.into_iter().next() {
        let (got, want) = (format!("{reply:?}"), "a greater fence".to_owned());
        return Err(Box::new(Breach { clause, what, got, want }));
    }
    let repeat = repeats(model, op);
    if agree(op, repeat, &want, reply) {
        return Ok(next);
    }
    let clause = if repeat { clause::CLAIM_9 } else { clause_of(op, &want, reply) };
    let what = format!("the answer to {}", op.name());
    let (got, want) = (format!("{reply:?}"), format!("{want:?}"));
    Err(Box::new(Breach { clause, what, got, want }))
}

/// One allowed answer to `op`: fences count up, and a claim grants as many as it may.
#[must_use]
pub fn predict(model: &Model, op: &Op) -> (Model, Reply) {
    predict_by(&Contract, model, op)
}

/// The same by other rules than the contract's.
#[must_use]
pub fn predict_by(rules: &dyn Rules, model: &Model, op: &Op) -> (Model, Reply) {
    let (next, reply, _) = play(rules, model, op, &mut Choices::default());
    (next, reply)
}

fn play(
    rules: &dyn Rules,
    model: &Model,
    op: &Op,
    choices: &mut Choices,
) -> (Model, Reply, Vec<(Clause, String)>) {
    let mut next = model.clone();
    let mut play = Play { model: &mut next, rules, choices, broken: Vec::new() };
    let reply = play.step(op);
    let broken = play.broken;
    (next, reply, broken)
}

/// What the store chose, as its reply shows.
fn chosen(op: &Op, reply: &Reply) -> Choices {
    let enqueued = |verdicts: &[EnqueueVerdict]| -> Vec<Fence> {
        let fences = verdicts.iter().filter_map(|verdict| match verdict {
            EnqueueVerdict::Enqueued { fence } => Some(*fence),
            EnqueueVerdict::Duplicate { .. } => None,
        });
        fences.collect()
    };
    let mut choices = Choices::default();
    match (op, reply) {
        (Op::Enqueue(_), Reply::Enqueued(verdicts)) => choices.fences = enqueued(verdicts).into(),
        (Op::Commit(_), Reply::Committed(CommitVerdict::Applied(applied))) => {
            let follow_ups = enqueued(&applied.follow_ups);
            choices.fences = std::iter::once(applied.fence).chain(follow_ups).collect();
        }
        (Op::Claim(claim), Reply::Claimed(claimed)) => {
            let leases = claimed.leases.iter();
            choices.fences = leases.clone().map(|lease| lease.fence).collect::<VecDeque<_>>();
            // A rescue has no order of service, so it is granted in the order of the reply.
            let ids = leases.map(|lease| lease.task_ref.id.clone()).collect();
            choices.grants = Some(ids);
            choices.free_order = claim.purpose == Purpose::Rescue;
        }
        _ => {}
    }
    choices
}

/// Whether `op` is a claim that the queue has recorded, or one before it.
fn repeats(model: &Model, op: &Op) -> bool {
    let Op::Claim(claim) = op else { return false };
    let recorded = claim.ticket.and_then(|t| Some((t.seq, model.claims.get(&t.claimer)?.seq)));
    recorded.is_some_and(|(seq, newest)| seq <= newest)
}

fn agree(op: &Op, repeat: bool, want: &Reply, got: &Reply) -> bool {
    match (op, want, got) {
        // What a repeat still holds it tells in any order.
        (Op::Claim(claim), Reply::Claimed(want), Reply::Claimed(got)) if repeat => {
            let sorted = |claimed: &Claimed| {
                let mut claimed = claimed.clone();
                claimed.leases.sort_by(|a, b| a.task_ref.cmp(&b.task_ref));
                claimed
            };
            claims_agree(claim.max, &sorted(want), &sorted(got))
        }
        (Op::Claim(claim), Reply::Claimed(want), Reply::Claimed(got)) => {
            claims_agree(claim.max, want, got)
        }
        // Unknown, and so always allowed (LH-RENEW-7): nothing happened.
        (Op::Renew(_), Reply::Renewed(_), Reply::Renewed(RenewVerdict::Busy)) => true,
        (_, Reply::Counted(want), Reply::Counted(got)) => {
            // How often a claim meets a full key or a newer record is the store's own way.
            let mut want = want.clone();
            want.events.blocked_by_limit = got.events.blocked_by_limit;
            want.events.skipped_newer = got.events.skipped_newer;
            want == *got
        }
        (_, want, got) => want == got,
    }
}

fn claims_agree(max: usize, want: &Claimed, got: &Claimed) -> bool {
    // A full answer may say either; a short one may ask to be asked again.
    let short = got.leases.len() < max;
    let more = !short || got.more || !want.more;
    more && want.leases == got.leases && want.superseded == got.superseded
}

/// The clause that a wrong answer breaks.
fn clause_of(op: &Op, want: &Reply, got: &Reply) -> Clause {
    match (op, want, got) {
        (Op::Enqueue(_), Reply::Refused(_), _) | (Op::Enqueue(_), _, Reply::Refused(_)) => {
            clause::ENQ_7
        }
        (Op::Enqueue(_), Reply::Enqueued(want), Reply::Enqueued(got)) => enqueue_clause(want, got),
        (Op::Claim(claim), Reply::Claimed(want), Reply::Claimed(got)) => {
            claim_clause(claim, want, got)
        }
        (Op::Renew(_), Reply::Renewed(RenewVerdict::Held { .. }), _) => clause::RENEW_1,
        (Op::Renew(_), ..) => clause::RENEW_2,
        (Op::Commit(item), Reply::Committed(want), Reply::Committed(got)) => {
            commit_clause(item.change.by, item.change.to, want, got)
        }
        (Op::Commit(_), ..) => clause::COMMIT_3,
        (Op::Get(_), ..) => clause::READ_1,
        (Op::Count, Reply::Counted(want), Reply::Counted(got)) if want.tasks == got.tasks => {
            clause::OBS_1
        }
        (Op::Count, ..) => clause::READ_2,
        (Op::Configure(_), ..) => clause::CTL_1,
        (Op::Purge(_), ..) => clause::PURGE_1,
        _ => clause::GEN_1,
    }
}

fn enqueue_clause(want: &[EnqueueVerdict], got: &[EnqueueVerdict]) -> Clause {
    use leasehold_core::DuplicateCause::{Id, Key};
    let differing = want.iter().zip(got).find(|(want, got)| want != got);
    match differing {
        None => clause::GEN_2,
        Some((EnqueueVerdict::Enqueued { .. }, _)) => clause::ENQ_1,
        Some((EnqueueVerdict::Duplicate { cause: Key, .. }, _)) => clause::UNIQ_2,
        Some((EnqueueVerdict::Duplicate { cause: Id, state: None, .. }, _)) => clause::ENQ_9,
        Some((EnqueueVerdict::Duplicate { cause: Id, .. }, _)) => clause::ENQ_2,
    }
}

fn claim_clause(claim: &leasehold_core::Claim, want: &Claimed, got: &Claimed) -> Clause {
    let ids = |claimed: &Claimed| {
        let leases = claimed.leases.iter();
        leases.map(|lease| lease.task_ref.id.clone()).collect::<Vec<_>>()
    };
    let (wanted, granted) = (ids(want), ids(got));
    match claim.purpose {
        _ if want.superseded != got.superseded => clause::CLAIM_9,
        _ if granted.len() > claim.max => clause::CLAIM_4,
        Purpose::Run if wanted == granted && want.leases != got.leases => clause::CLAIM_5,
        Purpose::Rescue if wanted == granted && want.leases != got.leases => clause::LAPSE_2,
        _ if wanted == granted => clause::CLAIM_4,
        Purpose::Run if granted.len() > wanted.len() => clause::CLAIM_1,
        Purpose::Rescue if granted.len() > wanted.len() => clause::LAPSE_1,
        Purpose::Run => clause::CLAIM_3,
        Purpose::Rescue => clause::LAPSE_1,
    }
}

fn commit_clause(by: Role, to: To, want: &CommitVerdict, got: &CommitVerdict) -> Clause {
    use CommitVerdict::{Applied, Conflict, Gone, Replayed, Stale};
    match (want, got) {
        (Applied(want), Applied(got)) if want.follow_ups != got.follow_ups => clause::ENQ_8,
        (Applied(want), Applied(got)) if want.overdue != got.overdue => clause::COMMIT_7,
        (Applied(want), _) if want.late => clause::LATE_1,
        (Applied(want), _) if want.overdue => clause::COMMIT_7,
        (Applied(_), _) => clause::COMMIT_1,
        (Replayed, _) => clause::COMMIT_4,
        (Conflict(_), _) => clause::UNIQ_4,
        (Gone, _) => clause::COMMIT_8,
        (Stale { .. }, Applied(_)) if by == Role::Operator => clause::OPER_1,
        (Stale { .. }, Applied(got)) if got.late && to != To::Succeeded => clause::LATE_2,
        (Stale { .. }, Applied(_)) => clause::COMMIT_1,
        (Stale { .. }, Replayed) => clause::COMMIT_6,
        (Stale { .. }, _) => clause::COMMIT_9,
    }
}
