//! All orders of a race: scripts of a few verbs, played in every interleaving.
//!
//! A race between verbs is nothing but an order of calls, so that all of them can be played, and
//! none is left to luck. Each order has a queue of its own, and each answer is judged by
//! [`model::step`](crate::model::step).

mod interleaving;
mod race;
mod script;

pub use interleaving::Orders;
pub(crate) use race::{Met, Played, Race, Stage};
pub(crate) use script::{Script, Step};
