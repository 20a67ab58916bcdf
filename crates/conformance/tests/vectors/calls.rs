//! The calls that the scripts make, as JSON.

use serde_json::{Value, json};

/// The length of each lease, in milliseconds.
pub const TTL: u64 = 30_000;

/// A task with one retry and one rescue, which the queue's own retention counts for.
pub fn task(id: &str) -> Value {
    json!({
        "id": id,
        "delivery": { "at_least_once": { "max_rescues": 1 } },
        "max_retries": 1,
        "retry_delay_ms": 5_000,
        "payload": format!("the payload of {id}"),
        "priority": 4
    })
}

/// The same with more to it.
pub fn with(mut task: Value, part: &str, value: Value) -> Value {
    task[part] = value;
    task
}

pub fn kept(id: &str) -> Value {
    with(task(id), "kept", json!(true))
}

pub fn enqueue(tasks: &[Value]) -> Value {
    json!({ "enqueue": { "tasks": tasks } })
}

pub fn claim(purpose: &str) -> Value {
    claim_up_to(purpose, 1)
}

pub fn claim_up_to(purpose: &str, max: usize) -> Value {
    json!({ "claim": { "purpose": purpose, "max": max, "ttl_ms": TTL, "holder": "one" } })
}

pub fn named_claim(seq: u64) -> Value {
    let mut call = claim("run");
    call["claim"]["claimer"] = json!("c1");
    call["claim"]["seq"] = json!(seq);
    call
}

pub fn renew(task: &str, fence: &str, ttl_ms: u64) -> Value {
    json!({ "renew": { "task": task, "fence": fence, "ttl_ms": ttl_ms } })
}

pub fn get(task: &str) -> Value {
    json!({ "get": { "task": task } })
}

pub fn counts() -> Value {
    json!({ "counts": {} })
}

pub fn shift(ms: i64) -> Value {
    json!({ "shift": { "ms": ms } })
}

pub fn purge() -> Value {
    json!({ "purge": { "max": 10 } })
}

fn commit(task: &str, fence: &str, decision: &str, change: Value) -> Value {
    json!({ "commit": { "task": task, "fence": fence, "decision": decision, "change": change } })
}

pub fn success(task: &str, fence: &str, decision: &str) -> Value {
    let change = json!({ "by": "worker", "to": "succeeded", "event": "succeeded" });
    commit(task, fence, decision, change)
}

/// The success of a task that stays once it has finished.
pub fn kept_success(task: &str, fence: &str, decision: &str) -> Value {
    let mut call = success(task, fence, decision);
    call["commit"]["change"]["kept"] = json!(true);
    call
}

pub fn success_with(task: &str, fence: &str, decision: &str, follow_ups: &[Value]) -> Value {
    let mut call = success(task, fence, decision);
    call["commit"]["change"]["follow_ups"] = json!(follow_ups);
    call
}

/// A failure below the budget.
pub fn failure(task: &str, fence: &str, decision: &str) -> Value {
    let change = json!({
        "by": "worker", "to": "waiting", "delay_ms": 5_000, "budget": "spend_retry",
        "event": "failed", "message": "no route"
    });
    commit(task, fence, decision, change)
}

/// A failure at the budget.
pub fn last_failure(task: &str, fence: &str, decision: &str) -> Value {
    let change = json!({
        "by": "worker", "to": "dead_exhausted", "event": "failed", "message": "no route"
    });
    commit(task, fence, decision, change)
}

pub fn release(task: &str, fence: &str, decision: &str) -> Value {
    commit(task, fence, decision, json!({ "by": "worker", "to": "waiting", "event": "released" }))
}

/// A rescue below the budget.
pub fn put_back(task: &str, fence: &str, decision: &str) -> Value {
    let change = json!({
        "by": "rescuer", "to": "waiting", "delay_ms": 0, "budget": "spend_rescue",
        "event": "lapsed"
    });
    commit(task, fence, decision, change)
}

/// A rescue at the budget.
pub fn bury_as_lost(task: &str, fence: &str, decision: &str) -> Value {
    commit(task, fence, decision, json!({ "by": "rescuer", "to": "dead_lost", "event": "lapsed" }))
}

/// An operator's act.
pub fn act(task: &str, fence: &str, decision: &str, to: &str, event: &str) -> Value {
    let mut change = json!({ "by": "operator", "to": to, "event": event, "actor": "ada" });
    if to == "waiting" {
        change["delay_ms"] = json!(0);
    }
    if event == "redriven" {
        change["budget"] = json!("reset");
    }
    commit(task, fence, decision, change)
}

pub fn revoke(task: &str, fence: &str, decision: &str) -> Value {
    let mut call = act(task, fence, decision, "waiting", "requeued");
    call["commit"]["change"]["revoke"] = json!(true);
    call
}

pub fn edit(task: &str, fence: &str, decision: &str, payload: &str) -> Value {
    let mut call = act(task, fence, decision, "same", "edited");
    call["commit"]["change"]["payload"] = json!(payload);
    call
}
