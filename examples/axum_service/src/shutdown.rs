//! The way out: the first signal begins it, the second one does not wait.

use std::future::pending;
use std::io::{self, Write};
use std::process;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Hears of SIGTERM and Ctrl-C for the whole service.
pub struct Shutdown {
    begun: watch::Receiver<bool>,
}

impl Shutdown {
    /// Listens from now on, for as long as the process runs.
    pub fn listen() -> io::Result<Self> {
        let mut signals = Signals::listen()?;
        let (tell, begun) = watch::channel(false);
        tokio::spawn(async move {
            signals.next().await;
            // A closed pipe leaves nobody to tell, and is no reason to go on.
            let _ = writeln!(io::stdout(), "stopping");
            tell.send_replace(true);
            signals.next().await;
            // Leases that are still held lapse, and are rescued elsewhere.
            process::exit(1);
        });
        Ok(Self { begun })
    }

    /// Comes back when the service is to stop.
    pub fn begun(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut begun = self.begun.clone();
        async move {
            // The sender lives until the process ends.
            let _ = begun.wait_for(|begun| *begun).await;
        }
    }

    /// Comes back when the service is to have stopped: so long after it was told to.
    pub async fn overdue(&self, grace: Duration) {
        self.begun().await;
        let _ = timeout(grace, pending::<()>()).await;
    }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
