//! Records that this build did not write.

use leasehold_conformance::model::{Contract, Model, Op, Reply, Rules};
use leasehold_core::StoredTask;
use leasehold_core::clause;

use crate::charge::Charge;
use crate::sin::{after, before, ruled};

pub const ALL: &[Charge] = &[
    Charge {
        no: 30,
        name: "a broken record vanishes",
        what: "a claim takes a broken record out and cannot grant it",
        met: "a pop before the read",
        sin: || {
            before(|model, op| {
                if matches!(op, Op::Claim(_)) {
                    model.tasks.retain(|_, kept| kept.task.corrupt.is_none());
                }
            })
        },
        killed_by: &[("claim/corrupt_is_granted_raw", clause::CLAIM_11)],
        also: "lapse",
        ..Charge::NONE
    },
    Charge {
        name: "a broken record is passed over",
        what: "a claim skips what it cannot read",
        sin: || ruled(OnlySound),
        killed_by: &[("claim/corrupt_is_granted_raw", clause::CLAIM_11)],
        ..Charge::NONE
    },
    Charge {
        name: "a broken record looks sound",
        what: "a broken record is granted without a mark",
        sin: || {
            after(|_, _, _, reply| {
                if let Reply::Claimed(claimed) = reply {
                    for lease in &mut claimed.leases {
                        lease.corrupt = None;
                    }
                }
            })
        },
        killed_by: &[("claim/corrupt_is_granted_raw", clause::CLAIM_11)],
        also: "lapse",
        ..Charge::NONE
    },
    Charge {
        name: "a newer record is granted",
        what: "a record of a newer version is granted as if it could be read",
        met: "an older worker beside a newer one",
        sin: || {
            before(|model, op| {
                if matches!(op, Op::Claim(_)) {
                    model.newer.clear();
                }
            })
        },
        killed_by: &[("claim/newer_is_left_and_blocks_nothing", clause::CLAIM_11)],
        also: "claim obs limit",
        ..Charge::NONE
    },
    Charge {
        no: 30,
        name: "a newer record vanishes",
        what: "a claim drops a record of a newer version",
        met: "an older worker beside a newer one",
        sin: || {
            before(|model, op| {
                if matches!(op, Op::Claim(_)) {
                    let Model { tasks, newer, .. } = model;
                    tasks.retain(|id, _| !newer.contains(id));
                }
            })
        },
        killed_by: &[("claim/newer_is_left_and_blocks_nothing", clause::CLAIM_11)],
        also: "obs",
        ..Charge::NONE
    },
    Charge {
        name: "a newer record is rewritten",
        what: "an edit of the terms writes over a record of a newer version",
        sin: || {
            before(|model, op| {
                if matches!(op, Op::Commit(_)) {
                    model.newer.clear();
                }
            })
        },
        killed_by: &[("claim/newer_terms_are_not_rewritten", clause::CLAIM_11)],
        also: "limit",
        ..Charge::NONE
    },
];

struct OnlySound;

impl Rules for OnlySound {
    fn claimable(&self, model: &Model, task: &StoredTask) -> bool {
        Contract.claimable(model, task) && task.corrupt.is_none()
    }
}
