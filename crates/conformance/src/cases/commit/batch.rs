//! The items of a call: independent of each other, each task at most once.

use leasehold_core::clause::{COMMIT_3, COMMIT_9, COMMIT_11, GEN_2};
use leasehold_core::{
    Commit, CommitVerdict, DecisionId, Delivery, Error, ErrorKind, Guard, NewTask, Renew,
    RenewItem, TaskRef,
};

use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::demand;
use crate::moves;
use crate::scene::Cast;

/// One call with every answer in it: each item gets its own, in order, and a bad one takes no
/// other along.
pub(crate) async fn one_bad_item_does_not_hurt(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let ids = ["first", "stale", "repeated", "unfit", "last"];
    for id in ids {
        worker.enqueue(Actor::task(id)).await?;
    }
    let leases = worker.claim(5).await?.leases;
    let [first, stale, repeated, unfit, last] = leases.as_slice() else {
        return Err(Stop::because("five ready tasks were not granted"));
    };
    let fail = |lease| moves::ending(lease, "failure").map(|end| end.item);
    let again = fail(repeated)?;
    for item in [fail(stale)?, again.clone(), fail(unfit)?] {
        crate::actor::applied(worker.commit_item(&item).await?)?;
    }
    let mut before = Vec::new();
    for id in ids {
        before.push(worker.get(id).await?);
    }
    let nobody = Guard::new(TaskRef::new(Context::QUEUE, "nobody"), first.fence);
    let mut wrong = fail(unfit)?;
    wrong.guard.fence = before[3].fence;
    let mut gone = fail(first)?;
    gone.guard = nobody;
    let items = vec![fail(first)?, fail(stale)?, again, wrong, gone, fail(last)?];
    let told = worker.backend().commit(Commit::new(items)).await;
    let told = demand::answered(cx, GEN_2, "a call with bad items in it", told)?;
    let told: Vec<_> = told.into_iter().map(|one| one.map_err(|error| error.kind())).collect();
    let applied = |at: usize| matches!(told.get(at), Some(Ok(CommitVerdict::Applied(_))));
    cx.check_that(GEN_2, "the first and the last item", applied(0) && applied(5), &told);
    let (fence, state) = (before[1].fence, Some(before[1].state));
    let want = vec![
        Ok(CommitVerdict::Stale { fence, state }),
        Ok(CommitVerdict::Replayed),
        Err(ErrorKind::Invalid),
        Ok(CommitVerdict::Gone),
    ];
    cx.check(COMMIT_9, "what the stale one is told", told.get(1), want.first());
    cx.check(COMMIT_3, "the answers between", told.get(1..5), Some(want.as_slice()));
    for task in &before[1..4] {
        cx.check_untouched(COMMIT_9, "a task of a bad item", &worker, task).await?;
    }
    for (id, failures) in [("first", 1), ("last", 1)] {
        cx.check(GEN_2, id, worker.get(id).await?.failures, failures);
    }
    Ok(())
}

/// Two items for one task refuse the whole call, be they the same decision or not, of commit
/// and of renew; one id in two queues is two tasks.
pub(crate) async fn twice_in_a_call_is_invalid(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("once", Delivery::at_least_once()).await?;
    let other = cast.stage("elsewhere", Delivery::at_least_once()).await?;
    let bystander = NewTask::new("kind", "payload", Delivery::at_least_once()).with_id("u");
    scene.cast.operator.enqueue(bystander).await?;
    let leases = scene.cast.worker.claim(2).await?.leases;
    let theirs = other.run(cx, &other.cast.worker).await?;
    let [run, bystander] = leases.as_slice() else {
        return Err(Stop::because("two ready tasks were not granted"));
    };
    scene.shift(cx, 10_000).await?;
    let before = scene.see().await?;
    let backend = scene.cast.worker.backend().clone();
    let good = moves::ending(run, "failure")?.item;
    let mut fresh = good.clone();
    fresh.decision = DecisionId::from_bits(1);
    let beside = moves::ending(bystander, "success")?.item;
    for items in [vec![good.clone(), beside.clone(), good.clone()], vec![good.clone(), fresh]] {
        let told = backend.commit(Commit::new(items)).await;
        let kind = told.as_ref().err().map(Error::kind);
        cx.check(COMMIT_11, "a commit of one task twice", kind, Some(ErrorKind::Invalid));
    }
    let renew = |guard: Guard| RenewItem::new(guard, Actor::TTL);
    let items = vec![renew(run.guard()), renew(bystander.guard()), renew(run.guard())];
    let told = backend.renew(Renew::new(items)).await;
    let kind = told.as_ref().err().map(Error::kind);
    cx.check(COMMIT_11, "a renew of one task twice", kind, Some(ErrorKind::Invalid));
    let after = scene.see().await?;
    cx.check(COMMIT_11, "the task named twice", after.task, before.task);
    cx.check(COMMIT_11, "the counts", after.counts, before.counts);

    let both = vec![good, moves::ending(&theirs, "failure")?.item];
    let told = backend.commit(Commit::new(both)).await?;
    let fine = |one: &Result<CommitVerdict, Error>| matches!(one, Ok(CommitVerdict::Applied(_)));
    cx.check_that(COMMIT_11, "one id in two queues", told.iter().all(fine), &told);
    Ok(())
}
