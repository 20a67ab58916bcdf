//! Whether calls that overlap could have happened one step after the other, in an order that
//! their times allow and with replies that the model allows (LH-GEN-1): the search of Wing and
//! Gong, with Lowe's memo of what was tried.

mod pieces;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use leasehold_core::clause::{self, Clause};
use leasehold_core::{Events, Fence, Lease};

pub(crate) use pieces::{Piece, What, seen_fences};

use crate::model::{Draw, Model, Op, Reply, Rules, grant, grantable, predict_by, standing, step};

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// An order; how many states it took to find it.
    Order { states: usize },
    /// There is none; the piece that no longest order gets past.
    Nothing { stuck: usize },
    /// It gave up; never a pass.
    Unknown,
}

/// Searches an order of the pieces that begins at `start`, and gives up after so many states.
pub(crate) fn order(start: &Model, pieces: &[Piece], states_max: usize) -> Found {
    // One bit a piece.
    if pieces.len() > 128 {
        return Found::Unknown;
    }
    let counts = pieces.iter().any(|piece| matches!(piece.what, What::Step(Op::Count, _)));
    let fences = seen_fences(pieces);
    let mut search = Search {
        pieces,
        fences,
        counts,
        states_left: states_max,
        tried: HashMap::new(),
        furthest: (0, 0),
    };
    let start = search.plain(start.clone());
    match search.from(0, &start) {
        Some(true) => Found::Order { states: states_max - search.states_left },
        Some(false) => Found::Nothing { stuck: search.furthest.1 },
        None => Found::Unknown,
    }
}

/// The clause that a history breaks which cannot get past this piece.
pub(crate) fn clause_of(piece: &Piece) -> Clause {
    match &piece.what {
        What::Grant(..) => clause::CLAIM_2,
        What::Again { .. } => clause::CLAIM_9,
        What::Passed(..) => clause::CLAIM_4,
        What::Step(Op::Get(_), _) => clause::READ_1,
        _ => clause::GEN_1,
    }
}

struct Search<'a> {
    pieces: &'a [Piece],
    /// The fences that the replies show, by task: a step whose reply nobody saw gave one of
    /// them, or one that nobody ever saw.
    fences: BTreeMap<String, BTreeSet<Fence>>,
    /// Whether the counters of events are looked at.
    counts: bool,
    states_left: usize,
    /// By the set of pieces that are done, the states that led nowhere.
    tried: HashMap<u128, Vec<Model>>,
    /// How many pieces were done at most, and the next one to return then.
    furthest: (u32, usize),
}

impl Search<'_> {
    /// Whether the other pieces fit behind those that are done; `None` when it gave up.
    fn from(&mut self, done: u128, model: &Model) -> Option<bool> {
        let rest = (0..self.pieces.len()).filter(|at| done & (1 << at) == 0);
        let rest: Vec<_> = rest.collect();
        let backs = rest.iter().filter_map(|&at| Some((self.pieces[at].back?, at)));
        let Some((back, next)) = backs.min() else { return Some(true) };
        if self.tried.get(&done).is_some_and(|tried| tried.contains(model)) {
            return Some(false);
        }
        self.states_left = self.states_left.checked_sub(1)?;
        self.furthest = self.furthest.max((done.count_ones(), next));
        // Whatever was called before the first of them returned may be the next step.
        let mut nexts: Vec<_> =
            rest.into_iter().filter(|&at| self.pieces[at].call < back).collect();
        nexts.sort_by_key(|&at| self.pieces[at].back.unwrap_or(u64::MAX));
        for at in nexts {
            let after = self.steps(model, &self.pieces[at].what);
            // A step that changes nothing wherever it stands can be done as soon as it may: no
            // order is lost. One that writes what is there already would write more elsewhere.
            let piece = &self.pieces[at];
            let idle = piece.changed_nothing() && after.first() == Some(model);
            for after in after {
                if self.from(done | 1 << at, &after)? {
                    return Some(true);
                }
            }
            if idle {
                break;
            }
        }
        self.tried.entry(done).or_default().push(model.clone());
        Some(false)
    }

    /// Where the piece may lead from here.
    fn steps(&self, model: &Model, what: &What) -> Vec<Model> {
        let after = match what {
            What::Step(op, reply) => step(model, op, reply).into_iter().collect(),
            What::Maybe(op) => self.unseen(model, op),
            What::Grant(claim, lease) => granted(model, claim, lease),
            What::MaybeGrant(claim, id) => {
                let fences = self.unseen_fences(model, id).into_iter();
                let grants = fences.filter_map(|fence| grant(model, claim, id, fence));
                grants.map(|(after, _)| after).collect()
            }
            What::Again { claim, lease, may_grant } => {
                let id = &lease.task_ref.id;
                match standing(model, id, lease.fence) {
                    Some(standing) if standing == *lease => vec![model.clone()],
                    _ if *may_grant => granted(model, claim, lease),
                    _ => Vec::new(),
                }
            }
            What::Passed(claim, id) if !grantable(model, claim, id) => vec![model.clone()],
            What::Passed(..) => Vec::new(),
        };
        after.into_iter().map(|after| self.plain(after)).collect()
    }

    /// What a step may have done whose reply nobody saw.
    fn unseen(&self, model: &Model, op: &Op) -> Vec<Model> {
        let ids: Vec<&str> = match op {
            Op::Enqueue(tasks) => tasks.iter().map(|new| new.id.as_str()).collect(),
            Op::Commit(item) => {
                let follow_ups = item.change.follow_ups.iter().map(|new| new.id.as_str());
                std::iter::once(item.guard.task.id.as_str()).chain(follow_ups).collect()
            }
            _ => Vec::new(),
        };
        let mut drawn = vec![BTreeMap::new()];
        for id in ids {
            let fences = self.unseen_fences(model, id);
            let more = drawn.into_iter().flat_map(|drawn| {
                fences.iter().map(move |fence| {
                    let mut drawn = drawn.clone();
                    drawn.insert(id.to_owned(), *fence);
                    drawn
                })
            });
            drawn = more.collect();
        }
        let mut after = Vec::new();
        for drawn in drawn {
            let (next, reply) = predict_by(&Drawn(drawn), model, op);
            if !matches!(reply, Reply::Refused(_)) && next != *model && !after.contains(&next) {
                after.push(next);
            }
        }
        after
    }

    /// The fences that an unseen step may have given the task: each that was seen later, and
    /// the one above its last for all that were not.
    fn unseen_fences(&self, model: &Model, id: &str) -> Vec<Fence> {
        let last = model.fences.get(id).copied().unwrap_or(Fence::new(0));
        let later = self.fences.get(id).into_iter().flatten().copied();
        let mut fences: BTreeSet<_> = later.filter(|fence| *fence > last).collect();
        fences.insert(Fence::new(last.value() + 1));
        fences.into_iter().collect()
    }

    /// The state without what no later step depends on, so that more states are equal.
    fn plain(&self, mut model: Model) -> Model {
        model.grants.clear();
        if !self.counts {
            model.events = Events::default();
        }
        model
    }
}

fn granted(model: &Model, claim: &leasehold_core::Claim, lease: &Lease) -> Vec<Model> {
    let granted = grant(model, claim, &lease.task_ref.id, lease.fence);
    granted.filter(|(_, want)| want == lease).map(|(after, _)| after).into_iter().collect()
}

/// The contract, with these fences drawn.
struct Drawn(BTreeMap<String, Fence>);

impl Rules for Drawn {
    fn fence(&self, _model: &Model, id: &str, _why: Draw, drawn: Fence) -> Fence {
        self.0.get(id).copied().unwrap_or(drawn)
    }
}
