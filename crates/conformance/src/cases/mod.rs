//! The cases, one file a family.

pub mod dead;
pub mod follow;
pub mod held;
pub mod limit;
pub mod oper;
pub mod purge;
pub mod race;
pub mod refuses;
pub mod replay;
pub mod uniq;
