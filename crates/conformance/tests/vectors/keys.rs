//! Vectors that need a feature: limits, unique keys, named claims, follow-ups.

use serde_json::{Value, json};

use crate::calls::*;
use crate::script::{Script, Wrong, but, instead};

pub fn scripts() -> Vec<Script> {
    vec![limit(), unique(), named_claims(), follow_ups()]
}

fn enqueued_wrongly() -> Vec<Wrong> {
    vec![
        instead("LH-ENQ-7", "all are refused", json!({ "refused": "invalid" })),
        instead("LH-GEN-2", "nothing is answered", json!({ "enqueued": [] })),
    ]
}

fn nothing() -> Value {
    json!({ "claimed": { "leases": [], "more": false } })
}

fn lease(id: &str, fence: &str) -> Value {
    json!({
        "task": id, "fence": fence, "purpose": "run", "ttl_left_ms": TTL, "run": fence,
        "payload": format!("the payload of {id}"), "priority": 4, "due": 0, "attempt": 1
    })
}

fn granted_wrongly() -> Vec<Wrong> {
    vec![
        instead("LH-CLAIM-4", "there is nothing", nothing()),
        but("LH-CLAIM-5", "it is no run", "/claimed/leases/0/run", json!(null)),
    ]
}

fn limit() -> Script {
    let limited = |id| with(task(id), "limit", json!({ "group": "g", "key": "k" }));
    let beside = |fence| {
        instead(
            "LH-CLAIM-1",
            "two run under a limit of one",
            json!({
                "claimed": { "more": true, "leases": [lease("b", fence)] }
            }),
        )
    };
    let superseded = || but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true));
    Script::new("limit", "One task of a key runs at once, and an operator frees no slot.")
        .needing(&["limits"])
        .step(
            enqueue(&[limited("a")]),
            vec![
                instead(
                    "LH-ENQ-7",
                    "a group without a number is no limit",
                    json!({ "enqueued": [{ "new": { "fence": "f1" } }] }),
                ),
                instead("LH-ENQ-7", "it is not supported", json!({ "refused": "unsupported" })),
            ],
        )
        .step(
            json!({ "configure": { "limits": [["g", 1]] } }),
            vec![
                but("LH-CTL-1", "it is not set", "/settings/limits", json!({})),
                but("LH-CTL-1", "it is another number", "/settings/limits/g", json!(2)),
            ],
        )
        .step(enqueue(&[limited("a"), limited("b")]), enqueued_wrongly())
        .step(claim("run"), granted_wrongly())
        .step(claim("run"), vec![beside("f4"), superseded()])
        .step(
            act("a", "f3", "d1", "cancelled", "cancelled"),
            vec![
                instead(
                    "LH-COMMIT-1",
                    "it is Stale",
                    json!({ "stale": { "fence": "f3", "state": "leased_run" } }),
                ),
                but("LH-FENCE-1", "the fence stays", "/applied/fence", json!("f3")),
            ],
        )
        .step(
            success("a", "f3", "d2"),
            vec![
                instead("LH-COMMIT-1", "it counts", json!({ "applied": { "fence": "f5" } })),
                instead("LH-COMMIT-6", "it is a repeat", json!("replayed")),
            ],
        )
        .step(claim("run"), vec![beside("f5"), superseded()])
        .step(shift(30_000), vec![])
        .step(claim("run"), granted_wrongly())
        .step(
            renew("b", "f5", TTL),
            vec![
                instead(
                    "LH-RENEW-1",
                    "its slot is another's",
                    json!({ "lost": { "reason": "lapsed" } }),
                ),
                instead("LH-RENEW-1", "it is shorter", json!({ "held": { "ttl_left_ms": 1_000 } })),
            ],
        )
}

fn unique() -> Script {
    let key = |task| with(task, "unique", json!("k"));
    Script::new("unique", "One unfinished task holds a key; the step that finishes it frees the key.")
        .needing(&["unique"])
        .step(enqueue(&[key(kept("a")), key(task("b"))]), vec![
            but("LH-UNIQ-2", "two hold the key", "/enqueued/1", json!({ "new": { "fence": "f2" } })),
            but("LH-UNIQ-2", "it is its own holder", "/enqueued/1/duplicate/task", json!("b")),
            but("LH-UNIQ-2", "the id was taken", "/enqueued/1/duplicate/cause", json!("id")),
        ])
        .step(claim("run"), granted_wrongly())
        .step(enqueue(&[key(task("b"))]), vec![
            instead("LH-UNIQ-2", "a claim frees the key", json!({ "enqueued": [{ "new": { "fence": "f3" } }] })),
            but("LH-UNIQ-2", "the holder waits", "/enqueued/0/duplicate/state", json!("waiting")),
        ])
        .step(kept_success("a", "f2", "d1"), vec![
            instead("LH-COMMIT-1", "it is Stale", json!({ "stale": { "fence": "f2", "state": "leased_run" } })),
            instead("LH-COMMIT-1", "it meets a rival", json!({ "conflict": { "task": "b" } })),
        ])
        .step(enqueue(&[key(task("b"))]), vec![
            instead("LH-ENQ-1", "the key is not freed", json!({
                "enqueued": [{ "duplicate": { "cause": "key", "task": "a", "state": "succeeded" } }]
            })),
            but("LH-FENCE-1", "there is no fence", "/enqueued/0/new/fence", json!("f0")),
        ])
        .step(act("a", "f3", "d2", "waiting", "redriven"), vec![
            instead("LH-UNIQ-4", "the key is taken from its holder", json!({ "applied": { "fence": "f5" } })),
            instead("LH-UNIQ-4", "it is its own rival", json!({ "conflict": { "task": "a" } })),
            instead("LH-UNIQ-4", "it is Stale", json!({ "stale": { "fence": "f3", "state": "succeeded" } })),
        ])
        .step(get("a"), vec![
            but("LH-READ-1", "it waits all the same", "/task/state", json!("waiting")),
            but("LH-READ-1", "it has a new fence", "/task/fence", json!("f4")),
        ])
}

fn named_claims() -> Script {
    Script::new(
        "named_claims",
        "A claim that is repeated returns what it holds, and grants nothing.",
    )
    .needing(&["replay"])
    .step(enqueue(&[task("a"), task("b")]), enqueued_wrongly())
    .step(named_claim(1), granted_wrongly())
    .step(shift(1_000), vec![])
    .step(
        named_claim(1),
        vec![
            instead(
                "LH-CLAIM-9",
                "it grants one more",
                json!({
                    "claimed": { "more": true, "leases": [lease("a", "f3"), lease("b", "f4")] }
                }),
            ),
            but("LH-CLAIM-9", "it grants another", "/claimed/leases", json!([lease("b", "f4")])),
            but(
                "LH-CLAIM-9",
                "it tells the time of then",
                "/claimed/leases/0/ttl_left_ms",
                json!(TTL),
            ),
            but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true)),
        ],
    )
    .step(named_claim(2), granted_wrongly())
    .step(
        named_claim(1),
        vec![
            but("LH-CLAIM-9", "nobody tells that it is old", "/claimed/superseded", json!(null)),
            but(
                "LH-CLAIM-9",
                "it returns what it had",
                "/claimed/leases",
                json!([lease("a", "f3")]),
            ),
        ],
    )
    .step(
        success("b", "f4", "d1"),
        vec![
            instead(
                "LH-COMMIT-1",
                "it is Stale",
                json!({ "stale": { "fence": "f4", "state": "leased_run" } }),
            ),
            but("LH-COMMIT-1", "it is late", "/applied/late", json!(true)),
        ],
    )
    .step(
        named_claim(2),
        vec![
            instead(
                "LH-CLAIM-9",
                "it returns what is decided",
                json!({
                    "claimed": { "more": true, "leases": [lease("b", "f4")] }
                }),
            ),
            but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true)),
        ],
    )
}

fn follow_ups() -> Script {
    let child = || task("child");
    Script::new("follow_ups", "Follow-ups appear with the commit that is applied, and with no other.")
        .needing(&["follow-ups"])
        .step(enqueue(&[task("t"), task("there")]), enqueued_wrongly())
        .step(claim("run"), granted_wrongly())
        .step(success_with("t", "f3", "d1", &[child(), task("there"), child()]), vec![
            but("LH-ENQ-8", "none is answered", "/applied/follow_ups", json!(null)),
            but("LH-ENQ-8", "an old one is new", "/applied/follow_ups/1", json!({ "new": { "fence": "f6" } })),
            but("LH-ENQ-8", "a twin is new", "/applied/follow_ups/2", json!({ "new": { "fence": "f6" } })),
            instead("LH-COMMIT-1", "a Duplicate hinders it", json!({ "stale": { "fence": "f3", "state": "leased_run" } })),
        ])
        .step(get("child"), vec![
            instead("LH-READ-1", "it does not appear", json!("nothing")),
            but("LH-READ-1", "it waits for its parent", "/task/due", json!(60_000)),
        ])
        .step(success_with("t", "f3", "d1", &[child(), task("there"), child()]), vec![
            instead("LH-COMMIT-4", "it is applied twice", json!({ "applied": { "fence": "f6" } })),
            instead("LH-COMMIT-4", "it is Stale", json!({ "stale": { "fence": "f3" } })),
        ])
        .step(success_with("t", "f3", "d2", &[task("another")]), vec![
            instead("LH-COMMIT-6", "it is a repeat", json!("replayed")),
            instead("LH-COMMIT-1", "it counts", json!({ "applied": { "fence": "f6", "follow_ups": [{ "new": { "fence": "f7" } }] } })),
        ])
        .step(get("another"), vec![
            instead("LH-READ-1", "a Stale commit made it", json!({ "task": {
                "id": "another", "state": "waiting", "fence": "f6", "born": "f6",
                "payload": "the payload of another", "priority": 4, "due": 0, "attempt": 0
            } })),
            instead("LH-READ-1", "it has left", json!({
                "left": { "shown": { "fence": "f3", "decision": "d2", "by": "worker" }, "state": "succeeded" }
            })),
        ])
        .step(counts(), vec![
            but("LH-READ-2", "one more is there", "/counts/tasks", json!({ "ready": 3 })),
            but("LH-OBS-1", "nothing was repeated", "/counts/events", json!({ "stale_commits": 1 })),
        ])
}
