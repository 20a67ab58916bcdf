//! When a decision counts, and what the one who made it hears (LH-COMMIT).

mod batch;
mod replay;
mod verdict;

pub(crate) use self::batch::*;
pub(crate) use self::replay::*;
pub(crate) use self::verdict::*;
