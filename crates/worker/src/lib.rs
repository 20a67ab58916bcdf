#![doc = include_str!("../README.md")]

mod claims;
mod clock;
mod commits;
mod context;
mod done;
mod drain;
mod failure;
mod handler;
mod health;
mod held;
mod janitor;
mod log;
#[cfg(feature = "metrics")]
mod metrics;
mod observe;
mod pulse;
mod rescuer;
mod run;
mod serving;
mod shutdown;
mod signature;
mod signs;
mod started;
mod tickets;
mod worker;

pub use context::Context;
pub use done::{AsItIs, AsResult, Done, IntoDone};
pub use failure::{Failure, FailureExt};
pub use handler::Handler;
pub use health::{Failing, Health, Loop, LoopReport, Phase, Report, Tally};
pub use held::Loss;
pub use observe::{Notice, Observer, Verdict};
pub use signs::Cancelled;
pub use worker::Worker;
