//! purge: bounded removal of what has had its time.

use leasehold_core::*;
use redb::{Error as Fault, ReadableTable};

use crate::store::{INDEX, Reads, Step, instant, tag};

/// Most remembered ids that one call forgets.
const FORGET_MAX: usize = 1_000;

pub(crate) fn purge(step: &Step, request: Purge) -> Result<Purged, Fault> {
    let queue = request.queue.as_str();
    let Some(settings) = step.tx.settings(queue)? else { return Ok(Purged::default()) };
    for id in passed(step, queue, tag::FORGET, FORGET_MAX)? {
        step.put(step.tx.record(queue, &id)?.filter(|entry| entry.left).as_ref(), None)?;
    }
    let mut due = passed(step, queue, tag::EXPIRES, request.max.saturating_add(1))?;
    let more = due.len() > request.max;
    due.truncate(request.max);
    for id in &due {
        // The head decides, here as in a claim.
        let entry =
            step.tx.entry(queue, id)?.filter(|e| e.expires.is_some_and(|at| at <= step.now));
        if let Some(entry) = entry {
            step.leave(&entry, &settings)?;
        }
    }
    Ok(Purged::new(due.len(), more))
}

/// The ids of the first `max` places under a tag whose instant has passed.
fn passed(step: &Step, queue: &str, tag: u8, max: usize) -> Result<Vec<String>, Fault> {
    let end = [&instant(step.now)[..], &[u8::MAX; 9]].concat();
    let index = step.tx.open_table(INDEX)?;
    let rows = index.range((queue, tag, &[][..])..(queue, tag, &*end))?.take(max);
    rows.map(|row| Ok(row?.1.value().to_owned())).collect()
}
