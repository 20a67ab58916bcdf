//! What no store behind one lock can do, told rather than faked.

/// A fault, why no store of this exam has it, and what looks for it instead.
pub struct Elsewhere {
    pub what: &'static str,
    pub why: &'static str,
    pub covered_by: &'static str,
}

/// Faults of stores that need more than one lock, or less than this contract asks.
pub const NOT_HERE: &[Elsewhere] = &[
    Elsewhere {
        what: "a guard that is read in one statement and written by in another",
        why: "each step holds the one lock, so that no other call comes in between",
        covered_by: "guard lines taken away in the SQL backends' tests; lanes",
    },
    Elsewhere {
        what: "a fence that is drawn, or a clock that is read, before the lock is held",
        why: "there is no wait for the lock that could lie in between (LH-FENCE-6, LH-TIME-2)",
        covered_by: "UNTESTED tells both: they need a lock that somebody holds",
    },
    Elsewhere {
        what: "a renew that waits for a foreign lock",
        why: "there is no foreign transaction that could hold one (LH-RENEW-7)",
        covered_by: "UNTESTED tells it",
    },
    Elsewhere {
        what: "a fence counter, a setting or a confirmed effect that a restart loses",
        why: "a model that is started anew is another model (LH-GEN-3, LH-FENCE-7)",
        covered_by: "each backend's own tests of a restart",
    },
    Elsewhere {
        what: "a clock that is read before the lock is there",
        why: "nobody can hold the model's lock from outside (LH-TIME-2)",
        covered_by: "faults/a_wait_for_a_lock_ends_with_a_new_reading, where there are locks",
    },
    Elsewhere {
        what: "a server that carries out what it has read of a request in part",
        why: "what goes over the wire here is a number of 8 bytes, and no part of it says which",
        covered_by: "\"a batch is sent task by task\"; the link cases on real servers",
    },
    Elsewhere {
        what: "a handle that tells the reply of a call before it came",
        why: "the answer lies with the server, and a handle has none to make up",
        covered_by: "link/a_lost_request_changes_nothing on real servers",
    },
    Elsewhere {
        what: "a record that is gone with its index left over, or the other way",
        why: "the model searches and has no index (LH-LAPSE-8)",
        covered_by: "the residue that each backend's harness tells after every case",
    },
    Elsewhere {
        what: "slots named by the task, with everything else right",
        why: "as only the holder's applied commit frees one, no call shows the name",
        covered_by: "\"slots by task\", where a stale commit frees it as well",
    },
    Elsewhere {
        what: "a budget that is written from what the decider had read",
        why: "behind a whole guard the two are equal",
        covered_by: "\"a stale rescue spends a rescue\" and \"rescuer commits by id\"",
    },
    Elsewhere {
        what: "an empty claim that is recorded",
        why: "LH-CLAIM-9 allows it: nothing need be recorded, and it may be",
        covered_by: "replay/empty_claim_may_grant_later takes either",
    },
];
