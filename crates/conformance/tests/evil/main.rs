//! The suite's own exam: stores with one fault each, and the cases that have to find it.

mod backend;
mod harness;
mod sin;

use std::sync::Arc;

use leasehold_core::Features;

use crate::harness::Exam;
use crate::sin::Innocent;

/// The store without a fault passes the whole suite; so each verdict below is the fault's.
mod innocent {
    use super::*;
    leasehold_conformance::suite!(Exam { features: Features::all(), sin: || Arc::new(Innocent) });
}
