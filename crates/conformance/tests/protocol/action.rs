//! [`Action`]: what may happen next, and the call that it is.

use std::sync::LazyLock;
use std::time::Duration;

use leasehold_conformance::model::Op;
use leasehold_core::decide::{self, Entered, Intervention, Outcome, Retry, Unknown};
use leasehold_core::{
    Change, Claim, ClaimerId, CommitItem, DecisionId, Delivery, Edit, Guard, Lease, NewTask,
    OnLeased, Purpose, RenewItem, State, StoredTask,
};

use crate::config::{self, Act, Actor, Config, Ending, QUEUE, TTL, Work};
use crate::fault::Fault;
use crate::world::{Hand, World};

/// One possible next step, of the actor with this number or of the clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A new claim, whose answer may be lost.
    Claim {
        actor: usize,
        lost: bool,
    },
    /// The claim whose answer was lost, once more.
    ClaimAgain {
        actor: usize,
    },
    /// The network delivers a claim with this seq once more; nobody hears the answer.
    Stray {
        actor: usize,
        seq: u64,
    },
    Renew {
        actor: usize,
    },
    End {
        actor: usize,
        ending: Ending,
    },
    Decide {
        actor: usize,
    },
    /// The very commit that was sent last.
    CommitAgain {
        actor: usize,
    },
    See {
        actor: usize,
        id: String,
    },
    Act {
        actor: usize,
        act: Act,
    },
    Enqueue {
        actor: usize,
        new: usize,
    },
    Purge {
        actor: usize,
    },
    /// The clock moves to the next instant at which a lease, a hold or a delay ends.
    Pass,
    Tick,
    Back,
}

impl Action {
    pub fn actor(&self) -> Option<usize> {
        match self {
            Self::Claim { actor, .. }
            | Self::ClaimAgain { actor }
            | Self::Stray { actor, .. }
            | Self::Renew { actor }
            | Self::End { actor, .. }
            | Self::Decide { actor }
            | Self::CommitAgain { actor }
            | Self::See { actor, .. }
            | Self::Act { actor, .. }
            | Self::Enqueue { actor, .. }
            | Self::Purge { actor } => Some(*actor),
            Self::Pass | Self::Tick | Self::Back => None,
        }
    }
}

/// Everything that may happen next. A lease may lapse at any moment, since [`Action::Pass`] is
/// among it whenever something has an end.
pub fn enabled(config: &Config, world: &World) -> Vec<Action> {
    let mut all = Vec::new();
    for (at, actor) in config.actors.iter().enumerate() {
        let hand = &world.hands[at];
        if hand.sent.is_some() {
            all.push(Action::CommitAgain { actor: at });
        }
        match &actor.work {
            Work::Execute { endings, .. } => {
                claims(actor, at, hand, &mut all);
                if hand.held.is_some() {
                    all.extend(endings.iter().map(|e| Action::End { actor: at, ending: *e }));
                }
                // A heartbeat may also cross the commit.
                if (hand.held.is_some() || hand.sent.is_some()) && hand.renews > 0 {
                    all.push(Action::Renew { actor: at });
                }
            }
            Work::Rescue => {
                claims(actor, at, hand, &mut all);
                if hand.held.is_some() {
                    all.push(Action::Decide { actor: at });
                }
            }
            Work::Operate { acts } => operate(world, at, acts, &mut all),
            Work::Produce { tasks } => {
                let next = tasks.len() - usize::from(hand.turns);
                if hand.turns > 0 {
                    all.push(Action::Enqueue { actor: at, new: next });
                }
            }
            Work::Purge if hand.turns > 0 => all.push(Action::Purge { actor: at }),
            Work::Purge => {}
        }
    }
    if world.next_end().is_some() {
        all.push(Action::Pass);
    }
    let leased = world.past.values().any(|past| past.is_leased());
    if leased && world.ticks > 0 {
        all.push(Action::Tick);
    }
    if world.backs > 0 && world.hands.iter().any(|hand| hand.held.is_some()) {
        all.push(Action::Back);
    }
    all
}

fn claims(actor: &Actor, at: usize, hand: &Hand, all: &mut Vec<Action>) {
    if hand.held.is_none() && hand.turns > 0 {
        all.push(Action::Claim { actor: at, lost: false });
        if actor.loses_claims {
            all.push(Action::Claim { actor: at, lost: true });
        }
    }
    if hand.held.is_none() && hand.ticket.lost {
        all.push(Action::ClaimAgain { actor: at });
    }
    if hand.ticket.stray && hand.ticket.seq > 0 {
        let seqs = hand.ticket.seq.saturating_sub(1).max(1)..=hand.ticket.seq;
        all.extend(seqs.map(|seq| Action::Stray { actor: at, seq }));
    }
}

fn operate(world: &World, at: usize, acts: &[Act], all: &mut Vec<Action>) {
    let hand = &world.hands[at];
    match &hand.seen {
        Some(seen) => {
            let possible = acts.iter().filter(|act| act.change(seen).is_some());
            all.extend(possible.map(|act| Action::Act { actor: at, act: *act }));
        }
        None if hand.turns > 0 => {
            let seen = world.model.tasks.values().map(|kept| &kept.task);
            let useful = seen.filter(|task| acts.iter().any(|act| act.change(task).is_some()));
            let ids = useful.map(|task| task.task_ref.id.clone());
            all.extend(ids.map(|id| Action::See { actor: at, id }));
        }
        None => {}
    }
}

/// The call that `action` makes; decisions pass through `fault`, which may spoil them.
pub fn call(config: &Config, fault: &dyn Fault, world: &World, action: &Action) -> Op {
    let hand = action.actor().map(|actor| &world.hands[actor]);
    let holds = hand.is_some_and(|hand| hand.held.is_some());
    let lease = || &hand.and_then(|hand| hand.held.as_ref()).expect("a lease is held").lease;
    let commit = |guard, change| {
        let decision = DecisionId::from_bits(world.decisions + 1);
        let mut item = CommitItem::new(guard, change);
        item.decision = decision;
        Op::Commit(item)
    };
    match action {
        Action::Claim { actor, .. } => claim(config, *actor, world.hands[*actor].ticket.seq + 1),
        Action::ClaimAgain { actor } => claim(config, *actor, world.hands[*actor].ticket.seq),
        Action::Stray { actor, seq } => claim(config, *actor, *seq),
        Action::Renew { .. } => {
            let sent = hand.and_then(|hand| hand.sent.as_ref()).filter(|_| !holds);
            let guard = sent.map_or_else(|| lease().guard(), |sent| sent.item.guard.clone());
            Op::Renew(RenewItem::new(guard, TTL))
        }
        Action::End { ending, .. } => {
            let change = decide::run(lease(), ending.outcome(lease()), 1);
            commit(lease().guard(), fault.decided(lease(), *ending, change))
        }
        Action::Decide { .. } => {
            let change = fault.rescued(lease(), decide::rescue(lease()));
            commit(lease().guard(), change)
        }
        Action::CommitAgain { .. } => {
            let sent = hand.and_then(|hand| hand.sent.as_ref()).expect("a commit was sent");
            Op::Commit(sent.item.clone())
        }
        Action::See { id, .. } => Op::Get(id.clone()),
        Action::Act { act, .. } => {
            let seen = hand.and_then(|hand| hand.seen.as_ref()).expect("a task was seen");
            let change = act.change(seen).expect("an enabled act");
            commit(Guard::new(seen.task_ref.clone(), seen.fence), change)
        }
        Action::Enqueue { actor, new } => match &config.actors[*actor].work {
            Work::Produce { tasks } => Op::Enqueue(vec![tasks[*new].clone()]),
            other => panic!("{other:?} does not enqueue"),
        },
        Action::Purge { .. } => Op::Purge(10),
        Action::Pass => {
            let end = world.next_end().expect("something ends");
            Op::Shift(end.as_millis() - world.model.now.as_millis())
        }
        Action::Tick => Op::Shift(millis(TTL / 3)),
        Action::Back => Op::Shift(-millis(TTL / 2 * 3)),
    }
}

fn claim(config: &Config, at: usize, seq: u64) -> Op {
    let actor = &config.actors[at];
    let purpose = match actor.work {
        Work::Rescue => Purpose::Rescue,
        _ => Purpose::Run,
    };
    let claim = Claim::new(QUEUE, purpose, 1, TTL, actor.holder);
    Op::Claim(match actor.tickets {
        true => claim.with_ticket(ClaimerId::from_bits(at as u128 + 1), seq),
        false => claim,
    })
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).expect("a short time")
}

impl Ending {
    fn outcome(self, lease: &Lease) -> Outcome {
        let message = String::new;
        match self {
            Self::Success => Outcome::Succeeded { result: None, follow_ups: Vec::new() },
            // The child itself brings nothing along.
            Self::SuccessWithMore => {
                let more = Some(child().clone()).filter(|child| child.id != lease.task_ref.id);
                Outcome::Succeeded { result: None, follow_ups: more.into_iter().collect() }
            }
            Self::Failure => Outcome::Failed { message: message(), retry: Retry::ByPolicy },
            Self::Fatal => Outcome::Failed { message: message(), retry: Retry::Never },
            Self::Snooze => Outcome::Snoozed(Duration::ZERO),
            Self::Release => Outcome::Released(Entered::Yes),
            Self::Cancel => Outcome::Cancelled { message: message() },
            Self::Undecodable => Outcome::Undecodable { message: message() },
            Self::Unknown => Outcome::UnknownKind(Unknown::Bury),
            Self::Corrupt => Outcome::Corrupt,
        }
    }
}

/// What a run that succeeds may bring along.
pub fn child() -> &'static NewTask {
    static CHILD: LazyLock<NewTask> =
        LazyLock::new(|| config::delivered("child", Delivery::AtMostOnce));
    &CHILD
}

impl Act {
    /// The change that an operator decides on, having seen `seen`; `None` when the state does
    /// not admit the act.
    fn change(self, seen: &StoredTask) -> Option<Change> {
        let act = match self {
            Self::Cancel => Intervention::Cancel,
            Self::Bury => Intervention::Bury,
            Self::Requeue => Intervention::Requeue(OnLeased::Refuse),
            Self::Revoke => Intervention::Requeue(OnLeased::Revoke),
            Self::Edit => Intervention::Edit(Edit::default().with_payload("p")),
            Self::Delete => Intervention::Delete,
            Self::Redrive => Intervention::Redrive,
        };
        // A tool that has not asked whether a run holds the lease sends the requeue all the
        // same, and the store has to refuse it (LH-OPER-4).
        if self == Self::Requeue && seen.state == State::Leased(Purpose::Run) {
            let mut waiting = seen.clone();
            waiting.state = State::Waiting;
            return decide::intervene(&waiting, act, &config::operator()).ok();
        }
        if self == Self::Revoke && seen.state != State::Leased(Purpose::Run) {
            return None;
        }
        decide::intervene(seen, act, &config::operator()).ok()
    }
}

/// The part of a lease that its holder's decision depends on, for the fingerprint.
pub fn reads(lease: &Lease) -> [u32; 3] {
    [lease.failures, lease.rescues, lease.takeovers]
}
