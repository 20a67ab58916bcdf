//! [`Book`]: what the names of a vector stand for.

use std::collections::BTreeMap;

use leasehold_core::{
    ClaimerId, CommitVerdict, DecisionId, EnqueueVerdict, Fence, NewTask, Timestamp,
};

use crate::model::{Model, Op, Reply};

/// What a vector's names stand for in one replay of it.
///
/// A file writes fences as `f1`, `f2` and so on in the order in which they grow. A store draws
/// values of its own; those are bound to the names as they appear.
#[derive(Debug, Clone)]
pub struct Book {
    pub(super) queue: String,
    pub(super) start: Timestamp,
    bound: Option<BTreeMap<Fence, Fence>>,
    /// What was enqueued under each id, and when.
    tasks: BTreeMap<String, (NewTask, Timestamp)>,
}

impl Book {
    /// Every name is its own number: `f7` is fence 7, as the model counts.
    #[must_use]
    pub fn plain(queue: impl Into<String>, start: Timestamp) -> Self {
        Self { queue: queue.into(), start, bound: None, tasks: BTreeMap::new() }
    }

    /// A store's own fences, none of which is known yet.
    #[must_use]
    pub fn unbound(queue: impl Into<String>, start: Timestamp) -> Self {
        Self { bound: Some(BTreeMap::new()), ..Self::plain(queue, start) }
    }

    /// Notes what a call is about to enqueue.
    pub fn note(&mut self, model: &Model, op: &Op) {
        let tasks = match op {
            Op::Enqueue(tasks) => tasks,
            Op::Commit(item) => &item.change.follow_ups,
            _ => return,
        };
        for new in tasks.iter().filter(|new| model.task(&new.id).is_none()) {
            self.tasks.insert(new.id.clone(), (new.clone(), model.now));
        }
    }

    /// Binds the names of new fences in `right`, as a plain book reads it, to those that a store
    /// has `told`.
    ///
    /// # Errors
    /// When the store drew another number of fences than the file foresees.
    pub fn bind(&mut self, right: &Reply, told: &Reply) -> Result<(), String> {
        let (names, fences) = (drawn(right), drawn(told));
        if names.len() != fences.len() {
            return Err(format!("{} new fences instead of {}", fences.len(), names.len()));
        }
        if let Some(bound) = &mut self.bound {
            bound.extend(names.into_iter().zip(fences));
        }
        Ok(())
    }

    pub(super) fn fence(&self, name: &str) -> Result<Fence, String> {
        let plain = Fence::new(number('f', name)?);
        let bound = self.bound.as_ref().map_or(Some(&plain), |bound| bound.get(&plain));
        bound.copied().ok_or_else(|| format!("{name} is not bound yet"))
    }

    pub(super) fn task(&self, id: &str) -> Result<&(NewTask, Timestamp), String> {
        self.tasks.get(id).ok_or_else(|| format!("{id} was never enqueued"))
    }

    pub(super) fn at(&self, ms: i64) -> Timestamp {
        Timestamp::from_millis(self.start.as_millis() + ms)
    }

    pub(super) fn ms(&self, at: Timestamp) -> i64 {
        at.as_millis() - self.start.as_millis()
    }
}

/// The fences that a step drew, in order.
fn drawn(reply: &Reply) -> Vec<Fence> {
    let enqueued = |verdicts: &[EnqueueVerdict]| -> Vec<Fence> {
        let fences = verdicts.iter().filter_map(|verdict| match verdict {
            EnqueueVerdict::Enqueued { fence } => Some(*fence),
            EnqueueVerdict::Duplicate { .. } => None,
        });
        fences.collect()
    };
    match reply {
        Reply::Enqueued(verdicts) => enqueued(verdicts),
        Reply::Claimed(claimed) => claimed.leases.iter().map(|lease| lease.fence).collect(),
        Reply::Committed(CommitVerdict::Applied(applied)) => {
            std::iter::once(applied.fence).chain(enqueued(&applied.follow_ups)).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn name(fence: Fence) -> String {
    format!("f{fence}")
}

pub(super) fn decision(name: &str) -> Result<DecisionId, String> {
    Ok(DecisionId::from_bits(number('d', name)?.into()))
}

pub(super) fn claimer(name: &str) -> Result<ClaimerId, String> {
    Ok(ClaimerId::from_bits(number('c', name)?.into()))
}

fn number(letter: char, name: &str) -> Result<u64, String> {
    let digits = name.strip_prefix(letter).and_then(|digits| digits.parse().ok());
    digits.ok_or_else(|| format!("{name:?} is no name of the form {letter}1"))
}
