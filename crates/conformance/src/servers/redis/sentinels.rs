//! [`Sentinels`]: a master and its replica, watched by three sentinels.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use futures_util::future::try_join_all;

use super::super::{ServerError, State, until};
use super::options::Role;
use super::{Product, Redis, RedisOptions, Reply, SETTLE_LIMIT};

const SENTINELS: usize = 3;

/// By themselves they look at the servers every 10 s, and tell each other every 2 s. What they
/// find and decide is the same; a sentinel that is started again is back to these.
const QUICK: [&str; 6] = ["SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200"];

/// So long a server has to be silent before a sentinel calls it down: past any stall of a busy
/// machine, so that nothing is taken over but what [`Sentinels::failover`] asks for.
const PATIENCE: &str = "300000";
/// And so long while the takeover of a killed master is asked for.
const IMPATIENCE: &str = "1000";

/// A master with one replica, and three sentinels of which two have to agree that it is down.
/// They do so when [`Sentinels::failover`] is called, and never by themselves.
#[derive(Debug)]
pub struct Sentinels {
    servers: [Redis; 2],
    sentinels: Vec<Redis>,
}

impl Sentinels {
    /// By this name the sentinels know the master.
    pub const SERVICE: &'static str = "leasehold";

    /// Starts all five. When this comes back, the replica follows the master, and the sentinels
    /// know both and each other.
    ///
    /// # Errors
    /// As [`Redis::start_new`]; when they do not find each other within a minute.
    pub async fn start_new(product: Product) -> Result<Self, ServerError> {
        let options = RedisOptions::new(product);
        let master = Redis::start_new(options.clone()).await?;
        let address = master.address();
        let replica = Redis::start_new(options.clone().with_replica_of(address)).await?;
        replica.in_sync().await?;
        let sentinel = options.with_role(Role::Sentinel(address));
        let sentinels = (0..SENTINELS).map(|_| Redis::start_new(sentinel.clone()));
        let all = Self { servers: [master, replica], sentinels: try_join_all(sentinels).await? };
        for sentinel in &all.sentinels {
            sentinel.command(&QUICK).await?;
        }
        all.settled().await?;
        Ok(all)
    }

    /// The two servers; the first one begins as the master.
    #[must_use]
    pub fn servers(&self) -> &[Redis; 2] {
        &self.servers
    }

    /// The three sentinels.
    #[must_use]
    pub fn sentinels(&self) -> &[Redis] {
        &self.sentinels
    }

    /// The master's address, once all sentinels that run tell the same.
    ///
    /// # Errors
    /// When they do not within a minute.
    pub async fn master(&self) -> Result<SocketAddr, ServerError> {
        until("the sentinels agree about the master", SETTLE_LIMIT, || self.told()).await
    }

    /// Has the replica take over: by order of a sentinel where the master runs, by the
    /// sentinels' own finding where it is down or frozen. Comes back with the new master's
    /// address when all sentinels that run tell it, and it is a master by its own word.
    ///
    /// # Errors
    /// When that does not come within a minute.
    pub async fn failover(&self) -> Result<SocketAddr, ServerError> {
        let old = self.master().await?;
        let is_old = |server: &&Redis| server.address() == old;
        let runs = self.servers.iter().find(is_old).is_some_and(|s| s.state() == State::Running);
        if runs {
            self.order().await?;
            return self.taken_over(old).await;
        }
        self.wait_for_answers(IMPATIENCE).await?;
        let new = self.taken_over(old).await;
        self.wait_for_answers(PATIENCE).await?;
        new
    }

    async fn taken_over(&self, old: SocketAddr) -> Result<SocketAddr, ServerError> {
        until("the replica takes over", SETTLE_LIMIT, || async {
            let new = self.told().await?;
            if new == old {
                return Err("the sentinels tell the old one".to_owned());
            }
            let server = self.servers.iter().find(|server| server.address() == new);
            let server = server.ok_or_else(|| format!("{new} is not ours"))?;
            let role = server.info("replication", "role").await.map_err(|e| e.to_string())?;
            if role == "master" { Ok(new) } else { Err(format!("{new} is {role}")) }
        })
        .await
    }

    /// Waits until both servers and all sentinels run, the replica follows, and each sentinel
    /// knows of all others: so that any one of them may fail next.
    ///
    /// # Errors
    /// When that does not come within a minute.
    pub async fn settled(&self) -> Result<(), ServerError> {
        let master = self.master().await?;
        for server in self.servers.iter().filter(|server| server.address() != master) {
            server.in_sync().await?;
        }
        until("the sentinels know all others", SETTLE_LIMIT, || async {
            for sentinel in &self.sentinels {
                let known = fields(&ask(sentinel, "MASTER").await?);
                let replicas = ask(sentinel, "REPLICAS").await?;
                let replicas: Vec<_> = replicas.items().iter().map(fields).collect();
                let is_known = known.contains("flags=master")
                    && known.contains("num-other-sentinels=2")
                    && matches!(&replicas[..], [one] if one.contains("flags=slave")
                        && one.contains("master-link-status=ok"));
                if !is_known {
                    return Err(format!("{} knows {known:?} {replicas:?}", sentinel.address()));
                }
            }
            Ok(())
        })
        .await
    }

    /// A server that has been silent for so long is down from now on.
    async fn wait_for_answers(&self, milliseconds: &str) -> Result<(), ServerError> {
        let option = ["SENTINEL", "SET", Self::SERVICE, "down-after-milliseconds", milliseconds];
        for sentinel in self.running() {
            sentinel.command(&option).await?;
        }
        Ok(())
    }

    /// One sentinel may be busy with an earlier failover, or not know enough yet.
    async fn order(&self) -> Result<(), ServerError> {
        until("a sentinel takes the order", SETTLE_LIMIT, || async {
            let sentinel = self.running().next().ok_or("no sentinel runs")?;
            ask(sentinel, "FAILOVER").await.map(drop)
        })
        .await
    }

    async fn told(&self) -> Result<SocketAddr, String> {
        let mut told = BTreeSet::new();
        for sentinel in self.running() {
            let reply = ask(sentinel, "GET-MASTER-ADDR-BY-NAME").await?;
            let address: Vec<_> = reply.items().iter().map(Reply::text).collect();
            told.insert(address.join(":"));
        }
        match told.iter().collect::<Vec<_>>()[..] {
            [address] => address.parse().map_err(|_| format!("not an address: {address}")),
            _ => Err(format!("{told:?}")),
        }
    }

    fn running(&self) -> impl Iterator<Item = &Redis> {
        self.sentinels.iter().filter(|sentinel| sentinel.state() == State::Running)
    }
}

async fn ask(sentinel: &Redis, what: &str) -> Result<Reply, String> {
    let reply = sentinel.command(&["SENTINEL", what, Sentinels::SERVICE]).await;
    reply.map_err(|error| error.to_string())
}

/// Names and values by turns, as `name=value`.
fn fields(reply: &Reply) -> BTreeSet<String> {
    let pairs = reply.items().chunks_exact(2);
    pairs.map(|pair| format!("{}={}", pair[0].text(), pair[1].text())).collect()
}

/// Writes what a sentinel begins with, and comes back with the file's path. What it has learned
/// since stays: it keeps that in the same file.
pub(super) fn write_settings(folder: &Path, master: SocketAddr) -> io::Result<String> {
    let file = folder.join("sentinel.conf");
    if !file.exists() {
        let (name, host, port) = (Sentinels::SERVICE, master.ip(), master.port());
        let text = format!(
            "sentinel monitor {name} {host} {port} 2\n\
             sentinel down-after-milliseconds {name} {PATIENCE}\n\
             sentinel failover-timeout {name} 3000\n"
        );
        fs::write(&file, text)?;
    }
    Ok(file.to_string_lossy().into_owned())
}
