//! Vectors of one task that meets no rival.

use serde_json::json;

use crate::calls::*;
use crate::script::{Script, Wrong, but, instead};

pub fn scripts() -> Vec<Script> {
    vec![plain_success(), retries(), ids(), order(), paused()]
}

/// What no applied commit may be told.
pub fn not_applied(breaks: &'static str) -> Vec<Wrong> {
    vec![
        instead(
            breaks,
            "it is refused",
            json!({ "stale": { "fence": "f2", "state": "leased_run" } }),
        ),
        instead(breaks, "nothing is known", json!("gone")),
        instead(breaks, "it is a repeat", json!("replayed")),
    ]
}

pub fn granted_wrongly() -> Vec<Wrong> {
    vec![
        instead(
            "LH-CLAIM-4",
            "there is nothing",
            json!({ "claimed": { "leases": [], "more": false } }),
        ),
        but("LH-CLAIM-5", "the attempt is not counted", "/claimed/leases/0/attempt", json!(0)),
        but("LH-CLAIM-5", "it is a shorter lease", "/claimed/leases/0/ttl_left_ms", json!(29_999)),
        but("LH-CLAIM-5", "it is no run", "/claimed/leases/0/run", json!(null)),
        but(
            "LH-FENCE-1",
            "the fence is that of the enqueue",
            "/claimed/leases/0/fence",
            json!("f1"),
        ),
    ]
}

fn plain_success() -> Script {
    Script::new("plain_success", "A task is enqueued, looked at, run once, and leaves.")
        .step(claim("run"), vec![
            instead("LH-CLAIM-9", "a claim without a number is superseded", json!({
                "claimed": { "leases": [], "more": false, "superseded": true }
            })),
            instead("LH-GEN-1", "it is refused", json!({ "refused": "invalid" })),
        ])
        .step(enqueue(&[task("t")]), vec![
            instead("LH-ENQ-1", "it is there already", json!({
                "enqueued": [{ "duplicate": { "cause": "id", "task": "t", "state": "waiting" } }]
            })),
            instead("LH-GEN-2", "nothing is answered for it", json!({ "enqueued": [] })),
            instead("LH-ENQ-7", "it is refused", json!({ "refused": "invalid" })),
        ])
        .step(get("t"), vec![
            instead("LH-READ-1", "it is not seen", json!("nothing")),
            but("LH-READ-1", "the payload differs", "/task/payload", json!("another")),
            but("LH-READ-1", "it is due later", "/task/due", json!(1)),
        ])
        .step(counts(), vec![
            instead("LH-READ-2", "nothing is counted", json!({ "counts": { "tasks": {} } })),
            but("LH-READ-2", "it waits for its time", "/counts/tasks", json!({ "scheduled": 1 })),
            but("LH-OBS-1", "something was Stale", "/counts/events", json!({ "stale_commits": 1 })),
        ])
        .step(claim("run"), granted_wrongly())
        .step(claim("run"), vec![
            instead("LH-CLAIM-1", "it is granted again", json!({ "claimed": { "more": true, "leases": [{
                "task": "t", "fence": "f3", "purpose": "run", "ttl_left_ms": TTL, "run": "f3",
                "payload": "the payload of t", "priority": 4, "due": 0, "attempt": 2
            }] } })),
            instead("LH-CLAIM-9", "it is superseded", json!({
                "claimed": { "leases": [], "more": false, "superseded": true }
            })),
        ])
        .step(claim("rescue"), vec![
            instead("LH-LAPSE-1", "a live lease is taken", json!({ "claimed": { "more": true, "leases": [{
                "task": "t", "fence": "f3", "purpose": "rescue", "ttl_left_ms": TTL, "run": "f2",
                "payload": "the payload of t", "priority": 4, "due": 0, "attempt": 1
            }] } })),
            instead("LH-GEN-1", "it is refused", json!({ "refused": "unsupported" })),
        ])
        .step(success("t", "f2", "d1"), {
            let mut wrong = not_applied("LH-COMMIT-1");
            wrong.push(but("LH-FENCE-1", "the fence stays", "/applied/fence", json!("f2")));
            wrong.push(but("LH-COMMIT-7", "it is overdue", "/applied/overdue", json!(true)));
            wrong.push(but("LH-COMMIT-1", "it is late", "/applied/late", json!(true)));
            wrong
        })
        .step(get("t"), vec![
            instead("LH-READ-1", "it is not remembered", json!("nothing")),
            but("LH-READ-1", "it was cancelled", "/left/state", json!("cancelled")),
            but("LH-READ-1", "another decision ended it", "/left/shown/decision", json!("d2")),
        ])
        .step(claim("run"), vec![
            instead("LH-CLAIM-1", "it runs once more", json!({ "claimed": { "more": true, "leases": [{
                "task": "t", "fence": "f4", "purpose": "run", "ttl_left_ms": TTL, "run": "f4",
                "payload": "the payload of t", "priority": 4, "due": 0, "attempt": 2
            }] } })),
            but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true)),
        ])
}

fn retries() -> Script {
    Script::new("retries", "One retry: the first failure waits, the second buries, a redrive begins anew.")
        .step(enqueue(&[kept("t")]), vec![
            instead("LH-ENQ-1", "it is remembered", json!({
                "enqueued": [{ "duplicate": { "cause": "id", "task": "t" } }]
            })),
            instead("LH-GEN-2", "it is answered twice", json!({
                "enqueued": [{ "new": { "fence": "f1" } }, { "new": { "fence": "f2" } }]
            })),
        ])
        .step(claim("run"), granted_wrongly())
        .step(failure("t", "f2", "d1"), not_applied("LH-COMMIT-1"))
        .step(claim("run"), vec![
            instead("LH-CLAIM-1", "it does not wait for its delay", json!({ "claimed": { "more": true, "leases": [{
                "task": "t", "fence": "f4", "purpose": "run", "ttl_left_ms": TTL, "run": "f4",
                "payload": "the payload of t", "priority": 4, "due": 5_000, "attempt": 2, "failures": 1
            }] } })),
            but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true)),
        ])
        .step(get("t"), vec![
            but("LH-READ-1", "the failure did not count", "/task/failures", json!(null)),
            but("LH-READ-1", "a rescue was spent", "/task/rescues", json!(1)),
            but("LH-READ-1", "it is ready", "/task/due", json!(0)),
            but("LH-READ-1", "the run could still succeed", "/task/run", json!("f2")),
            but("LH-READ-1", "there is no record", "/task/history", json!([])),
        ])
        .step(shift(5_000), vec![])
        .step(claim("run"), vec![
            instead("LH-CLAIM-4", "there is nothing", json!({ "claimed": { "leases": [], "more": false } })),
            but("LH-CLAIM-5", "the attempt begins anew", "/claimed/leases/0/attempt", json!(1)),
            but("LH-CLAIM-5", "the failure is forgotten", "/claimed/leases/0/failures", json!(null)),
        ])
        .step(last_failure("t", "f4", "d2"), vec![
            instead("LH-COMMIT-3", "it is Invalid", json!({ "refused": "invalid" })),
            instead("LH-COMMIT-1", "it is Stale", json!({ "stale": { "fence": "f4", "state": "leased_run" } })),
            instead("LH-COMMIT-1", "there is no such task", json!("gone")),
        ])
        .step(counts(), vec![
            but("LH-READ-2", "it waits", "/counts/tasks", json!({ "ready": 1 })),
            but("LH-OBS-1", "no burial is counted", "/counts/events", json!({})),
        ])
        .step(act("t", "f5", "d3", "waiting", "redriven"), vec![
            instead("LH-COMMIT-1", "it is refused", json!({ "stale": { "fence": "f5", "state": "dead_exhausted" } })),
            but("LH-FENCE-1", "the fence stays", "/applied/fence", json!("f5")),
        ])
        .step(get("t"), vec![
            but("LH-READ-1", "the failures stay", "/task/failures", json!(1)),
            but("LH-READ-1", "the attempt begins anew", "/task/attempt", json!(0)),
            but("LH-READ-1", "it is still dead", "/task/state", json!("dead_exhausted")),
            but("LH-READ-1", "it has another id", "/task/born", json!("f6")),
        ])
}

fn ids() -> Script {
    Script::new("ids", "An id is taken once, is remembered when its task leaves, and is free after that.")
        .step(enqueue(&[task("t"), task("t")]), vec![
            but("LH-ENQ-2", "both are taken", "/enqueued/1", json!({ "new": { "fence": "f2" } })),
            but("LH-ENQ-2", "it is a matter of the key", "/enqueued/1/duplicate/cause", json!("key")),
            but("LH-ENQ-2", "it has left", "/enqueued/1/duplicate/state", json!(null)),
        ])
        .step(act("t", "f1", "d1", "gone", "deleted"), vec![
            instead("LH-COMMIT-1", "it is refused", json!({ "stale": { "fence": "f1", "state": "waiting" } })),
            but("LH-FENCE-1", "the fence stays", "/applied/fence", json!("f1")),
        ])
        .step(enqueue(&[task("t")]), vec![
            instead("LH-ENQ-9", "the id is free", json!({ "enqueued": [{ "new": { "fence": "f3" } }] })),
            but("LH-ENQ-9", "its task is there", "/enqueued/0/duplicate/state", json!("cancelled")),
        ])
        .step(shift(60_000), vec![])
        .step(get("t"), vec![
            instead("LH-READ-1", "it is remembered for ever", json!({
                "left": { "shown": { "fence": "f1", "decision": "d1", "by": "operator" }, "state": "cancelled" }
            })),
            instead("LH-READ-1", "another decision is remembered", json!({
                "left": { "shown": { "fence": "f1", "decision": "d2", "by": "worker" }, "state": "succeeded" }
            })),
        ])
        .step(enqueue(&[task("t")]), vec![
            instead("LH-ENQ-1", "the id is never free", json!({
                "enqueued": [{ "duplicate": { "cause": "id", "task": "t" } }]
            })),
            but("LH-FENCE-1", "fences begin anew", "/enqueued/0/new/fence", json!("f1")),
        ])
        .step(success("t", "f1", "d2"), vec![
            instead("LH-COMMIT-8", "an older task is Stale", json!({ "stale": { "fence": "f3", "state": "waiting" } })),
            instead("LH-COMMIT-8", "it counts for the younger one", json!({ "applied": { "fence": "f4" } })),
        ])
}

fn order() -> Script {
    let more = |id, priority: u8| with(task(id), "priority", json!(priority));
    let lease = |id: &str, fence: &str, priority: u8| {
        json!({
            "task": id, "fence": fence, "purpose": "run", "ttl_left_ms": TTL, "run": fence,
            "payload": format!("the payload of {id}"), "priority": priority, "due": 0, "attempt": 1
        })
    };
    Script::new(
        "order",
        "A quiet queue serves by priority, then by time, then by order of enqueue.",
    )
    .step(
        enqueue(&[
            more("a", 4),
            more("b", 4),
            more("c", 9),
            with(more("d", 9), "delay_ms", json!(1)),
        ]),
        vec![
            but(
                "LH-ENQ-1",
                "the last is taken for a repeat",
                "/enqueued/3",
                json!({
                    "duplicate": { "cause": "id", "task": "d", "state": "waiting" }
                }),
            ),
            instead("LH-ENQ-7", "all are refused", json!({ "refused": "invalid" })),
        ],
    )
    .step(
        claim_up_to("run", 2),
        vec![
            but(
                "LH-CLAIM-3",
                "the priority does not count",
                "/claimed/leases",
                json!([lease("a", "f5", 4), lease("b", "f6", 4)]),
            ),
            but(
                "LH-CLAIM-3",
                "the order of enqueue does not count",
                "/claimed/leases",
                json!([lease("c", "f5", 9), lease("b", "f6", 4)]),
            ),
            but(
                "LH-CLAIM-3",
                "what is due later comes first",
                "/claimed/leases",
                json!([lease("d", "f5", 9), lease("c", "f6", 9)]),
            ),
            but(
                "LH-CLAIM-4",
                "more are granted than asked for",
                "/claimed/leases",
                json!([lease("c", "f5", 9), lease("a", "f6", 4), lease("b", "f7", 4)]),
            ),
        ],
    )
    .step(
        claim_up_to("run", 2),
        vec![
            but("LH-CLAIM-4", "one is left out, and nobody is told", "/claimed/leases", json!([])),
            but(
                "LH-CLAIM-1",
                "the last is granted before its time",
                "/claimed/leases",
                json!([lease("b", "f7", 4), lease("d", "f8", 9)]),
            ),
        ],
    )
}

fn paused() -> Script {
    let settings = |paused| json!({ "configure": { "paused": paused } });
    let wrong = |word: bool| {
        vec![
            but("LH-CTL-1", "the word is not taken", "/settings/paused", json!(word)),
            but("LH-CTL-1", "another setting changes", "/settings/id_memory_ms", json!(0)),
        ]
    };
    Script::new("paused", "A pause stops every run, and nothing else.")
        .step(
            enqueue(&[task("a"), task("b")]),
            vec![
                instead("LH-ENQ-7", "all are refused", json!({ "refused": "invalid" })),
                instead(
                    "LH-GEN-2",
                    "one is answered",
                    json!({ "enqueued": [{ "new": { "fence": "f1" } }] }),
                ),
            ],
        )
        .step(
            claim("run"),
            vec![
                instead(
                    "LH-CLAIM-4",
                    "there is nothing",
                    json!({ "claimed": { "leases": [], "more": false } }),
                ),
                but(
                    "LH-CLAIM-5",
                    "it is a longer lease",
                    "/claimed/leases/0/ttl_left_ms",
                    json!(60_000),
                ),
            ],
        )
        .step(settings(true), wrong(false))
        .step(
            claim("run"),
            vec![
                instead(
                    "LH-CLAIM-1",
                    "a paused queue runs",
                    json!({ "claimed": { "more": true, "leases": [{
                "task": "b", "fence": "f4", "purpose": "run", "ttl_left_ms": TTL, "run": "f4",
                "payload": "the payload of b", "priority": 4, "due": 0, "attempt": 1
            }] } }),
                ),
                but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true)),
            ],
        )
        .step(
            renew("a", "f3", TTL),
            vec![
                instead(
                    "LH-RENEW-1",
                    "a pause revokes",
                    json!({ "lost": { "reason": "revoked" } }),
                ),
                instead(
                    "LH-RENEW-1",
                    "a pause cancels",
                    json!({ "lost": { "reason": "cancelled" } }),
                ),
            ],
        )
        .step(shift(30_000), vec![])
        .step(
            claim("rescue"),
            vec![
                instead(
                    "LH-CLAIM-4",
                    "a pause stops rescues",
                    json!({ "claimed": { "leases": [], "more": false } }),
                ),
                but("LH-LAPSE-2", "it is a run", "/claimed/leases/0/purpose", json!("run")),
            ],
        )
        .step(settings(false), wrong(true))
        .step(
            claim("run"),
            vec![
                instead(
                    "LH-CLAIM-4",
                    "the pause goes on",
                    json!({ "claimed": { "leases": [], "more": false } }),
                ),
                but(
                    "LH-CLAIM-5",
                    "it counts as the second run",
                    "/claimed/leases/0/attempt",
                    json!(2),
                ),
            ],
        )
}
