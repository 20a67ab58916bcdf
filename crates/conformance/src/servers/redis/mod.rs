//! Redis and Valkey for tests: [`Redis`] alone, a [`Cluster`], or a pair behind [`Sentinels`].

mod cluster;
mod found;
mod hash_slot;
mod options;
mod resp;
mod seen;
mod sentinels;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use cluster::{Cluster, ClusterOptions};
pub use found::Found;
pub use hash_slot::HashSlotMove;
pub use options::{Fsync, Product, RedisOptions};
pub use resp::{Connection, Reply};
pub use sentinels::Sentinels;
use tokio::time::timeout;

use super::{Recipe, Server, ServerError, until};

/// Far above what any command of a set-up takes, on a machine that builds at the same time.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// A server that is not up yet is asked again soon.
const READY_LIMIT: Duration = Duration::from_millis(500);

/// Long enough for an election that has to be held twice.
const SETTLE_LIMIT: Duration = Duration::from_secs(60);

/// A private Redis or Valkey server: a [`Server`] that can be told commands.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    options: RedisOptions,
}

impl Redis {
    /// Starts a server from a program of this machine.
    ///
    /// # Errors
    /// When there is no program, with what to install; when the server does not come up, with
    /// what it wrote.
    pub async fn start_new(options: RedisOptions) -> Result<Self, ServerError> {
        let program = options.product.program().find()?;
        let (words, user) = (options.clone(), options.user.clone());
        let recipe = Recipe::new(
            options.product.name(),
            program,
            move |place| words.words(place),
            move |place, pid| Box::pin(is_ready(place.address(), user.clone(), pid)),
        );
        Ok(Self { server: Server::create(recipe).await?, options })
    }

    /// Where clients connect, with the user where there is one: `redis://127.0.0.1:6379/`.
    #[must_use]
    pub fn url(&self) -> String {
        let login = self
            .options
            .user
            .as_ref()
            .map(|(name, password)| format!("{}:{}@", escaped(name), escaped(password)));
        format!("redis://{}{}/", login.unwrap_or_default(), self.address())
    }

    /// Sends one command by a connection of its own, and waits at most 10 s for the reply. What
    /// depends on an earlier command of the same connection, as WAIT does, needs a
    /// [`Connection`] that is kept.
    ///
    /// # Errors
    /// When the server does not answer, or refuses; the text has the refusal.
    ///
    /// # Cancel safety
    /// The command may have been carried out.
    pub async fn command(&self, words: &[impl AsRef<[u8]>]) -> Result<Reply, ServerError> {
        self.command_within(COMMAND_LIMIT, words).await
    }

    /// As [`Redis::command`], with a limit of the caller's own.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    pub async fn command_within(
        &self,
        limit: Duration,
        words: &[impl AsRef<[u8]>],
    ) -> Result<Reply, ServerError> {
        let name = words.first().map(|word| String::from_utf8_lossy(word.as_ref()));
        let what = format!("{} on {}", name.unwrap_or_default(), self.address());
        let asking = async {
            let mut connection = Connection::open(self.address()).await?;
            log_in(&mut connection, self.options.user.as_ref()).await?;
            connection.ask(words).await
        };
        let reply = timeout(limit, asking).await;
        match reply.map_err(|_| ServerError::new(format!("{what}: no reply within {limit:?}")))? {
            Ok(Reply::Error(text)) => Err(ServerError::new(format!("{what}: {text}"))),
            Ok(reply) => Ok(reply),
            Err(error) => Err(ServerError::io(what, error)),
        }
    }

    /// A field of the command INFO, such as `role` of the section `replication`.
    ///
    /// # Errors
    /// As [`Redis::command`], and when there is no such field.
    pub async fn info(&self, section: &str, field: &str) -> Result<String, ServerError> {
        let text = self.command(&["INFO", section]).await?.text();
        let missing = || ServerError::new(format!("no field {field} in INFO {section}"));
        value(&text, field).map(str::to_owned).ok_or_else(missing)
    }

    /// What it is by its own word, such as `redis 7.0.15`: a report has to name what was there.
    ///
    /// # Errors
    /// As [`Redis::command`].
    pub async fn version(&self) -> Result<String, ServerError> {
        let name = self.options.product.name();
        let version = self.info("server", &format!("{name}_version")).await?;
        Ok(format!("{name} {version}"))
    }

    /// Waits until this replica has all that its master had when this was called, and until the
    /// master sends it at once what is written from then on. The replica's own word that its
    /// link is up is too early: the master may keep its stream back for up to a second more.
    ///
    /// # Errors
    /// When that does not come within a minute.
    pub async fn in_sync(&self) -> Result<(), ServerError> {
        let what = format!("{} follows its master", self.address());
        let mark = Mutex::new(None);
        until(&what, SETTLE_LIMIT, || async {
            let (master, own) = self.followed().await?;
            let (end, syncs) = stream(master).await?;
            let mut mark = mark.lock().unwrap_or_else(PoisonError::into_inner);
            match *mark {
                // The master's next ping comes in its stream after all that was there. Past a
                // new link, an offset tells nothing.
                Some((end, same)) if same == syncs && own > end => Ok(()),
                Some((end, same)) if same == syncs => {
                    Err(format!("it is at {own}, not past {end}"))
                }
                _ => {
                    *mark = Some((end, syncs));
                    Err("its link is new".to_owned())
                }
            }
        })
        .await
    }

    /// The master of this replica, and how far it is in that one's stream, while it has a link.
    async fn followed(&self) -> Result<(SocketAddr, u64), String> {
        let info = self.command(&["INFO", "replication"]).await;
        let info = info.map_err(|error| error.to_string())?.text();
        let field = |name| value(&info, name).ok_or_else(|| format!("no {name} in {info}"));
        let link = field("master_link_status")?;
        if link != "up" {
            return Err(format!("its link is {link}"));
        }
        let master = format!("{}:{}", field("master_host")?, field("master_port")?);
        let master = master.parse().map_err(|_| format!("not an address: {master}"))?;
        let offset = field("slave_repl_offset")?;
        Ok((master, offset.parse().map_err(|_| format!("not an offset: {offset}"))?))
    }
}

/// Killing, freezing and starting again are the same for all servers.
impl Deref for Redis {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

type User = (String, String);

async fn log_in(connection: &mut Connection, user: Option<&User>) -> std::io::Result<()> {
    let Some((name, password)) = user else { return Ok(()) };
    match connection.ask(&["AUTH", name, password]).await? {
        Reply::Error(text) => Err(std::io::Error::other(text)),
        _ => Ok(()),
    }
}

/// How far the stream of the master at this address goes, and how many links it has begun.
async fn stream(master: SocketAddr) -> Result<(u64, u64), String> {
    let asking = async { Connection::open(master).await?.ask(&["INFO"]).await };
    let reply = timeout(COMMAND_LIMIT, asking).await.map_err(|_| "no reply".to_owned())?;
    let info = reply.map_err(|error| error.to_string())?.text();
    let number = |name| {
        let number = value(&info, name).and_then(|number| number.parse::<u64>().ok());
        number.ok_or_else(|| format!("no {name} in {info}"))
    };
    Ok((number("master_repl_offset")?, number("sync_full")? + number("sync_partial_ok")?))
}

/// A field of what INFO answers.
fn value<'a>(info: &'a str, field: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
}

/// Whether this very process serves there. One that asks for a password that we were not told
/// serves as well.
async fn is_ready(address: SocketAddr, user: Option<User>, pid: u32) -> Result<(), String> {
    let asking = async {
        let mut connection = Connection::open(address).await?;
        log_in(&mut connection, user.as_ref()).await?;
        let pong = connection.ask(&["PING"]).await?;
        Ok::<_, std::io::Error>((pong, connection.ask(&["INFO", "server"]).await?))
    };
    let replies = timeout(READY_LIMIT, asking).await.map_err(|_| "no reply".to_owned())?;
    let (pong, info) = replies.map_err(|error| error.to_string())?;
    match pong {
        Reply::Error(text) if text.starts_with("NOAUTH") => Ok(()),
        Reply::Simple(text) if text == "PONG" => {
            let own = format!("process_id:{pid}");
            let is_own = info.text().lines().any(|line| line == own);
            if is_own { Ok(()) } else { Err("another process answers there".to_owned()) }
        }
        other => Err(format!("PING was answered by {:?}", other.text())),
    }
}

/// As a part of a URL.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_process_itself_is_ready() {
        let options = RedisOptions::new(Product::Redis).with_user("lea", "secret");
        let server = Redis::start_new(options).await.unwrap_or_else(|error| panic!("{error}"));
        let (address, user) = (server.address(), server.options.user.clone());
        let pid = server.pid().expect("it runs");
        assert_eq!(is_ready(address, user.clone(), pid).await, Ok(()));
        let other = is_ready(address, user.clone(), pid + 1).await;
        assert_eq!(other, Err("another process answers there".to_owned()));
        let stranger = is_ready(address, None, pid + 1).await;
        assert_eq!(stranger, Ok(()), "it asks for a password that we were not told");

        server.freeze().expect("it runs");
        assert_eq!(is_ready(address, user.clone(), pid).await, Err("no reply".to_owned()));
        server.kill().expect("it runs");
        is_ready(address, user, pid).await.expect_err("it is down");
    }
}
