//! The leases whose handlers run in this process, and the heartbeat of each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold_core::{Guard, Lease, LostReason, RenewItem, TaskRef};
use tokio::sync::watch;

use crate::clock::{Instant, after, now};

/// Why a run no longer holds its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The store said so (LH-RENEW-2).
    Told(LostReason),
    /// No renew was answered in time, so that others may start the task.
    Unanswered,
    /// This process was given the task again, so the store had taken it from this run.
    Superseded,
}

/// How a lease stands, as its run sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Life {
    /// When others may start the task, on this machine's clock and counted from before the
    /// call that gave or extended the lease: never later than the store's own end of it.
    pub(crate) ends: Instant,
    pub(crate) lost: Option<Loss>,
}

/// When a lease ends by this machine's clock, of which the store told at a call that was made
/// at `asked`. A store whose clock was set back tells more than was asked for.
pub(crate) fn ends(asked: Instant, ttl_left: Duration, lease: Duration) -> Instant {
    after(asked, ttl_left.min(lease))
}

/// The runs of one queue. A task stands here once, so that a process never has two attempts
/// of it at a time (LH-WORK-1).
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<HashMap<TaskRef, Entry>>);

#[derive(Debug)]
struct Entry {
    guard: Guard,
    life: watch::Sender<Life>,
    /// A handler that blocks its thread cannot be cancelled, so its lease is kept no longer
    /// than its time.
    renew_until: Instant,
}

/// The heartbeat of one run. The pulse renews the lease while this value lives, and it lives
/// inside the run's own future: whatever ends that one ends it too.
#[derive(Debug)]
pub(crate) struct Beat {
    held: Arc<Held>,
    guard: Guard,
    life: watch::Receiver<Life>,
}

impl Held {
    /// Adds a run. `None` if an earlier run of the task has not yet ended here: that one is
    /// told that it is lost, and this one must not start.
    pub(crate) fn begin(
        self: &Arc<Self>,
        lease: &Lease,
        ends: Instant,
        renew_until: Instant,
    ) -> Option<Beat> {
        let mut entries = self.entries();
        if let Some(older) = entries.get(&lease.task_ref) {
            older.lose(Loss::Superseded);
            return None;
        }
        let guard = lease.guard();
        let (sender, life) = watch::channel(Life { ends, lost: None });
        let entry = Entry { guard: guard.clone(), life: sender, renew_until };
        entries.insert(lease.task_ref.clone(), entry);
        drop(entries);
        Some(Beat { held: self.clone(), guard, life })
    }

    /// What to renew: every lease that is not lost, and whose run is within its time.
    pub(crate) fn renews(&self, ttl: Duration) -> Vec<RenewItem> {
        let now = now();
        let entries = self.entries();
        let kept = entries.values().filter(|entry| entry.is_kept(now));
        kept.map(|entry| RenewItem::new(entry.guard.clone(), ttl)).collect()
    }

    /// Whether the run of `guard` is still at work, and within its time.
    pub(crate) fn is_held(&self, guard: &Guard) -> bool {
        let now = now();
        let mut held = false;
        self.with(guard, |entry| held = entry.is_kept(now));
        held
    }

    /// The store has extended a lease.
    pub(crate) fn extend(&self, guard: &Guard, ends: Instant) {
        self.with(guard, |entry| {
            entry.life.send_modify(|life| life.ends = life.ends.max(ends));
        });
    }

    /// A lease is over.
    pub(crate) fn lose(&self, guard: &Guard, loss: Loss) {
        self.with(guard, |entry| entry.lose(loss));
    }

    pub(crate) fn count(&self) -> usize {
        self.entries().len()
    }

    fn with(&self, guard: &Guard, change: impl FnOnce(&Entry)) {
        if let Some(entry) = self.entries().get(&guard.task).filter(|entry| entry.guard == *guard) {
            change(entry);
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<TaskRef, Entry>> {
        // Nothing that holds this lock leaves the map half changed, so a panic spoils nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Whether it is not lost, and its run within its time.
    fn is_kept(&self, now: Instant) -> bool {
        self.life.borrow().lost.is_none() && now < self.renew_until
    }

    fn lose(&self, loss: Loss) {
        self.life.send_if_modified(|life| {
            if life.lost.is_some() {
                return false;
            }
            life.lost = Some(loss);
            // What an operator took away nobody starts before the lease's end (LH-OPER-11);
            // in any other case somebody may have started already.
            let waits = matches!(loss, Loss::Told(LostReason::Cancelled | LostReason::Revoked));
            if !waits {
                life.ends = life.ends.min(now());
            }
            true
        });
    }
}

impl Beat {
    /// How the lease stands, for as long as this value lives.
    pub(crate) fn life(&self) -> watch::Receiver<Life> {
        self.life.clone()
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        let mut entries = self.held.entries();
        if entries.get(&self.guard.task).is_some_and(|entry| entry.guard == self.guard) {
            entries.remove(&self.guard.task);
        }
    }
}
