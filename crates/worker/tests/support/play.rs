//! A handler that does what its task says, and tells what it saw.

use std::sync::{Arc, Mutex};

use leasehold_core::Fence;
use leasehold_worker::{Cancelled, Context, Failure};
use tokio::sync::{Notify, watch};

/// What a handler does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Plan {
    /// Succeeds when the test says go, or as soon as it is cancelled.
    Succeed,
    /// The same, but it fails as soon as it is cancelled.
    Fail,
    /// The same, but it says as well that no retry can help.
    FailForGood,
    /// Goes on though it is cancelled, and succeeds when the test says go.
    GoOn,
    /// Panics when the test says go.
    Panic,
    /// Succeeds when the test says go, and panics as soon as it is cancelled.
    PanicWhenCancelled,
}

/// What the handlers of one test saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// A handler waits for this.
    pub go: Notify,
    /// The runs whose handlers were entered.
    runs: watch::Sender<Vec<Fence>>,
    cancelled: Mutex<Vec<Cancelled>>,
    at_work: Mutex<AtWork>,
}

/// How many handlers are at work, and how many were at most.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct AtWork {
    pub now: usize,
    pub most: usize,
}

impl Seen {
    /// The runs whose handlers were entered, in order.
    pub fn runs(&self) -> Vec<Fence> {
        self.runs.borrow().clone()
    }

    /// Comes back when so many handlers were entered; tells the run of the last one.
    pub async fn entered(&self, count: usize) -> Fence {
        let mut runs = self.runs.subscribe();
        let runs = runs.wait_for(|runs| runs.len() >= count).await.expect("it lives");
        *runs.last().expect("the count is 1 or more")
    }

    /// Why handlers were cancelled, in the order in which they saw it.
    pub fn cancelled(&self) -> Vec<Cancelled> {
        self.cancelled.lock().unwrap().clone()
    }

    pub fn at_work(&self) -> AtWork {
        *self.at_work.lock().unwrap()
    }
}

/// Counts a handler as at work until it has ended or was dropped.
struct Presence(Arc<Seen>);

impl Presence {
    fn of(fence: Fence, seen: &Arc<Seen>) -> Self {
        let mut at_work = seen.at_work.lock().unwrap();
        at_work.now += 1;
        at_work.most = at_work.most.max(at_work.now);
        drop(at_work);
        seen.runs.send_modify(|runs| runs.push(fence));
        Self(seen.clone())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.at_work.lock().unwrap().now -= 1;
    }
}

/// The body of a handler.
pub async fn play(plan: Plan, cx: Context<Arc<Seen>>) -> Result<(), Failure> {
    let seen = cx.state();
    let _presence = Presence::of(cx.fence(), seen);
    tokio::select! {
        biased;
        why = cx.cancelled() => seen.cancelled.lock().unwrap().push(why),
        () = seen.go.notified() => {
            assert!(plan != Plan::Panic, "it was told to panic");
            return Ok(());
        }
    }
    match plan {
        Plan::Succeed | Plan::Panic => Ok(()),
        Plan::Fail => Err(Failure::new("cancelled")),
        Plan::PanicWhenCancelled => panic!("it did not expect to be cancelled"),
        Plan::FailForGood => Err(Failure::new("cancelled half way").fatal()),
        Plan::GoOn => {
            seen.go.notified().await;
            Ok(())
        }
    }
}
