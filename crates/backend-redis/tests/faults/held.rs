//! What a queue's keys hold, value by value: two pictures are equal where nothing was applied.

use std::collections::BTreeMap;

use leasehold_conformance::servers::redis::{Connection, Redis, Reply};

/// Every key of a queue with its value, in an order that does not depend on how it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Held(BTreeMap<String, Vec<String>>);

impl Held {
    /// Of the queue of this name, on this server.
    pub async fn on(server: &Redis, queue: &str) -> Self {
        let mut reader = Reader(Connection::open(server.address()).await.expect("it runs"));
        let mut held = Self::default();
        for key in reader.strings(&["KEYS", &format!("lh:{{{queue}}}:*")]).await {
            let value = reader.value(&key).await;
            held.0.insert(key, value);
        }
        held
    }

    /// With what another server holds: a queue on its way is on two.
    pub fn and(mut self, other: Self) -> Self {
        for (key, value) in other.0 {
            assert!(self.0.insert(key.clone(), value).is_none(), "{key} is on both servers");
        }
        self
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Fails with the keys that differ.
    pub fn assert_same(&self, other: &Self, what: &str) {
        let keys = self.0.keys().chain(other.0.keys());
        let differing: Vec<_> = keys
            .filter(|key| self.0.get(*key) != other.0.get(*key))
            .map(|key| format!("{key}: {:?} -> {:?}", self.0.get(key), other.0.get(key)))
            .collect();
        assert!(differing.is_empty(), "{what}: {}", differing.join("\n"));
    }
}

struct Reader(Connection);

impl Reader {
    async fn value(&mut self, key: &str) -> Vec<String> {
        match self.strings(&["TYPE", key]).await.concat().as_str() {
            "string" => self.strings(&["GET", key]).await,
            "list" => self.strings(&["LRANGE", key, "0", "-1"]).await,
            "zset" => self.strings(&["ZRANGE", key, "0", "-1", "WITHSCORES"]).await,
            "hash" => {
                let all = self.strings(&["HGETALL", key]).await;
                let mut pairs: Vec<_> = all.chunks(2).map(|pair| pair.join(" = ")).collect();
                pairs.sort();
                pairs
            }
            other => panic!("{key} is a {other}"),
        }
    }

    async fn strings(&mut self, words: &[&str]) -> Vec<String> {
        // A node that a hash slot is on its way to answers those only who say that they were sent;
        // a server alone does not know the word.
        self.0.ask(&["ASKING"]).await.expect("it runs");
        match self.0.ask(words).await.expect("it runs") {
            Reply::Error(text) => panic!("{words:?}: {text}"),
            Reply::Array(items) => items.iter().map(Reply::text).collect(),
            one => vec![one.text()],
        }
    }
}
