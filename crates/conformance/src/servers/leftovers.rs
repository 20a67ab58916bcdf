//! Ends the servers and removes the folders of test processes that are no more.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal};

use super::home::OWNER;
use super::server::PID;

/// Removes every home under `root` whose owner has ended. What cannot be removed now is left to
/// the next process: a test must not fail for what another one left.
pub(super) fn remove(root: &Path) {
    for home in folders(root) {
        // A folder without that file is none, or was left before its owner got so far.
        if home.ends_with("ports") || !is_lost(&home) {
            continue;
        }
        for server in folders(&home) {
            end(&server);
        }
        let _ = fs::remove_dir_all(&home);
    }
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn is_lost(home: &Path) -> bool {
    match File::open(home.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Kills the server of this folder if it still runs.
fn end(server: &Path) {
    let pid = fs::read_to_string(server.join(PID)).ok();
    let pid = pid.and_then(|pid| pid.trim().parse().ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill(pid, server);
    }
}

/// By a handle on the process, which cannot come to mean another one between the look at it
/// and the signal; and waits for its end, so that it writes no file while its folder goes.
#[cfg(target_os = "linux")]
fn kill(pid: Pid, server: &Path) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    const END_LIMIT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let works_in = fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero()))?;
    if works_in.starts_with(server.canonicalize()?) {
        pidfd_send_signal(&handle, Signal::KILL)?;
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&END_LIMIT))?;
    }
    Ok(())
}

/// The arguments of a server name its folder.
#[cfg(not(target_os = "linux"))]
fn kill(pid: Pid, server: &Path) -> io::Result<()> {
    let number = pid.as_raw_nonzero().to_string();
    let shown =
        std::process::Command::new("ps").args(["-ww", "-o", "args=", "-p", &number]).output()?;
    if String::from_utf8_lossy(&shown.stdout).contains(&*server.to_string_lossy()) {
        rustix::process::kill_process(pid, Signal::KILL)?;
    }
    Ok(())
}
