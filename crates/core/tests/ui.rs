//! What the compiler says to whoever leaves a verb or a verdict out: each file in `tests/ui/`
//! is one such mistake, and the `.stderr` beside it the whole error.
//!
//! Written anew by `TRYBUILD=overwrite cargo test -p leasehold-core --test ui`, with the
//! compiler that `rust-version` in Cargo.toml names: half of the words are its own.

#[test]
fn each_omission_is_named() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
