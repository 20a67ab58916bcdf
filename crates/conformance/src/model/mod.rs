//! The contract as one relation: [`step`] takes what a queue holds, a call and an answer, and
//! tells what the queue holds then, or which clause forbids that answer.
//!
//! Whatever judges a store from outside calls it: vectors with right and wrong answers, random
//! histories, all orders of a few calls, concurrent lanes, and the check of every state that the
//! protocol can reach. It shares no code with the memory backend, so that each examines the
//! other.

mod claim;
mod commit;
mod op;
mod play;
mod queue;
mod rules;
mod single;
mod step;

pub use op::{Op, Reply};
pub use play::Choices;
pub use queue::{Grant, Kept, Model, Recorded};
pub use rules::{Admission, Contract, Draw, Extended, Rules};
pub use single::{grant, grantable, standing};
pub use step::{Breach, predict, predict_by, step};
