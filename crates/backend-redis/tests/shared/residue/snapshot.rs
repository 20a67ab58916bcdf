//! [`Snapshot`]: every key of a name space with its value.

use std::collections::BTreeMap;

use futures_util::future::{try_join, try_join_all};
use leasehold_conformance::HarnessError;

use super::super::raw::Raw;

/// A key's value.
#[derive(Debug)]
pub enum Value {
    Text(String),
    Hash(BTreeMap<String, Vec<u8>>),
    Sorted(Vec<(String, i64)>),
    List(Vec<Vec<u8>>),
    Other,
}

impl Value {
    pub fn sorted(&self) -> &[(String, i64)] {
        match self {
            Self::Sorted(members) => members,
            _ => &[],
        }
    }

    /// Redis keeps nothing that is empty: this is a value of a type that we never write.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Hash(fields) => fields.is_empty(),
            Self::Sorted(members) => members.is_empty(),
            Self::List(lines) => lines.is_empty(),
            Self::Other => true,
        }
    }
}

/// The keys of one queue, by what follows their tag.
#[derive(Debug, Default)]
pub struct Kept(BTreeMap<String, Value>);

static NO_FIELDS: BTreeMap<String, Vec<u8>> = BTreeMap::new();

impl Kept {
    pub fn all(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub fn hash(&self, key: &str) -> &BTreeMap<String, Vec<u8>> {
        match self.get(key) {
            Some(Value::Hash(fields)) => fields,
            _ => &NO_FIELDS,
        }
    }

    /// A field of a hash, as text.
    pub fn field(&self, key: &str, field: &str) -> Option<&str> {
        self.hash(key).get(field).and_then(|value| std::str::from_utf8(value).ok())
    }

    pub fn sorted(&self, key: &str) -> &[(String, i64)] {
        self.get(key).map_or(&[], Value::sorted)
    }

    pub fn score(&self, key: &str, member: &str) -> Option<i64> {
        let found = self.sorted(key).iter().find(|(one, _)| one == member);
        found.map(|(_, score)| *score)
    }

    /// The sorted sets whose keys begin so, by what follows.
    pub fn family<'a>(
        &'a self,
        of: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a [(String, i64)])> {
        self.all().filter_map(move |(key, value)| Some((key.strip_prefix(of)?, value.sorted())))
    }
}

/// Everything under a name space, and what is wrong with it whatever it says.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Keys that belong to no queue.
    pub loose: BTreeMap<String, Value>,
    /// The others, by the tag of their queue.
    pub queues: BTreeMap<String, Kept>,
    pub amiss: Vec<String>,
}

impl Snapshot {
    pub async fn read(raw: &Raw, namespace: &str) -> Result<Self, HarnessError> {
        let mut snapshot = Self::default();
        let prefix = format!("{namespace}:");
        for keys in raw.keys(&prefix).await?.chunks(AT_ONCE) {
            let found = try_join_all(keys.iter().map(|key| found(raw, key))).await?;
            for (key, (ttl, value)) in keys.iter().zip(found) {
                snapshot.add(&key[prefix.len()..], ttl, value);
            }
        }
        Ok(snapshot)
    }

    fn add(&mut self, name: &str, ttl: i64, value: Value) {
        if ttl >= 0 {
            self.amiss.push(format!("a key that expires: {name:?}"));
        }
        match tagged(name) {
            Some((tag, suffix)) => {
                let queue = self.queues.entry(tag.to_owned()).or_default();
                queue.0.insert(suffix.to_owned(), value);
            }
            None => _ = self.loose.insert(name.to_owned(), value),
        }
    }
}

/// Keys that are asked for at once: one by one, the round trips take longer than all else.
const AT_ONCE: usize = 200;

/// When a key expires, in ms, negative for never; and what it holds.
async fn found(raw: &Raw, key: &str) -> Result<(i64, Value), HarnessError> {
    try_join(raw.ask(redis::cmd("PTTL").arg(key)), read(raw, key)).await
}

/// The tag of a queue's key, as a cluster reads it, and what follows.
fn tagged(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix('{')?.split_once("}:").filter(|(tag, _)| !tag.contains(['{', '}']))
}

/// How a queue's name stands in its keys.
pub fn tag(queue: &str) -> String {
    queue.replace('%', "%25").replace('{', "%7B").replace('}', "%7D")
}

async fn read(raw: &Raw, key: &str) -> Result<Value, HarnessError> {
    let kind: String = raw.ask(redis::cmd("TYPE").arg(key)).await?;
    let cmd = |name: &str, rest: &[&str]| redis::cmd(name).arg(key).arg(rest).clone();
    Ok(match &*kind {
        "string" => Value::Text(raw.ask(&cmd("GET", &[])).await?),
        "hash" => Value::Hash(raw.ask(&cmd("HGETALL", &[])).await?),
        "zset" => Value::Sorted(raw.ask(&cmd("ZRANGE", &["0", "-1", "WITHSCORES"])).await?),
        "list" => Value::List(raw.ask(&cmd("LRANGE", &["0", "-1"])).await?),
        _ => Value::Other,
    })
}
