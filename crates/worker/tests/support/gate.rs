//! A gate that an answer waits at, and what a stage notes of renews.

use std::collections::HashMap;

use leasehold_core::{Renew, TaskRef};
use tokio::sync::watch;

use super::Staged;

#[derive(Debug, Default)]
pub struct Gate {
    waiting: watch::Sender<usize>,
    open: watch::Sender<bool>,
    renewals: watch::Sender<HashMap<TaskRef, usize>>,
}

impl Gate {
    pub async fn pass(&self) {
        self.waiting.send_modify(|waiting| *waiting += 1);
        let mut open = self.open.subscribe();
        open.wait_for(|open| *open).await.expect("the store lives");
    }

    pub fn note_renew(&self, renew: &Renew) {
        self.renewals.send_modify(|renewals| {
            for item in &renew.items {
                *renewals.entry(item.guard.task.clone()).or_default() += 1;
            }
        });
    }
}

impl Staged {
    /// Comes back when an answer waits at the gate.
    pub async fn at_gate(&self) {
        let mut waiting = self.gate.waiting.subscribe();
        waiting.wait_for(|waiting| *waiting > 0).await.expect("the store lives");
    }

    /// Lets through whatever waits or will come.
    pub fn open_gate(&self) {
        self.gate.open.send_replace(true);
    }

    /// How many renews of this task have come, failed ones among them.
    pub fn renewals(&self, task: &TaskRef) -> usize {
        self.gate.renewals.borrow().get(task).copied().unwrap_or(0)
    }

    /// Comes back when so many renews of this task have come since the beginning.
    pub async fn renewed(&self, task: &TaskRef, count: usize) {
        let mut renewals = self.gate.renewals.subscribe();
        let enough = |renewals: &HashMap<TaskRef, usize>| {
            renewals.get(task).is_some_and(|renewals| *renewals >= count)
        };
        renewals.wait_for(enough).await.expect("the store lives");
    }
}
