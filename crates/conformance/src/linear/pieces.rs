//! [`Piece`]: what one call did to one queue, and when.

use std::collections::{BTreeMap, BTreeSet};

use leasehold_core::{
    Claim, CommitVerdict, EnqueueVerdict, Fence, Found, Lease, LostReason, RenewVerdict, StoredTask,
};

use crate::model::{Op, Reply};

/// Something that took effect at one moment between a call and its return.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// Who called.
    pub lane: usize,
    /// When it was called, by a counter of calls and returns.
    pub call: u64,
    /// When it returned; `None` when nobody saw a reply, and so it took effect at any time
    /// after its call, or never.
    pub back: Option<u64>,
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// A step and its reply.
    Step(Op, Reply),
    /// A step whose reply nobody saw.
    Maybe(Op),
    /// One of the leases that a claim was granted.
    Grant(Claim, Lease),
    /// A claim whose reply nobody saw may have been granted this task.
    MaybeGrant(Claim, String),
    /// A repeat of a claim told of this lease: it goes on, or, when the first call may not have
    /// arrived, it is granted now.
    Again { claim: Claim, lease: Lease, may_grant: bool },
    /// A claim that had room for more said that there was none, and no overlapping call touched
    /// this task: it could not be claimed.
    Passed(Claim, String),
}

impl Piece {
    /// Whether it may change the task under `id`, or what a claim sees of it.
    pub fn touches(&self, id: &str) -> bool {
        match &self.what {
            What::Step(op, _) | What::Maybe(op) => touches(op, id),
            What::Grant(_, lease) | What::Again { lease, .. } => lease.task_ref.id == id,
            What::MaybeGrant(_, maybe) => maybe == id,
            What::Passed(..) => false,
        }
    }

    /// Whether it may change anything.
    pub fn writes(&self) -> bool {
        !matches!(&self.what, What::Passed(..) | What::Step(Op::Get(_) | Op::Count, _))
    }

    /// Whether its reply says that it changed nothing, in whatever state it was made.
    pub fn changed_nothing(&self) -> bool {
        match &self.what {
            What::Passed(..) | What::Again { may_grant: false, .. } => true,
            What::Step(_, Reply::Found(_) | Reply::Counted(_) | Reply::Refused(_)) => true,
            What::Step(_, Reply::Committed(verdict)) => {
                !matches!(verdict, CommitVerdict::Applied(_))
            }
            What::Step(_, Reply::Renewed(verdict)) => !matches!(verdict, RenewVerdict::Held { .. }),
            What::Step(_, Reply::Enqueued(verdicts)) => {
                let is_new = |one: &EnqueueVerdict| matches!(one, EnqueueVerdict::Enqueued { .. });
                !verdicts.iter().any(is_new)
            }
            _ => false,
        }
    }

    /// Whether it went on at any time from `call` to `back`.
    pub fn overlaps(&self, call: u64, back: u64) -> bool {
        self.call < back && self.back.is_none_or(|end| end > call)
    }
}

fn touches(op: &Op, id: &str) -> bool {
    match op {
        Op::Enqueue(tasks) => tasks.iter().any(|new| new.id == id),
        Op::Renew(item) => item.guard.task.id == id,
        Op::Commit(item) => {
            let mut follow_ups = item.change.follow_ups.iter();
            item.guard.task.id == id || follow_ups.any(|new| new.id == id)
        }
        Op::Get(_) | Op::Count => false,
        Op::Claim(_) | Op::Configure(_) | Op::Purge(_) | Op::Shift(_) => true,
    }
}

/// The fences that replies show, by task.
pub(crate) fn seen_fences(pieces: &[Piece]) -> BTreeMap<String, BTreeSet<Fence>> {
    let mut seen = Seen::default();
    for piece in pieces {
        match &piece.what {
            What::Step(op, reply) => seen.reply(op, reply),
            What::Grant(_, lease) | What::Again { lease, .. } => {
                seen.add(&lease.task_ref.id, lease.run.into_iter().chain([lease.fence]));
            }
            What::Maybe(_) | What::MaybeGrant(..) | What::Passed(..) => {}
        }
    }
    seen.0
}

#[derive(Default)]
struct Seen(BTreeMap<String, BTreeSet<Fence>>);

impl Seen {
    fn add(&mut self, id: &str, fences: impl IntoIterator<Item = Fence>) {
        self.0.entry(id.to_owned()).or_default().extend(fences);
    }

    fn enqueued<'a>(&mut self, ids: impl Iterator<Item = &'a String>, verdicts: &[EnqueueVerdict]) {
        for (id, verdict) in ids.zip(verdicts) {
            if let EnqueueVerdict::Enqueued { fence } = verdict {
                self.add(id, [*fence]);
            }
        }
    }

    fn reply(&mut self, op: &Op, reply: &Reply) {
        match (op, reply) {
            (Op::Enqueue(tasks), Reply::Enqueued(verdicts)) => {
                self.enqueued(tasks.iter().map(|new| &new.id), verdicts);
            }
            (Op::Commit(item), Reply::Committed(CommitVerdict::Applied(applied))) => {
                self.add(&item.guard.task.id, [applied.fence]);
                let ids = item.change.follow_ups.iter().map(|new| &new.id);
                self.enqueued(ids, &applied.follow_ups);
            }
            (Op::Commit(item), Reply::Committed(CommitVerdict::Stale { fence, .. })) => {
                self.add(&item.guard.task.id, [*fence]);
            }
            (Op::Renew(item), Reply::Renewed(RenewVerdict::Lost(LostReason::Taken(fence)))) => {
                self.add(&item.guard.task.id, [*fence]);
            }
            (Op::Get(id), Reply::Found(Found::Task(task))) => self.add(id, fences_of(task)),
            (Op::Get(id), Reply::Found(Found::Left(left))) => self.add(id, [left.shown.fence]),
            _ => {}
        }
    }
}

fn fences_of(task: &StoredTask) -> Vec<Fence> {
    let records = task.history.records.iter().map(|record| Fence::new(record.fence));
    let shown = task.shown.map(|shown| shown.fence);
    records.chain([task.fence, task.born]).chain(task.run).chain(shown).collect()
}
