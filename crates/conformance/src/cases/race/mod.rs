//! The three families of races that the contract is made against: a worker's late commit, a
//! rescuer's takeover, an operator's act, each with its matching path, for every change.

mod claims;
mod matching;
mod operator;
mod takeover;
mod worker;

pub(crate) use self::claims::*;
pub(crate) use self::matching::*;
pub(crate) use self::operator::*;
pub(crate) use self::takeover::*;
pub(crate) use self::worker::*;
