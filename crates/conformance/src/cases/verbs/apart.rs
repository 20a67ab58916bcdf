//! Two queues with the same names in them (LH-GEN-7).

use std::time::Duration;

use leasehold_core::clause::GEN_7;
use leasehold_core::decide::{self, Intervention};
use leasehold_core::{
    BackendExt, CommitItem, CommitVerdict, DuplicateCause, EnqueueVerdict, Filter, Found, Get,
    Guard, Keep, Lease, LostReason, Purge, RenewItem, RenewVerdict, Retention, State, TaskRef,
};

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};
use crate::staged::list;

const OTHER: &str = "q2";

/// The same guard, but of the task of this name in the other queue.
fn there(lease: &Lease) -> Guard {
    Guard::new(TaskRef::new(OTHER, &lease.task_ref.id), lease.fence)
}

fn duplicate(queue: &str, state: Option<State>) -> EnqueueVerdict {
    let holder = TaskRef::new(queue, "t");
    EnqueueVerdict::Duplicate { cause: DuplicateCause::Id, holder, state }
}

/// What runs under an id in one queue is neither renewed nor told by way of the other.
pub(crate) async fn a_name_in_two_queues_is_two_tasks(cx: &mut Context) -> Result<(), Stop> {
    let here = cx.actor("user").await?;
    let other = here.on(OTHER);
    other.enqueue(Actor::kept("only there")).await?;
    applied(other.succeed(&other.run_one().await?).await?)?;
    here.enqueue(Actor::kept("t")).await?;
    let run = here.run_one().await?;
    let before = here.get("t").await?;
    cx.shift(1_000).await?;
    let renew = RenewItem::new(there(&run), Actor::TTL);
    let told = here.backend().renew_one(renew).await?;
    cx.check(GEN_7, "a renew by the other queue", told, RenewVerdict::Lost(LostReason::Gone));
    cx.check_untouched(GEN_7, "the run after it", &here, &before).await?;
    let found = here.backend().get(Get::new(there(&run).task)).await?;
    cx.check(GEN_7, "a get in the other queue", found, Found::Nothing);
    let ids = |tasks: Vec<leasehold_core::StoredTask>| {
        tasks.into_iter().map(|task| task.task_ref.id).collect::<Vec<_>>()
    };
    let listed = ids(list(&here, Filter::all(), 10).await?);
    cx.check(GEN_7, "what is listed here", listed, ["t"]);
    applied(here.succeed(&run).await?)?;
    other.enqueue(Actor::task("t")).await?;
    for (by, state) in [(&here, State::Succeeded), (&other, State::Waiting)] {
        let verdict = by.try_enqueue(Actor::task("t")).await?;
        let what = format!("what an enqueue in {} meets", by.queue());
        cx.check(GEN_7, &what, verdict, duplicate(by.queue(), Some(state)));
    }
    let succeeded = Filter::all().with_status(leasehold_core::Status::Succeeded);
    let listed = ids(list(&here, succeeded, 10).await?);
    cx.check(GEN_7, "what has succeeded here", listed, ["t"]);
    other.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = here.rescue(10).await?.leases;
    cx.check(GEN_7, "what has lapsed here", lapsed, []);
    Ok(())
}

/// What has left one queue is remembered in that one, and purged in that one.
pub(crate) async fn what_left_a_queue_left_no_other(cx: &mut Context) -> Result<(), Stop> {
    let here = cx.actor("user").await?;
    let other = here.on(OTHER);
    other.enqueue(Actor::task("only there")).await?;
    here.enqueue(Actor::task("t")).await?;
    let run = here.run_one().await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, success(), 1));
    applied(here.commit_item(&item).await?)?;
    let mut same = item.clone();
    same.guard = there(&run);
    let told = other.commit_item(&same).await?;
    cx.check(GEN_7, "its commit in the other queue", told, CommitVerdict::Gone);
    let found = here.backend().get(Get::new(same.guard.task)).await?;
    cx.check(GEN_7, "a get in the other queue", found, Found::Nothing);
    let verdict = other.try_enqueue(Actor::task("t")).await;
    let is_new = matches!(verdict, Ok(EnqueueVerdict::Enqueued { .. }));
    cx.check_that(GEN_7, "the id in the other queue", is_new, &verdict);
    let again = here.try_enqueue(Actor::task("t")).await?;
    cx.check(GEN_7, "the id in its own queue", again, duplicate(here.queue(), None));

    let brief = Retention::default().with_cancelled(Keep::For(Duration::from_secs(1)));
    here.enqueue(Actor::task("old").with_retention(brief)).await?;
    applied(here.act(&here.get("old").await?, Intervention::Cancel).await?)?;
    let before = here.get("old").await?;
    cx.shift(1_000).await?;
    let purged = here.backend().purge(Purge::new(OTHER, 10)).await?;
    cx.check(GEN_7, "what a purge of the other queue takes", purged.tasks, 0);
    cx.check_untouched(GEN_7, "what may leave this one", &here, &before).await
}
