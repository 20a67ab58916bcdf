//! What a queue remembers beside its tasks: keys, ids, claims, settings and counters.

use std::collections::BTreeMap;

use leasehold_core::Events;

use super::Found;
use super::record::Seen;
use super::snapshot::Kept;

pub fn check(kept: &Kept, tasks: &[Seen], found: &mut Found) {
    check_unique(kept, tasks, found);
    check_left(kept, tasks, found);
    check_claims(kept, found);
    check_fences(kept, tasks, found);
    check_settings(kept, found);
}

/// Each unfinished task holds its unique key, and nobody else holds one.
fn check_unique(kept: &Kept, tasks: &[Seen], found: &mut Found) {
    let mut holders: BTreeMap<&str, &str> = BTreeMap::new();
    for task in tasks.iter().filter(|task| !task.is_finished()) {
        if let Some(key) = &task.unique {
            holders.insert(key, &task.id);
            let holder = kept.field("unique", key);
            let holds = holder == Some(&*task.id);
            found.check(holds, || format!("{} has key {key:?} of {holder:?}", task.id));
        }
    }
    for key in kept.hash("unique").keys().filter(|key| !holders.contains_key(key.as_str())) {
        found.amiss.push(format!("the unique key {key:?} without an unfinished task"));
    }
    // What has ended is dropped by the next purge.
    let now = found.now;
    for (key, held) in kept.sorted("inherit").iter().filter(|(_, held)| *held > now) {
        let of = |task: &Seen| task.unique.as_ref() == Some(key) && task.held >= Some(*held);
        found.check(tasks.iter().any(of), || format!("{key:?} inherits {held} of no task"));
    }
}

/// Each remembered id is forgotten in its time, by the chunk that it left with.
fn check_left(kept: &Kept, tasks: &[Seen], found: &mut Found) {
    let mut ends: BTreeMap<&str, i64> = BTreeMap::new();
    for (chunk, till) in kept.sorted("forget") {
        for id in chunk.split('\t') {
            let end = ends.entry(id).or_insert(*till);
            *end = (*end).max(*till);
        }
    }
    for (id, text) in kept.hash("left") {
        let text = String::from_utf8_lossy(text);
        let until = text.get(..15).filter(|_| text.len() == 68 && text.is_ascii());
        let Some(until) = until.and_then(|until| until.parse::<i64>().ok()) else {
            found.amiss.push(format!("what is remembered of {id} cannot be read: {text}"));
            continue;
        };
        let end = ends.get(&**id);
        let forgotten = end.is_some_and(|end| *end >= until);
        found.check(forgotten, || format!("{id} is remembered until {until}, dropped {end:?}"));
        let in_use = tasks.iter().any(|task| task.id == *id);
        found.check(!in_use, || format!("{id} is remembered, and in use"));
    }
}

fn check_claims(kept: &Kept, found: &mut Found) {
    for (claimer, record) in kept.hash("claims") {
        let record = String::from_utf8_lossy(record);
        let parts: Vec<_> = record.split('\t').collect();
        let whole = parts.len() > 2 && (parts[0].len(), parts[1].len()) == (20, 19);
        found.check(whole, || format!("the claim of {claimer} cannot be read: {record}"));
        let noted = kept.score("claimed", claimer).is_some();
        found.check(noted, || format!("the claim of {claimer} is never forgotten"));
    }
    for (claimer, _) in kept.sorted("claimed") {
        let noted = kept.hash("claims").contains_key(claimer);
        found.check(noted, || format!("{claimer} has claimed, and no claim is recorded"));
    }
}

/// The source is at or above every fence that was given out.
fn check_fences(kept: &Kept, tasks: &[Seen], found: &mut Found) {
    let last = kept.text("fence").unwrap_or_default();
    for task in tasks {
        found.check(&*task.fence <= last, || format!("{} is above the fence {last}", task.id));
        found.check(task.run <= task.fence, || format!("{} ran above its fence", task.id));
    }
    let made = kept.field("queue", "made").is_some();
    found.check(made || tasks.is_empty(), || "tasks in a queue that was never made".to_owned());
}

fn check_settings(kept: &Kept, found: &mut Found) {
    const SETTINGS: [&str; 18] = [
        "made",
        "paused",
        "lapsed_from",
        "parked_at",
        "went_back",
        "walk:slots",
        "walk:succeeded",
        "walk:dead",
        "walk:cancelled",
        "walk:unique",
        "walk:leased",
        "walk:lanes",
        "walk:tasks",
        "id_memory",
        "keep:succeeded",
        "keep:cancelled",
        "keep:dead",
        "keep:lost",
    ];
    for name in kept.hash("queue").keys() {
        found.check(SETTINGS.contains(&&**name), || format!("an unknown setting {name}"));
    }
    for (group, number) in kept.hash("limits") {
        let number = std::str::from_utf8(number).ok().and_then(|number| number.parse::<u32>().ok());
        found.check(number.is_some(), || format!("the limit of {group} is no number"));
    }
    for name in kept.hash("events").keys() {
        let known = Events::default().by_name(name).is_some();
        found.check(known, || format!("an unknown counter {name}"));
    }
    let ticks = |clock: &str| clock.split(' ').all(|part| part.parse::<u64>().is_ok());
    found.check(kept.text("clock").is_none_or(ticks), || "the clock cannot be read".to_owned());
}
