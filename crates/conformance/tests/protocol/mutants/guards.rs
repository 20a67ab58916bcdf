//! Wrong guards: what lets a commit or a renew through, and what tells the others off.

use leasehold_conformance::model::{Admission, Contract, Draw, Model, Op, Reply, Rules};
use leasehold_core::{
    CommitItem, CommitVerdict, Fence, Purpose, Role, State, StoredTask, Timestamp, To,
};

use super::Mutant;
use super::points::{Admits, By, Loses, Numbers, Refuses};
use super::stores::applied;
use crate::casts;
use crate::fault::Fault;
use crate::law::Law;

pub fn mutants() -> Vec<Mutant> {
    let mut all = commits();
    all.extend(late());
    all.extend(answers());
    all.extend(fences());
    all
}

/// Lets in whatever the state admits when `holds` says so, and else what the contract does.
fn or_fitting(holds: bool, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
    if holds && Contract.fits(&item.change, task.state) {
        return Admission::Current;
    }
    Contract.admission(model, task, item)
}

fn commits() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "a worker's commit is checked by the id alone",
            casts::race,
            Law::Live,
            By(Admits(|model, task, item| {
                or_fitting(item.change.by == Role::Worker, model, task, item)
            })),
        ),
        Mutant::new(
            "a rescuer's commit is checked by the id alone",
            casts::race,
            Law::Live,
            By(Admits(|model, task, item| {
                or_fitting(item.change.by == Role::Rescuer, model, task, item)
            })),
        ),
        Mutant::new(
            "the state is the guard",
            casts::race,
            Law::Live,
            By(Admits(|model, task, item| or_fitting(true, model, task, item))),
        ),
        Mutant::new(
            "the holder's name is the guard",
            casts::race,
            Law::Live,
            By(Admits(|model, task, item| {
                let same = granted(model, item).is_some_and(|then| then.holder == task.holder);
                or_fitting(same, model, task, item)
            })),
        ),
        Mutant::new(
            "the attempt is the guard",
            casts::race,
            Law::Live,
            By(Admits(|model, task, item| {
                let same = granted(model, item).is_some_and(|then| then.attempt == task.attempt);
                or_fitting(same, model, task, item)
            })),
        ),
        Mutant::new(
            "a redrive resets the attempt, and that is the guard",
            casts::redriven,
            Law::Operator,
            Reset,
        ),
        Mutant::new(
            "an operator writes whatever was seen",
            casts::two_operators,
            Law::Operator,
            By(Admits(|model, task, item| {
                or_fitting(item.change.by == Role::Operator, model, task, item)
            })),
        ),
    ]
}

/// The attempt is the guard, and a redrive puts it back to 0.
struct Reset;

impl Rules for Reset {
    fn admission(&self, model: &Model, task: &StoredTask, item: &CommitItem) -> Admission {
        let same = granted(model, item).is_some_and(|then| then.attempt == task.attempt);
        or_fitting(same, model, task, item)
    }
}

impl Fault for Reset {
    fn rules(&self) -> &dyn Rules {
        self
    }

    fn after(&self, _: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        let Some((item, _)) = applied(op, reply) else { return };
        let kept = next.tasks.get_mut(&item.guard.task.id);
        if let Some(kept) = kept.filter(|_| item.change.is_redrive()) {
            kept.task.attempt = 0;
        }
    }
}

/// The task as the claim that the item shows had left it.
fn granted<'a>(model: &'a Model, item: &CommitItem) -> Option<&'a StoredTask> {
    let grant = model.grants.get(&(item.guard.task.id.clone(), item.guard.fence))?;
    Some(&grant.task)
}

fn is_success(item: &CommitItem) -> bool {
    item.change.by == Role::Worker && item.change.to == To::Succeeded
}

fn late() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "a late success counts after the next run began",
            casts::race,
            Law::Live,
            By(Admits(|model, task, item| {
                let ran = granted(model, item).is_some() && !task.state.is_finished();
                match Contract.admission(model, task, item) {
                    Admission::No if is_success(item) && ran => Admission::Late,
                    admission => admission,
                }
            })),
        ),
        Mutant::new(
            "a late failure counts",
            casts::race,
            Law::Live,
            By(Admits(|model, task, item| {
                let newest = task.run == Some(item.guard.fence) && item.change.by == Role::Worker;
                match Contract.admission(model, task, item) {
                    Admission::No if newest => Admission::Late,
                    admission => admission,
                }
            })),
        ),
        Mutant::new(
            "no late success counts",
            casts::race,
            Law::Applied,
            By(Admits(|model, task, item| match Contract.admission(model, task, item) {
                Admission::Late => Admission::No,
                admission => admission,
            })),
        ),
        Mutant::new(
            "a late success counts only while the rescue is undecided",
            casts::race,
            Law::Applied,
            By(Admits(|model, task, item| match Contract.admission(model, task, item) {
                Admission::Late if task.state != State::Leased(Purpose::Rescue) => Admission::No,
                admission => admission,
            })),
        ),
        Mutant::new(
            "an overdue commit is refused",
            casts::race,
            Law::Applied,
            By(Admits(|model, task, item| match Contract.admission(model, task, item) {
                Admission::Current if over(task, model.now) => Admission::No,
                admission => admission,
            })),
        ),
    ]
}

fn over(task: &StoredTask, now: Timestamp) -> bool {
    task.until.is_some_and(|until| until <= now)
}

fn answers() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "a repeated commit is Stale",
            casts::race,
            Law::Replayed,
            By(Refuses(|task, _| CommitVerdict::Stale {
                fence: task.fence,
                state: Some(task.state),
            })),
        ),
        Mutant::new(
            "Replayed goes by the fence alone",
            casts::two_operators,
            Law::Replayed,
            By(Refuses(|task, item| {
                match task.shown.is_some_and(|shown| shown.fence == item.guard.fence) {
                    true => CommitVerdict::Replayed,
                    false => Contract.refusal(task, item),
                }
            })),
        ),
        Mutant::new(
            "nothing is Gone below born",
            casts::used_again,
            Law::Gone,
            By(Refuses(|task, item| match Contract.refusal(task, item) {
                CommitVerdict::Gone => {
                    CommitVerdict::Stale { fence: task.fence, state: Some(task.state) }
                }
                verdict => verdict,
            })),
        ),
        Mutant::new(
            "a renew ignores the fence",
            casts::limit,
            Law::Renew,
            By(Loses(|model, task, guard| {
                let mut current = guard.clone();
                current.fence = task.fence;
                Contract.lost(model, task, &current)
            })),
        ),
        Mutant::new(
            "a renew revives a lease that has lapsed",
            casts::limit,
            Law::Renew,
            By(Loses(|model, task, guard| {
                let live = guard.fence == task.fence && task.until.is_some();
                if live { None } else { Contract.lost(model, task, guard) }
            })),
        ),
        Mutant::new(
            "a renew goes by time alone after the clock went back",
            casts::clock_set_back,
            Law::Limit,
            By(Loses(|model, task, guard| {
                let live = guard.fence == task.fence && task.until > Some(model.now);
                if live { None } else { Contract.lost(model, task, guard) }
            })),
        ),
    ]
}

fn current(model: &Model, id: &str, drawn: Fence) -> Fence {
    model.task(id).map_or(drawn, |task| task.fence)
}

fn fences() -> Vec<Mutant> {
    vec![
        Mutant::new(
            "a rescue keeps the fence of the run",
            casts::race,
            Law::Fences,
            By(Numbers(|model, id, why, drawn| match why {
                Draw::Claim(Purpose::Rescue) => current(model, id, drawn),
                _ => drawn,
            })),
        ),
        Mutant::new(
            "an operator's act keeps the fence",
            casts::two_operators,
            Law::Fences,
            By(Numbers(|model, id, why, drawn| match why {
                Draw::Commit(Role::Operator) => current(model, id, drawn),
                _ => drawn,
            })),
        ),
        Mutant::new(
            "a commit keeps the fence",
            casts::race,
            Law::Fences,
            By(Numbers(|model, id, why, drawn| match why {
                Draw::Commit(Role::Worker) => current(model, id, drawn),
                _ => drawn,
            })),
        ),
        Mutant::new(
            "fences begin anew with an id that is used again",
            casts::used_again,
            Law::Fences,
            By(Numbers(|_, _, why, drawn| match why {
                Draw::Enqueue => Fence::new(1),
                _ => drawn,
            })),
        ),
    ]
}
