//! [`Node`]: one server, or whichever server is the master now, and the loop that keeps a
//! connection to it.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use leasehold_core::Jitter;
use leasehold_core::id::jitter_seed;
use redis::{Cmd, ErrorKind, Value};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::line::{Asking, Line, ask_sentinel};
use super::{Common, pause};
use crate::config::{Address, Login};
use crate::error::Fault;

/// The first pause after an attempt that failed, and the longest: each is twice the one before.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Where a node is.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// There, and it must be a master.
    Master(Address),
    /// Where the Sentinels say, and it must say itself that it is a master: a Sentinel may be
    /// the last to hear of a change.
    Sentinels { sentinels: Vec<Address>, master: String, login: Login },
    /// There, in a cluster, whose nodes refuse by themselves what is not theirs.
    Member(Address),
}

/// A server and the connection to it.
pub(crate) struct Node {
    shared: Arc<Shared>,
    keeper: JoinHandle<()>,
}

pub(super) struct Shared {
    origin: Origin,
    common: Arc<Common>,
    state: watch::Sender<State>,
}

#[derive(Clone)]
pub(crate) enum State {
    /// The connection was lost just now, or was never made: an attempt runs.
    Connecting,
    Up(Line),
    /// The last attempt failed, for this reason. Calls fail at once until one succeeds.
    Down(String),
}

/// The connection on which a call waits for its reply, so that it can be given up when the
/// call's deadline passes.
#[derive(Default)]
pub(crate) struct Pending(Mutex<Option<(Weak<Shared>, u64)>>);

impl Pending {
    /// Gives the connection up that has not replied: its server hangs, or is out of reach.
    pub(super) fn retire(&self) {
        let pending = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((shared, id)) = pending
            && let Some(shared) = shared.upgrade()
        {
            shared.retire(id);
        }
    }

    fn set(&self, pending: Option<(Weak<Shared>, u64)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = pending;
    }
}

impl Node {
    /// A node that answers now.
    pub(super) async fn connect(origin: Origin, common: Arc<Common>) -> Result<Self, Fault> {
        let shared = Shared::new(origin, common);
        let line = shared.open().await?;
        shared.state.send_replace(State::Up(line));
        Ok(Self::kept(shared))
    }

    /// A node that is connected to in the background.
    pub(super) fn later(origin: Origin, common: Arc<Common>) -> Self {
        Self::kept(Shared::new(origin, common))
    }

    fn kept(shared: Arc<Shared>) -> Self {
        let keeper = tokio::spawn(keep(shared.clone()));
        Self { shared, keeper }
    }

    /// One command on the connection as it is; a fault that condemns the connection ends it.
    pub(super) async fn call(
        &self,
        command: &Cmd,
        asking: Asking,
        pending: &Pending,
    ) -> Result<Value, Fault> {
        let line = self.line().await?;
        pending.set(Some((Arc::downgrade(&self.shared), line.id)));
        let reply = line.send(command, asking).await;
        pending.set(None);
        if reply.as_ref().is_err_and(condemns) {
            self.shared.retire(line.id);
        }
        reply
    }

    /// The connection, once the attempt that runs has ended.
    pub(super) async fn line(&self) -> Result<Line, Fault> {
        let mut state = self.states();
        loop {
            match state.borrow_and_update().clone() {
                State::Up(line) => return Ok(line),
                State::Down(why) => return Err(Fault::Down(why)),
                State::Connecting if self.keeper.is_finished() => {
                    let why = "the runtime in which the store was opened has ended";
                    return Err(Fault::Down(why.to_owned()));
                }
                State::Connecting => {}
            }
            // The sender is this node's own.
            let _ = state.changed().await;
        }
    }

    pub(super) fn states(&self) -> watch::Receiver<State> {
        self.shared.state.subscribe()
    }

    /// Gives a connection up, unless another has taken its place.
    pub(super) fn retire(&self, id: u64) {
        self.shared.retire(id);
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(&*self.shared.state.borrow(), State::Up(_))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// Whether a connection is of no more use after this: it is broken, or its server answers
/// READONLY since it was demoted, and would do so for ever.
fn condemns(fault: &Fault) -> bool {
    matches!(fault, Fault::Lost(_)) || fault.code() == Some("READONLY")
}

impl Shared {
    fn new(origin: Origin, common: Arc<Common>) -> Arc<Self> {
        Arc::new(Self { origin, common, state: watch::Sender::new(State::Connecting) })
    }

    /// Gives a connection up, unless another has taken its place. Callers who wait for a reply
    /// on it still get it if it comes.
    pub(super) fn retire(&self, id: u64) {
        self.state.send_if_modified(|state| {
            let is_this = matches!(state, State::Up(line) if line.id == id);
            if is_this {
                *state = State::Connecting;
            }
            is_this
        });
    }

    async fn open(self: &Arc<Self>) -> Result<Line, Fault> {
        match &self.origin {
            Origin::Member(address) => self.open_at(address).await,
            Origin::Master(address) => must_lead(self.open_at(address).await?, address),
            Origin::Sentinels { sentinels, master, login } => {
                let mut failed = Fault::Down("no sentinel is known".to_owned());
                for sentinel in sentinels {
                    let ask = ask_sentinel(sentinel, login, master, &self.common);
                    let found = match self.within(sentinel, ask).await {
                        Ok(address) => self.open_at(&address).await.map(|line| (line, address)),
                        Err(fault) => Err(fault),
                    };
                    match found.and_then(|(line, address)| must_lead(line, &address)) {
                        Ok(line) => return Ok(line),
                        Err(fault) => failed = fault,
                    }
                }
                Err(failed)
            }
        }
    }

    async fn open_at(self: &Arc<Self>, address: &Address) -> Result<Line, Fault> {
        let open = Line::open(address, &self.common, Arc::downgrade(self));
        self.within(address, open).await
    }

    async fn within<T>(
        &self,
        address: &Address,
        attempt: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let patience = self.common.connect_timeout;
        match tokio::time::timeout(patience, attempt).await {
            Ok(Err(Fault::Lost(error))) if error.kind() != ErrorKind::RESP3NotSupported => {
                Err(Fault::Down(format!("{address} cannot be reached: {error}")))
            }
            Ok(result) => result,
            Err(_) => {
                Err(Fault::Down(format!("{address} did not take a connection in {patience:?}")))
            }
        }
    }
}

fn must_lead(line: Line, address: &Address) -> Result<Line, Fault> {
    if matches!(line.hello.role.as_str(), "replica" | "slave") {
        return Err(Fault::Down(format!("{address} is a replica, which takes no writes")));
    }
    Ok(line)
}

/// Keeps the node connected until it is dropped.
async fn keep(shared: Arc<Shared>) {
    let mut state = shared.state.subscribe();
    loop {
        // The sender is kept by `shared`.
        let _ = state.wait_for(|state| !matches!(state, State::Up(_))).await;
        let mut failures = 0;
        let line = loop {
            match shared.open().await {
                Ok(line) => break line,
                Err(fault) => {
                    shared.state.send_replace(State::Down(reason(fault)));
                    let delay = PAUSE_MIN.saturating_mul(1 << failures).min(PAUSE_MAX);
                    failures = (failures + 1).min(10);
                    pause(Jitter::Half.spread(delay, jitter_seed())).await;
                }
            }
        };
        tracing::info!(origin = ?shared.origin, "connected");
        shared.state.send_replace(State::Up(line));
    }
}

fn reason(fault: Fault) -> String {
    match fault {
        Fault::Down(why) => why,
        Fault::Refused(_) => {
            let code = fault.code().unwrap_or_default();
            format!("the server refuses the connection: {code}")
        }
        Fault::Lost(error) => format!("the connection broke: {error}"),
        Fault::Late(after) => format!("the server did not answer within {after:?}"),
        Fault::Told(error) => error.to_string(),
    }
}
