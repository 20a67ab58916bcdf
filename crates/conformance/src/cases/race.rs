//! The three families of races that the contract is made against: a worker's late commit, a
//! rescuer's takeover, an operator's act, each with its matching path, for every change.

use leasehold_core::CommitVerdict;
use leasehold_core::clause::{COMMIT_1, LATE_1, LATE_3};

use crate::actor::{Actor, applied};
use crate::context::{Context, Stop};

pub(crate) async fn worker_success_vs_rescue_requeue(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    worker.enqueue(Actor::task("t")).await?;
    let run = worker.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let lapsed = rescuer.rescue_one().await?;

    let late = applied(worker.succeed(&run).await?)?;
    cx.check(LATE_1, "a success while the rescue is undecided is late", late.late, true);
    cx.check_gone(LATE_1, "the task, which its success ended", &worker, "t").await?;

    let verdict = rescuer.give_back(&lapsed).await?;
    let stale = matches!(verdict, CommitVerdict::Stale { state: None, .. });
    cx.check_that(LATE_3, "the rescuer's decision is stale", stale, &verdict);
    cx.check_gone(COMMIT_1, "the task after the stale rescue", &worker, "t").await?;
    let none = worker.claim(1).await?.leases;
    cx.check(COMMIT_1, "what can be claimed afterwards", none.len(), 0);
    Ok(())
}
