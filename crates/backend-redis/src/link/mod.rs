//! [`Link`]: commands to the servers and wake-ups from them, over connections that come back.
//!
//! No command is sent twice whose reply was lost: the caller decides that. Sent again is only
//! what a server refused unseen (MOVED, ASK, TRYAGAIN).

mod cluster;
mod line;
mod node;
mod slots;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leasehold_core::{Error, ErrorKind, Wake};
use redis::{Cmd, Value};

use self::cluster::Cluster;
pub(crate) use self::line::Hello;
use self::line::{Asking, Line};
pub(crate) use self::node::Node;
use self::node::{Origin, Pending, State};
use crate::config::{Login, Place, RedisConfig};
use crate::error::{Fault, told};
use crate::wake::Wakes;

/// A handle on the servers; clones share their connections.
#[derive(Clone)]
pub(crate) struct Link {
    route: Route,
    common: Arc<Common>,
}

#[derive(Clone)]
enum Route {
    One(Arc<Node>),
    Cluster(Arc<Cluster>),
}

/// What all connections of a link share.
struct Common {
    login: Login,
    tls: bool,
    db: i64,
    call_timeout: Duration,
    connect_timeout: Duration,
    wakes: Arc<Wakes>,
    lines: AtomicU64,
}

impl Common {
    fn of(config: &RedisConfig) -> Arc<Self> {
        Arc::new(Self {
            login: config.login.clone(),
            tls: config.tls,
            db: config.db,
            call_timeout: config.call_timeout,
            connect_timeout: config.connect_timeout,
            wakes: Arc::default(),
            lines: AtomicU64::new(1),
        })
    }

    fn fresh_line(&self) -> u64 {
        self.lines.fetch_add(1, Ordering::Relaxed)
    }
}

impl Link {
    /// Connects, and learns where everything is.
    pub(crate) async fn connect(config: &RedisConfig) -> Result<Self, Error> {
        let common = Common::of(config);
        #[cfg(feature = "tls")]
        if config.tls {
            // The driver takes the one of the process. If the program has chosen another, so be it.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let route = match &config.place {
            Place::Server(address) => {
                one(Origin::Master(address.clone()), &common).await.map(Route::One)
            }
            Place::Sentinel { sentinels, master, login } => {
                let (sentinels, master) = (sentinels.clone(), master.clone());
                let origin = Origin::Sentinels { sentinels, master, login: login.clone() };
                one(origin, &common).await.map(Route::One)
            }
            Place::Cluster(seeds) => {
                Cluster::connect(seeds.clone(), common.clone()).await.map(Route::Cluster)
            }
        };
        Ok(Self { route: route.map_err(told_at_connect)?, common })
    }

    /// One command and its reply, within the deadline of a call, reconnecting included.
    ///
    /// In a cluster it goes to the node that holds its first key, which is `KEYS[1]` for a
    /// script; without a key, to any.
    ///
    /// # Errors
    /// [`Fault::Down`] means that it was not sent, [`Fault::Refused`] that the server did not
    /// take it, or that a script said so; after [`Fault::Lost`] and [`Fault::Late`] it may have
    /// been carried out, once.
    ///
    /// # Cancel safety
    /// A dropped future equals a lost reply; the link stays usable.
    pub(crate) async fn send(&self, command: &Cmd) -> Result<Value, Fault> {
        let pending = Pending::default();
        self.in_time(&pending, async {
            match &self.route {
                Route::One(node) => node.call(command, Asking::No, &pending).await,
                Route::Cluster(cluster) => cluster.call(command, &pending).await,
            }
        })
        .await
    }

    /// One command to one node, within the deadline of a call.
    pub(crate) async fn send_to(&self, node: &Node, command: &Cmd) -> Result<Value, Fault> {
        let pending = Pending::default();
        self.in_time(&pending, node.call(command, Asking::No, &pending)).await
    }

    /// How a node introduced itself when it was last connected to.
    pub(crate) async fn hello_of(&self, node: &Node) -> Result<Hello, Fault> {
        let pending = Pending::default();
        let hello = self.in_time(&pending, async { Ok(node.line().await?.hello) });
        hello.await
    }

    /// All nodes that take writes, in no order.
    pub(crate) fn masters(&self) -> Vec<Arc<Node>> {
        match &self.route {
            Route::One(node) => vec![node.clone()],
            Route::Cluster(cluster) => cluster.masters(),
        }
    }

    /// Waits until something is published on `channel`, at most `max`. A hint as in
    /// [`Backend::wait`](leasehold_core::Backend::wait): it also wakes when the connection was
    /// lost and when it is back. A message that woke nobody wakes the next who waits.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub(crate) async fn wait(&self, channel: &str, max: Duration) -> Wake {
        let woken = tokio::time::timeout(max, self.woken(channel)).await;
        woken.unwrap_or(Wake::Elapsed)
    }

    async fn woken(&self, name: &str) -> Wake {
        let channel = self.common.wakes.channel(name);
        let mut listening = channel.listen();
        loop {
            let node = match &self.route {
                Route::One(node) => node.clone(),
                // The node of the queue, so that all that a queue needs fails together.
                Route::Cluster(cluster) => cluster.owner(slots::slot(name.as_bytes())),
            };
            let mut states = node.states();
            let state = states.borrow_and_update().clone();
            let line = match state {
                State::Up(line) => line,
                State::Connecting | State::Down(_) => {
                    // The sender is the node's.
                    let _ = states.changed().await;
                    continue;
                }
            };
            if !channel.is_on(line.id) {
                let subscribed = tokio::select! {
                    subscribed = self.subscribe(&node, &line, name) => subscribed,
                    // The connection was given up.
                    _ = states.changed() => continue,
                };
                match subscribed {
                    Ok(()) => {}
                    Err(Fault::Refused(_)) => return Wake::NoHint,
                    Err(_) => continue,
                }
            }
            // In this order, so that what was heard is counted as handed.
            tokio::select! {
                biased;
                () = listening.heard() => return Wake::Woken,
                _ = states.changed() => return Wake::Woken,
            }
        }
    }

    async fn subscribe(&self, node: &Node, line: &Line, channel: &str) -> Result<(), Fault> {
        let subscribed = line.subscribe(channel).await;
        match &subscribed {
            Err(Fault::Refused(refusal)) => {
                tracing::warn!(?refusal, channel, "no wake-ups: the server refuses to subscribe");
            }
            Err(_) => node.retire(line.id),
            Ok(()) => {}
        }
        subscribed
    }

    async fn in_time<T>(
        &self,
        pending: &Pending,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let deadline = self.common.call_timeout;
        tokio::time::timeout(deadline, call).await.unwrap_or_else(|_| {
            pending.retire();
            if let Route::Cluster(cluster) = &self.route {
                cluster.doubt();
            }
            Err(Fault::Late(deadline))
        })
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route = match &self.route {
            Route::One(_) => "one master",
            Route::Cluster(_) => "cluster",
        };
        write!(f, "Link({route})")
    }
}

async fn one(origin: Origin, common: &Arc<Common>) -> Result<Arc<Node>, Fault> {
    let node = Node::connect(origin, common.clone()).await?;
    match node.line().await?.hello.mode.as_str() {
        "cluster" => Err(Error::invalid(
            "connect: the server is a node of a cluster: write redis-cluster: instead of redis:",
        )
        .into()),
        "sentinel" => Err(Error::invalid(
            "connect: the server is a sentinel: write redis-sentinel://HOST:PORT/MASTER",
        )
        .into()),
        _ => Ok(Arc::new(node)),
    }
}

/// What is refused at the start is a wrong setting; later it may be a change of it that is
/// under way.
fn told_at_connect(fault: Fault) -> Error {
    if let Fault::Lost(error) = &fault
        && error.kind() == redis::ErrorKind::RESP3NotSupported
    {
        let what = "connect: the server is too old: at least version 6.2 is needed";
        return Error::new(ErrorKind::Unsupported, what);
    }
    match (fault.code(), fault.detail()) {
        (Some(code @ ("NOAUTH" | "WRONGPASS" | "NOPERM")), _) => {
            Error::invalid(format!("connect: the server refuses the user or the password ({code})"))
        }
        (Some("ERR"), Some(why)) if why.contains("DB index") => {
            Error::invalid("connect: the server has no database of this number")
        }
        (Some("ERR"), Some(why)) => {
            let what = format!("connect: the server refuses the connection: {why}");
            Error::new(ErrorKind::Unavailable, what)
        }
        _ => told("connect", fault),
    }
}

/// Waits between two attempts.
#[expect(clippy::disallowed_methods, reason = "the pause of those who try again")]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await; // tidy: allow, the pause between two attempts
}
