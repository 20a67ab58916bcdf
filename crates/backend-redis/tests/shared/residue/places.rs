//! Where the tasks stand: each in its own places and in no other.

use std::collections::BTreeMap;

use super::Found;
use super::record::Seen;
use super::snapshot::{Kept, Value};

const INDEXES: [&str; 6] =
    ["all", "leased", "expire", "done:succeeded", "done:dead", "done:cancelled"];

pub fn check(kept: &Kept, tasks: &[Seen], found: &mut Found) {
    let mut stands = standing(kept);
    for task in tasks {
        for (key, member, score) in task.others() {
            let at = (key, member);
            match stands.remove(&at) {
                Some(has) if has == score => {}
                Some(has) => found.amiss.push(format!("{at:?} at {has} and not at {score}")),
                None => found.amiss.push(format!("{at:?} is missing")),
            }
        }
        if task.state == 'w' {
            check_waiting(task, &mut stands, found);
        }
        check_record(task, found);
        check_beside(kept, task, found);
    }
    for (key, member) in stands.keys() {
        found.amiss.push(format!("{member:?} is in {key:?} without a task that says so"));
    }
    check_lanes(kept, found);
    check_strangers(kept, tasks, found);
}

/// Every entry of every index of tasks, with its score.
fn standing(kept: &Kept) -> BTreeMap<(String, String), i64> {
    let mut stands = BTreeMap::new();
    for (key, value) in kept.all() {
        if INDEXES.contains(&key) || key.starts_with("wait:") || key.starts_with("parked:") {
            for (member, score) in value.sorted() {
                stands.insert((key.to_owned(), member.clone()), *score);
            }
        }
    }
    stands
}

/// In its lane or parked, once, and at the instant at which it is ready.
fn check_waiting(task: &Seen, stands: &mut BTreeMap<(String, String), i64>, found: &mut Found) {
    let mut places = task.parked();
    places.push(task.lane());
    let mut stood = Vec::new();
    for (key, score) in places {
        if let Some(has) = stands.remove(&(key.clone(), task.in_lane())) {
            found.check(has == score, || format!("{} in {key:?} at {has}, not {score}", task.id));
            stood.push(key);
        }
    }
    found.check(stood.len() == 1, || format!("{} waits, and stands in {stood:?}", task.id));
}

fn check_record(task: &Seen, found: &mut Found) {
    let Seen { id, state, .. } = task;
    found.check("wrqscERUKLCO".contains(*state), || format!("{id} has the state {state}"));
    found.check(task.is_leased() == (task.ends > 0), || format!("{id} is {state}, its lease ends"));
    let finished = task.finished.is_some();
    found.check(task.is_finished() == finished, || format!("{id} is {state}, finished {finished}"));
    let expires = task.expires.is_some();
    found.check(task.is_finished() || !expires, || format!("{id} is {state} and expires"));
    let in_time = task.expires.is_none_or(|expires| Some(expires) > task.finished);
    found.check(in_time, || format!("{id} should have left as it was finished"));
    let runs = *state != 'r' || task.run == task.fence;
    found.check(runs, || format!("{id} runs under another fence"));
}

/// Its note, its result and its history, which only a task has that says so.
fn check_beside(kept: &Kept, task: &Seen, found: &mut Found) {
    let id = &task.id;
    let history = kept.get(&format!("history:{id}"));
    let has = [
        kept.hash("note").contains_key(id),
        kept.hash("result").contains_key(id),
        history.is_some(),
    ];
    found.check(task.has_side || has == [false; 3], || format!("{id} has {has:?} and no mark"));
    if let Some(Value::List(lines)) = history {
        let whole =
            lines.iter().all(|line| line.iter().filter(|byte| **byte == b'\t').count() >= 3);
        found.check(whole, || format!("the history of {id} has a line that is none"));
    }
}

/// A lane with tasks is looked at no later than the first of them is ready; one without is
/// dropped by the next claim that looks.
fn check_lanes(kept: &Kept, found: &mut Found) {
    for (lane, members) in kept.family("wait:") {
        let first = members.first().map_or(0, |(_, score)| *score);
        let looked = kept.score("lanes", lane);
        let in_time = looked.is_some_and(|looked| looked <= first);
        found.check(in_time, || format!("lane {lane} is ready at {first}, looked at {looked:?}"));
    }
    for (lane, looked) in kept.sorted("lanes") {
        let has_tasks = kept.get(&format!("wait:{lane}")).is_some();
        found.check(has_tasks || *looked <= found.now, || format!("lane {lane} without a task"));
    }
}

/// What is kept beside a task goes with it.
fn check_strangers(kept: &Kept, tasks: &[Seen], found: &mut Found) {
    let is_task = |id: &str| tasks.iter().any(|task| task.id == id);
    for key in ["note", "result"] {
        for id in kept.hash(key).keys() {
            found.check(is_task(id), || format!("a {key} without a task: {id}"));
        }
    }
    for (id, _) in kept.family("history:") {
        found.check(is_task(id), || format!("a history without a task: {id}"));
    }
}
