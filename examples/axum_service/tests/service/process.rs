//! The built service as a process.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A service that says nothing for so long hangs.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// How often it is asked for what has to come by itself, and at which pace: for 60 s.
const LOOKS_MAX: u32 = 1_200;
const LOOK: Duration = Duration::from_millis(50);

/// A running service; dropping it kills it.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    port: u16,
}

impl Process {
    /// Starts it in this folder; `url` is LEASEHOLD_URL.
    pub fn start(folder: &Path, arguments: &[&str], url: Option<&str>) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_leasehold-axum-service"))
            .args(arguments)
            .current_dir(folder)
            .env_remove("LEASEHOLD_URL")
            .envs(url.map(|url| ("LEASEHOLD_URL", url)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the built service can be started");
        let stdout = child.stdout.take().expect("it is piped");
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if tell.send(line.expect("the service writes UTF-8")).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, port: 0 }
    }

    /// Waits until it listens.
    pub fn listening(mut self) -> Self {
        let line = self.read_to("listening on 127.0.0.1:");
        let port = line.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        self.port = port.unwrap_or_else(|| panic!("no port: {line}"));
        self
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Reads up to and including the next line that begins with `words`.
    pub fn read_to(&self, words: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(SILENCE_MAX);
            let line = line.unwrap_or_else(|error| panic!("no line {words:?}: {error}"));
            if line.starts_with(words) {
                return line;
            }
        }
    }

    /// Lets a moment pass before something is looked at again.
    pub fn pace(&self) {
        let line = self.lines.recv_timeout(LOOK);
        assert_eq!(line, Err(RecvTimeoutError::Timeout), "it spoke, or ended");
    }

    pub fn wait_until_it_refuses(&self) {
        for _ in 0..LOOKS_MAX {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
                return;
            }
            self.pace();
        }
        panic!("it still takes connections");
    }

    pub fn terminate(&self) {
        let command = format!("kill -TERM {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status();
        assert!(status.expect("there is a shell").success());
    }

    /// Sends SIGTERM and waits for the end.
    pub fn stop(self) -> ExitStatus {
        self.terminate();
        self.end()
    }

    /// Waits until it has ended by itself.
    pub fn end(self) -> ExitStatus {
        self.end_within(SILENCE_MAX)
    }

    pub fn end_within(mut self, patience: Duration) -> ExitStatus {
        // Its stdout ends with it, and unlike a wait for the process this one has a bound.
        loop {
            match self.lines.recv_timeout(patience) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it did not end in {patience:?}"),
            }
        }
        self.child.wait().expect("it was started")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
