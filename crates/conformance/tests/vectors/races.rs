//! Vectors of a task that lapses, is rescued, or that an operator takes.

use serde_json::{Value, json};

use crate::calls::*;
use crate::script::{Script, Wrong, but, instead};

pub fn scripts() -> Vec<Script> {
    vec![
        late_success(),
        late_success_ends(),
        late_failure(),
        overdue(),
        lost_for_good(),
        operators(),
        revoked(),
        deleted_while_it_runs(),
    ]
}

fn nothing() -> Value {
    json!({ "claimed": { "leases": [], "more": false } })
}

fn stale(fence: &str, state: &str) -> Value {
    json!({ "stale": { "fence": fence, "state": state } })
}

fn applied(fence: &str) -> Value {
    json!({ "applied": { "fence": fence } })
}

fn enqueued_wrongly() -> Vec<Wrong> {
    vec![
        instead("LH-ENQ-7", "it is refused", json!({ "refused": "invalid" })),
        instead("LH-GEN-2", "nothing is answered", json!({ "enqueued": [] })),
    ]
}

fn granted_wrongly() -> Vec<Wrong> {
    vec![
        instead("LH-CLAIM-4", "there is nothing", nothing()),
        but("LH-CLAIM-5", "it is no run", "/claimed/leases/0/run", json!(null)),
        but("LH-FENCE-1", "the fence stays", "/claimed/leases/0/fence", json!("f1")),
    ]
}

fn rescued_wrongly() -> Vec<Wrong> {
    vec![
        instead("LH-CLAIM-4", "nothing has lapsed", nothing()),
        but("LH-LAPSE-2", "the run is forgotten", "/claimed/leases/0/run", json!(null)),
        but("LH-LAPSE-2", "a retry is spent", "/claimed/leases/0/failures", json!(1)),
    ]
}

/// A lease of `t` that has lapsed and was claimed to be rescued at f3.
fn lapsed(name: &'static str, about: &'static str, task: Value) -> Script {
    Script::new(name, about)
        .step(enqueue(&[task]), enqueued_wrongly())
        .step(claim("run"), granted_wrongly())
        .step(shift(30_000), vec![])
        .step(claim("rescue"), rescued_wrongly())
}

fn late_success() -> Script {
    lapsed(
        "late_success",
        "A success counts while its rescue is undecided, and the rescue does not then.",
        kept("t"),
    )
    .step(
        kept_success("t", "f2", "d1"),
        vec![
            instead("LH-LATE-1", "it is Stale", stale("f3", "leased_rescue")),
            but("LH-LATE-1", "it is on time", "/applied/late", json!(false)),
            but("LH-COMMIT-7", "it is overdue as well", "/applied/overdue", json!(true)),
            instead("LH-LATE-1", "nothing is known", json!("gone")),
        ],
    )
    .step(
        put_back("t", "f3", "d2"),
        vec![
            instead("LH-COMMIT-1", "the success is undone", applied("f5")),
            but("LH-COMMIT-9", "it is told an old state", "/stale/state", json!("leased_rescue")),
            instead("LH-COMMIT-6", "it is a repeat", json!("replayed")),
        ],
    )
    .step(
        get("t"),
        vec![
            but("LH-READ-1", "it waits", "/task/state", json!("waiting")),
            but("LH-READ-1", "a rescue was spent", "/task/rescues", json!(1)),
            but("LH-READ-1", "the run can succeed again", "/task/run", json!("f2")),
        ],
    )
    .step(
        counts(),
        vec![
            but(
                "LH-OBS-1",
                "it was overdue",
                "/counts/events",
                json!({ "overdue": 1, "lapsed": 1, "stale_commits": 1 }),
            ),
            but("LH-READ-2", "it is buried", "/counts/tasks", json!({ "dead": 1 })),
        ],
    )
}

fn late_success_ends() -> Script {
    lapsed("late_success_ends", "The next run ends the right to a late success.", task("t"))
        .step(
            put_back("t", "f3", "d1"),
            vec![
                instead("LH-COMMIT-1", "it is Stale", stale("f3", "leased_rescue")),
                but("LH-COMMIT-7", "it is overdue", "/applied/overdue", json!(true)),
            ],
        )
        .step(
            claim("run"),
            vec![
                instead("LH-CLAIM-4", "there is nothing", nothing()),
                but(
                    "LH-CLAIM-5",
                    "the rescue is not counted",
                    "/claimed/leases/0/rescues",
                    json!(null),
                ),
                but("LH-CLAIM-5", "it counts as a failure", "/claimed/leases/0/failures", json!(1)),
            ],
        )
        .step(
            success("t", "f2", "d2"),
            vec![
                instead(
                    "LH-COMMIT-1",
                    "the old run succeeds",
                    json!({ "applied": { "fence": "f6", "late": true } }),
                ),
                instead("LH-COMMIT-6", "it is a repeat", json!("replayed")),
                but("LH-COMMIT-9", "it is told an old fence", "/stale/fence", json!("f4")),
            ],
        )
        .step(
            renew("t", "f5", TTL),
            vec![
                instead(
                    "LH-RENEW-1",
                    "the new run has lost it",
                    json!({ "lost": { "reason": "decided" } }),
                ),
                instead(
                    "LH-RENEW-1",
                    "it is shorter",
                    json!({ "held": { "ttl_left_ms": 29_000 } }),
                ),
            ],
        )
}

fn late_failure() -> Script {
    lapsed("late_failure", "Nothing but a success counts late.", task("t"))
        .step(
            failure("t", "f2", "d1"),
            vec![
                instead(
                    "LH-LATE-2",
                    "it counts late",
                    json!({ "applied": { "fence": "f4", "late": true } }),
                ),
                instead("LH-COMMIT-1", "it counts", applied("f4")),
                but("LH-COMMIT-9", "the lease is said to run", "/stale/state", json!("leased_run")),
            ],
        )
        .step(
            release("t", "f2", "d2"),
            vec![
                instead(
                    "LH-LATE-2",
                    "it counts late",
                    json!({ "applied": { "fence": "f4", "late": true } }),
                ),
                instead("LH-COMMIT-6", "it is a repeat", json!("replayed")),
            ],
        )
        .step(
            renew("t", "f2", TTL),
            vec![
                instead("LH-RENEW-2", "it is held", json!({ "held": { "ttl_left_ms": 30_000 } })),
                instead("LH-RENEW-2", "it was decided", json!({ "lost": { "reason": "decided" } })),
            ],
        )
        .step(
            put_back("t", "f3", "d3"),
            vec![
                instead("LH-COMMIT-1", "the failure has come before", stale("f3", "leased_rescue")),
                but("LH-FENCE-1", "the fence stays", "/applied/fence", json!("f3")),
            ],
        )
}

fn overdue() -> Script {
    Script::new("overdue", "Every decision counts while nobody has claimed, however late it is.")
        .step(enqueue(&[task("t")]), enqueued_wrongly())
        .step(claim("run"), granted_wrongly())
        .step(shift(90_000), vec![])
        .step(counts(), vec![
            but("LH-READ-2", "the lease runs", "/counts/tasks", json!({ "leased": 1 })),
            but("LH-OBS-1", "a lapse is counted before it is claimed", "/counts/events", json!({ "lapsed": 1 })),
        ])
        .step(failure("t", "f2", "d1"), vec![
            instead("LH-COMMIT-7", "it is Stale", stale("f2", "leased_run")),
            but("LH-COMMIT-7", "it is on time", "/applied/overdue", json!(false)),
        ])
        .step(renew("t", "f2", TTL), vec![
            instead("LH-RENEW-2", "it is held", json!({ "held": { "ttl_left_ms": 30_000 } })),
            instead("LH-RENEW-2", "it has lapsed, and no more", json!({ "lost": { "reason": "lapsed" } })),
        ])
        .step(claim("rescue"), vec![
            instead("LH-LAPSE-1", "it is rescued all the same", json!({ "claimed": { "more": true, "leases": [{
                "task": "t", "fence": "f4", "purpose": "rescue", "ttl_left_ms": TTL, "run": "f2",
                "payload": "the payload of t", "priority": 4, "due": 95_000, "attempt": 1, "failures": 1
            }] } })),
            but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true)),
        ])
}

fn lost_for_good() -> Script {
    let never = with(task("t"), "delivery", json!("not_after_loss"));
    lapsed(
        "lost_for_good",
        "What is never to run after a loss is buried; its late success takes it off the list.",
        never,
    )
    .step(
        bury_as_lost("t", "f3", "d1"),
        vec![
            instead("LH-COMMIT-1", "it is Stale", stale("f3", "leased_rescue")),
            instead("LH-COMMIT-1", "it is a repeat", json!("replayed")),
        ],
    )
    .step(
        get("t"),
        vec![
            but("LH-READ-1", "it has another reason", "/task/state", json!("dead_exhausted")),
            but("LH-READ-1", "it waits for another run", "/task/state", json!("waiting")),
            but("LH-READ-1", "the payload is not kept", "/task/payload", json!("")),
            but("LH-READ-1", "the run cannot succeed any more", "/task/run", json!(null)),
        ],
    )
    .step(
        claim("run"),
        vec![
            instead(
                "LH-CLAIM-1",
                "it runs again",
                json!({ "claimed": { "more": true, "leases": [{
                "task": "t", "fence": "f5", "purpose": "run", "ttl_left_ms": TTL, "run": "f5",
                "payload": "the payload of t", "priority": 4, "due": 0, "attempt": 2
            }] } }),
            ),
            but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true)),
        ],
    )
    .step(
        success("t", "f2", "d2"),
        vec![
            instead("LH-LATE-1", "the dead letter stays", stale("f4", "dead_lost")),
            but("LH-LATE-1", "it is on time", "/applied/late", json!(false)),
        ],
    )
    .step(
        counts(),
        vec![
            but("LH-READ-2", "it is on two lists", "/counts/tasks", json!({ "dead": 1 })),
            but(
                "LH-OBS-1",
                "it was never buried",
                "/counts/events",
                json!({ "lapsed": 1, "late": 1 }),
            ),
        ],
    )
}

fn operators() -> Script {
    Script::new(
        "operators",
        "Two operators saw the same fence; the first wins, and the worker hears of it.",
    )
    .step(enqueue(&[task("t")]), enqueued_wrongly())
    .step(
        edit("t", "f1", "d1", "edited"),
        vec![
            instead("LH-COMMIT-1", "it is Stale", stale("f1", "waiting")),
            but("LH-FENCE-1", "the fence stays", "/applied/fence", json!("f1")),
        ],
    )
    .step(
        claim("run"),
        vec![
            but(
                "LH-CLAIM-5",
                "the edit is lost",
                "/claimed/leases/0/payload",
                json!("the payload of t"),
            ),
            but("LH-FENCE-1", "the fence stays", "/claimed/leases/0/fence", json!("f2")),
        ],
    )
    .step(
        edit("t", "f3", "d2", "edited again"),
        vec![
            instead("LH-COMMIT-3", "a task that runs is edited", applied("f4")),
            instead("LH-COMMIT-3", "it is Stale", stale("f3", "leased_run")),
        ],
    )
    .step(
        act("t", "f3", "d3", "cancelled", "cancelled"),
        vec![
            instead("LH-COMMIT-1", "it is Stale", stale("f3", "leased_run")),
            but("LH-COMMIT-7", "it is overdue", "/applied/overdue", json!(true)),
        ],
    )
    .step(
        act("t", "f3", "d4", "dead_operator", "buried"),
        vec![
            instead("LH-OPER-1", "the second one wins too", applied("f5")),
            instead("LH-COMMIT-6", "it is a repeat", json!("replayed")),
            but("LH-COMMIT-9", "the task is said to run", "/stale/state", json!("leased_run")),
        ],
    )
    .step(
        renew("t", "f3", TTL),
        vec![
            instead("LH-RENEW-2", "it is held", json!({ "held": { "ttl_left_ms": 30_000 } })),
            instead("LH-RENEW-2", "it was revoked", json!({ "lost": { "reason": "revoked" } })),
            instead(
                "LH-RENEW-2",
                "it was taken",
                json!({ "lost": { "reason": "taken", "fence": "f4" } }),
            ),
        ],
    )
    .step(
        success("t", "f3", "d5"),
        vec![
            instead("LH-COMMIT-1", "the cancel is undone", applied("f5")),
            instead(
                "LH-COMMIT-1",
                "it counts late",
                json!({ "applied": { "fence": "f5", "late": true } }),
            ),
        ],
    )
    .step(
        get("t"),
        vec![
            but("LH-READ-1", "it is not held", "/task/held_until", json!(null)),
            but("LH-READ-1", "it succeeded", "/task/state", json!("succeeded")),
            but("LH-READ-1", "nobody is named", "/task/history/1/actor", json!(null)),
        ],
    )
}

fn revoked() -> Script {
    let due = json!({
        "task": "t", "fence": "f5", "purpose": "run", "ttl_left_ms": TTL, "run": "f5",
        "payload": "the payload of t", "priority": 4, "due": 10_000, "attempt": 2
    });
    Script::new("revoked", "A lease is taken away; the next run waits until it would have ended.")
        .step(enqueue(&[task("t")]), enqueued_wrongly())
        .step(claim("run"), granted_wrongly())
        .step(shift(10_000), vec![])
        .step(
            act("t", "f2", "d1", "waiting", "requeued"),
            vec![
                instead("LH-COMMIT-3", "a lease is taken without a word", applied("f3")),
                instead("LH-COMMIT-3", "it is Stale", stale("f2", "leased_run")),
            ],
        )
        .step(
            revoke("t", "f2", "d2"),
            vec![
                instead("LH-COMMIT-1", "it is Stale", stale("f2", "leased_run")),
                instead("LH-COMMIT-1", "it is a repeat", json!("replayed")),
            ],
        )
        .step(
            renew("t", "f2", TTL),
            vec![
                instead("LH-RENEW-2", "it is held", json!({ "held": { "ttl_left_ms": 30_000 } })),
                instead(
                    "LH-RENEW-2",
                    "it was cancelled",
                    json!({ "lost": { "reason": "cancelled" } }),
                ),
            ],
        )
        .step(
            get("t"),
            vec![
                but("LH-READ-1", "it does not wait", "/task/held_until", json!(null)),
                but("LH-READ-1", "it waits for a whole lease", "/task/held_until", json!(40_000)),
                but("LH-READ-1", "the run could still succeed", "/task/run", json!("f2")),
            ],
        )
        .step(
            edit("t", "f3", "d3", "the payload of t"),
            vec![
                instead("LH-COMMIT-1", "it is Stale", stale("f3", "waiting")),
                but("LH-FENCE-1", "the fence stays", "/applied/fence", json!("f3")),
            ],
        )
        .step(
            claim("run"),
            vec![
                instead(
                    "LH-CLAIM-1",
                    "it starts beside the old run",
                    json!({ "claimed": { "more": true, "leases": [due] } }),
                ),
                but("LH-CLAIM-9", "it is superseded", "/claimed/superseded", json!(true)),
            ],
        )
        .step(shift(20_000), vec![])
        .step(
            claim("run"),
            vec![
                instead("LH-CLAIM-4", "it waits for ever", nothing()),
                but("LH-CLAIM-5", "it is the first run", "/claimed/leases/0/attempt", json!(1)),
            ],
        )
}

fn deleted_while_it_runs() -> Script {
    Script::new(
        "deleted_while_it_runs",
        "The record of a task that is deleted stays as long as its lease would have run.",
    )
    .step(enqueue(&[task("t")]), enqueued_wrongly())
    .step(claim("run"), granted_wrongly())
    .step(
        act("t", "f2", "d1", "gone", "deleted"),
        vec![
            instead("LH-COMMIT-1", "it is refused", stale("f2", "leased_run")),
            instead("LH-COMMIT-3", "it is Invalid", json!({ "refused": "invalid" })),
        ],
    )
    .step(
        purge(),
        vec![
            instead("LH-PURGE-1", "the record leaves at once", json!({ "purged": 1 })),
            instead("LH-PURGE-1", "two leave", json!({ "purged": 2 })),
        ],
    )
    .step(
        enqueue(&[task("t")]),
        vec![
            instead(
                "LH-ENQ-2",
                "the id is free at once",
                json!({ "enqueued": [{ "new": { "fence": "f4" } }] }),
            ),
            but("LH-ENQ-2", "it has left", "/enqueued/0/duplicate/state", json!(null)),
        ],
    )
    .step(
        renew("t", "f2", TTL),
        vec![
            instead("LH-RENEW-2", "it is held", json!({ "held": { "ttl_left_ms": 30_000 } })),
            instead("LH-RENEW-2", "there is no task", json!({ "lost": { "reason": "gone" } })),
        ],
    )
    .step(shift(30_000), vec![])
    .step(
        purge(),
        vec![
            instead("LH-PURGE-1", "the record stays", json!({ "purged": 0 })),
            instead("LH-PURGE-1", "two leave", json!({ "purged": 2 })),
        ],
    )
    .step(
        success("t", "f2", "d2"),
        vec![
            instead("LH-COMMIT-9", "nothing is remembered", json!("gone")),
            instead(
                "LH-COMMIT-1",
                "it counts",
                json!({ "applied": { "fence": "f4", "late": true } }),
            ),
            instead("LH-COMMIT-6", "it is a repeat", json!("replayed")),
        ],
    )
}
