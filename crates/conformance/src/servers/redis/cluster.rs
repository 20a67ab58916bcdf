//! [`Cluster`]: three masters, with a replica each, in processes of their own.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;

use super::super::{ServerError, State, until};
use super::options::Role;
use super::seen::Seen;
use super::{HashSlotMove, Product, Redis, RedisOptions, SETTLE_LIMIT};

/// Redis holds an election among the masters, so that there must be three.
const MASTERS: usize = 3;

/// How many hash slots a cluster has, in all versions of the protocol.
const HASH_SLOTS: usize = 16_384;

/// What a cluster is started with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// Each member's own options. The cluster sets the rest.
    pub member: RedisOptions,
    /// How many replicas each master has.
    pub replicas: usize,
}

impl ClusterOptions {
    /// Three masters with a replica each.
    #[must_use]
    pub fn new(product: Product) -> Self {
        Self { member: RedisOptions::new(product), replicas: 1 }
    }

    /// How many replicas each master has; with 0 nobody takes over from a dead one.
    #[must_use]
    pub fn with_replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// More words of each member's command line.
    #[must_use]
    pub fn with_arguments(mut self, arguments: &[&str]) -> Self {
        self.member = self.member.with_arguments(arguments);
        self
    }
}

/// A cluster whose members hold each other for failed after a second. Members are named by
/// their numbers: 0 to 2 begin as masters, and the replicas of master `m` are `m + 3`, `m + 6`
/// and so on.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Redis>,
    ids: Vec<String>,
}

impl Cluster {
    /// Starts the members and makes them a cluster. When this comes back, every member knows
    /// every other, all hash slots are served, and the replicas follow their masters.
    ///
    /// # Errors
    /// As [`Redis::start_new`]; when they do not come to an agreement within a minute.
    pub async fn start_new(options: ClusterOptions) -> Result<Self, ServerError> {
        let member = options.member.with_role(Role::Member);
        let count = MASTERS * (1 + options.replicas);
        let nodes = (0..count).map(|_| Redis::start_new(member.clone()));
        let nodes = try_join_all(nodes).await?;
        let mut ids = Vec::new();
        for node in &nodes {
            ids.push(node.command(&["CLUSTER", "MYID"]).await?.text());
        }
        let cluster = Self { nodes, ids };
        cluster.introduce().await?;
        cluster.share_out().await?;
        cluster.attach_replicas().await?;
        cluster.settled().await?;
        Ok(cluster)
    }

    /// The members, by their numbers. Each may be killed, frozen and started by itself.
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// The URLs of all members.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Redis::url).collect()
    }

    /// The hash slot of a key, by the cluster's own word.
    ///
    /// # Errors
    /// When no member runs.
    pub async fn hash_slot(&self, key: &str) -> Result<u16, ServerError> {
        let (node, _) = self.running().next().ok_or_else(nobody)?;
        let slot = node.command(&["CLUSTER", "KEYSLOT", key]).await?.text();
        slot.parse().map_err(|_| ServerError::new(format!("not a hash slot: {slot}")))
    }

    /// The number of the master that has this hash slot, once all members that run agree.
    ///
    /// # Errors
    /// When they do not agree within a minute.
    pub async fn master_of(&self, hash_slot: u16) -> Result<usize, ServerError> {
        let what = format!("all agree who has hash slot {hash_slot}");
        until(&what, SETTLE_LIMIT, || self.agreed_master(hash_slot)).await
    }

    /// Begins to move a hash slot to the master `to`, in steps with a test's own work between.
    ///
    /// # Errors
    /// When `to` has it already, or a master refuses.
    pub async fn begin_move(
        &self,
        hash_slot: u16,
        to: usize,
    ) -> Result<HashSlotMove<'_>, ServerError> {
        HashSlotMove::begin(self, hash_slot, to).await
    }

    /// Moves a hash slot with its keys to the master `to`.
    ///
    /// # Errors
    /// As the steps of a [`HashSlotMove`].
    pub async fn move_hash_slot(&self, hash_slot: u16, to: usize) -> Result<(), ServerError> {
        self.begin_move(hash_slot, to).await?.finish().await
    }

    /// Has a replica take over from a master: in order where the master runs, by an election
    /// where it is down or frozen. Comes back with the new master's number, when all members
    /// that run agree and serve all hash slots.
    ///
    /// # Errors
    /// When there is no replica that runs, or no agreement within a minute.
    pub async fn failover(&self, master: usize) -> Result<usize, ServerError> {
        let (node, id) = self.running().next().ok_or_else(nobody)?;
        let seen = seen_by(node).await.map_err(ServerError::new)?;
        let had = seen.iter().find(|seen| seen.id == self.ids[master]);
        let had = had.and_then(|seen| Some(*seen.hash_slots.first()?.start()));
        let had = had.ok_or_else(|| {
            ServerError::new(format!("{master} is no master with hash slots, as {id} sees it"))
        })?;
        if self.nodes[master].state() == State::Running {
            let is_replica = |seen: &Seen| seen.master.as_ref() == Some(&self.ids[master]);
            let replicas = seen.iter().filter(|seen| is_replica(seen));
            let mut replicas = replicas.filter_map(|seen| self.number(&seen.id));
            let replica = replicas.find(|&replica| self.nodes[replica].state() == State::Running);
            let replica =
                replica.ok_or_else(|| ServerError::new(format!("no replica of {master} runs")))?;
            self.nodes[replica].command(&["CLUSTER", "FAILOVER"]).await?;
        }
        let what = format!("a replica takes over from {master}");
        let new = until(&what, SETTLE_LIMIT, || async {
            let now = self.agreed_master(had).await?;
            if now == master { Err("none has".to_owned()) } else { Ok(now) }
        })
        .await?;
        self.serves().await?;
        Ok(new)
    }

    /// Waits until every member that runs finds that all hash slots are served.
    ///
    /// # Errors
    /// When that does not come within a minute.
    pub async fn serves(&self) -> Result<(), ServerError> {
        until("the cluster serves", SETTLE_LIMIT, || async {
            for (node, id) in self.running() {
                let info = node.command(&["CLUSTER", "INFO"]).await;
                let info = info.map_err(|error| error.to_string())?.text();
                if !info.lines().any(|line| line == "cluster_state:ok") {
                    return Err(format!("as {id} sees it: {info}"));
                }
            }
            Ok(())
        })
        .await
    }

    /// Waits until all members run, agree about each other, and serve all hash slots, and until
    /// each replica follows its master: so that any one of them may fail next.
    ///
    /// # Errors
    /// When that does not come within a minute.
    pub async fn settled(&self) -> Result<(), ServerError> {
        self.serves().await?;
        until("all members agree", SETTLE_LIMIT, || self.agree()).await?;
        let follows = self.nodes.iter().map(async |node| {
            let role = node.info("replication", "role").await?;
            if role == "slave" { node.in_sync().await } else { Ok(()) }
        });
        try_join_all(follows).await.map(drop)
    }

    async fn agreed_master(&self, hash_slot: u16) -> Result<usize, String> {
        let mut masters = BTreeSet::new();
        for (node, _) in self.running() {
            let seen = seen_by(node).await?;
            let master = seen.iter().find(|seen| seen.has(hash_slot));
            masters.insert(master.and_then(|master| self.number(&master.id)));
        }
        match masters.iter().collect::<Vec<_>>()[..] {
            [Some(master)] => Ok(*master),
            _ => Err(format!("{masters:?}")),
        }
    }

    /// Members that a test neither killed nor froze, with their ids.
    pub(super) fn running(&self) -> impl Iterator<Item = (&Redis, &str)> {
        let members = self.nodes.iter().zip(self.ids.iter().map(String::as_str));
        members.filter(|(node, _)| node.state() == State::Running)
    }

    pub(super) fn id(&self, number: usize) -> &str {
        &self.ids[number]
    }

    fn number(&self, id: &str) -> Option<usize> {
        self.ids.iter().position(|have| have == id)
    }

    async fn introduce(&self) -> Result<(), ServerError> {
        for (at, node) in self.nodes.iter().enumerate() {
            // Without it each would begin with the same number, and settle that one by one.
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]).await?;
            let (host, port) = (node.address().ip().to_string(), node.address().port().to_string());
            let second = node.place().second_port().to_string();
            if at > 0 {
                let words = ["CLUSTER", "MEET", &host, &port, &second];
                self.nodes[0].command(&words).await?;
            }
        }
        until("all members have met", SETTLE_LIMIT, || async {
            for (node, id) in self.running() {
                let seen = seen_by(node).await?;
                let known: BTreeSet<_> =
                    seen.iter().filter_map(|seen| self.number(&seen.id)).collect();
                if known.len() < self.nodes.len() || seen.iter().any(|seen| seen.is("handshake")) {
                    return Err(format!("{id} knows {known:?}"));
                }
            }
            Ok(())
        })
        .await
    }

    async fn share_out(&self) -> Result<(), ServerError> {
        for (at, master) in self.nodes[..MASTERS].iter().enumerate() {
            let first = (at * HASH_SLOTS / MASTERS).to_string();
            let last = ((at + 1) * HASH_SLOTS / MASTERS - 1).to_string();
            master.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await?;
        }
        Ok(())
    }

    async fn attach_replicas(&self) -> Result<(), ServerError> {
        for (at, replica) in self.nodes.iter().enumerate().skip(MASTERS) {
            replica.command(&["CLUSTER", "REPLICATE", &self.ids[at % MASTERS]]).await?;
        }
        Ok(())
    }

    /// Whether all members see the same masters, with the same replicas and hash slots.
    async fn agree(&self) -> Result<(), String> {
        let mut views = BTreeSet::new();
        for (node, id) in self.nodes.iter().zip(&self.ids) {
            let mut view = BTreeSet::new();
            for seen in seen_by(node).await? {
                if ["fail", "fail?", "handshake", "noaddr"].iter().any(|flag| seen.is(flag)) {
                    return Err(format!("as {id} sees it: {seen:?}"));
                }
                view.insert(format!("{} {:?} {:?}", seen.id, seen.master, seen.hash_slots));
            }
            views.insert(view);
        }
        if views.len() == 1 { self.has_its_replicas(&views) } else { Err(format!("{views:#?}")) }
    }

    /// All may agree that a replica is a master still.
    fn has_its_replicas(&self, views: &BTreeSet<BTreeSet<String>>) -> Result<(), String> {
        let masters = views.iter().flatten().filter(|line| line.contains(" None ")).count();
        if masters == MASTERS { Ok(()) } else { Err(format!("{masters} masters: {views:#?}")) }
    }
}

async fn seen_by(node: &Redis) -> Result<Vec<Seen>, String> {
    let text = node.command(&["CLUSTER", "NODES"]).await.map_err(|error| error.to_string())?;
    Seen::all(&text.text())
}

fn nobody() -> ServerError {
    ServerError::new("no member of the cluster runs")
}
