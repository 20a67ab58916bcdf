//! Clauses without a case, each with the reason.

/// Clause id and why no case of this suite proves it.
pub const UNTESTED: &[(&str, &str)] = &[];
