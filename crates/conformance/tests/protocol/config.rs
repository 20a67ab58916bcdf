//! [`Config`]: who takes part, how often each may act, and what has to be seen on the way.

use std::time::Duration;

use leasehold_conformance::model::{Model, Op};
use leasehold_core::decide::Operator;
use leasehold_core::{
    Backoff, Capabilities, Configure, Delivery, Durability, Failover, Features, Jitter, Keep,
    LimitKey, ManualClock, NewTask, Retention, RetryPolicy,
};

/// The queue of every configuration.
pub const QUEUE: &str = "q";
/// The length of each lease.
pub const TTL: Duration = Duration::from_secs(30);
/// The one group of limits.
pub const GROUP: &str = "group";

/// A small cast, of which every behaviour is explored.
#[derive(Debug, Clone)]
pub struct Config {
    pub name: &'static str,
    /// Enqueued before the first step.
    pub tasks: Vec<NewTask>,
    /// How many tasks of [`GROUP`] may run at once.
    pub limit: Option<u32>,
    /// How long an id is remembered: for ever, as far as a check can see, or not at all.
    pub id_memory: Duration,
    pub actors: Vec<Actor>,
    /// How often the clock may move by a third of a lease, so that a renew has an effect.
    pub ticks: u8,
    /// How often the clock may go back by a lease and a half.
    pub backs: u8,
    /// The labels that have to be reached; see `reached.rs`.
    pub expects: Vec<&'static str>,
}

/// One that acts. Two that are equal are alike to the check: their roles may be swapped.
#[derive(Debug, Clone, PartialEq)]
pub struct Actor {
    pub holder: &'static str,
    pub work: Work,
    /// How many claims, acts, enqueues or purges.
    pub turns: u8,
    /// Whether the answer to a commit may be lost, so that the very same commit comes again.
    pub repeats: bool,
    /// Whether the answer to a claim may be lost; with a ticket the claim may then be repeated.
    pub loses_claims: bool,
    /// Whether claims are named (LH-CLAIM-9).
    pub tickets: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Claims to run, and ends each run in one of these ways.
    Execute { endings: Vec<Ending>, renews: u8 },
    /// Claims to rescue, and decides.
    Rescue,
    /// Looks at a task, and acts later on what it saw.
    Operate { acts: Vec<Act> },
    /// Enqueues these, one after the other.
    Produce { tasks: Vec<NewTask> },
    /// Purges.
    Purge,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Success,
    /// With one task more, under the id `child`.
    SuccessWithMore,
    Failure,
    Fatal,
    Snooze,
    Release,
    Cancel,
    Undecodable,
    Unknown,
    Corrupt,
}

/// What an operator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Cancel,
    Bury,
    /// Without a word about a run that holds the lease.
    Requeue,
    Revoke,
    Edit,
    Delete,
    Redrive,
}

impl Config {
    pub fn new(name: &'static str, tasks: Vec<NewTask>, actors: Vec<Actor>) -> Self {
        let (id_memory, expects) = (Duration::from_secs(24 * 60 * 60), Vec::new());
        Self { name, tasks, limit: None, id_memory, actors, ticks: 0, backs: 0, expects }
    }

    pub fn with_limit(mut self, max: u32) -> Self {
        self.limit = Some(max);
        self
    }

    pub fn forgetful(mut self) -> Self {
        self.id_memory = Duration::ZERO;
        self
    }

    pub fn with_clock(mut self, ticks: u8, backs: u8) -> Self {
        (self.ticks, self.backs) = (ticks, backs);
        self
    }

    pub fn expecting(mut self, labels: &[&'static str]) -> Self {
        self.expects.extend(labels);
        self
    }

    /// The queue before the first step, its tasks not enqueued yet.
    pub fn empty(&self) -> Model {
        let durability = Durability::new(false, false, Failover::Single);
        let capabilities = Capabilities::new("protocol", Features::all(), durability);
        Model::new(QUEUE, capabilities, ManualClock::default().now())
    }

    /// The settings of the queue, if any is not as usual.
    pub fn settings(&self) -> Op {
        let mut request = Configure::new(QUEUE);
        request.limits.extend(self.limit.map(|max| (GROUP.to_owned(), max)));
        request.id_memory = Some(self.id_memory);
        Op::Configure(request)
    }

    /// What was enqueued, or can be, under this id.
    pub fn find(&self, id: &str) -> &NewTask {
        let produced = self.actors.iter().flat_map(|actor| match &actor.work {
            Work::Produce { tasks } => tasks.as_slice(),
            _ => &[],
        });
        let mut all = self.tasks.iter().chain(produced);
        all.find(|new| new.id == id).unwrap_or_else(|| crate::action::child())
    }
}

impl Actor {
    pub fn executor(holder: &'static str, turns: u8, endings: &[Ending]) -> Self {
        Self::new(holder, turns, Work::Execute { endings: endings.to_vec(), renews: 0 })
    }

    pub fn rescuer(turns: u8) -> Self {
        Self::new("rescuer", turns, Work::Rescue)
    }

    pub fn operator(turns: u8, acts: &[Act]) -> Self {
        Self::new("operator", turns, Work::Operate { acts: acts.to_vec() })
    }

    pub fn producer(tasks: Vec<NewTask>) -> Self {
        let turns = u8::try_from(tasks.len()).expect("a few tasks");
        Self::new("producer", turns, Work::Produce { tasks })
    }

    pub fn purger(turns: u8) -> Self {
        Self::new("purger", turns, Work::Purge)
    }

    fn new(holder: &'static str, turns: u8, work: Work) -> Self {
        Self { holder, work, turns, repeats: false, loses_claims: false, tickets: false }
    }

    pub fn renewing(mut self, times: u8) -> Self {
        if let Work::Execute { renews, .. } = &mut self.work {
            *renews = times;
        }
        self
    }

    pub fn repeating(mut self) -> Self {
        self.repeats = true;
        self
    }

    pub fn losing_claims(mut self) -> Self {
        self.loses_claims = true;
        self
    }

    pub fn with_tickets(mut self) -> Self {
        self.tickets = true;
        self
    }
}

/// A task with a budget of one retry and one rescue that stays once it has finished.
pub fn task(id: &str) -> NewTask {
    delivered(id, Delivery::AtLeastOnce { max_rescues: 1 })
}

/// The same under another delivery.
pub fn delivered(id: &str, delivery: Delivery) -> NewTask {
    let backoff = Backoff::Constant { delay: Duration::ZERO };
    let retry = RetryPolicy::at_most(1).with_backoff(backoff).with_jitter(Jitter::None);
    let forever = Keep::Forever;
    let retention =
        Retention::default().with_succeeded(forever).with_cancelled(forever).with_dead(forever);
    NewTask::named(id, "kind", "p", delivery).with_retry(retry).with_retention(retention)
}

/// The same task under the limit.
pub fn limited(id: &str) -> NewTask {
    task(id).with_limit(LimitKey::new(GROUP, "key"))
}

/// Whoever operates.
pub fn operator() -> Operator {
    Operator::new("operator", "")
}
