//! A request or a reply that arrives in part.

use leasehold_core::clause::{COMMIT_2, ENQ_7, GEN_4};
use leasehold_core::decide::{self, Outcome};
use leasehold_core::{
    BackendExt, Commit, CommitItem, CommitVerdict, Delivery, EnqueueVerdict, Error, Keep, NewTask,
    Payload, Purpose, Retention, State, TaskRef,
};

use super::wire::{Loss, Wire, check_told};
use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::gate::Way;

/// Large enough for a batch of three to travel in several pieces.
const LARGE_BYTES: usize = 20_000;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A task with a large payload, kept for ever.
fn large(id: &str) -> NewTask {
    let keep = Retention::default().with_succeeded(Keep::Forever);
    NewTask::new("kind", filled(id), Delivery::at_least_once()).with_id(id).with_retention(keep)
}

/// Many bytes that tell whose they are.
fn filled(id: &str) -> Vec<u8> {
    id.bytes().cycle().take(LARGE_BYTES).collect()
}

/// Ids of one length in every round, so that each round weighs the same.
fn named(round: usize) -> [String; 3] {
    NAMES.map(|name| format!("{name}{round}"))
}

fn batch(round: usize) -> Vec<NewTask> {
    named(round).iter().map(|id| large(id)).collect()
}

/// Where a call of this size is cut: at its ends and in between.
fn cuts(bytes: usize) -> [usize; 5] {
    [1, bytes / 4, bytes / 2, bytes / 4 * 3, bytes.saturating_sub(1)]
}

fn must_have_struck(struck: bool) -> Result<(), Stop> {
    struck.then_some(()).ok_or_else(|| Stop::vacuous("nothing arrived in part"))
}

/// A batch that arrives in part is there whole or not at all; the repeat tells, in one step, as
/// what arrived may still be under way.
pub(crate) async fn a_batch_in_part_is_whole_or_nothing(cx: &mut Context) -> Result<(), Stop> {
    enqueues_in_part(cx, Way::Requests).await?;
    commits_in_part(cx, Way::Requests).await
}

/// A reply that arrives in part is none: the call has none of it to tell, and its repeat all.
pub(crate) async fn a_reply_in_part_is_no_reply(cx: &mut Context) -> Result<(), Stop> {
    enqueues_in_part(cx, Way::Replies).await?;
    commits_in_part(cx, Way::Replies).await?;
    reads_in_part(cx).await
}

async fn enqueues_in_part(cx: &mut Context, way: Way) -> Result<(), Stop> {
    let wire = Wire::lay(cx).await?;
    let caller = &wire.caller;
    caller.enqueue_all(batch(0)).await?;
    // Only the second batch weighs what all later ones do: the first may bring the queue along.
    let (bytes, told) = wire.weigh(way, caller.enqueue_all(batch(1))).await;
    told?;
    let mut struck = false;
    for (round, bytes) in (2..).zip(cuts(bytes)) {
        let lost = wire.lose(cx, Loss::Part(way, bytes), caller.enqueue_all(batch(round))).await?;
        struck |= lost.struck;
        let is_new = |reply: &EnqueueVerdict| matches!(reply, EnqueueVerdict::Enqueued { .. });
        let what = format!("an enqueue cut after {bytes} bytes");
        check_told(cx, &what, &lost, |told| told.len() == 3 && told.iter().all(is_new));
        let again = wire.again(cx, || caller.enqueue_all(batch(round))).await?.answer;
        let new = again.iter().filter(|reply| is_new(reply)).count();
        let whole = new == 0 || (new == NAMES.len() && lost.told.is_err());
        cx.check_that(ENQ_7, &format!("the repeat of {what}"), whole, &again);
        for id in named(round) {
            let task = wire.witness.backend().task(&TaskRef::new(caller.queue(), &id)).await?;
            let payload = task.map(|task| task.payload == Payload::from(filled(&id)));
            cx.check(ENQ_7, &format!("whether {id} is there whole"), payload, Some(true));
        }
    }
    must_have_struck(struck)
}

async fn commits_in_part(cx: &mut Context, way: Way) -> Result<(), Stop> {
    let wire = Wire::lay(cx).await?.on("commits");
    let (caller, witness) = (&wire.caller, &wire.witness);
    call(caller, &results(witness, 0).await?).await?;
    let items = results(witness, 1).await?;
    let (bytes, told) = wire.weigh(way, call(caller, &items)).await;
    told?;
    let mut struck = false;
    for (round, bytes) in (2..).zip(cuts(bytes)) {
        let items = results(witness, round).await?;
        let lost = wire.lose(cx, Loss::Part(way, bytes), call(caller, &items)).await?;
        struck |= lost.struck;
        let is_new = |told: &CommitVerdict| matches!(told, CommitVerdict::Applied(_));
        let what = format!("a commit cut after {bytes} bytes");
        check_told(cx, &what, &lost, |told| told.len() == 3 && told.iter().all(is_new));
        let again = wire.again(cx, || call(caller, &items)).await?.answer;
        let known = |told: &CommitVerdict| is_new(told) || *told == CommitVerdict::Replayed;
        let fits = again.len() == 3 && again.iter().all(known);
        cx.check_that(GEN_4, &format!("the repeat of {what}"), fits, &again);
        for item in &items {
            let task = witness.get(&item.guard.task.id).await?;
            let whole = task.result == Some(Payload::from(filled(&task.task_ref.id)));
            let got = (task.state, task.history.records.len(), whole);
            let what = format!("the end of {}", task.task_ref.id);
            cx.check(COMMIT_2, &what, got, (State::Succeeded, 1, true));
        }
    }
    must_have_struck(struck)
}

/// Three runs that are to end with a large result each.
async fn results(by: &Actor, round: usize) -> Result<Vec<CommitItem>, Stop> {
    for id in named(round) {
        by.enqueue(Actor::kept(&id)).await?;
    }
    let leases = by.claim(NAMES.len()).await?.leases;
    let end = |lease: &leasehold_core::Lease| {
        let result = Some(Payload::from(filled(&lease.task_ref.id)));
        let outcome = Outcome::Succeeded { result, follow_ups: Vec::new() };
        CommitItem::new(lease.guard(), decide::run(lease, outcome, 1))
    };
    match leases.len() == NAMES.len() && leases.iter().all(|lease| lease.purpose == Purpose::Run) {
        true => Ok(leases.iter().map(end).collect()),
        false => Err(Stop::because(format!("three ready tasks were not granted: {leases:?}"))),
    }
}

/// The verdicts of a batch; an item that has none fails it.
async fn call(by: &Actor, items: &[CommitItem]) -> Result<Vec<CommitVerdict>, Error> {
    by.backend().commit(Commit::new(items.to_vec())).await?.into_iter().collect()
}

async fn reads_in_part(cx: &mut Context) -> Result<(), Stop> {
    let wire = Wire::lay(cx).await?.on("reads");
    wire.witness.enqueue(large("t")).await?;
    let task = TaskRef::new(wire.witness.queue(), "t");
    let (caller, want) = (wire.caller.backend(), Some(wire.witness.get("t").await?));
    caller.task(&task).await?;
    let (bytes, told) = wire.weigh(Way::Replies, caller.task(&task)).await;
    told?;
    let mut struck = false;
    for bytes in cuts(bytes) {
        let lost = wire.lose(cx, Loss::Part(Way::Replies, bytes), caller.task(&task)).await?;
        struck |= lost.struck;
        let what = format!("a read cut after {bytes} bytes");
        check_told(cx, &what, &lost, |told| *told == want);
        let again = wire.again(cx, || caller.task(&task)).await?.answer;
        cx.check(GEN_4, &format!("the repeat of {what}"), again == want, true);
    }
    must_have_struck(struck)
}
