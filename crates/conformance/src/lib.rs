#![doc = include_str!("../README.md")]

mod actor;
mod case;
mod cases;
mod context;
mod expect;
mod gate;
mod harness;
pub mod model;
mod moves;
mod orders;
mod perform;
mod random;
mod run;
mod scene;
mod staged;
mod table;
mod untested;

pub use async_trait::async_trait;
pub use case::{Case, CaseClock, Needs};
pub use context::Fault;
pub use gate::{Gate, Way};
pub use harness::{Faults, Harness, HarnessError, Link, PlantedRecord, Profile, World};
pub use leasehold_core;
pub use orders::Orders;
pub use perform::perform;
pub use run::{Verdict, run_case, run_test};
pub use table::cases;
pub use untested::{PARTLY, UNTESTED};
