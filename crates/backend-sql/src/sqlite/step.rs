//! [`Step`]: one write, from its lock to its commit, and what most writes need in it.

use std::collections::BTreeMap;
use std::time::Duration;

use leasehold_core::clock::millis;
use leasehold_core::stored::{decode_retention, encode_retention};
use leasehold_core::{Clock, Error, NewTask, QueueSettings, Retention, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{Row, Sqlite, Transaction};

use super::read::settings;
use crate::error::{Fault, result_code, unreadable};

/// How long SQLite itself waits for the lock. It looks for it ever more rarely, up to 100 ms
/// apart, so that a process which writes with short breaks is in again before one that has
/// waited for seconds, longer than a lease may be. In a new turn it looks every few ms again.
pub(super) const TURN: Duration = Duration::from_millis(20);

/// A write transaction that holds the file's write lock. Dropped, it rolls back before the
/// connection serves anybody else.
pub(super) struct Step {
    tx: Transaction<'static, Sqlite>,
    /// The one reading of the clock that decides everything in this step (LH-TIME-2).
    pub now: Timestamp,
    events: BTreeMap<(i64, &'static str), u64>,
}

impl Step {
    /// Takes the lock at once, not with the first write: a transaction that reads before it
    /// has the lock fails when somebody else has written in between. The clock is read after.
    ///
    /// It waits for the lock as long as `patience`, and stands in the pool's line anew for each
    /// turn of it.
    pub async fn begin(
        writer: &SqlitePool,
        clock: &Clock,
        patience: Duration,
    ) -> Result<Self, Fault> {
        let mut turns = patience.as_millis() / TURN.as_millis();
        let tx = loop {
            match writer.begin_with("begin immediate").await {
                Err(error) if turns > 1 && result_code(&error) == Some(5) => turns -= 1,
                begun => break begun?,
            }
        };
        Ok(Self { tx, now: clock.now(), events: BTreeMap::new() })
    }

    pub fn conn(&mut self) -> &mut SqliteConnection {
        &mut self.tx
    }

    /// The instant as the statements take it.
    pub fn now_ms(&self) -> i64 {
        self.now.as_millis()
    }

    /// Counts `n` more events of a queue (LH-OBS-1), written when the step commits.
    pub fn count(&mut self, queue: i64, event: &'static str, n: u64) {
        if n > 0 {
            *self.events.entry((queue, event)).or_default() += n;
        }
    }

    /// Makes everything of the step durable.
    pub async fn commit(mut self) -> Result<(), Fault> {
        for ((queue, event), n) in std::mem::take(&mut self.events) {
            let n = i64::try_from(n).unwrap_or(i64::MAX);
            let add = sql!("event_add").bind(queue).bind(event).bind(n);
            add.execute(self.conn()).await?;
        }
        Ok(self.tx.commit().await?)
    }

    /// Draws `n` consecutive fences and tells the first (LH-FENCE-1). The lock is held, so no
    /// other call can give a task a greater one before this one takes effect (LH-FENCE-6).
    pub async fn draw(&mut self, n: usize) -> Result<i64, Fault> {
        let n = i64::try_from(n.max(1)).unwrap_or(i64::MAX);
        let now_us = self.now_ms().saturating_mul(1_000);
        let draw = sql!("fence_draw").bind(now_us).bind(n);
        let last: i64 = draw.fetch_one(self.conn()).await?.try_get("value")?;
        Ok(last - (n - 1))
    }
}

/// A queue as a step finds it.
#[derive(Clone)]
pub(super) struct Queue {
    pub key: i64,
    pub name: String,
    pub retention: Retention,
    pub id_memory: Duration,
}

impl Queue {
    pub async fn find(step: &mut Step, name: &str) -> Result<Option<Self>, Fault> {
        let find = sql!("queue_find").bind(name);
        let Some(row) = find.fetch_optional(step.conn()).await? else { return Ok(None) };
        Ok(Some(Self {
            key: row.try_get("queue")?,
            name: name.to_owned(),
            retention: decode_retention(row.try_get("retention")?)?,
            id_memory: duration(row.try_get("id_memory_ms")?)?,
        }))
    }

    /// Finds the queue or makes it.
    pub async fn named(step: &mut Step, name: &str) -> Result<Self, Fault> {
        if let Some(queue) = Self::find(step, name).await? {
            return Ok(queue);
        }
        let QueueSettings { retention, id_memory, .. } = QueueSettings::default();
        let add =
            sql!("queue_add").bind(name).bind(encode_retention(retention)).bind(millis(id_memory));
        let key = add.fetch_one(step.conn()).await?.try_get("queue")?;
        Ok(Self { key, name: name.to_owned(), retention, id_memory })
    }

    /// What is wrong with the limit groups of these tasks, if anything is (LH-ENQ-7).
    pub async fn missing_limit(
        &self,
        step: &mut Step,
        tasks: &[NewTask],
    ) -> Result<Option<Error>, Fault> {
        if tasks.iter().all(|new| new.limit.is_none()) {
            return Ok(None);
        }
        Ok(self.settings(step).await?.check_limits(tasks).err())
    }

    pub async fn settings(&self, step: &mut Step) -> Result<QueueSettings, Fault> {
        settings(&sql!("queue_read").bind(self.key).fetch_one(step.conn()).await?)
    }
}

pub(super) fn duration(column_ms: i64) -> Result<Duration, Fault> {
    u64::try_from(column_ms).map(Duration::from_millis).map_err(|_| unreadable("a duration"))
}
