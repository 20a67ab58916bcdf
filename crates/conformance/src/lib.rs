#![doc = include_str!("../README.md")]

mod actor;
mod case;
#[doc(hidden)]
pub mod cases;
mod context;
mod expect;
mod harness;
mod moves;
mod run;
mod scene;
mod staged;
mod table;
mod untested;

pub use actor::Actor;
pub use case::{Case, Clock, Needs};
pub use context::{Context, Fault, Stop};
pub use harness::{Faults, Harness, HarnessError, Link, Planted, Profile, World};
pub use run::{Verdict, run_case, run_test};
pub use table::cases;
pub use untested::UNTESTED;
