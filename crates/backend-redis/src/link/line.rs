//! [`Line`]: one open connection, and how it is opened.

use std::sync::Weak;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, IntoConnectionInfo, ProtocolVersion,
    PushInfo, PushKind, RedisConnectionInfo, Value,
};

use super::Common;
use super::node::Shared;
use crate::config::{Address, Login};
use crate::error::Fault;

/// One connection, shared by all callers.
#[derive(Clone)]
pub(crate) struct Line {
    /// Never 0, and never twice in one link.
    pub id: u64,
    conn: MultiplexedConnection,
    pub hello: Hello,
}

/// How a server introduces itself. Every user may ask for this.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hello {
    /// `redis` or `valkey`.
    pub server: String,
    pub version: String,
    /// `standalone`, `cluster` or `sentinel`.
    pub mode: String,
    /// `master` or `replica`; a Sentinel has none.
    pub role: String,
}

/// Whether a command comes by an ASK redirection, and so may use a slot that is moving here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    No,
    Yes,
}

impl Line {
    /// Connects, logs in and hears who answers. What the server pushes from then on goes to the
    /// link's wakes, and the end of the connection to `node`.
    pub(super) async fn open(
        address: &Address,
        common: &Common,
        node: Weak<Shared>,
    ) -> Result<Self, Fault> {
        let id = common.fresh_line();
        let wakes = common.wakes.clone();
        let pushes = move |push: PushInfo| -> Result<(), redis::aio::SendError> {
            match (push.kind, push.data.as_slice()) {
                (PushKind::Message, [Value::BulkString(channel), ..]) => {
                    wakes.came(&String::from_utf8_lossy(channel));
                }
                (PushKind::Subscribe, [Value::BulkString(channel), ..]) => {
                    wakes.subscribed(&String::from_utf8_lossy(channel), id);
                }
                // Weak, as the connection belongs to the node.
                (PushKind::Disconnection, _) => {
                    if let Some(node) = node.upgrade() {
                        node.retire(id);
                    }
                }
                _ => {}
            }
            Ok(())
        };
        // The link has deadlines of its own; a connection must not give up a reply in between.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_push_sender(pushes);
        let conn = open(address, common, &common.login, common.db, config).await?;
        let hello = hello(conn.clone()).await?;
        Ok(Self { id, conn, hello })
    }

    /// One command and its reply.
    pub(super) async fn send(&self, command: &Cmd, asking: Asking) -> Result<Value, Fault> {
        let mut conn = self.conn.clone();
        let reply = match asking {
            Asking::No => conn.send_packed_command(command).await?,
            // Both in one piece, or a command of another caller could come between.
            Asking::Yes => {
                let mut both = redis::pipe();
                both.cmd("ASKING").ignore().add_command(command.clone());
                let mut replies = conn.send_packed_commands(&both, 1, 1).await?;
                replies.pop().unwrap_or_default()
            }
        };
        Ok(reply.extract_error()?)
    }

    /// Subscribes to a channel, as [`Wakes`](crate::wake::Wakes) then knows.
    pub(super) async fn subscribe(&self, channel: &str) -> Result<(), Fault> {
        Ok(self.conn.clone().subscribe(channel).await?)
    }
}

/// Asks one Sentinel where its master is.
pub(super) async fn ask_sentinel(
    sentinel: &Address,
    login: &Login,
    master: &str,
    common: &Common,
) -> Result<Address, Fault> {
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let mut conn = open(sentinel, common, login, 0, config).await?;
    let mut command = redis::cmd("SENTINEL");
    command.arg("GET-MASTER-ADDR-BY-NAME").arg(master);
    let reply = conn.send_packed_command(&command).await?.extract_error()?;
    let found: Option<(String, u16)> = redis::from_redis_value(reply)
        .map_err(|error| Fault::Lost(redis::RedisError::from(error)))?;
    let (host, port) = found
        .ok_or_else(|| Fault::Down(format!("the sentinel at {sentinel} knows no such master")))?;
    Ok(Address { host, port })
}

async fn open(
    address: &Address,
    common: &Common,
    login: &Login,
    db: i64,
    config: AsyncConnectionConfig,
) -> Result<MultiplexedConnection, Fault> {
    let mut settings = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP3)
        .set_skip_set_lib_name()
        .set_db(db);
    if let Some(user) = &login.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &login.password {
        settings = settings.set_password(password);
    }
    let info = target(address, common.tls)
        .into_connection_info()?
        .set_redis_settings(settings)
        .set_tcp_settings(TcpSettings::default().set_nodelay(true));
    Ok(Client::open(info)?.get_multiplexed_async_connection_with_config(&config).await?)
}

fn target(Address { host, port }: &Address, tls: bool) -> ConnectionAddr {
    let (host, port) = (host.clone(), *port);
    if tls {
        ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
    } else {
        ConnectionAddr::Tcp(host, port)
    }
}

async fn hello(mut conn: MultiplexedConnection) -> Result<Hello, Fault> {
    let reply = conn.send_packed_command(&redis::cmd("HELLO")).await?.extract_error()?;
    let Value::Map(entries) = reply else { return Ok(Hello::default()) };
    let mut hello = Hello::default();
    for (name, value) in entries {
        let (Some(name), Some(value)) = (text(&name), text(&value)) else { continue };
        match name {
            "server" => hello.server = value.to_owned(),
            "version" => hello.version = value.to_owned(),
            "mode" => hello.mode = value.to_owned(),
            "role" => hello.role = value.to_owned(),
            _ => {}
        }
    }
    Ok(hello)
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}
