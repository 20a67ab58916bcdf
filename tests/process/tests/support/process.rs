//! A worker process: its lines as they come, what it is told, and its end.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use leasehold::Clock;

/// How long a test waits for one line, or for the end. Far above what any step takes: the
/// longest is to wait for a lease of a few seconds to lapse.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running worker; dropping it kills it, also when it is stopped.
pub struct Process {
    child: Child,
    orders: ChildStdin,
    lines: Receiver<String>,
}

/// What a process has left when it has ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub pid: u32,
    /// The lines that had not been read before.
    pub lines: Vec<String>,
}

impl Process {
    /// Starts a worker, and comes back when it works and hears signals.
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_process-worker"))
            .args(arguments)
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the built worker can be started");
        let orders = child.stdin.take().expect("it is piped");
        let stdout = child.stdout.take().expect("it is piped");
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if tell.send(line.expect("the worker writes UTF-8")).is_err() {
                    return;
                }
            }
        });
        let process = Self { child, orders, lines };
        process.read_to("phase Working");
        process
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Every line from here on, until the last or until the patience is over: a process that
    /// talks without end hangs as well.
    fn lines(&self) -> impl Iterator<Item = Result<String, RecvTimeoutError>> {
        let clock = Clock::default();
        let end = clock.now().after(PATIENCE);
        std::iter::from_fn(move || {
            let left = end.since(clock.now());
            // Asked without time left, the channel would still give what it has.
            let is_over = left.is_zero().then_some(Err(RecvTimeoutError::Timeout));
            Some(is_over.unwrap_or_else(|| self.lines.recv_timeout(left)))
        })
    }

    /// Reads up to and including the next line that begins with `words`.
    pub fn read_to(&self, words: &str) -> String {
        let mut passed = Vec::new();
        for line in self.lines() {
            match line {
                Ok(line) if line.starts_with(words) => return line,
                Ok(line) => passed.push(line),
                Err(why) => panic!("{why:?} before a line {words:?}: {passed:#?}"),
            }
        }
        unreachable!("the last of them is an error")
    }

    /// Reads up to and including the next line of this handler's beginning; tells its fence.
    pub fn read_start(&self, id: &str, attempt: u32) -> u64 {
        let line = self.read_to(&format!("started {id} "));
        let fence = line.strip_prefix(&format!("started {id} attempt={attempt} fence="));
        let fence = fence.and_then(|fence| fence.parse().ok());
        fence.unwrap_or_else(|| panic!("not the start of attempt {attempt}: {line}"))
    }

    /// Lets a handler of `hold` go on.
    pub fn go(&mut self, id: &str) {
        writeln!(self.orders, "go {id}").expect("the process reads what it is told");
    }

    /// Sends a signal by its name, such as TERM, STOP or CONT.
    pub fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.pid());
        let status = Command::new("sh").args(["-c", &command]).status();
        assert!(status.expect("there is a shell").success());
    }

    /// Ends the process by SIGKILL, in the middle of whatever it does.
    pub fn kill(mut self) -> Ended {
        use std::os::unix::process::ExitStatusExt;
        self.child.kill().expect("it was started");
        let ended = self.end();
        assert_eq!(ended.status.signal(), Some(9), "it had ended by itself: {}", ended.status);
        ended
    }

    /// Ends the process in order; whatever it holds has been told to go on.
    pub fn terminate(self) -> Ended {
        self.signal("TERM");
        self.end()
    }

    /// Waits for the end.
    pub fn end(mut self) -> Ended {
        let mut lines = Vec::new();
        for line in self.lines() {
            match line {
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it has not ended: {lines:#?}"),
            }
        }
        let status = self.child.wait().expect("it was started");
        Ended { status, pid: self.pid(), lines }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The lines that begin with `words`.
    pub fn with(&self, words: &str) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        lines.filter(|line| line.starts_with(words)).collect()
    }

    /// Asserts that it ended as a worker does that was asked to.
    pub fn assert_in_order(&self) {
        assert!(self.status.success(), "{self:#?}");
        assert_eq!(self.with("ended ").len(), 1, "{self:#?}");
    }
}
