//! Private servers for tests: each on free ports of the loopback interface, with a folder of
//! its own, gone with its handle.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// The longest wait for anything that is bound to happen.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A redis-server.
pub(crate) struct Server {
    child: Child,
    args: Vec<String>,
    pub port: u16,
    /// Holds what the server writes.
    _folder: TempDir,
}

impl Server {
    /// One that saves nothing, with further arguments.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_on(free_port(), args)
    }

    pub(crate) fn start_on(port: u16, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().to_str().expect("a UTF-8 path").to_owned();
        let mut all: Vec<String> = vec!["--port".into(), port.to_string(), "--dir".into(), dir];
        let base = ["--bind", "127.0.0.1", "--save", "", "--repl-diskless-sync-delay", "0"];
        all.extend(base.iter().chain(args).map(|arg| (*arg).to_owned()));
        let child = launched(&all);
        Self { child, args: all, port, _folder: folder }
    }

    /// A Sentinel that watches `master` under the name `m`.
    pub(crate) fn sentinel(master: &Server) -> Self {
        let (port, folder) = (free_port(), tempfile::tempdir().expect("a temporary folder"));
        let file = folder.path().join("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor m 127.0.0.1 {} 1\n\
             sentinel down-after-milliseconds m 300\nsentinel failover-timeout m 2000\n",
            master.port
        );
        std::fs::write(&file, text).expect("it is written");
        let args = vec![file.to_str().expect("a UTF-8 path").to_owned(), "--sentinel".to_owned()];
        Self { child: launched(&args), args, port, _folder: folder }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// What the server says to an operator's command, without its last line end.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let port = self.port.to_string();
        let output = Command::new("redis-cli").args(["-p", &port]).args(words).output();
        let output = output.expect("redis-cli runs");
        String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
    }

    /// The same, which must say OK.
    pub(crate) fn tell(&self, words: &[&str]) {
        assert_eq!(self.ask(words), "OK", "{words:?}");
    }

    /// Stops the process, which then neither answers nor ends.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status().expect("kill runs");
        assert!(status.success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it has ended");
    }

    /// Starts it again after [`kill`](Self::kill), on its port and folder.
    pub(crate) fn restart(&mut self) {
        self.child = launched(&self.args);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launched(args: &[String]) -> Child {
    let mut child = Command::new("redis-server")
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server is installed");
    let mut log = BufReader::new(child.stdout.take().expect("its output is piped"));
    let mut line = String::new();
    let is_ready = |line: &str| {
        ["Ready to accept connections", "+monitor master"].iter().any(|sign| line.contains(sign))
    };
    while !is_ready(&line) {
        line.clear();
        let read = log.read_line(&mut line).expect("its log is text");
        assert!(read > 0, "redis-server ended: {args:?}");
    }
    // A full pipe would stop the server.
    std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
    child
}

/// Which slots each of [`trio`] has.
pub(crate) const RANGES: [(u16, u16); 3] = [(0, 5460), (5461, 10922), (10923, 16383)];

/// A cluster of three masters.
pub(crate) async fn trio() -> Vec<Server> {
    let nodes: Vec<_> = (0..3).map(|_| member(&["--cluster-node-timeout", "2000"])).collect();
    for (node, (first, last)) in nodes.iter().zip(RANGES) {
        node.tell(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
    }
    for other in &nodes[1..] {
        let bus = other.ask(&["CONFIG", "GET", "cluster-port"]).replace("cluster-port\n", "");
        nodes[0].tell(&["CLUSTER", "MEET", "127.0.0.1", &other.port.to_string(), &bus]);
    }
    until_true("all know all", || {
        let knows_all = |node: &Server| {
            let info = node.ask(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
        };
        nodes.iter().all(knows_all)
    })
    .await;
    nodes
}

/// A node that serves its slots whatever becomes of others.
pub(crate) fn member(args: &[&str]) -> Server {
    let bus = free_port().to_string();
    let base = ["--cluster-enabled", "yes", "--cluster-port", &bus];
    Server::start(&[&base, ["--cluster-require-full-coverage", "no"].as_slice(), args].concat())
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// Looks again and again until there is something, at most [`SOON`].
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let looking = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        loop {
            ticks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    tokio::time::timeout(SOON, looking).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// The same for a condition.
pub(crate) async fn until_true(what: &str, mut look: impl FnMut() -> bool) {
    until(what, || std::future::ready(look().then_some(()))).await;
}
