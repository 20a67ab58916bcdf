//! What is left in a name space that neither a task nor a clause explains.
//!
//! Every key is read, and every member of every key is explained by itself: by a task's own
//! record, by a rule that says how long it may stay, or not at all. What no rule names is residue.

mod limits;
mod memory;
mod places;
mod record;
mod snapshot;

use leasehold_conformance::HarnessError;

use super::raw::Raw;
pub use record::Seen;
use snapshot::{Kept, Snapshot};

/// Each thing that is left, in words; empty when all is well.
pub async fn residue(raw: &Raw, namespace: &str, now_ms: i64) -> Result<Vec<String>, HarnessError> {
    let Snapshot { loose, queues, mut amiss } = Snapshot::read(raw, namespace).await?;
    for (name, value) in loose {
        match &*name {
            "layout" => {}
            // A name may be noted for a queue that came to nothing.
            "queues" => {
                let noted = value.sorted();
                for tag in queues.keys() {
                    let is_noted = noted.iter().any(|(name, _)| snapshot::tag(name) == *tag);
                    // One that was only read has no key but the clock of its test.
                    if !is_noted && queues[tag].get("queue").is_some() {
                        amiss.push(format!("{tag}: a queue whose name is not noted"));
                    }
                }
            }
            _ => amiss.push(format!("an unknown key {name}")),
        }
    }
    for (tag, kept) in &queues {
        let mut found = Found { now: now_ms, amiss: Vec::new() };
        let tasks = found.tasks(kept);
        places::check(kept, &tasks, &mut found);
        limits::check(kept, &tasks, &mut found);
        memory::check(kept, &tasks, &mut found);
        found.check_names(kept);
        amiss.extend(found.amiss.into_iter().map(|what| format!("{tag}: {what}")));
    }
    Ok(amiss)
}

/// What is amiss in one queue.
struct Found {
    now: i64,
    amiss: Vec<String>,
}

impl Found {
    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.amiss.push(what());
        }
    }

    /// Every task of the queue, as its records tell of it.
    fn tasks(&mut self, kept: &Kept) -> Vec<Seen> {
        let (births, records) = (kept.hash("birth"), kept.hash("task"));
        for id in records.keys().filter(|id| !births.contains_key(*id)) {
            self.amiss.push(format!("a record without a task: {id}"));
        }
        let mut tasks = Vec::new();
        for (id, birth) in births {
            match Seen::read(id, birth, records.get(id).map(|record| &record[..])) {
                Ok(seen) => tasks.push(seen),
                Err(what) => self.amiss.push(format!("task {id}: {what}")),
            }
        }
        tasks
    }

    /// Whether each key of the queue is one that some rule looks at.
    fn check_names(&mut self, kept: &Kept) {
        const KEYS: [&str; 26] = [
            "all",
            "birth",
            "claimed",
            "claims",
            "clock",
            "done:cancelled",
            "done:dead",
            "done:succeeded",
            "events",
            "expire",
            "fence",
            "forget",
            "inherit",
            "keys",
            "kinds",
            "lanes",
            "leased",
            "left",
            "limits",
            "note",
            "parked",
            "queue",
            "result",
            "slotted",
            "task",
            "unique",
        ];
        for (key, value) in kept.all() {
            let known = KEYS.contains(&key)
                || ["wait:", "parked:", "slots:", "history:"]
                    .iter()
                    .any(|of| key.strip_prefix(of).is_some_and(|rest| !rest.is_empty()));
            self.check(known, || format!("an unknown key {key:?}"));
            self.check(!value.is_empty(), || format!("a value of another type under {key:?}"));
        }
    }
}
