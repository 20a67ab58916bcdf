//! Clauses without a case, each with the reason.

/// Clause id and why no case of this suite proves it.
pub const UNTESTED: &[(&str, &str)] = &[
    ("LH-GEN-1", "a property of all histories: proved by the model and the lanes, not by a case"),
    ("LH-GEN-3", "needs a crash of the store: each backend's own tests and the soak prove it"),
    (
        "LH-TIME-2",
        "needs a lock that somebody holds across a deadline: a fault that no store \
                   with one writer has",
    ),
    (
        "LH-FENCE-6",
        "shows only when two calls overlap inside the store: proved by orders of frames",
    ),
    ("LH-FENCE-7", "needs a store that has lost data: each backend's own tests prove it"),
    (
        "LH-RENEW-7",
        "needs a foreign transaction that holds a row: neither memory nor SQLite has one",
    ),
    ("LH-MODE-4", "the worker keeps it, from what a backend tells of its durability"),
];
