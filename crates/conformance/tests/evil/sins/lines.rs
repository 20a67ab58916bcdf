//! What a handle does with a connection that loses something.

use leasehold_core::clause;

use crate::charge::Charge;
use crate::network::Wiring;

pub const ALL: &[Charge] = &[
    Charge {
        name: "a handle sends again",
        what: "a call whose connection ended is sent again by the handle itself",
        met: "drivers that retry, a channel with a retry policy",
        wiring: Wiring::Resends,
        killed_by: &[
            ("link/an_enqueue_without_its_reply_counts_once", clause::GEN_4),
            ("link/a_claim_without_its_reply_lapses", clause::GEN_4),
            ("link/a_commit_without_its_reply_is_replayed", clause::GEN_4),
            ("link/follow_ups_without_a_reply_are_made_once", clause::GEN_4),
            ("link/a_purge_without_its_reply_counts_once", clause::GEN_4),
        ],
        ..Charge::NONE
    },
    Charge {
        name: "a handle sends again what it gave up",
        what: "a call that was told Unavailable is sent again behind its caller's back",
        met: "a queue of commands that outlives the connection",
        wiring: Wiring::SendsLater,
        killed_by: &[("link/a_lost_request_changes_nothing", clause::GEN_4)],
        ..Charge::NONE
    },
    Charge {
        name: "any reply will do",
        what: "a reply is taken for that of the call that has waited longest",
        met: "a connection given back to its pool by a dropped call, its reply unread",
        wiring: Wiring::TakesAnyReply,
        killed_by: &[
            ("link/a_dropped_calls_reply_is_nobody_elses", clause::GEN_5),
            ("link/a_silent_server_holds_nobody", clause::GEN_4),
        ],
        ..Charge::NONE
    },
    Charge {
        name: "a connection is lost for good",
        what: "a lost connection is not made again",
        met: "a client without a way back",
        wiring: Wiring::StaysDown,
        killed_by: &[("link/an_enqueue_without_its_reply_counts_once", clause::GEN_4)],
        ..Charge::NONE
    },
    Charge {
        name: "a lost connection is a fault of the program",
        what: "a call without a reply is Internal and not Unavailable",
        met: "an error of the driver that no table knows",
        wiring: Wiring::SaysInternal,
        killed_by: &[
            ("link/an_enqueue_without_its_reply_counts_once", clause::GEN_4),
            ("link/a_named_claim_without_its_reply_is_repeated", clause::GEN_4),
            ("link/a_renew_without_its_reply_counts_once", clause::GEN_4),
            ("link/settings_without_a_reply_stand", clause::GEN_4),
            ("link/a_reply_in_part_is_no_reply", clause::GEN_4),
            ("link/each_caller_is_told_its_own", clause::GEN_4),
        ],
        ..Charge::NONE
    },
    Charge {
        name: "a handle waits for ever",
        what: "a call has no deadline",
        met: "a driver's default",
        wiring: Wiring::WaitsForEver,
        killed_by: &[("link/a_silent_server_holds_nobody", clause::GEN_4)],
        ..Charge::NONE
    },
    Charge {
        name: "a batch is sent task by task",
        what: "an enqueue is a call of its own for each task",
        met: "a client that cuts batches up",
        wiring: Wiring::SendsEachItem,
        killed_by: &[("link/a_batch_in_part_is_whole_or_nothing", clause::ENQ_7)],
        ..Charge::NONE
    },
];
