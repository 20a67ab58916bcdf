//! The cases, one file a family.

pub mod race;
pub mod refuses;
