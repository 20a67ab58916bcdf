//! [`HashSlotMove`]: a hash slot on its way from one master to another.

use super::super::ServerError;
use super::{Cluster, Redis, Reply};

/// Keys that one command moves: the masters do nothing else meanwhile.
const KEYS_MAX: u32 = 100;

/// How long a master waits for the other within such a command.
const MIGRATE_LIMIT_MS: &str = "5000";

/// A hash slot that has two masters for a while: the old one has the keys that were not moved
/// yet and sends for all others to the new one (`ASK`), which takes only those who were sent.
/// Dropping it leaves the hash slot as it is.
#[derive(Debug)]
#[must_use = "the hash slot stays where it is until the move is finished"]
pub struct HashSlotMove<'a> {
    cluster: &'a Cluster,
    hash_slot: u16,
    from: usize,
    to: usize,
}

impl<'a> HashSlotMove<'a> {
    pub(super) async fn begin(
        cluster: &'a Cluster,
        hash_slot: u16,
        to: usize,
    ) -> Result<Self, ServerError> {
        let from = cluster.master_of(hash_slot).await?;
        if from == to {
            return Err(ServerError::new(format!("{to} has hash slot {hash_slot} already")));
        }
        let moving = Self { cluster, hash_slot, from, to };
        // In this order nobody is sent to a master that does not expect it.
        moving.set(to, &["IMPORTING", cluster.id(from)]).await?;
        moving.set(from, &["MIGRATING", cluster.id(to)]).await?;
        Ok(moving)
    }

    /// The number of the master that it leaves.
    #[must_use]
    pub fn from(&self) -> usize {
        self.from
    }

    /// The number of the master that it goes to.
    #[must_use]
    pub fn to(&self) -> usize {
        self.to
    }

    /// Moves up to `keys_max` keys, and comes back with how many there were.
    ///
    /// # Errors
    /// When a master refuses or does not answer.
    ///
    /// # Cancel safety
    /// The keys may have been moved.
    pub async fn move_keys(&self, keys_max: u32) -> Result<usize, ServerError> {
        let (slot, count) = (self.hash_slot.to_string(), keys_max.to_string());
        let from = self.node(self.from);
        let keys = from.command(&["CLUSTER", "GETKEYSINSLOT", &slot, &count]).await?;
        let keys: Vec<_> = keys.items().iter().filter_map(bytes).collect();
        if keys.is_empty() {
            return Ok(0);
        }
        let to = self.node(self.to).address();
        let (host, port) = (to.ip().to_string(), to.port().to_string());
        let words = ["MIGRATE", &host, &port, "", "0", MIGRATE_LIMIT_MS, "KEYS"];
        let words = words.iter().map(|word| word.as_bytes()).chain(keys.iter().copied());
        from.command(&words.collect::<Vec<_>>()).await?;
        Ok(keys.len())
    }

    /// Moves all other keys and gives the hash slot to the new master; comes back when all
    /// members that run know it.
    ///
    /// # Errors
    /// When a master refuses or does not answer, or not all know it within a minute.
    pub async fn finish(self) -> Result<(), ServerError> {
        while self.move_keys(KEYS_MAX).await? > 0 {}
        let id = self.cluster.id(self.to);
        // The new one first: were the old one told first and the new one lost, nobody would
        // have the keys.
        self.set(self.to, &["NODE", id]).await?;
        self.set(self.from, &["NODE", id]).await?;
        let master = self.cluster.master_of(self.hash_slot).await?;
        if master == self.to {
            return Ok(());
        }
        Err(ServerError::new(format!("{master} has hash slot {}", self.hash_slot)))
    }

    async fn set(&self, master: usize, words: &[&str]) -> Result<Reply, ServerError> {
        let slot = self.hash_slot.to_string();
        let words = [&["CLUSTER", "SETSLOT", &slot], words].concat();
        self.node(master).command(&words).await
    }

    fn node(&self, number: usize) -> &Redis {
        &self.cluster.nodes()[number]
    }
}

fn bytes(reply: &Reply) -> Option<&[u8]> {
    if let Reply::Bulk(bytes) = reply { Some(bytes) } else { None }
}
