//! Replies that come late, or to one of several callers only: each is told to whoever asked.

use futures_util::future::join;
use leasehold_core::clause::{ENQ_2, GEN_5, READ_1};
use leasehold_core::{
    BackendExt, DuplicateCause, EnqueueVerdict, Error, ErrorKind, State, StoredTask,
};

use super::wire::{Loss, Lost, Wire, check_told, ended};
use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::gate::Way;

/// Two calls of one handle are under way, and the connection ends within their replies: whoever
/// is told something is told what is theirs.
pub(crate) async fn each_caller_is_told_its_own(cx: &mut Context) -> Result<(), Stop> {
    let wire = Wire::lay(cx).await?;
    let (a, b) = (task(&wire, "a").await?, task(&wire, "b").await?);
    read(&wire, &a).await?;
    let (bytes, told) = wire.weigh(Way::Replies, read(&wire, &a)).await;
    told?;
    let mut struck = false;
    for bytes in cuts(bytes) {
        let both = join(read(&wire, &a), read(&wire, &b));
        let lost = wire.lose(cx, Loss::Part(Way::Replies, bytes), both).await?;
        struck |= lost.struck;
        let (first, second) = lost.told;
        for (told, want) in [(first, &a), (second, &b)] {
            let lost = Lost { told, struck: lost.struck };
            check_told(cx, &format!("one of two reads, cut after {bytes} bytes"), &lost, |told| {
                told.as_ref() == Some(want)
            });
        }
        for want in [&a, &b] {
            let again = wire.again(cx, || read(&wire, want)).await?.answer;
            cx.check(READ_1, "its repeat", again.as_ref(), Some(want));
        }
    }
    struck.then_some(()).ok_or_else(|| Stop::vacuous("no reply was lost"))?;
    enqueues_apart(cx, &wire).await
}

/// The same with two tasks that are enqueued, each under a fence of its own.
async fn enqueues_apart(cx: &mut Context, wire: &Wire) -> Result<(), Stop> {
    let caller = &wire.caller;
    let weighed = async { caller.enqueue(Actor::task("c9")).await };
    let (bytes, told) = wire.weigh(Way::Replies, weighed).await;
    told?;
    let mut struck = false;
    for (round, bytes) in cuts(bytes).into_iter().enumerate() {
        let (c, d) = (format!("c{round}"), format!("d{round}"));
        let both = join(caller.try_enqueue(Actor::task(&c)), caller.try_enqueue(Actor::task(&d)));
        let lost = wire.lose(cx, Loss::Part(Way::Replies, bytes), both).await?;
        struck |= lost.struck;
        let (first, second) = lost.told;
        for (id, told) in [(c, first), (d, second)] {
            wire.again(cx, || caller.try_enqueue(Actor::task(&id))).await?;
            let want = EnqueueVerdict::Enqueued { fence: wire.witness.get(&id).await?.born };
            let lost = Lost { told, struck: lost.struck };
            check_told(
                cx,
                &format!("one of two enqueues, cut after {bytes} bytes"),
                &lost,
                |told| *told == want,
            );
        }
    }
    struck.then_some(()).ok_or_else(|| Stop::vacuous("no reply was lost"))
}

/// Within the first of two replies of this size, between them, and within the second.
fn cuts(bytes: usize) -> [usize; 5] {
    [1, bytes.saturating_sub(1), bytes, bytes + 1, (2 * bytes).saturating_sub(1)]
}

/// A call that is dropped while its reply is on the way: neither a call that was under way with
/// it nor the next one is told what was meant for it.
pub(crate) async fn a_dropped_calls_reply_is_nobody_elses(cx: &mut Context) -> Result<(), Stop> {
    let wire = Wire::lay(cx).await?;
    let (a, b) = (task(&wire, "a").await?, task(&wire, "b").await?);
    wire.gate.hold(Way::Replies);
    let mut other = Box::pin(read(&wire, &b));
    {
        let mut dropped = Box::pin(read(&wire, &a));
        tokio::select! {
            _ = &mut dropped => return Err(Stop::vacuous("a reply came through the gate")),
            _ = &mut other => return Err(Stop::vacuous("a reply came through the gate")),
            () = wire.gate.stopped(Way::Replies) => {}
        }
    }
    wire.gate.release();
    let told = ended(cx, other).await?;
    told_or_unavailable(cx, "a read beside a dropped one", &told, &b);
    let next = wire.again(cx, || read(&wire, &b)).await?.answer;
    cx.check(GEN_5, "the read after a dropped one", next.as_ref(), Some(&b));

    wire.again(cx, || wire.caller.try_enqueue(Actor::task("first"))).await?;
    wire.gate.hold(Way::Replies);
    tokio::select! {
        told = wire.caller.try_enqueue(Actor::task("dropped")) => {
            return Err(Stop::vacuous(format!("a reply came through the gate: {told:?}")));
        }
        () = wire.gate.stopped(Way::Replies) => {}
    }
    after_the_late_reply(cx, &wire, "dropped").await
}

/// A server that takes requests and says nothing: the call ends by the handle's own deadline, as
/// Unavailable, and the reply that comes after it is told to nobody.
pub(crate) async fn a_silent_server_holds_nobody(cx: &mut Context) -> Result<(), Stop> {
    let wire = Wire::lay(cx).await?;
    wire.again(cx, || wire.caller.try_enqueue(Actor::task("first"))).await?;
    let before = wire.gate.fired(Way::Replies);
    wire.gate.hold(Way::Replies);
    let told = ended(cx, wire.caller.try_enqueue(Actor::task("late"))).await?;
    let struck = wire.gate.fired(Way::Replies) > before;
    let lost = Lost { told, struck };
    check_told(cx, "an enqueue that nobody answers", &lost, |_| false);
    match struck {
        true => after_the_late_reply(cx, &wire, "late").await,
        false => Err(Stop::vacuous("the server was not asked")),
    }
}

/// The reply about the task `given_up` is held back, and nobody waits for it: it arrives while the
/// next call waits for its own.
async fn after_the_late_reply(cx: &mut Context, wire: &Wire, given_up: &str) -> Result<(), Stop> {
    let before = wire.gate.came(Way::Requests);
    let mut next = Box::pin(wire.caller.try_enqueue(Actor::task("next")));
    let told = tokio::select! {
        told = &mut next => told,
        () = wire.asked(before) => {
            wire.gate.release();
            ended(cx, next).await?
        }
    };
    wire.gate.release();
    let again = wire.again(cx, || wire.caller.try_enqueue(Actor::task("next"))).await?.answer;
    let task = wire.witness.get("next").await?;
    let own = EnqueueVerdict::Enqueued { fence: task.born };
    // It may be Unavailable, if the handle had its connection still to make.
    let lost = Lost { told, struck: true };
    check_told(cx, "the next enqueue", &lost, |told| *told == own);
    let duplicate = |task: &StoredTask| EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Id,
        holder: task.task_ref.clone(),
        state: Some(State::Waiting),
    };
    let fits = again == duplicate(&task) || (lost.told.is_err() && again == own);
    cx.check_that(ENQ_2, "its repeat", fits, &again);
    // Of a call in several pieces, the first is what was given up.
    let again = wire.again(cx, || wire.caller.try_enqueue(Actor::task(given_up))).await?.answer;
    let task = wire.witness.get(given_up).await?;
    let new = EnqueueVerdict::Enqueued { fence: task.born };
    let fits = again == duplicate(&task) || again == new;
    cx.check_that(ENQ_2, "the repeat of what was given up", fits, &again);
    Ok(())
}

/// A task of this id, as the store has it.
async fn task(wire: &Wire, id: &str) -> Result<StoredTask, Stop> {
    wire.witness.enqueue(Actor::task(id)).await?;
    wire.witness.get(id).await
}

async fn read(wire: &Wire, task: &StoredTask) -> Result<Option<StoredTask>, Error> {
    wire.caller.backend().task(&task.task_ref).await
}

fn told_or_unavailable(
    cx: &mut Context,
    what: &str,
    told: &Result<Option<StoredTask>, Error>,
    want: &StoredTask,
) {
    let fits = match told {
        Ok(told) => told.as_ref() == Some(want),
        Err(error) => error.kind() == ErrorKind::Unavailable,
    };
    cx.check_that(GEN_5, what, fits, told);
}
