//! What becomes of servers whose test process is killed. Each test here is run once more in a
//! process of its own, by a variable, and owns a server there until it is killed.

use std::env;
use std::io::{BufRead, BufReader, Lines};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;

use super::*;

/// Set in the second process.
const OWNS: &str = "LH_TEST_OWNS_A_SERVER";

/// A process that owns a server.
struct Owner {
    child: Child,
    /// Held open, as it goes on to write.
    _lines: Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
    folder: PathBuf,
}

impl Owner {
    /// Runs `test` in a process of its own, with this folder for temporary files.
    fn start(test: &str, temporary: &Path, path: Option<&Path>) -> Self {
        let mut command = Command::new(env::current_exe().expect("a test is a program"));
        command.args(["--exact", test, "--nocapture"]).env(OWNS, "1").env("TMPDIR", temporary);
        command.envs(path.map(|path| ("PATH", path)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it can be run again");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut texts = lines.by_ref().map(|line| line.expect("it writes UTF-8"));
        let line = texts.find_map(|line| Some(line.split_once("owns ")?.1.to_owned()));
        let line = line.expect("it starts a server");
        let (address, folder) = line.split_once(' ').expect("address and folder");
        let address = address.parse().expect("an address");
        Self { child, _lines: lines, address, folder: folder.into() }
    }

    /// SIGKILL, in the middle of the test.
    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was killed");
    }
}

/// Unless it was killed it ends in order, as nobody else ends its server.
impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The part of the second process: it owns a server until the first one lets go of it.
async fn own_a_server() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    println!("owns {} {}", server.address(), server.place().folder().display());
    let end = std::io::stdin().read_line(&mut String::new());
    end.expect("the first process holds the other end");
}

async fn is_closed(address: SocketAddr) {
    let closed = until("the server has ended", LIMIT, || async {
        match TcpStream::connect(address) {
            Ok(_) => Err(format!("somebody listens on {address}")),
            Err(_) => Ok(()),
        }
    });
    closed.await.unwrap_or_else(|error| panic!("{error}"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn servers_end_with_a_killed_process() {
    if env::var_os(OWNS).is_some() {
        return own_a_server().await;
    }
    let temporary = TempDir::new().expect("the system has a folder for temporary files");
    let test = "owner::servers_end_with_a_killed_process";
    let mut owner = Owner::start(test, temporary.path(), None);
    TcpStream::connect(owner.address).expect("it serves");
    owner.kill();
    is_closed(owner.address).await;
    assert!(owner.folder.exists(), "only a process removes a folder");
}

#[tokio::test]
async fn the_next_process_ends_what_a_killed_one_left() {
    if env::var_os(OWNS).is_some() {
        return own_a_server().await;
    }
    let temporary = TempDir::new().expect("the system has a folder for temporary files");
    // With nothing else on the path, there is no tool that binds a server to its owner.
    let path = temporary.path().join("path");
    std::fs::create_dir(&path).expect("an empty folder");
    let program = Product::Redis.program().find().unwrap_or_else(|error| panic!("{error}"));
    symlink(program, path.join("redis-server")).expect("an empty folder");

    let test = "owner::the_next_process_ends_what_a_killed_one_left";
    let start = || Owner::start(test, temporary.path(), Some(&path));
    let (mut first, second) = (start(), start());
    first.kill();
    TcpStream::connect(first.address).expect("nobody has ended it");
    let _third = start();
    is_closed(first.address).await;
    assert!(!first.folder.exists());
    // Its owner lives.
    TcpStream::connect(second.address).expect("it serves");
    assert!(second.folder.exists());
}

#[tokio::test]
async fn a_dropped_server_leaves_nothing() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    let (address, folder) = (server.address(), server.place().folder().to_owned());
    assert!(folder.join("log").exists());
    drop(server);
    TcpStream::connect(address).expect_err("nobody listens");
    assert!(!folder.exists());
}

/// A test's thread ends long before a server that several tests share.
#[tokio::test]
async fn a_server_outlives_the_thread_that_started_it() {
    let starting = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(started(RedisOptions::new(Product::Redis)))
    });
    let server = starting.join().expect("it starts a server");
    // The thread's last steps come after its join; they are long done when another serves.
    started(RedisOptions::new(Product::Redis)).await;
    assert_eq!(server.state(), State::Running);
    assert_eq!(tell(&server, "PING").await, "PONG");
}
