//! Wrong decisions of workers and rescuers, and wrong claims.

use std::time::Duration;

use leasehold_conformance::model::{Contract, Rules};
use leasehold_core::{Budget, Change, Event, Purpose, Role, State, To, When};

use super::Mutant;
use super::points::{By, Claims, Decides, Lapses, Rescues};
use crate::casts;
use crate::config::Ending;
use crate::law::Law;

const AT_ONCE: To = To::Waiting(When::After(Duration::ZERO));

pub fn mutants() -> Vec<Mutant> {
    let mut all = budgets();
    all.extend(claims());
    all
}

fn budgets() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "failures are retried without end",
            casts::race,
            Law::Budget,
            Decides(|_, ending, change| match ending {
                Ending::Failure => retry(Budget::SpendRetry),
                _ => change,
            }),
        ),
        Mutant::new(
            "lost workers are rescued without end",
            casts::race,
            Law::Budget,
            Rescues(|_, _| {
                Change::new(Role::Rescuer, AT_ONCE, Event::Lapsed).with_budget(Budget::SpendRescue)
            }),
        ),
        Mutant::new(
            "what is never to run after a loss is rescued",
            casts::never,
            Law::Budget,
            Rescues(|_, _| {
                Change::new(Role::Rescuer, AT_ONCE, Event::Lapsed).with_budget(Budget::SpendRescue)
            }),
        ),
        Mutant::new(
            "an at-most-once task is snoozed",
            casts::at_most_once,
            Law::Once,
            Decides(|_, ending, change| match ending {
                Ending::Snooze => retry(Budget::Keep),
                _ => change,
            }),
        ),
        Mutant::new(
            "an at-most-once task is released after its handler was entered",
            casts::at_most_once,
            Law::Once,
            Decides(|_, ending, change| match ending {
                Ending::Release => {
                    Change::new(Role::Worker, To::Waiting(When::Unchanged), Event::Released)
                }
                _ => change,
            }),
        ),
    ]
}

fn retry(budget: Budget) -> Change {
    Change::new(Role::Worker, AT_ONCE, Event::Failed).with_budget(budget)
}

fn claims() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "a claim to run takes a lapsed lease",
            casts::race,
            Law::Waits,
            By(Claims(|model, task| {
                Contract.claimable(model, task) || Contract.lapsed(model, task)
            })),
        ),
        Mutant::new(
            "a claim to run takes a lapsed lease, though it is never to run after a loss",
            casts::never,
            Law::Never,
            By(Claims(|model, task| {
                Contract.claimable(model, task) || Contract.lapsed(model, task)
            })),
        ),
        Mutant::new(
            "a claim takes what has succeeded",
            casts::race,
            Law::Finished,
            By(Claims(|model, task| {
                Contract.claimable(model, task) || task.state == State::Succeeded
            })),
        ),
        Mutant::new(
            "a claim does not wait for the due time",
            casts::endings,
            Law::Early,
            By(Claims(|_, task| task.state == State::Waiting && task.held_until.is_none())),
        ),
        Mutant::new(
            "a task that was revoked starts at once",
            casts::never,
            Law::Early,
            By(Claims(|model, task| task.state == State::Waiting && task.due <= model.now)),
        ),
        Mutant::new(
            "a task that was revoked starts never",
            casts::two_operators,
            Law::Drain,
            By(Claims(|model, task| Contract.claimable(model, task) && task.held_until.is_none())),
        ),
        Mutant::new(
            "a rescue takes live leases",
            casts::race,
            Law::Lapsed,
            By(Lapses(|_, task| matches!(task.state, State::Leased(_)))),
        ),
        Mutant::new(
            "nobody takes over from a lost rescuer",
            casts::race,
            Law::Drain,
            By(Lapses(|model, task| {
                Contract.lapsed(model, task) && task.state == State::Leased(Purpose::Run)
            })),
        ),
    ]
}
