//! What a case may do to the store behind its back, and a look at what is left in it.

use std::collections::{BTreeMap, BTreeSet};

use leasehold_conformance::leasehold_core::{Events, TaskRef};
use leasehold_conformance::{
    Faults, HarnessError, Lasting, PlantedIndex, PlantedRecord, async_trait,
};
use leasehold_redb::record::Entry;
use leasehold_redb::store::{BODY, COUNT, HEAD, INDEX, places, tally};
use redb::{Database, ReadableDatabase, ReadableTable};

#[async_trait]
impl Faults for super::RedbWorld {
    async fn plant(&self, task: &TaskRef, record: PlantedRecord) -> Result<(), HarnessError> {
        let tx = self.db.begin_write()?;
        {
            let (mut bodies, key) = (tx.open_table(BODY)?, (&*task.queue, &*task.id));
            let body = bodies.get(key)?.ok_or("no such task")?;
            let (format, terms, payload) = body.value();
            let (format, terms, payload) = match record {
                PlantedRecord::Broken(raw) => (format, raw, payload.to_vec()),
                PlantedRecord::Newer => (format + 1, terms.to_vec(), payload.to_vec()),
                other => return Err(format!("{other:?} cannot be planted").into()),
            };
            drop(body);
            bodies.insert(key, (format, &*terms, &*payload))?;
        }
        Ok(tx.commit()?)
    }

    async fn raise_fence(&self, _queue: &str, value: u64) -> Result<(), HarnessError> {
        let tx = self.db.begin_write()?;
        {
            let mut counts = tx.open_table(COUNT)?;
            let last = counts.get(("", "fence"))?.map_or(0, |last| last.value());
            counts.insert(("", "fence"), last.max(value.saturating_sub(1)))?;
        }
        Ok(tx.commit()?)
    }

    /// One transaction writes a record and its places, and the engine keeps what it has committed.
    async fn plant_index(
        &self,
        _task: &TaskRef,
        _planted: PlantedIndex,
    ) -> Result<Option<()>, HarnessError> {
        Ok(None)
    }

    /// redb has one writer at a time, so that any open write holds every task.
    async fn hold(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        Ok(Some(Box::new(Writer(self.db.begin_write()?))))
    }

    /// redb takes a write into its memory and fails, if at all, as the whole of it is committed.
    async fn refuse(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        Ok(None)
    }
}

/// What the heads say there must be, against what there is.
pub fn residue(db: &Database) -> Result<Vec<String>, HarnessError> {
    let tx = db.begin_read()?;
    let (mut want, mut got, mut tallies) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    for row in tx.open_table(HEAD)?.iter()? {
        let (key, head) = row?;
        let (queue, id) = key.value();
        let entry = Entry::decode(queue, id, head.value())?;
        for (tag, place) in places(&entry) {
            want.insert(format!("{queue}: place {tag} {place:?} of {id}"));
        }
        if let Some(name) = tally(&entry) {
            *tallies.entry((queue.to_owned(), name)).or_insert(0) += 1;
        }
        if !entry.left {
            want.insert(format!("{queue}: the body of {id}"));
        }
    }
    want.extend(tallies.into_iter().map(|((queue, name), n)| format!("{queue}: {n} {name}")));
    for row in tx.open_table(INDEX)?.iter()? {
        let (key, id) = row?;
        let (queue, tag, place) = key.value();
        got.insert(format!("{queue}: place {tag} {place:?} of {}", id.value()));
    }
    for row in tx.open_table(COUNT)?.iter()? {
        let (key, n) = row?;
        let (queue, name) = key.value();
        if !queue.is_empty() && Events::default().by_name(name).is_none() && n.value() > 0 {
            got.insert(format!("{queue}: {} {name}", n.value()));
        }
    }
    for row in tx.open_table(BODY)?.iter()? {
        let (key, _) = row?;
        let (queue, id) = key.value();
        got.insert(format!("{queue}: the body of {id}"));
    }
    Ok(want.symmetric_difference(&got).cloned().collect())
}

/// A stranger's write that is given up in the end.
struct Writer(redb::WriteTransaction);

#[async_trait]
impl Lasting for Writer {
    async fn lift(self: Box<Self>) -> Result<(), HarnessError> {
        Ok(self.0.abort()?)
    }
}
