//! The built example as a process with its worker processes: they share its pipes, so that a
//! pipe ends when the last of them has ended.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Processes that say nothing for so long hang. Far above what any step takes: the longest is
/// to wait for a lease of 1 s to lapse.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A running example; dropping it kills it.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    stderr: Receiver<String>,
}

/// What a process and its workers have left when all of them have ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// The lines that had not been read before.
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_in(&env::temp_dir(), arguments)
    }

    /// With another folder for temporary files.
    pub fn start_in(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .args(arguments)
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the built example can be started");
        let (stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout.expect("it is piped")).lines() {
                let line = line.expect("the example writes UTF-8");
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let (tell, all) = channel();
        thread::spawn(move || {
            let mut text = String::new();
            let stderr = stderr.as_mut().expect("it is piped");
            stderr.read_to_string(&mut text).expect("the example writes UTF-8");
            let _ = tell.send(text);
        });
        Self { child, lines, stderr: all }
    }

    /// The next line of stdout; none after the last.
    fn line(&self) -> Option<String> {
        match self.lines.recv_timeout(SILENCE_MAX) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line for {SILENCE_MAX:?}"),
        }
    }

    /// Reads up to and including the next line that begins with `words`.
    pub fn read_to(&self, words: &str) {
        while let Some(line) = self.line() {
            if line.starts_with(words) {
                return;
            }
        }
        panic!("the process ended before a line that begins with {words:?}");
    }

    /// Sends SIGKILL to the process that was started, and to no worker.
    #[cfg(unix)]
    pub fn kill(&self) {
        self.signal("KILL");
    }

    /// Sends what Ctrl-C sends, to the process that was started alone.
    #[cfg(unix)]
    pub fn interrupt(&self) {
        self.signal("INT");
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status();
        assert!(status.expect("there is a shell").success());
    }

    /// Waits for the end of the process and of its workers.
    pub fn end(mut self) -> Ended {
        let stdout = std::iter::from_fn(|| self.line()).map(|line| line + "\n").collect();
        let stderr = self.stderr.recv_timeout(SILENCE_MAX).expect("stderr ends with the last");
        Ended { status: self.child.wait().expect("it was started"), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Cargo tells a test where binaries are, but not where examples are: beside its own folder.
fn binary() -> PathBuf {
    let test = env::current_exe().expect("a test is a file");
    let target = test.parent().and_then(Path::parent).expect("cargo puts tests in target/*/deps");
    let binary = target.join("examples").join(format!("failures{}", env::consts::EXE_SUFFIX));
    assert!(
        binary.is_file(),
        "{} is missing: build it by `cargo build --example failures`, or run scripts/test",
        binary.display()
    );
    binary
}
