//! The leases that this process holds.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold::{Guard, Lease, RenewItem, TaskRef, Timestamp};
use tokio::sync::watch;

/// What a handler is told while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    GoOn,
    /// This process ends: give the task back.
    Stop,
    /// The lease is over: whatever comes of this run, somebody else may decide.
    Lost,
}

/// Every lease from its claim until its decision has been answered. A task stands here once,
/// so that a process never runs two attempts of it at a time (LH-WORK-1).
#[derive(Default)]
pub struct Running(Mutex<HashMap<TaskRef, Held>>);

struct Held {
    guard: Guard,
    /// By this machine's clock, counted from before the call that gave it.
    ends: Timestamp,
    signal: watch::Sender<Signal>,
}

impl Running {
    /// Adds a lease. None if an earlier attempt of the task has not yet ended here: that one
    /// is told that it is lost, and this one must not start.
    pub fn begin(&self, lease: &Lease, ends: Timestamp) -> Option<watch::Receiver<Signal>> {
        let mut held = self.held();
        if let Some(older) = held.get(&lease.task_ref) {
            older.signal.send_replace(Signal::Lost);
            return None;
        }
        let (signal, told) = watch::channel(Signal::GoOn);
        held.insert(lease.task_ref.clone(), Held { guard: lease.guard(), ends, signal });
        Some(told)
    }

    /// Removes a lease: its decision has been answered, or its handler ended without one.
    pub fn end(&self, guard: &Guard) {
        self.held().retain(|_, held| held.guard != *guard);
    }

    /// What to renew: every lease that is not known to be lost.
    pub fn renews(&self, ttl: Duration) -> Vec<RenewItem> {
        let held = self.held();
        let kept = held.values().filter(|held| *held.signal.borrow() != Signal::Lost);
        kept.map(|held| RenewItem::new(held.guard.clone(), ttl)).collect()
    }

    /// The store has extended a lease.
    pub fn extend(&self, guard: &Guard, ends: Timestamp) {
        if let Some(held) = self.held().get_mut(&guard.task).filter(|held| held.guard == *guard) {
            held.ends = ends;
        }
    }

    /// The store says that a lease is over.
    pub fn lose(&self, guard: &Guard) {
        if let Some(held) = self.held().get(&guard.task).filter(|held| held.guard == *guard) {
            held.signal.send_replace(Signal::Lost);
        }
    }

    /// No answer of the store came before these leases ended by our own clock, so others may
    /// start: the handlers are told. Safety rests on the fence and not on this.
    pub fn lose_ended(&self, now: Timestamp) -> Vec<TaskRef> {
        let held = self.held();
        let ended = held.values().filter(|held| held.ends <= now);
        let newly = ended.filter(|held| held.signal.send_replace(Signal::Lost) != Signal::Lost);
        newly.map(|held| held.guard.task.clone()).collect()
    }

    /// Tells every handler to give its task back.
    pub fn stop(&self) {
        for held in self.held().values() {
            held.signal.send_if_modified(|signal| {
                let goes_on = *signal == Signal::GoOn;
                if goes_on {
                    *signal = Signal::Stop;
                }
                goes_on
            });
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<TaskRef, Held>> {
        // Nothing that holds this lock leaves the map half changed, so a panic spoils nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
