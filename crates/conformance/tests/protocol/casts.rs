//! The configurations that are explored to the end. Under debug assertions each is a size
//! smaller, so that the gate can afford them.

use leasehold_core::{Delivery, Keep, NewTask, Retention};

use crate::config::{Act, Actor, Config, Ending, delivered, limited, task};
use Ending::{Failure, Fatal, Release, Snooze, Success, SuccessWithMore};

const EVERY_ACT: &[Act] =
    &[Act::Cancel, Act::Bury, Act::Requeue, Act::Revoke, Act::Edit, Act::Delete, Act::Redrive];

/// The larger number where the optimiser helps, else the smaller.
const fn sized(small: u8, large: u8) -> u8 {
    if cfg!(debug_assertions) { small } else { large }
}

pub fn all() -> Vec<Config> {
    let configs = [
        race(),
        two_operators(),
        redriven(),
        crowd(),
        endings(),
        limit(),
        clock_set_back(),
        unique(),
        key_after_loss(),
        replay(),
        follow_up(),
        never(),
        at_most_once(),
        used_again(),
        remembered(),
    ];
    configs.into()
}

/// One task, two workers that share a name, two rescuers, lost answers.
pub fn race() -> Config {
    let executor = |turns, renews| {
        Actor::executor("one", turns, &[Success, Failure]).renewing(renews).repeating()
    };
    let rescuer = || Actor::rescuer(sized(1, 2)).repeating();
    let actors = vec![executor(2, sized(0, 1)), executor(sized(1, 2), 1), rescuer(), rescuer()];
    Config::new("race", vec![task("t")], actors)
        .expecting(&["held", "lost decided"])
        .expecting(&["granted", "granted nothing", "applied worker", "applied rescuer"])
        .expecting(&["applied overdue", "applied late", "replayed"])
        .expecting(&["stale worker", "stale rescuer"])
        .expecting(&["waiting", "leased_run", "leased_rescue", "succeeded", "dead_exhausted"])
}

/// Two workers, a rescuer and two operators, each of whom sees and then acts.
pub fn two_operators() -> Config {
    let executor = |turns| Actor::executor("one", turns, &[Success, Failure]);
    let operator = || Actor::operator(1, EVERY_ACT);
    let mut actors = vec![executor(1), Actor::rescuer(1), operator(), operator()];
    if !cfg!(debug_assertions) {
        actors = actors.into_iter().map(Actor::repeating).collect();
        actors.push(executor(1).repeating());
    }
    Config::new("two operators", vec![task("t")], actors)
        .expecting(&["applied operator", "stale operator", "stale left", "refused"])
        .expecting(&["dead_operator", "cancelled"])
}

/// A worker that hears nothing, while its task is called off, redriven and run again.
pub fn redriven() -> Config {
    let executor = || Actor::executor("one", 1, &[Success, Failure]);
    let operator = Actor::operator(2, &[Act::Cancel, Act::Redrive]);
    Config::new("redriven", vec![task("t")], vec![executor(), executor(), operator]).expecting(&[
        "applied operator",
        "stale worker",
        "cancelled",
    ])
}

/// Three workers, two rescuers, and an operator who acts twice.
pub fn crowd() -> Config {
    let executor = |holder| Actor::executor(holder, 1, &[Success, Failure]);
    let mut actors = vec![executor("one"), Actor::rescuer(1), Actor::operator(2, EVERY_ACT)];
    if !cfg!(debug_assertions) {
        actors.extend([executor("one"), executor("other"), Actor::rescuer(1)]);
    }
    Config::new("crowd", vec![task("t")], actors)
        .expecting(&["applied operator", "applied late", "stale worker", "stale rescuer"])
        .expecting(&["cancelled"])
}

/// Every way in which a run can end, and a delay before each retry.
pub fn endings() -> Config {
    let endings = [
        Failure,
        Fatal,
        Snooze,
        Release,
        Ending::Cancel,
        Ending::Undecodable,
        Ending::Unknown,
        Ending::Corrupt,
    ];
    let executor = || Actor::executor("one", sized(2, 3), &endings).repeating();
    let later = leasehold_core::Backoff::Constant { delay: crate::config::TTL / 6 };
    let mut new = task("t");
    new.policy.retry.backoff = later;
    let actors = vec![executor(), executor(), Actor::rescuer(sized(1, 2))];
    Config::new("endings", vec![new], actors)
        .expecting(&["replayed", "stale worker", "dead_rejected", "dead_undecodable"])
        .expecting(&["dead_unknown_kind", "dead_corrupt", "dead_exhausted", "cancelled"])
}

/// Two tasks under a limit of one: leases are renewed, lapse, and are taken away.
pub fn limit() -> Config {
    let endings = if cfg!(debug_assertions) { &[Success][..] } else { &[Success, Failure] };
    let executor = |renews| Actor::executor("one", sized(1, 2), endings).renewing(renews);
    let acts = [Act::Cancel, Act::Revoke, Act::Redrive];
    let executors = [executor(1), executor(sized(0, 1))];
    let mut actors = Vec::from(executors);
    actors.extend([Actor::rescuer(1), Actor::operator(1, &acts)]);
    Config::new("limit", vec![limited("a"), limited("b")], actors)
        .with_limit(1)
        .with_clock(1, 0)
        .expecting(&["held", "lost lapsed", "lost taken", "lost cancelled", "lost revoked"])
        .expecting(&["granted nothing", "applied operator"])
}

/// The same under a clock that goes back.
pub fn clock_set_back() -> Config {
    let executor = || Actor::executor("one", 1, &[Success]).renewing(1);
    let actors = vec![executor(), executor(), Actor::rescuer(1)];
    Config::new("clock set back", vec![limited("a"), limited("b")], actors)
        .with_limit(1)
        .with_clock(1, 1)
        .expecting(&["held", "lost lapsed", "applied late", "applied overdue"])
}

/// Tasks with one unique key, each enqueued while others come and go.
pub fn unique() -> Config {
    let key = |id| task(id).with_unique("key");
    let executor = || Actor::executor("one", 1, &[Success]);
    let acts = [Act::Cancel, Act::Redrive, Act::Delete];
    let producer = Actor::producer(vec![key("b"), key("b")]);
    let acts_count = sized(1, 2);
    let actors = vec![
        executor(),
        executor(),
        producer,
        Actor::operator(acts_count, &acts),
        Actor::rescuer(1),
    ];
    Config::new("unique", vec![key("a")], actors)
        .expecting(&["enqueued", "duplicate key", "duplicate id", "applied operator"])
        .expecting(if cfg!(debug_assertions) { &[] } else { &["conflict"] })
}

/// A key that a lost task gives up, and its late success.
pub fn key_after_loss() -> Config {
    let key = |id| delivered(id, Delivery::NotAfterLoss).with_unique("key");
    let executor = |turns| Actor::executor("one", turns, &[Success, Failure]);
    let producer = Actor::producer(vec![key("b"), key("c")]);
    let redrive = Actor::operator(1, &[Act::Redrive]);
    let actors = vec![executor(1), executor(sized(1, 2)), producer, Actor::rescuer(1), redrive];
    Config::new("key after loss", vec![key("a")], actors).expecting(&[
        "enqueued",
        "duplicate key",
        "conflict",
        "applied late",
        "dead_lost",
    ])
}

/// Claims with a number, whose answers are lost, and which come again.
pub fn replay() -> Config {
    let named = |actor: Actor| actor.losing_claims().with_tickets();
    let executor = |turns| Actor::executor("one", turns, &[Success, Failure]);
    let mut actors = vec![named(executor(2)), executor(1), Actor::rescuer(1)];
    if !cfg!(debug_assertions) {
        actors = actors.into_iter().map(named).collect();
        actors.push(Actor::operator(1, &[Act::Revoke, Act::Delete]));
    }
    Config::new("replay", vec![task("t")], actors).expecting(&[
        "granted",
        "granted nothing",
        "superseded",
    ])
}

/// A success that brings one more task, on time, overdue and late; repeated and refused.
pub fn follow_up() -> Config {
    let executor = |turns| Actor::executor("one", turns, &[SuccessWithMore, Failure]).repeating();
    let acts = [Act::Delete, Act::Redrive];
    let actors =
        vec![executor(sized(1, 2)), executor(1), Actor::rescuer(1), Actor::operator(1, &acts)];
    Config::new("follow-up", vec![leaving("t")], actors).expecting(&[
        "enqueued",
        "applied late",
        "replayed",
        "stale left",
        "stale worker",
    ])
}

/// Never again after a lost worker; failures are retried.
pub fn never() -> Config {
    let all = [Success, Failure, Release];
    let endings = if cfg!(debug_assertions) { &all[..2] } else { &all };
    let executor = |turns| Actor::executor("one", turns, endings).repeating();
    let acts = [Act::Requeue, Act::Revoke, Act::Redrive];
    let operator = Actor::operator(1, &acts);
    let actors = vec![executor(2), executor(sized(1, 2)), Actor::rescuer(sized(1, 2)), operator];
    Config::new("never", vec![delivered("t", Delivery::NotAfterLoss)], actors).expecting(&[
        "dead_lost",
        "applied late",
        "applied operator",
        "refused",
    ])
}

/// At most one run that is started.
pub fn at_most_once() -> Config {
    let endings = [Success, Failure, Release, Snooze];
    let executor = || Actor::executor("one", 2, &endings).repeating();
    let operator = Actor::operator(1, &[Act::Redrive, Act::Revoke]);
    let actors = vec![executor(), executor(), Actor::rescuer(sized(1, 2)), operator];
    Config::new("at most once", vec![delivered("t", Delivery::AtMostOnce)], actors).expecting(&[
        "dead_lost",
        "dead_exhausted",
        "dead_rejected",
        "applied operator",
    ])
}

/// An id that nothing remembers is used again, while hands still hold the old task's leases.
pub fn used_again() -> Config {
    let new = || leaving("t");
    let executor = || Actor::executor("one", sized(1, 2), &[Success]).renewing(1).repeating();
    let actors = vec![
        executor(),
        executor(),
        Actor::producer(vec![new(), new()]),
        Actor::operator(1, &[Act::Delete, Act::Cancel]).repeating(),
        Actor::purger(1),
    ];
    Config::new("used again", vec![new()], actors).forgetful().expecting(&[
        "gone",
        "lost gone",
        "enqueued",
        "duplicate id",
        "applied operator",
    ])
}

/// An id that is remembered, and enqueued again.
pub fn remembered() -> Config {
    let actors = vec![
        Actor::executor("one", 1, &[Success, Failure]).repeating(),
        Actor::producer(vec![leaving("t"), leaving("t")]),
        Actor::operator(1, &[Act::Delete]),
    ];
    Config::new("remembered", vec![leaving("t")], actors).expecting(&[
        "duplicate id",
        "duplicate id left",
        "stale left",
        "replayed",
    ])
}

/// A task whose success leaves nothing but what is remembered.
fn leaving(id: &str) -> NewTask {
    let keep = Keep::Forever;
    task(id).with_retention(Retention::default().with_cancelled(keep).with_dead(keep))
}
