//! The scorecard: which cells of operation, precondition and verdict the histories reached.
//!
//! A cell that is listed and never reached says that the histories prove less than they seem
//! to; one that is reached and not listed, that somebody forgot a case or a store did what
//! cannot be.

mod cells;
mod listed;

use std::collections::BTreeMap;

use leasehold_core::Features;

use crate::model::{Model, Op, Reply};

/// Operation, precondition, verdict.
pub(crate) type Cell = (&'static str, &'static str, &'static str);

/// How often each cell was reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reached(BTreeMap<Cell, u64>);

impl Reached {
    /// Notes the cells of one step from `before` to `after`.
    pub fn note(&mut self, before: &Model, after: &Model, op: &Op, reply: &Reply) {
        for cell in cells::of(before, after, op, reply) {
            *self.0.entry(cell).or_default() += 1;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (cell, times) in &other.0 {
            *self.0.entry(*cell).or_default() += times;
        }
    }

    /// What was reached though it is not listed for these features, and how often.
    pub fn unlisted(&self, features: Features) -> Vec<String> {
        let listed = [listed(features), of(listed::RARE, features)].concat();
        let reached = self.0.iter().filter(|(cell, _)| !listed.contains(cell));
        reached
            .map(|((op, when, told), times)| format!("{op} | {when} | {told}: {times}"))
            .collect()
    }

    /// What is listed for these features and was never reached.
    pub fn unreached(&self, features: Features) -> Vec<String> {
        let unreached = listed(features).into_iter().filter(|cell| !self.0.contains_key(cell));
        unreached.map(|(op, when, told)| format!("{op} | {when} | {told}")).collect()
    }
}

/// The cells that a backend with these features can reach.
pub(crate) fn listed(features: Features) -> Vec<Cell> {
    of(listed::CELLS, features)
}

fn of(rows: &[listed::Row], features: Features) -> Vec<Cell> {
    let rows = rows.iter().filter(|(needs, ..)| features.contains(*needs));
    let cells = rows.flat_map(|(_, op, told, when)| when.iter().map(|when| (*op, *when, *told)));
    cells.collect()
}
