//! The built example as a process: its lines as they come, and its end.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A process that says nothing for so long hangs. Far above what any step takes: the longest
/// is to wait for a lease of 3 s to lapse.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A running example; dropping it kills it.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    stdout: Receiver<String>,
}

/// What a process has left when it has ended by itself.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    /// The lines of stderr that had not been read before.
    pub stderr: Vec<String>,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .args(arguments)
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the built example can be started");
        let (stderr, mut stdout) = (child.stderr.take(), child.stdout.take());
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr.expect("it is piped")).lines() {
                let line = line.expect("the example writes UTF-8");
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let (tell, all) = channel();
        thread::spawn(move || {
            let mut text = String::new();
            let stdout = stdout.as_mut().expect("it is piped");
            stdout.read_to_string(&mut text).expect("the example writes UTF-8");
            let _ = tell.send(text);
        });
        Self { child, lines, stdout: all }
    }

    /// The next line of stderr; none after the last.
    fn line(&self) -> Option<String> {
        match self.lines.recv_timeout(SILENCE_MAX) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line for {SILENCE_MAX:?}"),
        }
    }

    /// Reads up to and including the next line that begins with `words`.
    pub fn read_to(&self, words: &str) -> String {
        loop {
            match self.line() {
                Some(line) if line.starts_with(words) => return line,
                Some(_) => {}
                None => panic!("the process ended before a line that begins with {words:?}"),
            }
        }
    }

    /// Ends the process by SIGKILL, in the middle of whatever it does.
    #[cfg(unix)]
    pub fn kill(mut self) {
        use std::os::unix::process::ExitStatusExt;
        self.child.kill().expect("it was started");
        let status = self.child.wait().expect("it was started");
        assert_eq!(status.signal(), Some(9), "the process had ended by itself: {status}");
    }

    /// Sends what Ctrl-C sends.
    #[cfg(unix)]
    pub fn interrupt(&self) {
        let command = format!("kill -INT {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status();
        assert!(status.expect("there is a shell").success());
    }

    /// Waits for the end.
    pub fn end(mut self) -> Ended {
        let stderr = std::iter::from_fn(|| self.line()).collect();
        let stdout = self.stdout.recv_timeout(SILENCE_MAX).expect("stdout ends with the process");
        Ended { status: self.child.wait().expect("it was started"), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The files whose success was told.
    pub fn successes(&self) -> usize {
        self.stderr.iter().filter(|line| line.starts_with("ok ")).count()
    }

    pub fn last_line(&self) -> &str {
        self.stdout.lines().last().unwrap_or_default()
    }
}

/// Cargo tells a test where binaries are, but not where examples are: beside its own folder.
fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.parent().and_then(Path::parent).expect("cargo puts tests in target/*/deps");
    let binary =
        target.join("examples").join(format!("quickstart{}", std::env::consts::EXE_SUFFIX));
    assert!(
        binary.is_file(),
        "{} is missing: build it by `cargo build --example quickstart`, or run scripts/test",
        binary.display()
    );
    binary
}
