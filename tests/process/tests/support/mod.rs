//! Worker processes from outside: their lines, their signals, and the store that they share.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod place;
pub mod process;

pub use place::Place;
pub use process::Process;
