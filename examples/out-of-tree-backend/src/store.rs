//! The tables, a task's places in the index, what every verb reads, and [`Step`], which writes.

use leasehold_core::*;
use redb::{Database, ReadTransaction, WriteTransaction};
use redb::{Error as Fault, Key, ReadableTable, TableDefinition, Value};

use crate::record::{Body, Entry, decode, encode};

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident: $key:ty => $value:ty,)+) => {
        $($(#[$doc])*
        pub const $name: TableDefinition<'_, $key, $value> =
            TableDefinition::new(stringify!($name));)+

        /// Makes every table, so that a read finds it before the first write.
        pub fn create(db: &Database) -> Result<(), Fault> {
            let tx = db.begin_write()?;
            $(tx.open_table($name)?;)+
            Ok(tx.commit()?)
        }
    };
}

tables! {
    /// (queue, id): the head of a task's record.
    HEAD: (&str, &str) => &[u8],
    /// (queue, id): its body.
    BODY: (&str, &str) => Body<'static>,
    /// (queue, tag, place): the id of a task. It only repeats what the heads say.
    INDEX: (&str, u8, &[u8]) => &str,
    /// The queue's settings.
    QUEUE: &str => &[u8],
    /// (queue, name): an event counter, or the number of tasks in a finished status; under
    /// no queue and "fence" the last fence that was drawn.
    COUNT: (&str, &str) => u64,
}

/// The tags of the index, each with the form of its places.
pub mod tag {
    /// Born: the order of enqueue.
    pub const ORDER: u8 = 0;
    /// Rank, ready time, born: the order of service (LH-CLAIM-3).
    pub const READY: u8 = 1;
    /// Until, born.
    pub const LEASE: u8 = 2;
    /// Expires, born.
    pub const EXPIRES: u8 = 3;
    /// Expires, born, of a task that has left.
    pub const FORGET: u8 = 4;
}

/// Every place that the index must have for a task.
pub fn places(entry: &Entry) -> Vec<(u8, Vec<u8>)> {
    let task = &entry.task;
    let born = task.born.value().to_be_bytes();
    if let (true, Some(until)) = (entry.left, entry.expires) {
        return vec![(tag::FORGET, [instant(until), born].concat())];
    }
    let mut places = vec![(tag::ORDER, born.to_vec())];
    if task.state == State::Waiting {
        let rank = Priority::HIGHEST.level() - task.priority.level();
        places.push((tag::READY, [&[rank], &instant(task.ready_at())[..], &born].concat()));
    }
    places.extend(task.until.map(|until| (tag::LEASE, [instant(until), born].concat())));
    places.extend(entry.expires.map(|at| (tag::EXPIRES, [instant(at), born].concat())));
    places
}

/// An instant as bytes in the order of time, before 1970 too.
pub fn instant(at: Timestamp) -> [u8; 8] {
    (at.as_millis().cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

/// Both kinds of transaction.
pub trait Reads {
    fn open<K: Key + 'static, V: Value + 'static>(
        &self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<impl ReadableTable<K, V>, Fault>;

    /// The record under an id without its body, also of a task that has left.
    fn record(&self, queue: &str, id: &str) -> Result<Option<Entry>, Fault> {
        let heads = self.open(HEAD)?;
        let head = heads.get((queue, id))?;
        head.map(|head| Entry::decode(queue, id, head.value())).transpose()
    }

    /// A task without its body.
    fn entry(&self, queue: &str, id: &str) -> Result<Option<Entry>, Fault> {
        Ok(self.record(queue, id)?.filter(|entry| !entry.left))
    }

    /// What is still remembered of a task that has left.
    fn left(&self, queue: &str, id: &str, now: Timestamp) -> Result<Option<Left>, Fault> {
        let left = self.record(queue, id)?.filter(|entry| entry.left && entry.expires > Some(now));
        Ok(left.and_then(|entry| Some(Left::new(entry.task.shown?, entry.task.state))))
    }

    /// Sets policy, headers and payload from the body, or marks the task corrupt; tells the
    /// version of the terms (LH-CLAIM-11).
    fn fill(&self, task: &mut StoredTask) -> Result<u32, Fault> {
        let bodies = self.open(BODY)?;
        let body = bodies.get((&*task.task_ref.queue, &*task.task_ref.id))?;
        let (format, terms, payload) = body.as_ref().map(|body| body.value()).unwrap_or_default();
        task.payload = payload.to_vec().into();
        match std::str::from_utf8(terms).ok().and_then(|terms| stored::decode_terms(terms).ok()) {
            Some(read) => (task.policy, task.headers) = read,
            None => task.corrupt = Some(terms.to_vec().into()),
        }
        Ok(format)
    }

    /// The settings of a queue that has had a task or a setting.
    fn settings(&self, queue: &str) -> Result<Option<QueueSettings>, Fault> {
        let queues = self.open(QUEUE)?;
        let found = queues.get(queue)?;
        found.map(|bytes| decode_settings(bytes.value())).transpose()
    }
}

macro_rules! reads {
    ($($transaction:ty),+) => {
        $(impl Reads for $transaction {
            fn open<K: Key + 'static, V: Value + 'static>(
                &self,
                table: TableDefinition<'static, K, V>,
            ) -> Result<impl ReadableTable<K, V>, Fault> {
                Ok(self.open_table(table)?)
            }
        })+
    };
}
reads! { ReadTransaction, WriteTransaction }

pub fn decode_settings(bytes: &[u8]) -> Result<QueueSettings, Fault> {
    let mut settings = QueueSettings::default();
    (settings.paused, settings.retention, settings.id_memory) = decode(bytes, "settings")?;
    Ok(settings)
}

/// A write in progress: one transaction, dropped before its commit without a trace.
pub struct Step {
    pub tx: WriteTransaction,
    /// Read once, with the store's write lock held (LH-TIME-2).
    pub now: Timestamp,
    pub capabilities: Capabilities,
}

impl Step {
    /// Draws a fence: greater than any before it, in any queue (LH-FENCE-1, LH-FENCE-6).
    pub fn fence(&self) -> Result<Fence, Fault> {
        Ok(Fence::new(self.count("", "fence", 1)?))
    }

    /// Adds to a counter, or takes away from it; tells the new value.
    pub fn count(&self, queue: &str, name: &str, by: i64) -> Result<u64, Fault> {
        let mut counts = self.tx.open_table(COUNT)?;
        let before = counts.get((queue, name))?.map_or(0, |count| count.value());
        counts.insert((queue, name), before.saturating_add_signed(by))?;
        Ok(before.saturating_add_signed(by))
    }

    pub fn configure(&self, queue: &str, settings: &QueueSettings) -> Result<(), Fault> {
        let bytes = encode(&(settings.paused, settings.retention, settings.id_memory));
        self.tx.open_table(QUEUE)?.insert(queue, &*bytes)?;
        Ok(())
    }

    /// Writes a task's head, places and tally in one go, so that they cannot disagree.
    pub fn put(&self, before: Option<&Entry>, after: Option<&Entry>) -> Result<(), Fault> {
        let Some(entry) = after.or(before) else { return Ok(()) };
        let (queue, id) = (&*entry.task.task_ref.queue, &*entry.task.task_ref.id);
        let mut index = self.tx.open_table(INDEX)?;
        for (entry, by) in [before.map(|e| (e, -1)), after.map(|e| (e, 1))].into_iter().flatten() {
            for (tag, place) in places(entry) {
                match by {
                    1 => index.insert((queue, tag, &*place), id)?,
                    _ => index.remove((queue, tag, &*place))?,
                };
            }
            if let Some(name) = tally(entry) {
                self.count(queue, name, by)?;
            }
        }
        let mut heads = self.tx.open_table(HEAD)?;
        match after {
            Some(entry) => heads.insert((queue, id), &*entry.encode())?,
            None => heads.remove((queue, id))?,
        };
        Ok(())
    }

    /// Writes the body of a task that is whole; terms that cannot be read stay as they are.
    pub fn put_body(&self, task: &StoredTask) -> Result<(), Fault> {
        let terms = stored::encode_terms(task.policy, &task.headers);
        let terms = task.corrupt.as_ref().map_or(terms.as_bytes(), Payload::as_bytes);
        let body = (stored::FORMAT, terms, task.payload.as_bytes());
        self.tx.open_table(BODY)?.insert((&*task.task_ref.queue, &*task.task_ref.id), body)?;
        Ok(())
    }

    /// Removes a finished task; only the remembered id stays (LH-PURGE-2).
    pub fn leave(&self, entry: &Entry, settings: &QueueSettings) -> Result<(), Fault> {
        let TaskRef { queue, id } = &entry.task.task_ref;
        self.tx.open_table(BODY)?.remove((&**queue, &**id))?;
        let until = self.now.after(settings.id_memory);
        let mut left = Entry { expires: Some(until), left: true, ..entry.clone() };
        (left.task.note, left.task.result, left.task.history) = Default::default();
        self.put(Some(entry), Some(&left).filter(|_| until > self.now))
    }
}

/// The counter of a finished task's status; unfinished ones are counted in the index.
pub fn tally(e: &Entry) -> Option<&'static str> {
    (e.task.state.is_finished() && !e.left).then(|| e.task.status(Timestamp::MIN).as_str())
}
