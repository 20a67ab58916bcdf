//! [`Server`]: one private process, and what a test does to it.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::home::Home;
use super::port::Port;
use super::spawn::{bound_command, spawn};
use super::{ServerError, until};

/// The file in a server's folder that has its process id.
pub(super) const PID: &str = "pid";

/// A server comes up within a second; a machine that builds at the same time is slower.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Redis waits 10 s for the replicas of a master that is told to end.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Ports that are tried before it is said that there is something else amiss.
const PORTS_MAX: usize = 5;

/// How a kind of server is started and known to be up.
pub struct Recipe {
    name: &'static str,
    program: PathBuf,
    arguments: Arguments,
    ready: Ready,
}

type Arguments = Box<dyn Fn(&Place) -> io::Result<Vec<String>> + Send + Sync>;
type Ready = Box<dyn Fn(&Place, u32) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

impl Recipe {
    /// A server called `name` in folders and errors.
    ///
    /// `arguments` is asked before each start, and may write files into the place's folder; the
    /// server must work in that folder or below it, and its arguments must name it. `ready` gets
    /// the process id and answers whether this very process serves by now, or what is amiss; it
    /// must come back within a second or so, whatever is on that port.
    #[must_use]
    pub fn new(
        name: &'static str,
        program: PathBuf,
        arguments: impl Fn(&Place) -> io::Result<Vec<String>> + Send + Sync + 'static,
        ready: impl Fn(&Place, u32) -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static,
    ) -> Self {
        Self { name, program, arguments: Box::new(arguments), ready: Box::new(ready) }
    }
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, program, .. } = self;
        f.debug_struct("Recipe")
            .field("name", name)
            .field("program", program)
            .finish_non_exhaustive()
    }
}

/// Where a server works: it keeps these through every start.
#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
    port: Port,
    second_port: Port,
}

impl Place {
    /// The server's own folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port.number).into()
    }

    /// A second port, for servers that talk among themselves.
    #[must_use]
    pub fn second_port(&self) -> u16 {
        self.second_port.number
    }
}

/// What a server's process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is none: it was killed or stopped, or it has ended by itself.
    Down,
    /// It runs.
    Running,
    /// It is stopped in the middle of whatever it did, and keeps its connections.
    Frozen,
}

/// One private server. Dropping it kills the process and removes its folder.
#[derive(Debug)]
pub struct Server {
    recipe: Recipe,
    place: Place,
    process: Mutex<Option<Process>>,
    /// Its folder goes after the last server's.
    home: Arc<Home>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    is_frozen: bool,
}

impl Server {
    /// Starts a server at a place of its own; it serves when this comes back.
    ///
    /// # Errors
    /// When it does not come up, with what it wrote.
    pub async fn create(recipe: Recipe) -> Result<Self, ServerError> {
        let home = Home::shared()?;
        let folder = home.folder(recipe.name)?;
        let place = Place { folder, port: home.port()?, second_port: home.port()? };
        let mut server = Self { recipe, place, process: Mutex::default(), home };
        for _ in 1..PORTS_MAX {
            match server.start().await {
                Err(_) if server.found_its_port_taken() => {
                    server.place.port = server.home.port()?;
                    server.place.second_port = server.home.port()?;
                }
                done => return done.map(|()| server),
            }
        }
        server.start().await.map(|()| server)
    }

    /// Where clients connect: the same after each start.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.place.address()
    }

    /// Where it works.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The id of its process, while there is one.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(|process| process.child.id())
    }

    /// What its process does now.
    #[must_use]
    pub fn state(&self) -> State {
        match self.process().as_ref() {
            None => State::Down,
            Some(Process { is_frozen: true, .. }) => State::Frozen,
            Some(Process { is_frozen: false, .. }) => State::Running,
        }
    }

    /// What it wrote since it was last started.
    #[must_use]
    pub fn log(&self) -> String {
        let log = fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Starts it again, on the same port and on the data that are there.
    ///
    /// # Errors
    /// When it runs already, or does not come up, with what it wrote.
    ///
    /// # Cancel safety
    /// The process may run, ready or not.
    pub async fn start(&self) -> Result<(), ServerError> {
        if self.state() != State::Down {
            return Err(ServerError::new(format!("{} runs already", self.called())));
        }
        let pid = self.launch()?;
        let look = || async {
            match (self.recipe.ready)(&self.place, pid).await {
                _ if self.state() == State::Down => {
                    Ok(Err(ServerError::new(format!("{} has ended by itself", self.called()))))
                }
                Ok(()) => Ok(Ok(())),
                Err(amiss) => Err(amiss),
            }
        };
        let what = format!("{} is ready", self.called());
        let started = until(&what, START_LIMIT, look).await.flatten();
        if started.is_err() {
            self.kill()?;
        }
        started.map_err(|error| error.with_log(&self.log()))
    }

    /// Ends its process at once, in the middle of whatever it does (SIGKILL); nothing where it
    /// is down.
    ///
    /// # Errors
    /// Of the system.
    pub fn kill(&self) -> Result<(), ServerError> {
        let Some(Process { mut child, .. }) = self.process().take() else { return Ok(()) };
        let ended = child.kill().and_then(|()| child.wait());
        ended.map(drop).map_err(|error| self.io("kill", error))
    }

    /// Lets its process end in order (SIGTERM) and waits for that; nothing where it is down.
    ///
    /// # Errors
    /// When it does not end in time; it runs on then.
    ///
    /// # Cancel safety
    /// It ends all the same; [`Server::state`] tells when.
    pub async fn stop(&self) -> Result<(), ServerError> {
        // A frozen process does not hear.
        self.thaw()?;
        if let Some(process) = self.process().as_ref() {
            self.signal(process, Signal::TERM)?;
        }
        let look = || async {
            let state = self.state();
            if state == State::Down { Ok(()) } else { Err(format!("it is {state:?}")) }
        };
        let stopped = until(&format!("{} has ended", self.called()), STOP_LIMIT, look).await;
        stopped.map_err(|error| error.with_log(&self.log()))
    }

    /// Stops its process where it is (SIGSTOP): connections stay open, and nothing is answered.
    /// It stands still when this comes back.
    ///
    /// # Errors
    /// When it is down.
    pub fn freeze(&self) -> Result<(), ServerError> {
        let mut process = self.process();
        let process = process.as_mut().ok_or_else(|| self.down())?;
        let pid = Pid::from_child(&process.child);
        // Only looked at: the child has yet to be reaped in case it has ended.
        let either = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        self.signal(process, Signal::STOP)?;
        let status = waitid(WaitId::Pid(pid), either);
        let status = status.map_err(|error| self.io("freeze", error.into()))?;
        process.is_frozen = status.is_some_and(|status| status.stopped());
        if process.is_frozen { Ok(()) } else { Err(self.down()) }
    }

    /// Lets a frozen process go on; nothing where it is not frozen.
    ///
    /// # Errors
    /// Of the system.
    pub fn thaw(&self) -> Result<(), ServerError> {
        let mut process = self.process();
        if let Some(process) = process.as_mut() {
            self.signal(process, Signal::CONT)?;
            process.is_frozen = false;
        }
        Ok(())
    }

    fn signal(&self, process: &Process, signal: Signal) -> Result<(), ServerError> {
        let sent = kill_process(Pid::from_child(&process.child), signal);
        sent.map_err(|error| self.io("signal", error.into()))
    }

    fn launch(&self) -> Result<u32, ServerError> {
        let io = |error| self.io("start", error);
        let log = File::create(self.log_file()).map_err(io)?;
        let mut command = bound_command(&self.recipe.program);
        command
            .args((self.recipe.arguments)(&self.place).map_err(io)?)
            .current_dir(&self.place.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(io)?)
            .stderr(log);
        let child = spawn(command).map_err(io)?;
        let pid = child.id();
        *self.process() = Some(Process { child, is_frozen: false });
        fs::write(self.place.folder.join(PID), pid.to_string()).map_err(io)?;
        Ok(pid)
    }

    /// Each system has the same words for it, and each server repeats them.
    fn found_its_port_taken(&self) -> bool {
        self.log().to_lowercase().contains("address already in use")
    }

    /// The process unless it has ended: it is reaped then, and its id may come to mean another.
    /// While the lock is held, the id of a process that was there is its own.
    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.take_if(|process| !matches!(process.child.try_wait(), Ok(None)));
        process
    }

    fn log_file(&self) -> PathBuf {
        self.place.folder.join("log")
    }

    fn called(&self) -> String {
        format!("{} on {}", self.recipe.name, self.address())
    }

    fn down(&self) -> ServerError {
        ServerError::new(format!("{} is down", self.called()))
    }

    fn io(&self, what: &str, error: io::Error) -> ServerError {
        ServerError::io(format!("{what} {}", self.called()), error)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What stays is removed by the next process.
        let _ = self.kill();
        let _ = fs::remove_dir_all(&self.place.folder);
    }
}
