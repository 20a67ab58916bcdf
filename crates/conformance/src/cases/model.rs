//! Whole histories, every reply of which is judged by the model (LH-GEN-1).

mod golden;

pub(crate) use golden::golden_vectors;
