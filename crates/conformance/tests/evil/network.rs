//! [`Wired`]: a handle whose calls go by a connection to a server, of which one thing may be
//! wrong.
//!
//! Over the connection goes a number for each call, back and forth; the call itself and its
//! answer lie in memory under that number. So there is no protocol, and yet a gate in between can
//! hold, cut and lose everything that it could of a real one.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use leasehold_core::{Error, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What a handle does wrong. Nothing else of it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiring {
    /// There is no network: the handle is the store.
    None,
    /// Nothing is wrong.
    Sound,
    /// A call whose connection ended is sent again.
    Resends,
    /// A call whose connection ended is sent again, and nobody is told.
    SendsLater,
    /// A reply is taken for that of the call that waits longest.
    TakesAnyReply,
    /// A lost connection is not made again.
    StaysDown,
    /// A lost connection is told as a fault of the program.
    SaysInternal,
    /// A call waits for its reply for ever.
    WaitsForEver,
    /// A batch is sent task by task.
    SendsEachItem,
}

/// How long a sound handle waits for a reply.
const DEADLINE: Duration = Duration::from_secs(1);

type Answer = Box<dyn Any + Send>;
type Call = Arc<dyn Fn() -> BoxFuture<'static, Answer> + Send + Sync>;

/// The server: carries out the call of each number that it reads whole, and says the number.
pub struct Server {
    address: SocketAddr,
    desk: Arc<Desk>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct Desk(Mutex<Papers>);

#[derive(Default)]
struct Papers {
    last: u64,
    calls: BTreeMap<u64, Call>,
    answers: BTreeMap<u64, Answer>,
}

impl Desk {
    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lay(&self, call: Call) -> u64 {
        let mut papers = self.papers();
        papers.last += 1;
        let number = papers.last;
        papers.calls.insert(number, call);
        number
    }

    async fn carry_out(&self, number: u64) {
        let call = self.papers().calls.get(&number).cloned();
        if let Some(call) = call {
            let answer = call().await;
            self.papers().answers.insert(number, answer);
        }
    }
}

impl Server {
    pub async fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let desk = Arc::<Desk>::default();
        let served = desk.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, served.clone()));
            }
        });
        Ok(Self { address, desk, accepting })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle's connection by way of `address`.
    pub fn connect(&self, address: SocketAddr, wiring: Wiring) -> Connection {
        Connection { address, wiring, desk: self.desk.clone(), line: tokio::sync::Mutex::default() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut client: TcpStream, desk: Arc<Desk>) {
    while let Ok(number) = client.read_u64().await {
        desk.carry_out(number).await;
        if client.write_u64(number).await.is_err() {
            return;
        }
    }
}

/// What a handle has of its connection.
pub struct Connection {
    address: SocketAddr,
    wiring: Wiring,
    desk: Arc<Desk>,
    line: tokio::sync::Mutex<Option<Line>>,
}

struct Line {
    write: OwnedWriteHalf,
    waiting: Arc<Mutex<Waiting>>,
    reading: JoinHandle<()>,
}

/// Who waits for which number, in order; `None` once the connection has ended.
type Waiting = Option<BTreeMap<u64, oneshot::Sender<u64>>>;

fn locked(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the number off the list when its caller is gone.
struct Listening(Arc<Mutex<Waiting>>, u64);

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(waiting) = &mut *locked(&self.0) {
            waiting.remove(&self.1);
        }
    }
}

impl Connection {
    pub fn sends_each_item(&self) -> bool {
        self.wiring == Wiring::SendsEachItem
    }

    /// The answer of `call`, carried out by the server.
    pub async fn ask<T, F, C>(&self, call: C) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
        C: Fn() -> F + Send + Sync + 'static,
    {
        let boxed = move || -> BoxFuture<'static, Answer> {
            let called = call();
            Box::pin(async move { Box::new(called.await) as Answer })
        };
        let number = self.desk.lay(Arc::new(boxed));
        let answered = async {
            match self.sent(number).await {
                None if self.wiring == Wiring::Resends => self.sent(number).await,
                None if self.wiring == Wiring::SendsLater => {
                    self.sent(number).await;
                    None
                }
                told => told,
            }
        };
        let told = match self.wiring {
            Wiring::WaitsForEver => answered.await,
            _ => tokio::time::timeout(DEADLINE, answered).await.unwrap_or_default(),
        };
        let answer = told.and_then(|number| self.desk.papers().answers.remove(&number));
        match answer.map(Answer::downcast::<Result<T, Error>>) {
            Some(Ok(answer)) => *answer,
            Some(Err(_)) => Err(Error::new(ErrorKind::Internal, "a reply of another form")),
            None if self.wiring == Wiring::SaysInternal => {
                Err(Error::new(ErrorKind::Internal, "the connection ended"))
            }
            None => Err(Error::new(ErrorKind::Unavailable, "no reply came")),
        }
    }

    /// The number that came back; `None` when the connection ended first, or cannot be made.
    async fn sent(&self, number: u64) -> Option<u64> {
        let (listening, reply) = self.send(number).await?;
        let told = reply.await.ok();
        drop(listening);
        told
    }

    async fn send(&self, number: u64) -> Option<(Listening, oneshot::Receiver<u64>)> {
        let mut line = self.line.lock().await;
        let is_up = line.as_ref().is_some_and(|line| locked(&line.waiting).is_some());
        if !is_up {
            if line.is_some() && self.wiring == Wiring::StaysDown {
                return None;
            }
            *line = Some(self.open().await?);
        }
        let line = line.as_mut()?;
        let (told, reply) = oneshot::channel();
        locked(&line.waiting).as_mut()?.insert(number, told);
        let listening = Listening(line.waiting.clone(), number);
        line.write.write_all(&number.to_be_bytes()).await.ok()?;
        Some((listening, reply))
    }

    async fn open(&self) -> Option<Line> {
        let (mut read, write) = TcpStream::connect(self.address).await.ok()?.into_split();
        let waiting = Arc::new(Mutex::new(Some(BTreeMap::new())));
        let (heard, takes_any) = (waiting.clone(), self.wiring == Wiring::TakesAnyReply);
        let reading = tokio::spawn(async move {
            while let Ok(number) = read.read_u64().await {
                let mut waiting = locked(&heard);
                let Some(waiting) = waiting.as_mut() else { return };
                let told = match takes_any {
                    true => waiting.pop_first().map(|(_, told)| told),
                    false => waiting.remove(&number),
                };
                if let Some(told) = told {
                    let _ = told.send(number);
                }
            }
            // Whoever waits on it hears that it has ended.
            *locked(&heard) = None;
        });
        Some(Line { write, waiting, reading })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("wiring", &self.wiring).finish_non_exhaustive()
    }
}
