//! [`interleavings`]: every order in which several scripts can be played, or some of them.

use crate::random::Random;

/// How many orders of a race are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orders {
    /// Every one, for every kind of change: for a store that answers within microseconds.
    All,
    /// Every one for a success and for a failure, 200 for each other kind of change.
    Usual,
    /// This many for each kind of change, chosen by the seed.
    Some(usize),
}

/// The orders of three scripts of three steps: a race with more of them is played in a sample.
const ALL_MAX: usize = 1_680;

/// How many orders a sample has.
const SAMPLE: usize = 200;

impl Orders {
    /// How many of `total` orders are played of a kind of change; `common` is a success or a
    /// failure.
    pub(crate) fn of(self, total: usize, common: bool) -> usize {
        match self {
            Self::All if total <= ALL_MAX => total,
            Self::Usual if common && total <= ALL_MAX => total,
            Self::All | Self::Usual => total.min(SAMPLE),
            Self::Some(count) => total.min(count),
        }
    }
}

/// The number of orders of scripts of these lengths.
pub(crate) fn count(lengths: &[usize]) -> usize {
    let mut placed = 0;
    let of_one = lengths.iter().map(|length| {
        // So many ways to put this script's steps among those that stand already.
        (1..=*length).fold(1, |ways, step| {
            placed += 1;
            ways * placed / step
        })
    });
    of_one.product()
}

/// Orders of scripts of these lengths: each names, step by step, whose turn it is. Every order
/// once when `max` is their number or more, else `max` by chance, of which some may be equal.
pub(crate) fn interleavings(lengths: &[usize], max: usize, seed: u64) -> Vec<Vec<usize>> {
    let first: Vec<usize> =
        lengths.iter().enumerate().flat_map(|(whose, length)| vec![whose; *length]).collect();
    if count(lengths) > max {
        let mut random = Random::new(seed);
        return (0..max).map(|_| random.shuffled(&first)).collect();
    }
    let mut all = vec![first];
    while let Some(next) = all.last().and_then(|order| after(order)) {
        all.push(next);
    }
    all
}

/// The next order in the order of words; `None` after the last.
fn after(order: &[usize]) -> Option<Vec<usize>> {
    let mut order = order.to_vec();
    let fall = (1..order.len()).rev().find(|at| order[at - 1] < order[*at])?;
    let larger = (fall..order.len()).rev().find(|at| order[*at] > order[fall - 1])?;
    order.swap(fall - 1, larger);
    order[fall..].reverse();
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn three_scripts_of_three_steps_have_1680_orders_and_no_two_are_alike() {
        let all = interleavings(&[3, 3, 3], usize::MAX, 0);
        assert_eq!((all.len(), count(&[3, 3, 3])), (1_680, 1_680));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 1_680);
        assert!(all.iter().all(|order| (0..3).all(|who| of(order, who) == 3)));
    }

    #[test]
    fn lengths_may_differ_and_a_script_may_be_empty() {
        for lengths in [&[2, 1][..], &[4, 2, 3], &[0, 3], &[1], &[2, 2, 2, 2]] {
            assert_eq!(interleavings(lengths, usize::MAX, 0).len(), count(lengths), "{lengths:?}");
        }
        assert_eq!(count(&[3, 3, 3, 3]), 369_600);
    }

    #[test]
    fn a_sample_is_of_whole_orders_and_follows_its_seed() {
        let some = interleavings(&[3, 3, 3], 200, 7);
        assert_eq!(some.len(), 200);
        assert!(some.iter().all(|order| (0..3).all(|who| of(order, who) == 3)));
        assert_eq!(some, interleavings(&[3, 3, 3], 200, 7));
        assert_ne!(some, interleavings(&[3, 3, 3], 200, 8));
        assert!(some.iter().collect::<BTreeSet<_>>().len() > 150, "they hardly differ");
    }

    fn of(order: &[usize], who: usize) -> usize {
        order.iter().filter(|turn| **turn == who).count()
    }
}
