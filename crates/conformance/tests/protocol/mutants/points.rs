//! One wrapper for each point at which a protocol may be wrong, so that a mutant is one closure.

use leasehold_conformance::model::{Admission, Draw, Extended, Model, Op, Reply, Rules};
use leasehold_core::{
    Change, CommitItem, CommitVerdict, Fence, Guard, Lease, LimitKey, LostReason, StoredTask,
    Timestamp,
};

use crate::config::Ending;
use crate::fault::Fault;

/// Wrong rules.
pub struct By<R>(pub R);

impl<R: Rules> Fault for By<R> {
    fn rules(&self) -> &dyn Rules {
        &self.0
    }
}

pub struct Admits(pub fn(&Model, &StoredTask, &CommitItem) -> Admission);

impl Rules for Admits {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        (self.0)(model, task, item)
    }
}

pub struct Refuses(pub fn(&StoredTask, &CommitItem) -> CommitVerdict);

impl Rules for Refuses {
    fn refusal(&self, task: &StoredTask, item: &CommitItem) -> CommitVerdict {
        (self.0)(task, item)
    }
}

pub struct Loses(pub fn(&Model, &StoredTask, &Guard) -> Option<LostReason>);

impl Rules for Loses {
    fn lost(&self, model: &Model, task: &StoredTask, guard: &Guard) -> Option<LostReason> {
        (self.0)(model, task, guard)
    }
}

pub struct Claims(pub fn(&Model, &StoredTask) -> bool);

impl Rules for Claims {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        (self.0)(model, task)
    }
}

pub struct Lapses(pub fn(&Model, &StoredTask) -> bool);

impl Rules for Lapses {
    fn lapsed(&self, model: &Model, task: &StoredTask) -> bool {
        (self.0)(model, task)
    }
}

pub struct Numbers(pub fn(&Model, &str, Draw, Fence) -> Fence);

impl Rules for Numbers {
    fn fence(&self, model: &Model, id: &str, why: Draw, drawn: Fence) -> Fence {
        (self.0)(model, id, why, drawn)
    }
}

/// What is wrong about slots.
pub enum Slots {
    OfTheTask,
    FreedByAll,
    NotExtended,
    Ignored,
}

impl Rules for Slots {
    fn slot_of(&self, id: &str, fence: Fence) -> (String, Fence) {
        let fence = if matches!(self, Self::OfTheTask) { Fence::new(0) } else { fence };
        (id.to_owned(), fence)
    }

    fn frees_slot(&self, change: &Change) -> bool {
        matches!(self, Self::FreedByAll) || change.by == leasehold_core::Role::Worker
    }

    fn extended(&self, now: Timestamp, until: Timestamp, ttl: std::time::Duration) -> Extended {
        let until = until.max(now.after(ttl));
        let slot = (!matches!(self, Self::NotExtended)).then_some(until);
        Extended { lease: until, slot }
    }

    fn has_room(&self, model: &Model, key: &LimitKey) -> bool {
        let max = model.settings.limits.get(&key.group).copied().unwrap_or(0);
        matches!(self, Self::Ignored) || model.slots_taken(key) < max as usize
    }
}

/// What a store does after a step that was right until then.
pub struct After(pub fn(&Model, &mut Model, &Op, &mut Reply));

impl Fault for After {
    fn after(&self, before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        (self.0)(before, next, op, reply);
    }
}

/// What a store takes itself to hold when a step begins.
pub struct Before(pub fn(&mut Model, &Op));

impl Fault for Before {
    fn before(&self, model: &Model, op: &Op) -> Option<Model> {
        let mut spoilt = model.clone();
        (self.0)(&mut spoilt, op);
        Some(spoilt)
    }
}

/// What a worker decides.
pub struct Decides(pub fn(&Lease, Ending, Change) -> Change);

impl Fault for Decides {
    fn decided(&self, lease: &Lease, ending: Ending, change: Change) -> Change {
        (self.0)(lease, ending, change)
    }
}

/// What a rescuer decides.
pub struct Rescues(pub fn(&Lease, Change) -> Change);

impl Fault for Rescues {
    fn rescued(&self, lease: &Lease, change: Change) -> Change {
        (self.0)(lease, change)
    }
}
