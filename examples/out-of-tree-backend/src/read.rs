//! get, list, counts and queues, each on a snapshot that waits for no write.

use std::ops::Bound;

use leasehold_core::*;
use redb::{Error as Fault, ReadTransaction as Tx, ReadableTable};

use crate::store::{COUNT, INDEX, QUEUE, Reads, decode_settings, instant, tag};

/// Most tasks that one page looks at, however few of them match; it may be short (LH-READ-4).
const LOOKS_MAX: usize = 10_000;

pub(crate) fn get(tx: &Tx, request: Get, now: Timestamp) -> Result<Found, Fault> {
    let TaskRef { queue, id } = &request.task;
    Ok(match tx.entry(queue, id)? {
        Some(mut entry) => {
            tx.fill(&mut entry.task)?;
            Found::Task(Box::new(entry.task))
        }
        None => tx.left(queue, id, now)?.map_or(Found::Nothing, Found::Left),
    })
}

pub(crate) fn list(tx: &Tx, request: List, now: Timestamp) -> Result<Result<Page, Error>, Fault> {
    let Ok(after) = request.after.as_ref().map_or("0", Cursor::as_str).parse::<u64>() else {
        return Ok(Err(Error::invalid("a cursor that this store did not make")));
    };
    let (queue, index) = (request.queue.as_str(), tx.open(INDEX)?);
    let from = (queue, tag::ORDER, &after.saturating_add(1).to_be_bytes()[..]);
    let mut rows = index.range(from..(queue, tag::ORDER + 1, &[][..]))?;
    let (mut tasks, mut last) = (Vec::new(), Fence::new(after));
    for row in rows.by_ref().take(LOOKS_MAX) {
        let Some(mut entry) = tx.entry(queue, row?.1.value())? else { continue };
        last = entry.task.born;
        if request.filter.matches(&entry.task, now) {
            tx.fill(&mut entry.task)?;
            tasks.push(entry.task);
        }
        if tasks.len() == request.max {
            break;
        }
    }
    let next = rows.next().map(|_| Cursor::new(last.to_string()));
    Ok(Ok(Page::new(tasks, next)))
}

/// Unfinished tasks are counted in the index; finished ones have a tally (LH-READ-2).
pub(crate) fn counts(tx: &Tx, request: Count, now: Timestamp) -> Result<Counts, Fault> {
    let queue = request.queue.as_str();
    let mut counts = Counts::new(Events::default());
    let (tallies, index) = (tx.open(COUNT)?, tx.open(INDEX)?);
    for row in tallies.range((queue, "")..(queue, "~"))? {
        let (key, n) = row?;
        if let Some(event) = counts.events.by_name(key.value().1) {
            *event = n.value();
        } else if let Some(status) = Status::from_name(key.value().1) {
            counts.tasks.insert(status, n.value());
        }
    }
    // Where in its place an entry has the instant, and what it is before and after that.
    for (tag, at, before, after) in [
        (tag::READY, 1, Status::Scheduled, Status::Ready),
        (tag::LEASE, 0, Status::Leased, Status::Lapsed),
    ] {
        for row in index.range((queue, tag, &[][..])..(queue, tag + 1, &[][..]))? {
            let passed = row?.0.value().2[at..at + 8] <= instant(now)[..];
            *counts.tasks.entry(if passed { after } else { before }).or_default() += 1;
        }
    }
    Ok(counts)
}

pub(crate) fn queues(tx: &Tx, request: Queues, _: Timestamp) -> Result<QueuePage, Fault> {
    let after = request.after.as_ref().map_or("", Cursor::as_str);
    let (mut page, queues) = (Vec::new(), tx.open(QUEUE)?);
    let mut rows = queues.range::<&str>((Bound::Excluded(after), Bound::Unbounded))?;
    for row in rows.by_ref().take(request.max) {
        let (name, bytes) = row?;
        page.push(QueueInfo::new(name.value(), decode_settings(bytes.value())?));
    }
    let last = page.last().map(|info| Cursor::new(info.name.clone()));
    let more = rows.next().is_some();
    Ok(QueuePage::new(page, last.filter(|_| more)))
}
