//! No guard of a backend is there for nothing: each is taken away in turn, and a case must miss it.
//!
//! A line of a script or statement that keeps a clause is marked: it ends in
//! `-- guard LH-FAMILY-n`, and the head of its file lists the clause after `-- Clauses: `.
//! [`marks`] finds the marked lines in the texts of [`Source`]s, and [`examine`] runs the suite
//! against the backend without one line after another. The guard is missed when a case reports a
//! fault that names the clause of the mark; the case must pass on the backend as it is written.
//! So nobody can lose a guard, and no case can go blind, unseen.
//!
//! It proves nothing about lines without a mark, nor about guards that stand in Rust.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use leasehold_conformance::guards::{Mark, Source, examine, marks};
//! # use leasehold_conformance::{Case, Harness, HarnessError, Profile, World, async_trait};
//! # struct MyStore;
//! # impl MyStore { fn new(edited: Option<(&str, &str)>) -> Self { MyStore } }
//! # #[async_trait]
//! # impl Harness for MyStore {
//! #     fn profile(&self) -> Profile { unimplemented!() }
//! #     async fn world(&self, _: &Case) -> Result<Box<dyn World>, HarnessError> { unimplemented!() }
//! # }
//!
//! let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua");
//! let sources = Source::read_all(&folder).expect("the scripts are there");
//! let marks = marks(&sources).unwrap_or_else(|wrong| panic!("{}", wrong.join("\n")));
//! let without = |mark: Option<&Mark>| MyStore::new(mark.map(|m| (&*m.file, &*m.without)));
//! let findings = examine(&marks, 2, without);
//! println!("{findings}");
//! assert_eq!(findings.complaints(), "");
//! ```

mod examine;
mod findings;
mod likely;
mod mark;

pub use examine::examine;
pub use findings::{Findings, Kill, Survivor};
pub use mark::{Mark, Source, marks};
