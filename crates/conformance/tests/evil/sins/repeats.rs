//! How a repeated commit is known, and one about a task that is no more.

use leasehold_conformance::model::{Admission, Contract, Model, Rules};
use leasehold_core::clause;
use leasehold_core::{Change, CommitItem, CommitVerdict, Left, Role, State, StoredTask};

use super::guards::is_replay;
use crate::charge::Charge;
use crate::sin::ruled;

pub const ALL: &[Charge] = &[
    Charge {
        no: 21,
        name: "no replay",
        what: "a repeat of an applied commit is told Stale",
        met: "a driver that repeats",
        sin: || ruled(NoReplay),
        killed_by: &[
            ("model/sequential_histories", clause::COMMIT_4),
            ("commit/every_ending_applies_once", clause::COMMIT_4),
        ],
        also: "verbs dropped fence obs late commit lapse dead limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        no: 21,
        name: "replay by fence alone",
        what: "whoever shows the fence that was shown last is told Replayed",
        met: "mutant: no decision id",
        sin: || ruled(ReplayByFence),
        killed_by: &[
            ("model/sequential_histories", clause::COMMIT_6),
            ("commit/every_rescue_applies_once", clause::COMMIT_6),
            ("commit/replay_lasts_through_later_claims", clause::COMMIT_6),
        ],
        also: "verbs fence race late commit lapse budget mode oper held dead purge limit \
               follow",
        ..Charge::NONE
    },
    Charge {
        name: "replay by decision alone",
        what: "whoever brings the last decision's id is told Replayed, with whatever fence",
        met: "an idempotency key beside the guard",
        sin: || ruled(ReplayByDecision),
        killed_by: &[("commit/replay_is_not_for_anybody", clause::COMMIT_6)],
        ..Charge::NONE
    },
    Charge {
        name: "replay until the next claim",
        what: "a repeat is known only until the task is claimed again",
        met: "the decision kept in the lease",
        sin: || ruled(ReplayUntilClaimed),
        killed_by: &[("commit/replay_lasts_through_later_claims", clause::COMMIT_5)],
        also: "commit limit",
        ..Charge::NONE
    },
    Charge {
        name: "a repeat applies again",
        what: "a repeat of an applied commit is written a second time",
        met: "a retry by the driver",
        sin: || ruled(Again),
        killed_by: &[
            ("commit/every_ending_applies_once", clause::COMMIT_4),
            ("orders/two_rescuers_and_a_worker", clause::COMMIT_4),
        ],
        also: "verbs dropped fence obs late commit lapse dead limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "replay compares contents",
        what: "a repeat with other words is told Stale",
        met: "a hash of the request as its name",
        sin: || ruled(ReplayByContents),
        killed_by: &[("commit/replay_compares_no_contents", clause::COMMIT_4)],
        ..Charge::NONE
    },
    Charge {
        name: "no memory of born",
        what: "what was decided about an earlier task of the id is told Stale and not Gone",
        met: "mutant: no Gone below born",
        sin: || ruled(NoBorn),
        killed_by: &[("commit/gone_below_born", clause::COMMIT_8)],
        also: "fence enq purge limit",
        ..Charge::NONE
    },
    Charge {
        name: "a task that left is forgotten",
        what: "a repeated commit about a task that left is told Gone",
        met: "success deletes the row",
        sin: || ruled(LeftIsGone),
        killed_by: &[("commit/replay_after_the_task_left", clause::COMMIT_8)],
        also: "enq obs race late oper purge limit uniq follow",
        ..Charge::NONE
    },
];

fn as_stale(task: &StoredTask) -> CommitVerdict {
    CommitVerdict::Stale { fence: task.fence, state: Some(task.state) }
}

struct NoReplay;

impl Rules for NoReplay {
    fn refusal(&self, task: &StoredTask, item: &CommitItem) -> CommitVerdict {
        match Contract.refusal(task, item) {
            CommitVerdict::Replayed => as_stale(task),
            other => other,
        }
    }
}

struct ReplayByFence;

impl Rules for ReplayByFence {
    fn refusal(&self, task: &StoredTask, item: &CommitItem) -> CommitVerdict {
        if task.shown.is_some_and(|shown| shown.fence == item.guard.fence) {
            return CommitVerdict::Replayed;
        }
        Contract.refusal(task, item)
    }
}

struct ReplayByDecision;

impl Rules for ReplayByDecision {
    fn refusal(&self, task: &StoredTask, item: &CommitItem) -> CommitVerdict {
        if task.shown.is_some_and(|shown| shown.decision == item.decision) {
            return CommitVerdict::Replayed;
        }
        Contract.refusal(task, item)
    }
}

struct ReplayUntilClaimed;

impl Rules for ReplayUntilClaimed {
    fn refusal(&self, task: &StoredTask, item: &CommitItem) -> CommitVerdict {
        match Contract.refusal(task, item) {
            CommitVerdict::Replayed if task.until.is_some() => as_stale(task),
            other => other,
        }
    }
}

struct Again;

impl Rules for Again {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        match Contract.admission(model, task, item) {
            Admission::No if is_replay(task, item) => Admission::Current,
            other => other,
        }
    }

    fn fits(&self, change: &Change, state: State) -> bool {
        Contract.fits(change, state) || change.by == Role::Worker
    }
}

struct ReplayByContents;

impl Rules for ReplayByContents {
    fn refusal(&self, task: &StoredTask, item: &CommitItem) -> CommitVerdict {
        let same = task.history.records.last().is_some_and(|last| {
            (&last.message, last.event) == (&item.change.message, item.change.event)
        });
        match Contract.refusal(task, item) {
            CommitVerdict::Replayed if !same => as_stale(task),
            other => other,
        }
    }
}

struct NoBorn;

impl Rules for NoBorn {
    fn refusal(&self, task: &StoredTask, item: &CommitItem) -> CommitVerdict {
        match Contract.refusal(task, item) {
            CommitVerdict::Gone => as_stale(task),
            other => other,
        }
    }
}

struct LeftIsGone;

impl Rules for LeftIsGone {
    fn refusal_of_left(&self, _left: Option<Left>, _item: &CommitItem) -> CommitVerdict {
        CommitVerdict::Gone
    }
}
