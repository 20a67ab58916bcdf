//! Leasehold: durable background tasks on the store that you already run.
//!
//! This crate is the one to depend on. It has under its own name the whole model of
//! [`leasehold_core`], the worker and the derive macro for task types, and it opens a store by
//! its URL ([`connect()`]).
//!
//! ```
//! use leasehold::{Client, Context, Failure, Task, Worker, connect};
//!
//! #[derive(serde::Serialize, serde::Deserialize, Task)]
//! #[task(kind = "resize", delivery = at_least_once)]
//! struct Resize {
//!     picture: String,
//! }
//!
//! async fn resize(task: Resize, cx: Context) -> Result<(), Failure> {
//!     println!("{}: attempt {}", task.picture, cx.attempt());
//!     Ok(())
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let client = Client::new(connect("memory:").await?);
//! client.enqueue(Resize { picture: "cat.png".to_owned() }).await?;
//! // A service says `run()` and works until SIGTERM or Ctrl-C.
//! let report = Worker::new(&client).handler(resize).drain().await?;
//! assert_eq!(report.tally.succeeded, 1);
//! # Ok::<(), leasehold::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | start at |
//! |---|---|
//! | make a type a task | [`Task`] |
//! | enqueue, look, wait for an end | [`Client`], [`Draft`] |
//! | run handlers | [`Worker`], [`Context`], [`Failure`], [`Done`] |
//! | see how a worker is | [`Health`], [`Observer`] |
//! | act as an operator | [`Intervention`], [`BackendExt::intervene`] |
//! | write a store or a tool | [`Backend`], the contract that every store keeps, and [`decide`], the pure choices that a commit writes |
//!
//! # Features
//!
//! | feature | brings | default |
//! |---|---|---|
//! | `derive` | `#[derive(Task)]` | yes |
//! | `worker` | the worker; a program that only makes tasks leaves it out | yes |
//! | `metrics` | counters of the worker, for a recorder of the crate `metrics` | no |
//! | `sqlite` | the store on a SQLite file, compiled in | yes |
//! | `redis` | the store on Redis or Valkey: one server, behind Sentinel, or a cluster | no |
//! | `tls` | connections by TLS to a store that is a server | no |
//! | `full` | every store that has landed | no |
//!
//! The memory store needs no feature.

mod connect;
mod redact;

pub use connect::connect;
#[doc(inline)]
pub use leasehold_core::*;
#[cfg(feature = "derive")]
pub use leasehold_macros::Task;
#[cfg(feature = "worker")]
#[doc(inline)]
pub use leasehold_worker::*;
pub use redact::redacted;

/// The Redis and Valkey store by its own types, for settings that no URL can say.
#[cfg(feature = "redis")]
pub use leasehold_redis as redis;
/// The SQL stores by their own types, for settings that no URL can say.
#[cfg(feature = "sqlite")]
pub use leasehold_sql as sql;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
