//! Faults that a case plants behind the store's back.

use async_trait::async_trait;
use leasehold_conformance::{Faults, HarnessError, Lasting, PlantedIndex, PlantedRecord};
use leasehold_core::{LimitKey, TaskRef};

use super::harness::RedisWorld;
use super::residue::Seen;

/// The letter of a format that no build of today reads.
const NEWER: u8 = b'z';

#[async_trait]
impl Faults for RedisWorld {
    async fn plant(&self, task: &TaskRef, planted: PlantedRecord) -> Result<(), HarnessError> {
        let key = self.key(&task.queue, "birth");
        let birth: Option<Vec<u8>> =
            self.raw.ask(redis::cmd("HGET").arg(&key).arg(&task.id)).await?;
        let birth = birth.ok_or("no such task")?;
        let (birth, format) = match planted {
            PlantedRecord::Broken(raw) => (with_terms(&birth, &raw), birth[0]),
            PlantedRecord::Newer => ([&[NEWER], &birth[1..]].concat(), NEWER),
            other => return Err(format!("{other:?} cannot be planted").into()),
        };
        let size = birth.len().next_power_of_two().trailing_zeros();
        let size = b'a' + u8::try_from(size)?;
        let _: i64 = self.raw.ask(redis::cmd("HSET").arg(&key).arg(&task.id).arg(birth)).await?;
        self.note_in_record(task, format, size).await?;
        self.note_in_places(task, format, size).await
    }

    async fn plant_slot(&self, queue: &str, key: &LimitKey) -> Result<(), HarnessError> {
        let limit = format!("{}\t{}", key.group, key.key);
        let until = self.clock.now().as_millis() + 24 * 60 * 60 * 1_000;
        let slots = self.key(queue, &format!("slots:{limit}"));
        self.add(&slots, until, "0000000000000000000nobody").await?;
        self.add(&self.key(queue, "slotted"), 0, &limit).await
    }

    async fn plant_index(
        &self,
        task: &TaskRef,
        planted: PlantedIndex,
    ) -> Result<Option<()>, HarnessError> {
        let seen = self.seen(task).await?;
        let key = |suffix: &str| self.key(&task.queue, suffix);
        match (planted, seen) {
            (PlantedIndex::LapseMissing, _) => self.remove(&key("leased"), &task.id).await?,
            (PlantedIndex::LapseSurplus, _) => self.add(&key("leased"), 1, &task.id).await?,
            (PlantedIndex::ReadyMissing, Some(seen)) => {
                self.remove(&key(&seen.lane().0), &seen.in_lane()).await?;
            }
            (PlantedIndex::ReadySurplus, seen) => {
                let nobody = || ("wait:5:kind".to_owned(), format!("{:019}1a0{}", 0, task.id));
                let (lane, member) =
                    seen.map_or_else(nobody, |seen| (seen.lane().0, seen.in_lane()));
                let now = self.clock.now().as_millis();
                self.add(&key(&lane), now, &member).await?;
                self.add(&key("lanes"), now, &lane["wait:".len()..]).await?;
            }
            (other, _) => return Err(format!("{other:?} cannot be planted").into()),
        }
        Ok(Some(()))
    }

    async fn raise_fence(&self, queue: &str, value: u64) -> Result<(), HarnessError> {
        let last = format!("{:019}", value.saturating_sub(1));
        self.raw.ask(redis::cmd("SET").arg(self.key(queue, "fence")).arg(last)).await
    }

    /// A script runs alone, so that nobody can come between, and nothing is locked outside of one.
    async fn hold(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        Ok(None)
    }

    /// A full memory refuses a script at its first write, and none after it.
    async fn refuse(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        Ok(None)
    }
}

impl RedisWorld {
    async fn add(&self, key: &str, score: i64, member: &str) -> Result<(), HarnessError> {
        let _: i64 = self.raw.ask(redis::cmd("ZADD").arg(key).arg(score).arg(member)).await?;
        Ok(())
    }

    async fn remove(&self, key: &str, member: &str) -> Result<(), HarnessError> {
        match self.raw.ask(redis::cmd("ZREM").arg(key).arg(member)).await? {
            1 => Ok(()),
            _ => Err(format!("{member} is not in {key}").into()),
        }
    }

    /// The task by its records, if there is one.
    async fn seen(&self, task: &TaskRef) -> Result<Option<Seen>, HarnessError> {
        let mut records = Vec::new();
        for hash in ["birth", "task"] {
            let mut get = redis::cmd("HGET");
            get.arg(self.key(&task.queue, hash)).arg(&task.id);
            records.push(self.raw.ask::<Option<Vec<u8>>>(&get).await?);
        }
        let [birth, record] = &records[..] else { return Err("two records".into()) };
        let Some(birth) = birth else { return Ok(None) };
        Ok(Some(Seen::read(&task.id, birth, record.as_deref())?))
    }

    /// Where the task has a record beside its birth, that tells format and size as well.
    async fn note_in_record(
        &self,
        task: &TaskRef,
        format: u8,
        size: u8,
    ) -> Result<(), HarnessError> {
        let key = self.key(&task.queue, "task");
        let record: Option<String> =
            self.raw.ask(redis::cmd("HGET").arg(&key).arg(&task.id)).await?;
        let Some(record) = record else { return Ok(()) };
        let mut fields: Vec<String> = record.split('\t').map(str::to_owned).collect();
        fields[15] = char::from(format).to_string();
        fields[16] = char::from(size).to_string();
        let record = fields.join("\t");
        let _: i64 = self.raw.ask(redis::cmd("HSET").arg(&key).arg(&task.id).arg(record)).await?;
        Ok(())
    }

    /// As a build that writes such records would have put it where it waits.
    async fn note_in_places(
        &self,
        task: &TaskRef,
        format: u8,
        size: u8,
    ) -> Result<(), HarnessError> {
        for place in ["wait:", "parked:"] {
            for key in self.raw.keys(&self.key(&task.queue, place)).await? {
                let all = redis::cmd("ZRANGE").arg(&key).arg(0).arg(-1).arg("WITHSCORES").clone();
                let members: Vec<(String, i64)> = self.raw.ask(&all).await?;
                for (member, score) in members {
                    if member[22..].split('\t').next() == Some(&*task.id) {
                        let (format, size) = (char::from(format), char::from(size));
                        let renamed = format!("{}{format}{size}{}", &member[..19], &member[21..]);
                        let _: i64 =
                            self.raw.ask(redis::cmd("ZREM").arg(&key).arg(&member)).await?;
                        self.add(&key, score, &renamed).await?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The same birth record with other terms.
fn with_terms(birth: &[u8], terms: &[u8]) -> Vec<u8> {
    let mut tabs = birth.iter().enumerate().filter(|(_, byte)| **byte == b'\t').map(|(at, _)| at);
    let before = tabs.nth(8).expect("nine fields");
    let after = tabs.next().expect("a size");
    let size: usize =
        std::str::from_utf8(&birth[before + 1..after]).expect("digits").parse().expect("a number");
    let payload = &birth[after + 1 + size..];
    [&birth[..=before], terms.len().to_string().as_bytes(), b"\t", terms, payload].concat()
}
