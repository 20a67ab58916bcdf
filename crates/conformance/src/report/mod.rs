//! [`Report`]: what a run proved, for people and for machines.

mod badge;
mod build;
mod junit;
mod text;
mod totals;
mod write;

use serde::Serialize;

use crate::verdict::Word;

pub use totals::Totals;
pub(crate) use write::Format;

/// What a run of the suite proved. As JSON it follows `schema/report.schema.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The version of the suite.
    pub suite: String,
    /// The version of the contract, major and minor.
    pub contract: String,
    /// Whether nothing is red.
    pub green: bool,
    /// Why the run says less than the whole suite would; empty when it was whole.
    pub partial: Vec<String>,
    /// What is wrong apart from the cases, each red.
    pub problems: Vec<String>,
    /// The backend.
    pub backend: BackendReport,
    /// The seed of everything random.
    pub seed: u64,
    /// How many orders an order case played.
    pub orders: String,
    /// Whether provisional cases were binding.
    pub strict: bool,
    /// The command that makes such a report again.
    pub reproduce: String,
    /// How many cases ended how.
    pub totals: Totals,
    /// The same for each level: `core`, and `extended` by whichever features.
    pub levels: Vec<Group>,
    /// The same for the cases that need a feature, one entry a feature; a case that needs two
    /// counts for both.
    pub features: Vec<Group>,
    /// The same for each kind of case.
    pub kinds: Vec<Group>,
    /// The clauses that the cases of this run name, in the contract's order.
    pub clauses: Vec<ClauseReport>,
    /// The clauses that no case proves.
    pub untested: Vec<Gap>,
    /// The clauses that cases prove in part.
    pub partly: Vec<Gap>,
    /// The cases of this run, in the suite's order.
    pub cases: Vec<CaseReport>,
}

/// The backend that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackendReport {
    /// Its name.
    pub name: String,
    /// The version of its crate, if the harness tells it.
    pub version: Option<String>,
    /// The version of the server or library that it stores in, if the harness tells it.
    pub server_version: Option<String>,
    /// The features that it declares.
    pub declared: Vec<String>,
    /// The features that it was seen to refuse.
    pub refused: Vec<String>,
    /// What an acknowledgement is worth, as its capabilities tell; `None` when no handle was
    /// opened.
    pub durability: Option<DurabilityReport>,
    /// How the store was set up as to durability, in the harness's words.
    pub durability_setup: Option<String>,
    /// The kinds of clock on which cases ran: `manual`, `real`.
    pub clocks: Vec<String>,
}

/// Which acknowledged effects survive what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DurabilityReport {
    /// A crash of the store's process.
    pub process_crash: bool,
    /// A crash of the store's host.
    pub host_crash: bool,
    /// The loss of a node: `single`, `no`, `yes` or `by-waiting`.
    pub failover: String,
}

/// The totals of some cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// What they have in common.
    pub name: String,
    /// How many ended how.
    pub totals: Totals,
}

/// One clause, as the cases of a run saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClauseReport {
    /// The clause's id.
    pub id: String,
    /// Who has to keep it.
    pub level: String,
    /// The worst verdict of its cases.
    pub verdict: Word,
    /// How many cases name it.
    pub cases: usize,
    /// The case that took longest.
    pub slowest: String,
    /// How long that took.
    pub slowest_ms: u64,
    /// The clause itself.
    pub text: String,
}

/// A clause that is not proved, or not wholly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Gap {
    /// The clause's id.
    pub clause: String,
    /// Why, or what is missing.
    pub why: String,
}

/// One case of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CaseReport {
    /// The case's id.
    pub id: String,
    /// How it looks for faults.
    pub kind: String,
    /// The features without which it binds nobody; none for a case of the core.
    pub needs: Vec<String>,
    /// The first version of the suite that had it.
    pub since: String,
    /// Whether it is not binding yet.
    pub provisional: bool,
    /// The clauses that it proves.
    pub clauses: Vec<String>,
    /// How it ended.
    pub verdict: Word,
    /// Whether it turns the run red.
    pub red: bool,
    /// How long it took.
    pub duration_ms: u64,
    /// What is to be said beyond the verdict, a paragraph each.
    pub details: Vec<String>,
    /// Its calls as lanes and the store's records, if it failed.
    pub trace: Option<String>,
    /// The command that runs it alone.
    pub replay: String,
}
