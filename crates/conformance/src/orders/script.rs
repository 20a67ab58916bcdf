//! [`Script`]: what one actor of a race does, one verb after the other.

use leasehold_core::{Claim, CommitItem, Lease, NewTask, Purpose, RenewItem, StoredTask};

use crate::actor::Actor;
use crate::model::{Op, Reply};
use crate::moves;

/// One verb of a script. Whoever has nothing in hand for it lets the turn pass.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Claims one task to run it.
    Run,
    /// Extends the lease.
    Renew,
    /// Commits this ending of the run.
    End(&'static str),
    /// Lets every lease lapse that has been taken until now.
    Lapse,
    /// Claims one lapsed lease.
    Rescue,
    /// Commits what a rescuer decides about it.
    Decide,
    /// Commits the last decision once more, as after a lost reply.
    Again,
    /// Looks at the task.
    See,
    /// Does this act on what was seen, if its state admits that.
    Act(&'static str),
    /// Enqueues one more task.
    Enqueue(Box<NewTask>),
}

/// An actor's name and steps.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub name: &'static str,
    pub steps: Vec<Step>,
}

/// What an actor holds: nobody sees into another's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hands {
    lease: Option<Lease>,
    seen: Option<StoredTask>,
    decision: Option<CommitItem>,
}

impl Hands {
    /// The call that the step makes on `queue`, or `None` when there is nothing to make it with.
    pub fn call(&mut self, step: &Step, name: &str, queue: &str) -> Option<Op> {
        let claim = |purpose| Op::Claim(Claim::new(queue, purpose, 1, Actor::TTL, name));
        Some(match step {
            Step::Run => claim(Purpose::Run),
            Step::Rescue => claim(Purpose::Rescue),
            Step::Lapse => Op::Shift(Actor::TTL_MS),
            Step::See => Op::Get("t".to_owned()),
            Step::Enqueue(new) => Op::Enqueue(vec![NewTask::clone(new)]),
            Step::Renew => Op::Renew(RenewItem::new(self.lease.as_ref()?.guard(), Actor::TTL)),
            Step::Again => Op::Commit(self.decision.clone()?),
            Step::End(name) => {
                let lease = self.lease.as_ref().filter(|lease| lease.purpose == Purpose::Run)?;
                self.decide(moves::ending(lease, name).ok()?.item)
            }
            Step::Decide => {
                let lease = self.lease.as_ref().filter(|lease| lease.purpose == Purpose::Rescue)?;
                self.decide(moves::rescue(lease).item)
            }
            Step::Act(name) => {
                let act = moves::act(self.seen.as_ref()?, name).ok()?;
                self.decide(act.item)
            }
        })
    }

    fn decide(&mut self, item: CommitItem) -> Op {
        self.decision = Some(item.clone());
        Op::Commit(item)
    }

    /// Takes in what was answered.
    pub fn learn(&mut self, reply: &Reply) {
        match reply {
            // A claim that brought nothing leaves the old lease in hand: its holder may go on.
            Reply::Claimed(claimed) => {
                self.lease = claimed.leases.first().cloned().or(self.lease.take());
            }
            Reply::Found(leasehold_core::Found::Task(task)) => self.seen = Some((**task).clone()),
            _ => {}
        }
    }
}
