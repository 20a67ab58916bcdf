//! [`Cluster`]: a node for each master, and who holds which slot.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use leasehold_core::id::jitter_seed;
use leasehold_core::{Error, Jitter};
use redis::{Cmd, Value};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::line::Asking;
use super::node::{Node, Origin, Pending};
use super::slots::{Range, ranges, redirected, slot_of};
use super::{Common, pause};
use crate::config::Address;
use crate::error::Fault;

/// How often one call follows a redirection, or tries again during a move.
const HOPS_MAX: usize = 8;

/// The longest pause before a try during a move, and between two looks at the map.
const HOP_PAUSE: Duration = Duration::from_millis(20);
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// All masters of a cluster.
pub(super) struct Cluster {
    shared: Arc<Shared>,
    keeper: JoinHandle<()>,
}

struct Shared {
    seeds: Vec<Address>,
    common: Arc<Common>,
    map: RwLock<Map>,
    doubted: Notify,
}

#[derive(Default)]
struct Map {
    ranges: Vec<Range>,
    /// The masters, and nodes that redirections named before the map did.
    nodes: HashMap<Address, Arc<Node>>,
}

impl Cluster {
    pub(super) async fn connect(
        seeds: Vec<Address>,
        common: Arc<Common>,
    ) -> Result<Arc<Self>, Fault> {
        let (map, doubted) = (RwLock::default(), Notify::new());
        let shared = Arc::new(Shared { seeds, common, map, doubted });
        shared.look().await?;
        let keeper = tokio::spawn(keep(shared.clone()));
        Ok(Arc::new(Self { shared, keeper }))
    }

    /// One command to the node that holds its key. Sent again is only what a node refused.
    pub(super) async fn call(&self, command: &Cmd, pending: &Pending) -> Result<Value, Fault> {
        let slot = slot_of(command);
        let (mut at, mut asking) = (self.shared.place(slot), Asking::No);
        let mut hops = 0;
        loop {
            let node = self.shared.node(&at);
            let reply = node.call(command, asking, pending).await;
            let Err(fault) = reply else { return reply };
            hops += 1;
            match (fault.code(), fault.detail().and_then(|detail| redirected(detail, &at))) {
                _ if hops == HOPS_MAX => return Err(fault),
                (Some("MOVED"), Some(there)) => {
                    self.doubt();
                    (at, asking) = (there, Asking::No);
                }
                (Some("ASK"), Some(there)) => (at, asking) = (there, Asking::Yes),
                // Some keys of the slot have moved and some have not.
                (Some("TRYAGAIN"), _) => {
                    pause(Jitter::Half.spread(HOP_PAUSE, jitter_seed())).await;
                    (at, asking) = (self.shared.place(slot), Asking::No);
                }
                (None | Some("CLUSTERDOWN" | "MASTERDOWN" | "READONLY"), _) => {
                    self.doubt();
                    return Err(fault);
                }
                _ => return Err(fault),
            }
        }
    }

    /// The node that holds a slot, as far as is known.
    pub(super) fn owner(&self, slot: u16) -> Arc<Node> {
        let at = self.shared.place(Some(slot));
        self.shared.node(&at)
    }

    /// Where a slot's commands go at first.
    #[cfg(test)]
    pub(super) fn place(&self, slot: u16) -> Address {
        self.shared.place(Some(slot))
    }

    /// All nodes that hold slots.
    pub(super) fn masters(&self) -> Vec<Arc<Node>> {
        let map = self.shared.map();
        let mut owners: Vec<&Address> = map.ranges.iter().map(|range| &range.owner).collect();
        owners.sort_by_key(|address| (&address.host, address.port));
        owners.dedup();
        owners.into_iter().filter_map(|owner| map.nodes.get(owner)).cloned().collect()
    }

    /// Has the map looked at again, soon.
    pub(super) fn doubt(&self) {
        self.shared.doubted.notify_one();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Shared {
    fn map(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a slot is; any master for none. A slot that nobody holds is asked for anywhere,
    /// and the answer tells.
    fn place(&self, slot: Option<u16>) -> Address {
        let map = self.map();
        let holds =
            |range: &&Range| slot.is_some_and(|slot| (range.first..=range.last).contains(&slot));
        let is_up = |range: &&Range| map.nodes.get(&range.owner).is_some_and(|node| node.is_up());
        let mut ranges = map.ranges.iter();
        let range = ranges.clone().find(holds).or_else(|| ranges.clone().find(is_up));
        let range = range.or_else(|| ranges.next()).expect("a map without ranges is not taken");
        range.owner.clone()
    }

    fn node(&self, address: &Address) -> Arc<Node> {
        if let Some(node) = self.map().nodes.get(address) {
            return node.clone();
        }
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        map.nodes.entry(address.clone()).or_insert_with(|| self.later(address)).clone()
    }

    fn later(&self, address: &Address) -> Arc<Node> {
        Arc::new(Node::later(Origin::Member(address.clone()), self.common.clone()))
    }

    /// Asks the nodes one after the other who holds what, those first that answer anyway.
    async fn look(&self) -> Result<(), Fault> {
        let known: Vec<_> = {
            let map = self.map();
            let up = map.nodes.iter().filter(|(_, node)| node.is_up());
            up.map(|(address, node)| (address.clone(), node.clone())).collect()
        };
        let mut failed = Fault::Down("no node of the cluster is known".to_owned());
        for (address, node) in known {
            match self.ask(&address, &node).await {
                Ok(ranges) => {
                    self.learn(ranges);
                    return Ok(());
                }
                Err(fault) => failed = fault,
            }
        }
        for address in &self.seeds {
            let origin = Origin::Member(address.clone());
            let ranges = match Node::connect(origin, self.common.clone()).await {
                Ok(node) => self.ask(address, &node).await,
                Err(fault) => Err(fault),
            };
            match ranges {
                Ok(ranges) => {
                    self.learn(ranges);
                    return Ok(());
                }
                Err(fault) => failed = fault,
            }
        }
        Err(failed)
    }

    async fn ask(&self, address: &Address, node: &Node) -> Result<Vec<Range>, Fault> {
        let mut command = redis::cmd("CLUSTER");
        command.arg("SLOTS");
        let pending = Pending::default();
        let call = node.call(&command, Asking::No, &pending);
        let patience = self.common.connect_timeout;
        let reply = tokio::time::timeout(patience, call).await.unwrap_or_else(|_| {
            pending.retire();
            Err(Fault::Late(patience))
        });
        let reply = reply.map_err(|fault| match fault.detail() {
            Some(detail) if detail.contains("cluster support disabled") => Error::invalid(
                "connect: the server is no node of a cluster: write redis: for redis-cluster:",
            )
            .into(),
            _ => fault,
        })?;
        let ranges = ranges(&reply, address)?;
        if ranges.is_empty() {
            return Err(Fault::Down(format!("{address} knows no node that holds slots")));
        }
        Ok(ranges)
    }

    /// Takes a map over. Nodes that hold nothing any more are let go.
    fn learn(&self, ranges: Vec<Range>) {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let mut nodes = HashMap::new();
        for Range { owner, .. } in &ranges {
            if !nodes.contains_key(owner) {
                let node = map.nodes.get(owner).cloned();
                nodes.insert(owner.clone(), node.unwrap_or_else(|| self.later(owner)));
            }
        }
        *map = Map { ranges, nodes };
    }
}

/// Looks at the map whenever somebody doubts it, until the cluster is dropped.
async fn keep(shared: Arc<Shared>) {
    loop {
        shared.doubted.notified().await;
        if let Err(fault) = shared.look().await {
            tracing::warn!(?fault, "no node of the cluster tells who holds its slots");
            shared.doubted.notify_one();
        }
        pause(Jitter::Half.spread(LOOK_PAUSE, jitter_seed())).await;
    }
}
