//! The worker processes: this program again, as often as it takes.

use std::env;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::time::interval;

use crate::say;
use crate::trouble::Trouble;

/// How many run at a time: when one dies, the other sees the lease of its task lapse.
const AT_A_TIME: usize = 2;

/// Far more than the story kills. Beyond it something else kills them, and for ever.
const STARTS_MAX: usize = 30;

/// How often it is looked whether they have stopped: for 10 s.
const LOOKS_MAX: usize = 200;
const LOOK: Duration = Duration::from_millis(50);

/// Running worker processes; dropping them kills them.
pub struct Workers {
    url: String,
    running: Vec<Child>,
    starts: usize,
}

impl Workers {
    pub fn start(url: &str) -> Result<Self, Trouble> {
        let mut workers = Self { url: url.to_owned(), running: Vec::new(), starts: 0 };
        workers.replace_the_dead()?;
        Ok(workers)
    }

    /// Starts a new process for each one that has ended.
    pub fn replace_the_dead(&mut self) -> Result<(), Trouble> {
        let mut ends = Vec::new();
        self.running.retain_mut(|worker| match worker.try_wait().transpose() {
            Some(end) => {
                ends.push((worker.id(), end));
                false
            }
            None => true,
        });
        for (id, end) in ends {
            tell_end(id, end.map_err(|error| broken("a worker process is lost", &error))?)?;
        }
        while self.running.len() < AT_A_TIME {
            self.start_one()?;
        }
        Ok(())
    }

    /// Lets them end by themselves.
    pub async fn stop(mut self) -> Result<(), Trouble> {
        let mut pace = interval(LOOK);
        for worker in &mut self.running {
            drop(worker.stdin.take());
        }
        for _ in 0..LOOKS_MAX {
            let ended =
                self.running.iter_mut().all(|worker| matches!(worker.try_wait(), Ok(Some(_))));
            if ended {
                return Ok(());
            }
            pace.tick().await;
        }
        Err(Trouble::Broken("a worker process does not stop".to_owned()))
    }

    fn start_one(&mut self) -> Result<(), Trouble> {
        if self.starts == STARTS_MAX {
            let what = format!("{STARTS_MAX} worker processes were started, and all die");
            return Err(Trouble::Broken(what));
        }
        let program = env::current_exe();
        let program = program.map_err(|error| broken("this program is not to be found", &error))?;
        // The pipe to its stdin stays open for as long as this process is there.
        let worker = Command::new(program)
            .args(["worker", "--url", &self.url])
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| broken("no worker process can be started", &error))?;
        say(format_args!("             worker {} started", worker.id()));
        self.running.push(worker);
        self.starts += 1;
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.running {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// A worker that cannot start says why and ends with one of its own codes, and the next one
/// would do the same. Any other end is a death.
fn tell_end(id: u32, status: ExitStatus) -> Result<(), Trouble> {
    if matches!(status.code(), Some(1 | 2)) {
        return Err(Trouble::Broken(format!("worker {id} cannot work, as it says itself")));
    }
    say(format_args!("             worker {id} died: {status}"));
    Ok(())
}

fn broken(what: &str, error: &std::io::Error) -> Trouble {
    Trouble::Broken(format!("{what}: {error}"))
}
