//! The laws of enqueues and reads, and what must stand after every step.

use leasehold_core::{
    Budget, CommitItem, DuplicateCause, EnqueueVerdict, Found, NewTask, Role, State,
};

use super::{Judged, Law, grows, must};
use crate::config::Config;
use crate::past::Past;
use crate::world::World;

pub fn enqueued(
    config: &Config,
    world: &mut World,
    new: &NewTask,
    verdict: &EnqueueVerdict,
) -> Judged {
    let now = world.model.now;
    let past = world.past.get(&new.id);
    let there = past.filter(|past| past.left.is_none_or(|until| until > now));
    let holder = new.unique.as_ref().and_then(|key| open_holder(config, world, key));
    match verdict {
        EnqueueVerdict::Enqueued { fence } => {
            grows(past, *fence)?;
            must(Law::Enqueue, there.is_none(), || format!("{} is taken twice", new.id))?;
            must(Law::Unique, holder.is_none(), || {
                format!("{} is taken, and {holder:?} holds its key", new.id)
            })?;
            world.past.insert(new.id.clone(), Past::born(*fence, new.due.instant(now)));
        }
        EnqueueVerdict::Duplicate { cause: DuplicateCause::Id, state, .. } => {
            let want = there.map(|past| past.left.is_none().then_some(past.state));
            must(Law::Enqueue, want == Some(*state), || {
                format!("{} is a Duplicate in {state:?}, and is {want:?}", new.id)
            })?;
        }
        EnqueueVerdict::Duplicate { cause: DuplicateCause::Key, holder: told, .. } => {
            let right = there.is_none() && holder.as_deref() == Some(&told.id);
            must(Law::Unique, right, || {
                format!("{} is a Duplicate of {told}, and {holder:?} holds its key", new.id)
            })?;
        }
    }
    Ok(())
}

/// The unfinished task that holds the key, by what has happened.
fn open_holder(config: &Config, world: &World, key: &str) -> Option<String> {
    let open = world.past.iter().filter(|(_, past)| past.is_open());
    let mut holders = open.filter(|(id, _)| config.find(id).unique.as_deref() == Some(key));
    holders.next().map(|(id, _)| id.clone())
}

/// The other unfinished task that holds the key which a redrive needs.
pub fn rival(config: &Config, world: &World, id: &str, item: &CommitItem) -> Option<String> {
    let redrive = item.change.by == Role::Operator && item.change.budget == Budget::Reset;
    let key = config.find(id).unique.as_ref().filter(|_| redrive)?;
    open_holder(config, world, key).filter(|holder| holder != id)
}

pub fn found(world: &World, id: &str, found: &Found) -> Judged {
    let there = world.past.get(id).is_some_and(|past| past.left.is_none());
    must(Law::Told, there == matches!(found, Found::Task(_)), || format!("{id} is {found:?}"))
}

/// What must be so after every step, whatever it was: the queue is as the answers told.
pub fn stands(config: &Config, before: &World, world: &mut World) -> Judged {
    let now = world.model.now;
    for id in world.model.tasks.keys() {
        let told = world.past.get(id).is_some_and(|past| past.left.is_none());
        must(Law::FollowUps, told, || format!("{id} is there, and nobody was told so"))?;
    }
    let memory = world.model.settings.id_memory;
    for (id, past) in &mut world.past {
        if past.left.is_some() {
            continue;
        }
        match world.model.tasks.get(id) {
            Some(kept) => agrees(id, past, &kept.task)?,
            None => {
                leaves(config, id, past, now)?;
                past.left = Some(now.after(memory));
            }
        }
    }
    let keys = world.model.tasks.values().filter(|kept| !kept.task.state.is_finished());
    let mut keys: Vec<_> = keys.filter_map(|kept| kept.task.unique.as_deref()).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    must(Law::Unique, keys.len() == count, || "two unfinished tasks have one key".to_owned())?;
    let gone = before.past.keys().find(|id| !world.past.contains_key(*id));
    must(Law::Moves, gone.is_none(), || format!("{gone:?} has no past any more"))
}

fn agrees(id: &str, past: &Past, task: &leasehold_core::StoredTask) -> Judged {
    let law = match past.state {
        State::Dead(_) => Law::DeadLetter,
        state if state.is_finished() => Law::Finished,
        _ => Law::Moves,
    };
    must(law, task.state == past.state, || {
        format!("{id} is {}, and was told to be {}", task.state, past.state)
    })?;
    let budgets = (task.failures, task.rescues) == (past.failures, past.rescues);
    must(Law::Budget, budgets, || {
        let spent = format!("{} failures, {} rescues", task.failures, task.rescues);
        format!("{id} has {spent} and was told {} and {}", past.failures, past.rescues)
    })
}

/// Whether the task may be no more.
fn leaves(config: &Config, id: &str, past: &Past, now: leasehold_core::Timestamp) -> Judged {
    let held = past.hold.is_some_and(|hold| hold > now);
    must(Law::Record, !held, || format!("{id} left while its hold lasts: {past:?}"))?;
    let retention = config.find(id).policy.retention;
    let kept = retention.succeeded.is_some();
    let may = past.deleted || (past.state == State::Succeeded && !kept);
    let law = match past.state {
        State::Dead(_) => Law::DeadLetter,
        _ => Law::Finished,
    };
    must(law, may, || format!("{id} is no more: {past:?}"))
}
