//! What the tests of this store share.
#![allow(dead_code, reason = "each test binary needs another part of it")]

pub mod faults;
pub mod harness;
pub mod raw;
pub mod residue;
pub mod servers;
pub mod world;
