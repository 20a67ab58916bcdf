//! Futures that are dropped half way (LH-GEN-5): like a lost reply, and the handle goes on.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use leasehold_core::clause::{COMMIT_2, DEAD_2, ENQ_7, GEN_5};
use leasehold_core::decide::{self, Outcome, Retry};
use leasehold_core::{
    BackendExt, CommitItem, CommitVerdict, Configure, Count, DeadReason, DuplicateCause,
    EnqueueVerdict, Filter, Lease, List, Purge, Purpose, Queues, RenewItem, RenewVerdict, State,
    Status, TaskRef,
};

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};

/// After so many polls each call of a sound backend is done.
const POLLS_MAX: usize = 64;

/// Drops each call after 0, 1, 2... polls, until all of them are done by then, and repeats
/// it: whether the dropped call took effect or not, it did so once at most.
pub(crate) async fn counts_as_a_lost_reply(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for polls in 0..POLLS_MAX {
        let id = format!("t{polls}");
        let enqueued = enqueue(cx, &user, &id, polls).await?;
        let (claimed, lease) = claim(cx, &user, polls).await?;
        let renewed = renew(cx, &user, &lease, polls).await?;
        let committed = commit(cx, &user, &lease, polls).await?;
        let others = others(&user, &lease, polls).await?;
        if enqueued && claimed && renewed && committed && others {
            return Ok(());
        }
    }
    Err(Stop::because(format!("a call was not done after {POLLS_MAX} polls")))
}

/// C124: a batch whose call is dropped half way is there whole or not at all. The repeat tells,
/// in one step, as a call that was dropped may still be under way.
pub(crate) async fn an_enqueue_is_whole_or_not_at_all(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for polls in 0..POLLS_MAX {
        let ids = ["a", "b", "c"].map(|name| format!("{name}{polls}"));
        let batch = || ids.iter().map(|id| Actor::task(id)).collect::<Vec<_>>();
        let done = polled(polls, user.enqueue_all(batch())).await.transpose()?.is_some();
        let again = user.enqueue_all(batch()).await?;
        let is_new = |reply: &&EnqueueVerdict| matches!(reply, EnqueueVerdict::Enqueued { .. });
        let new = again.iter().filter(is_new).count();
        let whole = new == 0 || (new == ids.len() && !done);
        cx.check_that(ENQ_7, &format!("a repeat after {polls} polls"), whole, (done, again));
        for id in &ids {
            let task = user.backend().task(&TaskRef::new(Context::QUEUE, id)).await?;
            cx.check(ENQ_7, &format!("whether {id} is there"), task.is_some(), true);
        }
        if done {
            return Ok(());
        }
    }
    Err(Stop::because(format!("an enqueue was not done after {POLLS_MAX} polls")))
}

/// A task whose burial is dropped half way runs as before or is dead, and is never between.
pub(crate) async fn a_burial_is_one_step(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for polls in 0..POLLS_MAX {
        let id = format!("t{polls}");
        user.enqueue(Actor::kept(&id)).await?;
        let lease = user.run_one().await?;
        let fails = Outcome::Failed { message: "for good".to_owned(), retry: Retry::Never };
        let item = CommitItem::new(lease.guard(), decide::run(&lease, fails, 1));
        let call = user.backend().commit_one(item.clone());
        let done = polled(polls, call).await.transpose()?.is_some();
        let state = user.backend().task(&lease.task_ref).await?.map(|task| task.state);
        let (run, dead) = (State::Leased(Purpose::Run), State::Dead(DeadReason::Rejected));
        let one = state == Some(dead) || (state == Some(run) && !done);
        cx.check_that(DEAD_2, &format!("its state after {polls} polls"), one, state);
        let again = user.backend().commit_one(item).await?;
        let sound = match &again {
            CommitVerdict::Applied(_) => !done,
            other => *other == CommitVerdict::Replayed,
        };
        cx.check_that(COMMIT_2, "the burial repeated", sound, (done, again));
        let request = List::new(Context::QUEUE, Filter::all().with_status(Status::Dead), 100);
        let letters = user.backend().list(request).await?.tasks;
        let records = letters.iter().filter(|task| task.task_ref == lease.task_ref);
        let records: Vec<_> = records.map(|task| task.history.records.len()).collect();
        cx.check(DEAD_2, "its entries, and the records of each", records, [1]);
        if done {
            return Ok(());
        }
    }
    Err(Stop::because(format!("a burial was not done after {POLLS_MAX} polls")))
}

async fn enqueue(cx: &mut Context, user: &Actor, id: &str, polls: usize) -> Result<bool, Stop> {
    let done = polled(polls, user.try_enqueue(Actor::kept(id))).await.transpose()?.is_some();
    let again = user.try_enqueue(Actor::kept(id)).await?;
    let sound = match &again {
        EnqueueVerdict::Enqueued { .. } => !done,
        EnqueueVerdict::Duplicate { cause, state, .. } => {
            (*cause, *state) == (DuplicateCause::Id, Some(State::Waiting))
        }
    };
    cx.check_that(GEN_5, "an enqueue after a dropped one", sound, (polls, again));
    let task = user.get(id).await?;
    let got = (task.state, task.fence, task.attempt, task.payload.as_bytes());
    let want = (State::Waiting, task.born, 0, id.as_bytes());
    cx.check(GEN_5, "a task whose enqueue was repeated", got, want);
    Ok(done)
}

async fn claim(cx: &mut Context, user: &Actor, polls: usize) -> Result<(bool, Lease), Stop> {
    let done = polled(polls, user.claim(1)).await.transpose()?.is_some();
    let lease = match user.claim(1).await?.leases.pop() {
        Some(lease) => lease,
        // The dropped claim was granted, and nobody heard of it: its lease lapses.
        None => {
            cx.shift(Actor::TTL_MS).await?;
            let lapsed = user.rescue_one().await?;
            applied(user.give_back(&lapsed).await?)?;
            user.run_one().await?
        }
    };
    let task = user.get(&lease.task_ref.id).await?;
    let got = (task.state, task.fence, task.run, task.attempt);
    let want = (State::Leased(Purpose::Run), lease.fence, Some(lease.fence), 1 + task.rescues);
    cx.check(GEN_5, "a task whose claim was repeated", got, want);
    cx.check_that(GEN_5, "its rescues", task.rescues <= 1, task.rescues);
    Ok((done, lease))
}

async fn renew(cx: &mut Context, user: &Actor, lease: &Lease, polls: usize) -> Result<bool, Stop> {
    let mut want = user.get(&lease.task_ref.id).await?;
    cx.shift(1_000).await?;
    let item = RenewItem::new(lease.guard(), Actor::TTL).with_note("half");
    let done = polled(polls, user.backend().renew_one(item.clone())).await.transpose()?.is_some();
    let again = user.backend().renew_one(item).await?;
    let held = RenewVerdict::Held { ttl_left: Actor::TTL };
    cx.check(GEN_5, "a renew after a dropped one", again, held);
    want.until = want.until.map(|until| until.after(std::time::Duration::from_secs(1)));
    want.note = Some("half".into());
    cx.check_untouched(GEN_5, "a task whose renew was repeated", user, &want).await?;
    Ok(done)
}

async fn commit(cx: &mut Context, user: &Actor, lease: &Lease, polls: usize) -> Result<bool, Stop> {
    let item = CommitItem::new(lease.guard(), decide::run(lease, success(), 1));
    let rescues = lease.rescues as usize;
    let done = polled(polls, user.backend().commit_one(item.clone())).await.transpose()?.is_some();
    let again = user.backend().commit_one(item.clone()).await?;
    let sound = match &again {
        CommitVerdict::Applied(_) => !done,
        other => *other == CommitVerdict::Replayed,
    };
    cx.check_that(GEN_5, "a commit after a dropped one", sound, (polls, again));
    let task = user.get(&lease.task_ref.id).await?;
    let got = (task.state, task.history.records.len());
    cx.check(GEN_5, "a task whose commit was repeated", got, (State::Succeeded, 1 + rescues));
    let third = user.backend().commit_one(item).await?;
    cx.check(GEN_5, "the commit once more", third, CommitVerdict::Replayed);
    Ok(done)
}

/// The calls whose repeats need no judging: the next one of each has to work.
async fn others(user: &Actor, lease: &Lease, polls: usize) -> Result<bool, Stop> {
    let backend = user.backend();
    let list = || List::new(Context::QUEUE, Filter::all(), 10);
    let (configure, purge) = (|| Configure::new(Context::QUEUE).resume(), || Purge::new("q", 10));
    let done = [
        polled(polls, backend.task(&lease.task_ref)).await.transpose()?.is_some(),
        polled(polls, backend.list(list())).await.transpose()?.is_some(),
        polled(polls, backend.counts(Count::new(Context::QUEUE))).await.transpose()?.is_some(),
        polled(polls, backend.queues(Queues::new(10))).await.transpose()?.is_some(),
        polled(polls, backend.configure(configure())).await.transpose()?.is_some(),
        polled(polls, backend.purge(purge())).await.transpose()?.is_some(),
    ];
    user.get(&lease.task_ref.id).await?;
    backend.list(list()).await?;
    backend.counts(Count::new(Context::QUEUE)).await?;
    backend.queues(Queues::new(10)).await?;
    backend.configure(configure()).await?;
    backend.purge(purge()).await?;
    Ok(!done.contains(&false))
}

/// Polls `call` as often as that, each time when it asks to be polled, then drops it; its
/// reply, if it had come by then.
pub(crate) async fn polled<T>(polls: usize, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match call.as_mut().poll(context) {
            Poll::Ready(reply) => Poll::Ready(Some(reply)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
