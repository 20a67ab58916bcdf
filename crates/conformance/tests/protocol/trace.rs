//! A way through the worlds, told line by line.

use std::fmt::Write;

use leasehold_conformance::model::{Op, Reply};
use leasehold_core::{
    Claimed, CommitItem, CommitVerdict, EnqueueVerdict, Found, Purpose, RenewVerdict,
};

use crate::action::Action;
use crate::config::{Config, Work};
use crate::fault::Fault;
use crate::step::take;
use crate::world::World;

/// The steps of `way` from the start: who, what was called, what was answered.
pub fn told(config: &Config, fault: &dyn Fault, way: &[Action]) -> String {
    let mut world = World::start(config);
    let mut lines = String::new();
    for (at, action) in way.iter().enumerate() {
        let step = take(config, fault, &world, action);
        let who = action.actor().map_or("clock".to_owned(), |actor| who(config, actor));
        let (op, reply) = (call(action, &step.op), answer(&step.reply));
        writeln!(lines, "  {:>2}. {who:<12} {op:<52} {reply}", at + 1).expect("a string grows");
        world = step.world;
    }
    lines
}

fn who(config: &Config, actor: usize) -> String {
    let part = match config.actors[actor].work {
        Work::Execute { .. } => "executor",
        Work::Rescue => "rescuer",
        Work::Operate { .. } => "operator",
        Work::Produce { .. } => "producer",
        Work::Purge => "purger",
    };
    format!("{part} {actor}")
}

fn call(action: &Action, op: &Op) -> String {
    let lost = match action {
        Action::Claim { lost: true, .. } | Action::Stray { .. } => ", and nobody hears the answer",
        _ => "",
    };
    let again = match action {
        Action::ClaimAgain { .. } | Action::CommitAgain { .. } | Action::Stray { .. } => " again",
        _ => "",
    };
    match op {
        Op::Enqueue(tasks) => format!("enqueue {}", tasks[0].id),
        Op::Claim(claim) => {
            let purpose = if claim.purpose == Purpose::Run { "run" } else { "rescue" };
            let ticket = claim.ticket.map_or(String::new(), |t| format!(" (number {})", t.seq));
            format!("claim to {purpose}{ticket}{again}{lost}")
        }
        Op::Renew(item) => format!("renew {} at {}", item.guard.task.id, item.guard.fence),
        Op::Commit(item) => format!("commit{again} {}", decision(item)),
        Op::Get(id) => format!("get {id}"),
        Op::Purge(max) => format!("purge {max}"),
        Op::Shift(by_ms) => format!("moves by {by_ms} ms"),
        other => other.name().to_owned(),
    }
}

fn decision(item: &CommitItem) -> String {
    let (change, guard) = (&item.change, &item.guard);
    format!("{:?} of {} at {}: {:?}", change.event, guard.task.id, guard.fence, change.to)
}

fn answer(reply: &Reply) -> String {
    match reply {
        Reply::Enqueued(verdicts) => match &verdicts[0] {
            EnqueueVerdict::Enqueued { fence } => format!("Enqueued({fence})"),
            EnqueueVerdict::Duplicate { cause, holder, state } => {
                format!("Duplicate({cause:?} of {}, {state:?})", holder.id)
            }
        },
        Reply::Claimed(Claimed { superseded: true, .. }) => "superseded".to_owned(),
        Reply::Claimed(claimed) => {
            let leases = claimed.leases.iter();
            let leases =
                leases.map(|l| format!("{} at {} for {:?}", l.task_ref.id, l.fence, l.ttl_left));
            format!("granted [{}]", leases.collect::<Vec<_>>().join(", "))
        }
        Reply::Renewed(RenewVerdict::Held { ttl_left }) => format!("Held({ttl_left:?})"),
        Reply::Committed(CommitVerdict::Applied(applied)) => {
            let overdue = if applied.overdue { ", overdue" } else { "" };
            let late = if applied.late { ", late" } else { "" };
            format!("Applied({}{overdue}{late})", applied.fence)
        }
        Reply::Renewed(verdict) => format!("{verdict:?}"),
        Reply::Committed(verdict) => format!("{verdict:?}"),
        Reply::Found(Found::Task(task)) => format!("{} at {}", task.state, task.fence),
        other => format!("{other:?}"),
    }
}
