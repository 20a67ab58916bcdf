//! Slots, and what is parked behind them.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use super::record::Seen;
use super::snapshot::Kept;

/// As a slot that never ends.
const NO_END: i64 = 9_007_199_254_740_992;
const RANK: i64 = 281_474_976_710_656;

pub fn check(kept: &Kept, tasks: &[Seen], found: &mut Found) {
    check_slots(kept, tasks, found);
    let parked = parked(kept, found);
    for (key, kinds) in &parked {
        check_key(kept, key, kinds, found);
    }
    for name in ["kinds", "keys"] {
        let named: Vec<String> = match name {
            "kinds" => kept.hash(name).keys().cloned().collect(),
            _ => kept.sorted(name).iter().map(|(key, _)| key.clone()).collect(),
        };
        for key in named.iter().filter(|key| !parked.contains_key(key.as_str())) {
            found.amiss.push(format!("{name}: {key:?} without a parked task"));
        }
    }
    let count: usize = kept.family("parked:").map(|(_, members)| members.len()).sum();
    let counted = kept.text("parked").unwrap_or("0");
    found.check(counted == count.to_string(), || format!("{counted} counted of {count} parked"));
}

/// Each slot that has not ended is a lease's or a held until's.
fn check_slots(kept: &Kept, tasks: &[Seen], found: &mut Found) {
    for (key, slots) in kept.family("slots:") {
        for (slot, ends) in slots {
            let (fence, id) = slot.split_at_checked(19).unwrap_or(("", slot));
            let task = tasks.iter().find(|task| task.id == id);
            let explained = task.is_some_and(|task| {
                let of_run = task.state == 'r' && task.run == fence && task.ends == *ends;
                task.limit.as_deref() == Some(key) && (of_run || task.held >= Some(*ends))
            });
            let ended = *ends <= found.now;
            found.check(ended || explained, || format!("slot {slot} of {key:?} without a lease"));
        }
        let named = kept.score("slotted", key).is_some();
        found.check(named, || format!("slots of {key:?} that no walk finds"));
    }
    // A walk drops those without slots.
}

/// The kinds with parked tasks by limit key, and the latest instant any of them was ready at.
fn parked<'a>(kept: &'a Kept, found: &mut Found) -> BTreeMap<&'a str, BTreeMap<&'a str, i64>> {
    let mut parked: BTreeMap<&str, BTreeMap<&str, i64>> = BTreeMap::new();
    for (place, members) in kept.family("parked:") {
        let Some((key, kind)) = place.rsplit_once('\t') else {
            found.amiss.push(format!("parked under {place:?}, which is no key and kind"));
            continue;
        };
        let latest = members.iter().map(|(_, score)| score % RANK).max().unwrap_or(0);
        parked.entry(key).or_default().insert(kind, latest);
    }
    parked
}

fn check_key(kept: &Kept, key: &str, kinds: &BTreeMap<&str, i64>, found: &mut Found) {
    let latest = kinds.values().copied().max().unwrap_or(0);
    let noted = kept.field("kinds", key).unwrap_or_default();
    let mut parts = noted.split('\t');
    let at: i64 = parts.next().and_then(|at| at.parse().ok()).unwrap_or(-1);
    let noted: BTreeSet<&str> = parts.collect();
    found.check(noted.iter().eq(kinds.keys()), || format!("{key:?} parks {kinds:?}: {noted:?}"));
    found.check(latest <= at, || format!("{key:?} parked at {at} what is ready at {latest}"));
    let all_at = kept.field("queue", "parked_at").and_then(|at| at.parse().ok()).unwrap_or(-1);
    found.check(latest <= all_at, || format!("{key:?} parks one of {latest}, the queue {all_at}"));
    let looked = kept.score("keys", key);
    let latest = must_look(kept, key, found.now);
    let in_time = looked.is_some_and(|looked| looked <= latest);
    found.check(in_time, || format!("{key:?} is looked at {looked:?}, which must be by {latest}"));
}

/// The latest instant at which a claim has to look at a key with parked tasks.
fn must_look(kept: &Kept, key: &str, now: i64) -> i64 {
    if key.starts_with('\t') {
        return now;
    }
    let slots = kept.sorted(&format!("slots:{key}"));
    match slots.iter().map(|(_, ends)| *ends).min() {
        Some(first) => first,
        None if has_number(kept, key) => now,
        None => NO_END,
    }
}

fn has_number(kept: &Kept, key: &str) -> bool {
    let group = key.split('\t').next().unwrap_or_default();
    kept.field("limits", group).is_some_and(|number| number != "0")
}
