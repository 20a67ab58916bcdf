//! What a test says to the process on stdin.

use std::collections::HashSet;
use std::future::pending;
use std::thread;

use tokio::sync::watch;

/// The ids whose handlers may go on.
pub struct Orders(watch::Receiver<HashSet<String>>);

impl Orders {
    /// Reads `go ID` lines from now on, and ends the process when nobody can say more: a test
    /// that is gone leaves no worker behind.
    pub fn listen() -> Self {
        let (told, orders) = watch::channel(HashSet::new());
        // Not by the runtime, which would wait for the next line before it ends.
        thread::spawn(move || {
            for line in std::io::stdin().lines() {
                let line = line.expect("a test writes UTF-8");
                let id = line.strip_prefix("go ").expect("the one order is: go ID");
                told.send_modify(|ids| ids.extend([id.to_owned()]));
            }
            std::process::exit(3);
        });
        Self(orders)
    }

    /// Comes back once the test has said `go ID`.
    pub async fn go(&self, id: &str) {
        let mut orders = self.0.clone();
        if orders.wait_for(|ids| ids.contains(id)).await.is_err() {
            // The reader has panicked, which is no order.
            pending::<()>().await;
        }
    }
}
