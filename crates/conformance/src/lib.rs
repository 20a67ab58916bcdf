#![doc = include_str!("../README.md")]

mod actor;
mod case;
mod cases;
mod context;
mod demand;
mod entry;
mod expect;
mod gate;
pub mod guards;
mod hands;
mod harness;
mod history;
mod known;
mod lanes;
mod linear;
mod list;
pub mod model;
mod moves;
mod orders;
mod overlap;
mod perform;
mod plan;
mod random;
mod report;
mod run;
mod scene;
mod scorecard;
mod sequence;
#[cfg(all(unix, feature = "servers"))]
pub mod servers;
mod settings;
mod short;
mod staged;
mod table;
mod trace;
mod untested;
pub mod vectors;
mod verdict;

pub use async_trait::async_trait;
pub use case::{Case, CaseClock, Kind, Level, Needs};
pub use context::Fault;
pub use entry::{main, main_with, run_test};
pub use gate::{Gate, Way};
pub use harness::{
    Faults, Harness, HarnessError, Lasting, Link, MissingHook, PlantedIndex, PlantedRecord,
    Profile, World,
};
pub use leasehold_core;
pub use orders::Orders;
pub use perform::perform;
pub use report::{
    BackendReport, CaseReport, ClauseReport, DurabilityReport, Gap, Group, Report, Totals,
};
pub use run::{Outcome, run, run_case};
pub use settings::{Filter, Settings};
pub use table::cases;
pub use untested::{PARTLY, UNTESTED};
pub use verdict::{Verdict, Word};
