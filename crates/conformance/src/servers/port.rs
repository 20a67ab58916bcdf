//! [`Port`]: a port of the loopback interface that stays a server's own while it is down.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

use super::ServerError;

/// Below the ports that systems give to outgoing connections (from 32768 on Linux, from 49152
/// elsewhere): a client that keeps calling a killed server would sooner or later be given that
/// very port for its own end, and the server could not start again.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port, claimed among all test processes of this user by the lock on a file.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) number: u16,
    _lock: File,
}

impl Port {
    /// Claims the next free port; `folder` has one file a port. Between two claims of one
    /// process all others come, so that an old server's clients do not meet a new one.
    pub(super) fn claim(folder: &Path) -> Result<Self, ServerError> {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        // Processes that begin at the same place would only be slower.
        let begin = process::id().wrapping_mul(97);
        for _ in 0..COUNT {
            let step = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed).into());
            let offset = u16::try_from(step % u32::from(COUNT)).expect("a rest below COUNT");
            if let Some(port) = Self::try_claim(folder, FIRST + offset)? {
                return Ok(port);
            }
        }
        Err(ServerError::new(format!("all ports from {FIRST} to {} are taken", FIRST + COUNT)))
    }

    fn try_claim(folder: &Path, number: u16) -> Result<Option<Self>, ServerError> {
        let path = folder.join(number.to_string());
        // The file stays when the port is free again: who removed it could take it from
        // somebody who has just opened it.
        let lock = File::options().create(true).append(true).open(&path);
        let lock = lock.map_err(|error| ServerError::io(path.display(), error))?;
        let is_claimed = lock.try_lock().is_ok();
        let is_free = is_claimed && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok();
        Ok(is_free.then_some(Self { number, _lock: lock }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_claimed_once_and_only_while_nobody_listens() {
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        let claim = |number| Port::try_claim(folder.path(), number).expect("a folder of our own");
        let port = Port::claim(folder.path()).expect("there are free ports");
        let number = port.number;
        assert!(claim(number).is_none(), "its server may be down, and it is its own still");
        assert_ne!(Port::claim(folder.path()).expect("there are free ports").number, number);
        drop(port);
        assert!(claim(number).is_some());
        let _listens = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).expect("it is free");
        assert!(claim(number).is_none());
    }
}
