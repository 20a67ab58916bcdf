#![doc = include_str!("../README.md")]

pub mod backend;
pub mod capabilities;
pub mod change;
pub mod clause;
pub mod client;
pub mod clock;
pub mod decide;
pub mod draft;
pub mod error;
#[cfg(feature = "test-hooks")]
mod hooks;
pub mod id;
pub mod lease;
pub mod limit;
pub mod memory;
pub mod policy;
pub mod query;
pub mod request;
pub mod state;
pub mod stored;
pub mod task;
pub mod typed;
pub mod verdict;

pub use backend::{Backend, BackendExt, Wake};
pub use capabilities::{CONTRACT_VERSION, Capabilities, Durability, Failover, Features};
pub use change::{Budget, Change, Edit, Event, OnLeased, Record, Role, To, When};
pub use client::{Client, End, Enqueueing, Receipt};
pub use clock::{Clock, ManualClock, Timestamp};
pub use decide::{Entered, Intervention, Operator, Outcome, Retry, Unknown};
pub use draft::{Draft, IntoDraft};
pub use error::{Error, ErrorKind};
#[cfg(feature = "test-hooks")]
pub use hooks::{Misplaced, Planted};
pub use id::{ClaimerId, DecisionId};
pub use lease::{Fence, Guard, Lease, Purpose};
pub use limit::{Bounds, LimitKey};
pub use memory::MemoryBackend;
pub use policy::{Backoff, Delivery, Jitter, Keep, Policy, Retention, RetryPolicy};
pub use query::{Counts, Cursor, Events, Filter, Page, QueueInfo, QueuePage, QueueSettings};
pub use request::{
    Claim, Commit, CommitItem, Configure, Count, Enqueue, Get, List, Purge, Queues, Renew,
    RenewItem, Request, Ticket,
};
pub use state::{DeadReason, State, Status};
pub use task::{Due, Headers, History, NewTask, Payload, Priority, Shown, StoredTask, TaskRef};
pub use typed::Task;
pub use verdict::{
    Applied, Claimed, CommitVerdict, DuplicateCause, EnqueueVerdict, Found, Left, LostReason,
    Purged, RenewVerdict,
};
