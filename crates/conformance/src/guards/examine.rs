//! [`examine`]: the backend without one guard after another, and what the suite makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use leasehold_core::Clock;
use leasehold_core::clause::Clause;

use super::findings::{Findings, Kill, Survivor};
use super::likely;
use super::mark::Mark;
use crate::case::Case;
use crate::entry::proved_apart;
use crate::harness::Harness;
use crate::orders::Orders;
use crate::run::Plan;
use crate::settings::Settings;
use crate::table::cases;
use crate::verdict::Verdict;

/// Enough that no guard is missed which an order can miss, and few enough that all are tried.
const ORDERS: Orders = Orders::Some(20);

/// Takes each marked line away until a case reports its clause, and answers which case that was,
/// and which lines all cases survive without.
///
/// `make` is asked for the backend without the line, once a mark, and with `None` for the backend
/// as it is written, on which every case that has missed a guard must pass. So many marks as
/// `lanes` says are tried at once, each on a thread of its own: 1 where a line can only be taken
/// away for the whole process.
///
/// Blocks until all is done, so it must not be called on a runtime.
pub fn examine<H: Harness>(
    marks: &[Mark],
    lanes: usize,
    make: impl Fn(Option<&Mark>) -> H + Sync,
) -> Findings {
    // What a guard of the second sort needs is known best to the cases that miss the first sort.
    let (wide, narrow): (Vec<&Mark>, Vec<&Mark>) =
        marks.iter().partition(|mark| likely::is_everywhere(mark.clause));
    let trial = |mark: &&Mark, near: &[&'static Case]| trial(mark, near, &make(Some(mark)));
    let narrow = side_by_side(&narrow, lanes, |mark| (*mark, trial(mark, &[])));
    let wide = side_by_side(&wide, lanes, |mark| (*mark, trial(mark, &near(mark, &narrow))));

    let mut tried: Vec<_> = narrow.into_iter().chain(wide).collect();
    tried.sort_by(|(a, _), (b, _)| (&a.file, a.line).cmp(&(&b.file, b.line)));
    let mut findings = Findings::default();
    let mut killers = BTreeMap::new();
    for (_, ended) in tried {
        match ended {
            Ok((kill, case)) => {
                killers.insert(case.id, case);
                findings.kills.push(kill);
            }
            Err(survivor) => findings.survivors.push(survivor),
        }
    }
    let killers: Vec<_> = killers.into_values().collect();
    let held = side_by_side(&killers, lanes, |case| unsound(case, &make(None)));
    findings.unsound = held.into_iter().flatten().collect();
    findings
}

/// How a guard's trial ended.
type Ended = Result<(Kill, &'static Case), Survivor>;

/// The cases that have missed other guards: those of the same file first, by the distance of lines.
fn near(mark: &Mark, tried: &[(&Mark, Ended)]) -> Vec<&'static Case> {
    let killer = |(other, ended): &(&Mark, Ended)| {
        let (_, case) = ended.as_ref().ok()?;
        Some((other.file != mark.file, other.line.abs_diff(mark.line), *case))
    };
    let mut killers: Vec<_> = tried.iter().filter_map(killer).collect();
    killers.sort_by_key(|(elsewhere, distance, _)| (*elsewhere, *distance));
    let mut seen = BTreeSet::new();
    killers.into_iter().map(|(.., case)| case).filter(|case| seen.insert(case.id)).collect()
}

fn trial(mark: &Mark, near: &[&'static Case], harness: &dyn Harness) -> Ended {
    let clock = Clock::default();
    let begin = clock.now();
    let mut seen = Vec::new();
    let proving = likely::proving(mark.clause, cases(), near);
    for case in &proving {
        let verdict = verdict(harness, case);
        if names(&verdict, mark.clause) {
            let took = clock.now().since(begin);
            let (place, clause) = (mark.place(), mark.clause.id);
            return Ok((Kill { place, clause, case: case.id, took }, case));
        }
        seen.extend(objection(case, &verdict));
    }
    // None left to look at where every case was one that proves it.
    if !likely::is_everywhere(mark.clause) {
        for case in likely::bystanders(mark.clause, cases()) {
            seen.extend(objection(case, &verdict(harness, case)));
        }
    }
    Err(Survivor { place: mark.place(), clause: mark.clause.id, guard: mark.guard.clone(), seen })
}

/// What a case objects to although no guard is missing: that it fails without one proves nothing.
fn unsound(case: &Case, harness: &dyn Harness) -> Option<String> {
    objection(case, &verdict(harness, case))
}

/// On a runtime of its own, so that nothing of a store outlives its case.
fn verdict(harness: &dyn Harness, case: &Case) -> Verdict {
    let settings = Settings::default().with_orders(ORDERS);
    let ended = Plan::of(harness, &settings, cases())
        .and_then(|plan| proved_apart(harness, case, &plan))
        .map(|outcome| outcome.verdict);
    ended.unwrap_or_else(|why| Verdict::Stopped { why, faults: Vec::new() })
}

/// Whether a fault was reported, and names the clause. A case that only stopped says nothing
/// about which clause is broken.
fn names(verdict: &Verdict, clause: &Clause) -> bool {
    match verdict {
        Verdict::Fail(faults) | Verdict::Stopped { faults, .. } => {
            faults.iter().any(|fault| fault.clause.id == clause.id)
        }
        _ => false,
    }
}

/// A verdict that is not good, in a line.
fn objection(case: &Case, verdict: &Verdict) -> Option<String> {
    let told = match verdict {
        Verdict::Pass | Verdict::Inapplicable | Verdict::Unsupported => return None,
        Verdict::Fail(faults) => (String::new(), &faults[..]),
        Verdict::Stopped { why, faults } => (format!("{why}; "), &faults[..]),
        other => (format!("{other:?}"), &[][..]),
    };
    let faults = told.1.iter().map(|fault| format!("{}: {}", fault.clause.id, fault.what));
    let line = told.0 + &faults.collect::<Vec<_>>().join("; ");
    Some(format!("{}: {}", case.id, line.lines().next().unwrap_or_default()))
}

/// What `each` makes of the items, in their order, so many at once.
fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    lanes: usize,
    each: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return made };
            made.push((at, each(item)));
        }
    };
    let mut made: Vec<_> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes.max(1)).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("a case's panic is caught")).collect()
    });
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, one)| one).collect()
}
