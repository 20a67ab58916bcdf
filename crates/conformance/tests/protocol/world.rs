//! [`World`]: all that there is between two steps: the queue, what each actor holds in its hands,
//! and what has happened so far.

use std::collections::BTreeMap;
use std::rc::Rc;

use leasehold_conformance::model::{Model, Op, Reply, predict};
use leasehold_core::{
    CommitItem, EnqueueVerdict, Events, Fence, History, Lease, StoredTask, Timestamp,
};

use crate::config::{Config, Work};
use crate::past::Past;

#[derive(Debug, Clone)]
pub struct World {
    pub model: Model,
    /// One for each actor of the configuration; most worlds share most of them.
    pub hands: Vec<Rc<Hand>>,
    /// What happened to each id, as the answers told it.
    pub past: BTreeMap<String, Past>,
    pub ticks: u8,
    pub backs: u8,
    /// How many decisions were made; gives each its id.
    pub decisions: u128,
}

/// What an actor holds.
#[derive(Debug, Clone, Default)]
pub struct Hand {
    /// Turns that are left.
    pub turns: u8,
    pub renews: u8,
    /// The claim on which it is at work.
    pub held: Option<Held>,
    /// The sight on which an operator is about to act.
    pub seen: Option<StoredTask>,
    /// The last commit, while it may come again.
    pub sent: Option<Sent>,
    pub ticket: Ticketed,
}

/// A lease as its holder knows it.
#[derive(Debug, Clone)]
pub struct Held {
    pub lease: Lease,
    /// When it ends, from the last answer that said so.
    pub end: Timestamp,
    /// Whether it has ended: a worker's own clock does not go back, so that this stays.
    pub over: bool,
}

#[derive(Debug, Clone)]
pub struct Sent {
    pub item: CommitItem,
    pub applied: bool,
}

/// The claims of a named loop.
#[derive(Debug, Clone, Default)]
pub struct Ticketed {
    pub seq: u64,
    /// Whether the answer to the newest claim was lost and may be asked for again.
    pub lost: bool,
    /// Whether the network may deliver one of its claims once more.
    pub stray: bool,
    /// The newest claim that granted something.
    pub granted: Option<(u64, String, Fence)>,
}

impl World {
    /// The world before the first step.
    pub fn start(config: &Config) -> Self {
        let (model, _) = predict(&config.empty(), &config.settings());
        let (mut model, reply) = match config.tasks.is_empty() {
            true => (model, Reply::Enqueued(Vec::new())),
            false => predict(&model, &Op::Enqueue(config.tasks.clone())),
        };
        let Reply::Enqueued(verdicts) = reply else { panic!("enqueued: {reply:?}") };
        let born = config.tasks.iter().zip(verdicts).map(|(new, verdict)| match verdict {
            EnqueueVerdict::Enqueued { fence } => {
                (new.id.clone(), Past::born(fence, new.due.instant(model.now)))
            }
            other => panic!("a configuration's own tasks differ: {other:?}"),
        });
        let past = born.collect();
        let hands = config.actors.iter().map(|actor| Hand {
            turns: actor.turns,
            renews: match actor.work {
                Work::Execute { renews, .. } => renews,
                _ => 0,
            },
            ticket: Ticketed { stray: actor.tickets, ..Ticketed::default() },
            ..Hand::default()
        });
        let hands = hands.map(Rc::new).collect();
        forget(&mut model, &[]);
        Self { model, hands, past, ticks: config.ticks, backs: config.backs, decisions: 0 }
    }

    /// The next instants at which something changes by time alone.
    pub fn next_end(&self) -> Option<Timestamp> {
        let Model { now, tasks, slots, held_keys, .. } = &self.model;
        let of_tasks = tasks.values().flat_map(|kept| {
            let task = &kept.task;
            let waits = (task.state == leasehold_core::State::Waiting).then_some(task.due);
            [task.until, task.held_until, waits].into_iter().flatten()
        });
        let of_slots = slots.values().flat_map(|slots| slots.values().copied());
        let of_hands = self.hands.iter().filter_map(|hand| Some(hand.held.as_ref()?.end));
        let all = of_tasks.chain(of_slots).chain(held_keys.values().copied()).chain(of_hands);
        all.filter(|end| end > now).min()
    }

    /// Notes which leases have ended by now.
    pub fn watch(&mut self) {
        let now = self.model.now;
        for hand in &mut self.hands {
            let ends = hand.held.as_ref().is_some_and(|held| !held.over && held.end <= now);
            if ends && let Some(held) = Rc::make_mut(hand).held.as_mut() {
                held.over = true;
            }
        }
    }

    /// Drops what no later step can read.
    pub fn strip(&mut self) {
        forget(&mut self.model, &self.hands);
    }
}

/// Records and counters are for people: no rule reads them, but for the log of grants, from
/// which a wrong rule may tell the holder or the attempt of a lease that is still in a hand.
fn forget(model: &mut Model, hands: &[Rc<Hand>]) {
    model.events = Events::default();
    for kept in model.tasks.values_mut() {
        kept.task.history = History::default();
    }
    model.grants.retain(|(id, fence), _| {
        hands.iter().any(|hand| {
            let held = hand.held.as_ref().map(|held| held.lease.guard());
            let sent = hand.sent.as_ref().map(|sent| sent.item.guard.clone());
            let mut guards = held.into_iter().chain(sent);
            guards.any(|guard| guard.task.id == *id && guard.fence == *fence)
        })
    });
}
