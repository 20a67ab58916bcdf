//! Limit keys: how full they are, what is parked behind them, when to look again.
//!
//! A claim that meets a task behind a full key parks it, so that no later claim walks over it
//! (LH-CLAIM-12), and notes when the key has to be looked at again: at the end of its earliest
//! slot, or at once after anything that may have freed or enlarged it.

use std::collections::{BTreeMap, BTreeSet};

use leasehold_core::stored::FORMAT;
use leasehold_core::{Fence, LimitKey};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Row, Sqlite};

use super::row::{column, list};
use super::step::Step;
use crate::error::Fault;

/// Most limit keys that one claim looks at again, and most tasks of a kind that it brings back
/// for each.
const WAKES_MAX: i64 = 1_000;

/// Tasks brought back after which one claim looks at no further key.
const WOKEN_MAX: u64 = 10_000;

/// The limit keys that one claim has met.
pub(super) struct Keys {
    queue: i64,
    /// How many more slots each key has.
    room: BTreeMap<LimitKey, i64>,
    /// Full keys with tasks that are about to be parked.
    blocked: BTreeSet<LimitKey>,
    /// Keys that have been counted as met full.
    counted: BTreeSet<LimitKey>,
}

impl Keys {
    pub fn new(queue: i64) -> Self {
        let (room, blocked, counted) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { queue, room, blocked, counted }
    }

    /// Looks at the keys whose time has come and brings back as many parked tasks as there is
    /// room for; tells whether some had to be left for the next claim.
    ///
    /// Where the clock has gone back behind a parking, a parked task need not be ready, and
    /// the best of those that are ready may not be the ones that were brought back: a key with
    /// room then gets all its tasks back, some at a time.
    pub async fn wake(&mut self, step: &mut Step) -> Result<bool, Fault> {
        let find = sql!("key_due").bind(self.queue).bind(step.now_ms()).bind(WAKES_MAX);
        let rows = find.fetch_all(step.conn()).await?;
        let mut unfinished = rows.len() as i64 >= WAKES_MAX;
        let mut woken = 0;
        for row in rows {
            if woken >= WOKEN_MAX {
                return Ok(true);
            }
            let key = LimitKey::new(
                row.try_get::<&str, _>("limit_group")?,
                row.try_get::<&str, _>("limit_key")?,
            );
            let room = self.room(step, &key).await?;
            // Where tasks are left, the wake-up stands: the next claim brings back more.
            let (n, left) = match row.try_get("behind")? {
                true if room > 0 => self.unpark_all(step, &key).await?,
                _ => self.unpark(step, &key, room).await?,
            };
            woken += n;
            if !left {
                let looked = bound(sql!("key_looked"), self.queue, &key);
                looked.execute(step.conn()).await?;
            }
            let empty = bound(sql!("key_empty"), self.queue, &key);
            let is_empty = empty.fetch_optional(step.conn()).await?.is_some();
            unfinished |= left && !is_empty;
        }
        Ok(unfinished)
    }

    /// Whether this claim may take one more slot of the key.
    pub async fn has_room(&mut self, step: &mut Step, key: &LimitKey) -> Result<bool, Fault> {
        Ok(self.room(step, key).await? > 0)
    }

    /// Counts a slot that this claim is about to take.
    pub fn fill(&mut self, key: &LimitKey) {
        if let Some(room) = self.room.get_mut(key) {
            *room -= 1;
        }
    }

    /// Notes that tasks of this full key are about to be parked.
    pub fn block(&mut self, key: &LimitKey) {
        if !self.blocked.contains(key) {
            self.blocked.insert(key.clone());
        }
    }

    /// Parks the tasks of the keys that were noted, once the slots of this claim are taken.
    pub async fn park(&mut self, step: &mut Step, seqs: &[i64]) -> Result<(), Fault> {
        if seqs.is_empty() {
            return Ok(());
        }
        let park = sql!("park").bind(list(seqs.iter().copied()));
        park.execute(step.conn()).await?;
        for key in std::mem::take(&mut self.blocked) {
            let note = bound(sql!("key_park"), self.queue, &key).bind(step.now_ms());
            note.execute(step.conn()).await?;
            if self.counted.insert(key) {
                step.count(self.queue, "blocked_by_limit", 1);
            }
        }
        Ok(())
    }

    /// How many more slots the key has. Ended ones are swept first and for good, since one
    /// that is not counted here must not come back when the clock does (LH-RENEW-8).
    async fn room(&mut self, step: &mut Step, key: &LimitKey) -> Result<i64, Fault> {
        if let Some(room) = self.room.get(key) {
            return Ok(*room);
        }
        let sweep = bound(sql!("slot_sweep"), self.queue, key).bind(step.now_ms());
        sweep.execute(step.conn()).await?;
        let row = bound(sql!("slot_room"), self.queue, key).fetch_one(step.conn()).await?;
        let room = row.try_get::<i64, _>("max")? - row.try_get::<i64, _>("taken")?;
        self.room.insert(key.clone(), room);
        Ok(room)
    }

    /// Brings back the best tasks for so much room; tells how many, and whether there is room
    /// for more.
    async fn unpark(
        &self,
        step: &mut Step,
        key: &LimitKey,
        room: i64,
    ) -> Result<(u64, bool), Fault> {
        if room <= 0 {
            return Ok((0, false));
        }
        let most = room.min(WAKES_MAX);
        let unpark = bound(sql!("unpark"), self.queue, key).bind(step.now_ms()).bind(most);
        // A newer record would take a place, and nobody here could claim it.
        let unpark = unpark.bind(FORMAT);
        Ok((unpark.execute(step.conn()).await?.rows_affected(), room > WAKES_MAX))
    }

    /// Brings back tasks of any place; tells how many, and whether some may be left.
    async fn unpark_all(&self, step: &mut Step, key: &LimitKey) -> Result<(u64, bool), Fault> {
        let unpark = bound(sql!("unpark_all"), self.queue, key).bind(WAKES_MAX);
        let unparked = unpark.execute(step.conn()).await?.rows_affected();
        Ok((unparked, unparked >= WAKES_MAX.unsigned_abs()))
    }
}

/// Gives each of these just granted tasks that has a limit key its slot.
pub(super) async fn take_slots(step: &mut Step, seqs: &[i64], until: i64) -> Result<(), Fault> {
    let seqs = list(seqs.iter().copied());
    sql!("slot_take").bind(&seqs).execute(step.conn()).await?;
    sql!("key_sooner").bind(seqs).bind(until).execute(step.conn()).await?;
    Ok(())
}

/// Removes the slot of a run: its holder has committed, or its lapsed lease is taken over.
pub(super) async fn free_slot(
    step: &mut Step,
    queue: i64,
    key: &LimitKey,
    id: &str,
    run: Fence,
) -> Result<(), Fault> {
    let free = bound(sql!("slot_free"), queue, key).bind(id).bind(column(run));
    free.execute(step.conn()).await?;
    wake_key(step, queue, key).await
}

/// Has the next claim look at the key, as something may have freed it.
pub(super) async fn wake_key(step: &mut Step, queue: i64, key: &LimitKey) -> Result<(), Fault> {
    bound(sql!("key_wake"), queue, key).execute(step.conn()).await?;
    Ok(())
}

/// Binds the three parts of a limit key, which stand first in each statement about one.
pub(super) fn bound(query: Query, queue: i64, key: &LimitKey) -> Query {
    query.bind(queue).bind(&key.group).bind(&key.key)
}

type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;
