//! An observer that keeps what a worker said about its runs, as values to compare.

use leasehold_core::{ErrorKind, Event, Fence};
use leasehold_worker::{Loss, Notice, Observer, Verdict};
use tokio::sync::watch;

/// What was heard; clones hear for each other.
#[derive(Debug, Clone, Default)]
pub struct Heard(watch::Sender<Words>);

#[derive(Debug, Clone, Default)]
struct Words {
    decided: Vec<(Fence, Event, Answer)>,
    lost: Vec<(Fence, Loss)>,
}

/// A [`Verdict`] that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Applied { overdue: bool, late: bool },
    Stale { shown: Fence, now: Fence },
    Unknown { shown: Fence, now: Option<Fence> },
    Gone,
    Refused(ErrorKind),
    Unanswered,
}

impl Answer {
    pub const PUNCTUAL: Self = Self::Applied { overdue: false, late: false };
}

impl Heard {
    /// The decisions about runs with their verdicts, by the fence of the run.
    pub fn decided(&self) -> Vec<(Fence, Event, Answer)> {
        self.0.borrow().decided.clone()
    }

    /// The runs that ended without a decision.
    pub fn lost(&self) -> Vec<(Fence, Loss)> {
        self.0.borrow().lost.clone()
    }

    /// Comes back when so many decisions have their verdict.
    pub async fn decisions(&self, count: usize) {
        let mut words = self.0.subscribe();
        words.wait_for(|words| words.decided.len() >= count).await.expect("it lives");
    }
}

impl Observer for Heard {
    fn notice(&self, notice: &Notice<'_>) {
        self.0.send_modify(|words| match notice {
            Notice::Decided { lease, change, verdict } => {
                words.decided.push((lease.fence, change.event, answer(verdict)));
            }
            Notice::Lost { lease, loss } => words.lost.push((lease.fence, *loss)),
            _ => {}
        });
    }
}

fn answer(verdict: &Verdict) -> Answer {
    match verdict {
        Verdict::Applied { overdue, late } => Answer::Applied { overdue: *overdue, late: *late },
        Verdict::Stale { shown, now } => Answer::Stale { shown: *shown, now: *now },
        Verdict::Unknown { shown, now } => Answer::Unknown { shown: *shown, now: *now },
        Verdict::Gone => Answer::Gone,
        Verdict::Refused(error) => Answer::Refused(error.kind()),
        Verdict::Unanswered => Answer::Unanswered,
        _ => panic!("a new verdict: {verdict:?}"),
    }
}
