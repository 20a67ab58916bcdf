//! One step of a [`World`]: the call, the answer, the laws, and what the actors then hold.

use std::rc::Rc;

use leasehold_conformance::model::{Op, Reply, predict_by};
use leasehold_core::{Claimed, CommitVerdict, Found, RenewVerdict};

use crate::action::{Action, call};
use crate::config::Config;
use crate::fault::Fault;
use crate::law::{self, Broken};
use crate::world::{Held, Sent, World};

/// What happened.
pub struct Step {
    pub world: World,
    pub op: Op,
    pub reply: Reply,
    /// The law that it broke, if any.
    pub broken: Option<Broken>,
}

/// Takes `action` in `before`.
pub fn take(config: &Config, fault: &dyn Fault, before: &World, action: &Action) -> Step {
    let op = call(config, fault, before, action);
    let spoilt = fault.before(&before.model, &op);
    let model = spoilt.as_ref().unwrap_or(&before.model);
    let (mut model, mut reply) = predict_by(fault.rules(), model, &op);
    fault.after(&before.model, &mut model, &op, &mut reply);
    let mut world = World {
        model,
        hands: before.hands.clone(),
        past: before.past.clone(),
        ticks: before.ticks,
        backs: before.backs,
        decisions: before.decisions,
    };
    let relation = || match fault.is_none() {
        true => law::relation(&before.model, &op, &reply),
        false => Ok(()),
    };
    let judged = law::judge(config, before, action, &op, &reply, &mut world);
    hear(&mut world, action, &op, &reply, before, config);
    world.watch();
    let broken =
        judged.and_then(|()| law::alone(config, &world, &reply)).and_then(|()| relation()).err();
    world.strip();
    Step { world, op, reply, broken }
}

/// The actor takes the answer in.
fn hear(
    world: &mut World,
    action: &Action,
    op: &Op,
    reply: &Reply,
    before: &World,
    config: &Config,
) {
    match action {
        Action::Pass => {}
        Action::Tick => world.ticks -= 1,
        Action::Back => world.backs -= 1,
        _ => {}
    }
    let Some(at) = action.actor() else { return };
    let now = world.model.now;
    let hand = Rc::make_mut(&mut world.hands[at]);
    if let (Op::Claim(claim), Reply::Claimed(claimed)) = (op, reply) {
        note(hand, action, claim.ticket.map(|ticket| ticket.seq), claimed);
    }
    match (action, reply) {
        (
            Action::Claim { lost: false, .. } | Action::ClaimAgain { .. },
            Reply::Claimed(claimed),
        ) => {
            hand.sent = None;
            hand.held = claimed.leases.first().map(|lease| {
                let end = now.after(lease.ttl_left);
                Held { lease: lease.clone(), end, over: false }
            });
        }
        (Action::Renew { .. }, Reply::Renewed(verdict)) => {
            hand.renews -= 1;
            if let (RenewVerdict::Held { ttl_left }, Some(held)) = (verdict, &mut hand.held) {
                (held.end, held.over) = (now.after(*ttl_left), false);
            }
        }
        (Action::See { .. }, Reply::Found(Found::Task(task))) => {
            hand.seen = Some((**task).clone());
            hand.sent = None;
        }
        (Action::Enqueue { .. } | Action::Purge { .. }, _) => hand.turns -= 1,
        (Action::CommitAgain { .. }, _) => hand.sent = None,
        _ => {}
    }
    let (Op::Commit(item), false) = (op, matches!(action, Action::CommitAgain { .. })) else {
        return;
    };
    let applied = matches!(reply, Reply::Committed(CommitVerdict::Applied(_)));
    let sent = Sent { item: item.clone(), applied };
    hand.turns -= u8::from(hand.seen.take().is_some());
    hand.held = None;
    hand.sent = config.actors[at].repeats.then_some(sent);
    world.decisions = before.decisions + 1;
}

/// What a claim leaves in the hand, whether its answer arrives or not.
fn note(hand: &mut crate::world::Hand, action: &Action, seq: Option<u64>, claimed: &Claimed) {
    match action {
        Action::Claim { lost, .. } => {
            // A claim that brought nothing may be made again for ever: it changes nothing, but
            // for a named one, whose number grows.
            hand.turns -= u8::from(seq.is_some() || !claimed.leases.is_empty());
            hand.ticket.lost = *lost && seq.is_some();
            hand.ticket.seq = seq.unwrap_or(0);
        }
        Action::ClaimAgain { .. } => hand.ticket.lost = false,
        Action::Stray { .. } => hand.ticket.stray = false,
        _ => {}
    }
    if let (Some(seq), Some(lease)) = (seq, claimed.leases.first()) {
        hand.ticket.granted = Some((seq, lease.task_ref.id.clone(), lease.fence));
    }
}
