//! Leasehold: durable background tasks on the store that you already run.
//!
//! This crate is the one to depend on. It holds the whole model of [`leasehold_core`] under
//! its own name, opens a store by its URL ([`connect()`]), and has one cargo feature a store:
//!
//! | feature | store | default |
//! |---|---|---|
//! | `sqlite` | a SQLite file, compiled in | yes |
//! | `full` | every store that has landed | no |
//!
//! The memory store needs no feature. Start at [`Backend`], the contract that every store
//! keeps, and at [`decide`], the pure choices that a commit writes.
//!
//! ```
//! use leasehold::{BackendExt, Delivery, EnqueueVerdict, NewTask};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let store = leasehold::connect("memory:").await?;
//! let task = NewTask::new("resize", "cat.png", Delivery::at_least_once()).with_id("cat");
//! let verdict = store.enqueue_one("images", task).await?;
//! assert!(matches!(verdict, EnqueueVerdict::Enqueued { .. }));
//! # Ok::<(), leasehold::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod connect;

pub use connect::connect;
#[doc(inline)]
pub use leasehold_core::*;
#[cfg(feature = "derive")]
pub use leasehold_macros::Task;
#[cfg(feature = "worker")]
#[doc(inline)]
pub use leasehold_worker::*;

/// The SQL stores by their own types, for settings that no URL can say.
#[cfg(feature = "sqlite")]
pub use leasehold_sql as sql;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
