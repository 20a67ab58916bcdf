//! [`Gate`]: a proxy between a client and its server that loses what a case wants lost.
//!
//! It knows nothing of the protocol: what matters to a race is only whether the server has
//! answered, and that can be seen in the bytes. A request whose answer is held back has been
//! carried out; a request that is held back itself has not.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Replies,
}

/// A proxy on a free port of the loopback interface, open until it is told otherwise. Clones are
/// the same gate; when the last one is dropped, its connections end.
#[derive(Debug, Clone)]
pub struct Gate {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: watch::Sender<State>,
    tasks: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

/// What the gate does, and what it has seen.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    requests: Lane,
    replies: Lane,
    /// Grows with each cut: a connection of an earlier one ends.
    cuts: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    held: bool,
    /// So many more bytes may pass while the lane is held.
    allowed: usize,
    /// Bytes that have come to the gate.
    came: u64,
    /// Bytes that have been held back at some time.
    stopped: u64,
    /// How many they were when the lane was last told what to do.
    mark: u64,
    /// End the connection once nothing more is allowed.
    cut_when_spent: bool,
}

impl State {
    fn lane(&self, way: Way) -> &Lane {
        match way {
            Way::Requests => &self.requests,
            Way::Replies => &self.replies,
        }
    }

    fn lane_mut(&mut self, way: Way) -> &mut Lane {
        match way {
            Way::Requests => &mut self.requests,
            Way::Replies => &mut self.replies,
        }
    }
}

impl Gate {
    /// A gate before `server`.
    ///
    /// # Errors
    /// When no port can be opened.
    pub async fn open(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (state, _) = watch::channel(State::default());
        let shared = Arc::new(Shared { state, tasks: Mutex::default() });
        let weak = Arc::downgrade(&shared);
        let accept = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Some(shared) = weak.upgrade() else { return };
                shared.serve(client, server);
            }
        });
        shared.tasks().push(accept);
        Ok(Self { address, shared })
    }

    /// Where a client has to connect instead of to the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Holds back what goes this way from now on.
    pub fn hold(&self, way: Way) {
        self.tell(way, true, 0, false);
    }

    /// Lets `bytes` more pass that way, beside those that may pass already, and holds back the rest; one frame at a time, this plays
    /// the steps of a verb that takes several.
    pub fn pass(&self, way: Way, bytes: usize) {
        let allowed = self.shared.state.borrow().lane(way).allowed;
        self.tell(way, true, allowed + bytes, false);
    }

    /// Lets `bytes` more pass that way and then ends the connection: a batch arrives in part.
    pub fn cut_after(&self, way: Way, bytes: usize) {
        self.tell(way, true, bytes, true);
    }

    /// Lets everything pass again, first what was held back.
    pub fn release(&self) {
        self.tell(Way::Requests, false, 0, false);
        self.tell(Way::Replies, false, 0, false);
    }

    /// Ends every connection; what was held back is lost. New ones are taken and pass freely.
    pub fn cut(&self) {
        // Before the lanes open: what was held back must not slip through.
        self.shared.state.send_modify(|state| state.cuts += 1);
        self.release();
    }

    /// Waits until something is held back that way since the gate was last told what to do with
    /// it. For replies this means that the server has carried out the request.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn stopped(&self, way: Way) {
        let mut state = self.shared.state.subscribe();
        let stopped = state.wait_for(|state| state.lane(way).stopped > state.lane(way).mark);
        // An error means that the gate is gone, and with it whatever could stop.
        let _ = stopped.await;
    }

    /// How many bytes were held back that way until now: none means that the fault never fired,
    /// and that the case has proved nothing.
    #[must_use]
    pub fn fired(&self, way: Way) -> u64 {
        self.shared.state.borrow().lane(way).stopped
    }

    /// Whether something has been held back, or cut off, that way since the gate was last told
    /// what to do with it.
    #[must_use]
    pub fn has_stopped(&self, way: Way) -> bool {
        let state = self.shared.state.borrow();
        state.lane(way).stopped > state.lane(way).mark
    }

    /// How many bytes have come to the gate that way.
    #[must_use]
    pub fn came(&self, way: Way) -> u64 {
        self.shared.state.borrow().lane(way).came
    }

    fn tell(&self, way: Way, held: bool, allowed: usize, cut_when_spent: bool) {
        self.shared.state.send_modify(|state| {
            let lane = state.lane_mut(way);
            let mark = lane.stopped;
            *lane = Lane { held, allowed, cut_when_spent, mark, ..*lane };
        });
    }
}

impl Shared {
    fn tasks(&self) -> MutexGuard<'_, Vec<tokio::task::JoinHandle<()>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins a client with a connection of its own to the server.
    fn serve(self: &Arc<Self>, client: TcpStream, server: SocketAddr) {
        let state = self.state.clone();
        let joined = tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(server).await else { return };
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            // Whichever ends first ends both, as a broken connection does.
            tokio::select! {
                () = carry(Way::Requests, from_client, to_server, &state) => {}
                () = carry(Way::Replies, from_server, to_client, &state) => {}
            }
        });
        self.tasks().push(joined);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for task in self.tasks().drain(..) {
            task.abort();
        }
    }
}

/// Carries bytes one way until an end is closed or the gate is cut.
async fn carry(
    way: Way,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &watch::Sender<State>,
) {
    let mut changes = state.subscribe();
    let born = changes.borrow_and_update().cuts;
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            () = cut(&mut changes, born) => return,
        };
        let Ok(read @ 1..) = read else { return };
        state.send_modify(|state| state.lane_mut(way).came += read as u64);
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            let Some(passes) = ticket(way, rest.len(), &mut changes, state, born).await else {
                return;
            };
            let (now, later) = rest.split_at(passes);
            if to.write_all(now).await.is_err() {
                return;
            }
            rest = later;
        }
    }
}

/// How many of `waiting` bytes may go on, once any may; `None` when the connection has to end.
async fn ticket(
    way: Way,
    waiting: usize,
    changes: &mut watch::Receiver<State>,
    state: &watch::Sender<State>,
    born: u64,
) -> Option<usize> {
    let mut told = false;
    loop {
        let mut passes = Some(0);
        state.send_if_modified(|state| {
            let is_cut = state.cuts != born;
            let lane = state.lane_mut(way);
            passes = match lane {
                _ if is_cut => None,
                Lane { held: false, .. } => Some(waiting),
                Lane { allowed: 0, cut_when_spent: true, .. } => None,
                Lane { allowed, .. } => Some(waiting.min(*allowed)),
            };
            let taken = if lane.held { passes.unwrap_or(0) } else { 0 };
            lane.allowed -= taken;
            let stops = passes.is_none_or(|passes| passes == 0) && !told;
            lane.stopped += if stops { waiting as u64 } else { 0 };
            taken > 0 || stops
        });
        match passes {
            Some(0) => told = true,
            passes => return passes,
        }
        changes.changed().await.ok()?;
    }
}

/// Waits until the connection, which began after `born` cuts, is cut.
async fn cut(changes: &mut watch::Receiver<State>, born: u64) {
    let mut changes = changes.clone();
    // An error means that the gate is gone.
    let _ = changes.wait_for(|state| state.cuts != born).await;
}
