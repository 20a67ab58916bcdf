//! Vectors of what is called again: renews, and commits whose answer was lost.

use serde_json::json;

use crate::basic::{granted_wrongly, not_applied};
use crate::calls::*;
use crate::script::{Script, but, instead};

pub fn scripts() -> Vec<Script> {
    vec![renewals(), repeats()]
}

fn renewals() -> Script {
    Script::new("renewals", "A lease is renewed, is not shortened, lapses, and is taken.")
        .step(
            enqueue(&[task("t")]),
            vec![
                instead("LH-ENQ-7", "it is refused", json!({ "refused": "invalid" })),
                instead("LH-GEN-2", "nothing is answered", json!({ "enqueued": [] })),
            ],
        )
        .step(claim("run"), granted_wrongly())
        .step(shift(10_000), vec![])
        .step(
            renew("t", "f2", TTL),
            vec![
                instead("LH-RENEW-1", "it has lapsed", json!({ "lost": { "reason": "lapsed" } })),
                instead(
                    "LH-RENEW-1",
                    "it is not extended",
                    json!({ "held": { "ttl_left_ms": 20_000 } }),
                ),
                instead(
                    "LH-RENEW-1",
                    "it is added to",
                    json!({ "held": { "ttl_left_ms": 50_000 } }),
                ),
            ],
        )
        .step(
            renew("t", "f2", 1_000),
            vec![
                instead(
                    "LH-RENEW-1",
                    "it is shortened",
                    json!({ "held": { "ttl_left_ms": 1_000 } }),
                ),
                instead(
                    "LH-RENEW-1",
                    "it was taken away",
                    json!({ "lost": { "reason": "revoked" } }),
                ),
            ],
        )
        .step(
            renew("t", "f1", TTL),
            vec![
                instead(
                    "LH-RENEW-2",
                    "a foreign fence is held",
                    json!({ "held": { "ttl_left_ms": 30_000 } }),
                ),
                instead("LH-RENEW-2", "there is no task", json!({ "lost": { "reason": "gone" } })),
            ],
        )
        .step(shift(30_000), vec![])
        .step(
            renew("t", "f2", TTL),
            vec![
                instead(
                    "LH-RENEW-2",
                    "it is revived",
                    json!({ "held": { "ttl_left_ms": 30_000 } }),
                ),
                instead("LH-RENEW-2", "it was decided", json!({ "lost": { "reason": "decided" } })),
                instead(
                    "LH-RENEW-2",
                    "somebody took it",
                    json!({ "lost": { "reason": "taken", "fence": "f3" } }),
                ),
            ],
        )
        .step(
            claim("rescue"),
            vec![
                instead(
                    "LH-CLAIM-4",
                    "there is nothing",
                    json!({ "claimed": { "leases": [], "more": false } }),
                ),
                but("LH-LAPSE-2", "the run is forgotten", "/claimed/leases/0/run", json!(null)),
                but(
                    "LH-FENCE-1",
                    "the fence of the run is kept",
                    "/claimed/leases/0/fence",
                    json!("f2"),
                ),
                but("LH-LAPSE-2", "it counts as an attempt", "/claimed/leases/0/attempt", json!(2)),
            ],
        )
        .step(
            renew("t", "f2", TTL),
            vec![
                instead(
                    "LH-RENEW-2",
                    "it has lapsed, and no more",
                    json!({ "lost": { "reason": "lapsed" } }),
                ),
                instead("LH-RENEW-2", "it is held", json!({ "held": { "ttl_left_ms": 30_000 } })),
                instead(
                    "LH-RENEW-2",
                    "another fence took it",
                    json!({ "lost": { "reason": "taken", "fence": "f2" } }),
                ),
            ],
        )
        .step(
            counts(),
            vec![
                but("LH-OBS-1", "no renew was lost", "/counts/events", json!({ "lapsed": 1 })),
                but("LH-OBS-1", "nothing lapsed", "/counts/events", json!({ "lost_renews": 3 })),
            ],
        )
}

fn repeats() -> Script {
    Script::new(
        "repeats",
        "A commit whose answer was lost comes again, then another decision, then too late.",
    )
    .step(
        enqueue(&[task("t")]),
        vec![
            instead("LH-ENQ-7", "it is refused", json!({ "refused": "invalid" })),
            instead("LH-GEN-2", "nothing is answered", json!({ "enqueued": [] })),
        ],
    )
    .step(claim("run"), granted_wrongly())
    .step(failure("t", "f2", "d1"), not_applied("LH-COMMIT-1"))
    .step(
        failure("t", "f2", "d1"),
        vec![
            instead("LH-COMMIT-4", "it is applied twice", json!({ "applied": { "fence": "f4" } })),
            instead(
                "LH-COMMIT-4",
                "it is Stale",
                json!({ "stale": { "fence": "f3", "state": "waiting" } }),
            ),
            instead("LH-COMMIT-4", "nothing is known", json!("gone")),
        ],
    )
    .step(
        failure("t", "f2", "d2"),
        vec![
            instead("LH-COMMIT-6", "another decision is a repeat", json!("replayed")),
            instead(
                "LH-COMMIT-1",
                "the second decision counts too",
                json!({ "applied": { "fence": "f4" } }),
            ),
            but("LH-COMMIT-9", "the fence is an old one", "/stale/fence", json!("f2")),
            but("LH-COMMIT-9", "the state is an old one", "/stale/state", json!("leased_run")),
        ],
    )
    .step(shift(5_000), vec![])
    .step(
        claim("run"),
        vec![
            instead(
                "LH-CLAIM-4",
                "there is nothing",
                json!({ "claimed": { "leases": [], "more": false } }),
            ),
            but("LH-CLAIM-5", "it is the first run", "/claimed/leases/0/attempt", json!(1)),
        ],
    )
    .step(
        failure("t", "f2", "d1"),
        vec![
            instead(
                "LH-COMMIT-4",
                "a claim ends the memory",
                json!({ "stale": { "fence": "f4", "state": "leased_run" } }),
            ),
            instead(
                "LH-COMMIT-4",
                "it is applied on another lease",
                json!({ "applied": { "fence": "f5" } }),
            ),
        ],
    )
    .step(
        success("t", "f4", "d3"),
        vec![
            instead(
                "LH-COMMIT-1",
                "it is refused",
                json!({ "stale": { "fence": "f4", "state": "leased_run" } }),
            ),
            but("LH-COMMIT-7", "it is overdue", "/applied/overdue", json!(true)),
        ],
    )
    .step(
        success("t", "f4", "d3"),
        vec![
            instead("LH-COMMIT-4", "it is forgotten with its task", json!("gone")),
            instead("LH-COMMIT-4", "it is Stale", json!({ "stale": { "fence": "f4" } })),
        ],
    )
    .step(
        failure("t", "f2", "d1"),
        vec![
            instead("LH-COMMIT-6", "it is still a repeat", json!("replayed")),
            but("LH-COMMIT-9", "the task is said to be there", "/stale/state", json!("succeeded")),
            instead("LH-COMMIT-9", "nothing is known", json!("gone")),
        ],
    )
    .step(shift(60_000), vec![])
    .step(
        success("t", "f4", "d3"),
        vec![
            instead("LH-COMMIT-8", "it is remembered for ever", json!("replayed")),
            instead("LH-COMMIT-8", "it is Stale", json!({ "stale": { "fence": "f4" } })),
        ],
    )
}
