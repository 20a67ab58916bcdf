//! What the cases do not prove, told rather than left out.

/// Clauses without a case: id and why.
pub const UNTESTED: &[(&str, &str)] = &[
    ("LH-GEN-3", "not proved yet but for a killed process: needs a crash of the store's host"),
    ("LH-FENCE-6", "not proved by itself: the lanes see fences that come out of order, by chance"),
    ("LH-FENCE-7", "needs a store that has lost data: a backend that can lose it tests it itself"),
    (
        "LH-RENEW-7",
        "needs a foreign transaction that holds a row: neither memory nor SQLite has one",
    ),
    ("LH-MODE-4", "the worker keeps it, from what a backend tells; its own tests prove it"),
];

/// Clauses that cases prove in part: id and what is missing.
pub const PARTLY: &[(&str, &str)] = &[
    (
        "LH-GEN-1",
        "random histories of one caller, and of three at once whose overlaps are by chance; a \
         passed history proves nothing about another",
    ),
    ("LH-GEN-4", "a lost request or reply is seen where a network is between handle and store"),
    (
        "LH-CLAIM-12",
        "cases prove that nothing is hidden; what it costs is proved by plans: the \
                     SQL backends' tests/statements.rs",
    ),
    (
        "LH-READ-2",
        "cases prove the numbers; that finished tasks do not make them dearer is proved \
                   by plans: the SQL backends' tests/statements.rs",
    ),
    (
        "LH-LAPSE-8",
        "cases plant a surplus slot; other entries are planted by each backend's own \
                    tests, as they are private to it",
    ),
    ("LH-TIME-2", "seen where a stranger can hold a lock across a deadline"),
    ("LH-ENQ-10", "cases prove the bounds; that a handler meets the error first is the worker's"),
    ("LH-CTL-1", "cases see settings from other handles; a restart is each backend's own test"),
    (
        "LH-DEAD-2",
        "cases see one step; a crash in its middle needs a gate between client and store",
    ),
];
