//! What purge removes, when, and what stays (LH-PURGE).

use std::time::Duration;

use leasehold_core::clause::{ENQ_9, PURGE_1, PURGE_2};
use leasehold_core::decide::{self, Intervention, Outcome, Retry};
use leasehold_core::{
    BackendExt, CommitItem, CommitVerdict, Configure, Count, Due, DuplicateCause, Edit,
    EnqueueVerdict, Filter, Keep, NewTask, Priority, Purge, Retention, State, Status, TaskRef,
};

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::{Met, Staged, list, purge_all, stale};

const HOUR_MS: i64 = 60 * 60 * 1_000;
const YEAR_MS: i64 = 365 * 24 * HOUR_MS;

fn hours(n: u64) -> Keep {
    Keep::For(Duration::from_secs(n * 60 * 60))
}

fn all(keep: Keep) -> Retention {
    Retention::default().with_succeeded(keep).with_cancelled(keep).with_dead(keep)
}

async fn keeps(by: &Actor, retention: Retention) -> Result<(), Stop> {
    Ok(by.configure(Configure::new(Context::QUEUE).with_retention(retention)).await?)
}

/// The endings whose retention nothing lengthens.
fn endings() -> [Outcome; 3] {
    let message = "a case of the suite".to_owned();
    let rejected = Outcome::Failed { message: message.clone(), retry: Retry::Never };
    [success(), Outcome::Cancelled { message }, rejected]
}

async fn run_to_end(by: &Actor, new: NewTask, outcome: Outcome) -> Result<(), Stop> {
    by.enqueue(new).await?;
    applied(by.end(&by.run_one().await?, outcome).await?)?;
    Ok(())
}

/// Only purge takes what has stayed its time: a dead letter that an operator edits after that is
/// still there, to be edited again or sent back.
pub(crate) async fn an_edit_takes_nothing(cx: &mut Context) -> Result<(), Stop> {
    let by = cx.actor("worker").await?;
    let new = Actor::task("t").with_retention(Retention::default().with_dead(hours(1)));
    let message = "a case of the suite".to_owned();
    run_to_end(&by, new, Outcome::Failed { message, retry: Retry::Never }).await?;
    cx.shift(2 * HOUR_MS).await?;
    for level in [9, 0] {
        let edit = Edit::default().with_priority(Priority::new(level));
        applied(by.act(&by.get("t").await?, Intervention::Edit(edit)).await?)?;
        let task = by.backend().task(&TaskRef::new(by.queue(), "t")).await?;
        let priority = task.map(|task| task.priority);
        cx.check(
            PURGE_1,
            "an edited task whose time is over",
            priority,
            Some(Priority::new(level)),
        );
        if priority.is_none() {
            return Ok(());
        }
    }
    cx.check(PURGE_1, "tasks that a purge removes then", purge_all(&by).await?, 1);
    cx.check_gone(PURGE_1, "the edited task after the purge", &by, "t").await
}

/// Sin 39: what is unfinished stays untouched for 50 years, in whatever state it is.
pub(crate) async fn unfinished_never(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    keeps(&worker, all(Keep::NOT)).await?;
    let mut unfinished = Vec::new();
    for met in [Met::Rescuing, Met::Lapsed, Met::Running] {
        let id = format!("{met:?}");
        unfinished.push(Staged::bring(cx, &worker, Actor::task(&id), met).await?.task);
    }
    let century = Duration::from_secs(99 * 31_557_600);
    worker.enqueue(Actor::task("scheduled").with_due(Due::In(century))).await?;
    worker.enqueue(Actor::task("ready")).await?;
    for id in ["scheduled", "ready"] {
        unfinished.push(worker.get(id).await?);
    }
    let keep = all(Keep::NOT).with_dead(Keep::For(Duration::from_secs(1)));
    let id = "finished";
    worker.enqueue(Actor::task(id).with_retention(keep)).await?;
    applied(worker.act(&worker.get(id).await?, Intervention::Bury).await?)?;
    for years in [1, 50] {
        cx.shift(years * YEAR_MS).await?;
        let want = usize::from(years == 1);
        cx.check(PURGE_1, "purged", purge_all(&worker).await?, want);
        for before in &unfinished {
            let what = format!("a {} task", before.task_ref.id);
            cx.check_untouched(PURGE_1, &what, &worker, before).await?;
        }
    }
    cx.check_gone(PURGE_1, "a finished task", &worker, id).await?;
    let leases = worker.claim(9).await?.leases;
    cx.check(PURGE_1, "what can be run afterwards", leases.len(), 1);
    cx.check(PURGE_1, "what can be rescued", worker.rescue(9).await?.leases.len(), 3);
    Ok(())
}

/// At most `max` leave in a call; each is counted; `more` is told while there are others.
pub(crate) async fn counted_and_bounded(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for n in 0..5 {
        let new = Actor::task(&format!("t{n}")).with_retention(all(hours(1)));
        run_to_end(&worker, new, success()).await?;
    }
    run_to_end(&worker, Actor::task("kept").with_retention(all(hours(2))), success()).await?;
    cx.shift(HOUR_MS).await?;
    let mut left = 5;
    for _ in 0..20 {
        let purged = worker.backend().purge(Purge::new(Context::QUEUE, 2)).await?;
        cx.check_that(PURGE_1, "purged in one call", purged.tasks <= 2, purged);
        left -= i32::try_from(purged.tasks).unwrap_or(i32::MAX);
        let there = list(&worker, Filter::all(), 10).await?.len();
        cx.check(PURGE_1, "tasks that are left", there, usize::try_from(left + 1).unwrap_or(0));
        if !purged.more {
            break;
        }
    }
    cx.check(PURGE_1, "not purged once there is no more", left, 0);
    let counts = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    cx.check(
        PURGE_1,
        "tasks and succeeded ones",
        (counts.total(), counts.of(Status::Succeeded)),
        (1, 1),
    );
    worker.get("kept").await?;
    Ok(())
}

/// Who purges as long as there is more comes to an end where finished tasks stay, however many, and
/// each of them leaves in its time.
pub(crate) async fn ends_where_all_stay(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for n in 0..5 {
        let new = Actor::task(&format!("t{n}")).with_retention(all(hours(1)));
        run_to_end(&worker, new, success()).await?;
    }
    for (what, leave) in [("before their time", 0), ("in their time", 5)] {
        let (mut left, mut ended) = (0, false);
        for _ in 0..20 {
            let purged = worker.backend().purge(Purge::new(Context::QUEUE, 2)).await?;
            left += purged.tasks;
            ended = !purged.more;
            if ended {
                break;
            }
        }
        cx.check(
            PURGE_1,
            &format!("ended, and tasks removed, {what}"),
            (ended, left),
            (true, leave),
        );
        cx.shift(HOUR_MS).await?;
    }
    Ok(())
}

/// The id is remembered from the purge on, with the last decision; then all is forgotten but
/// the fence source.
pub(crate) async fn leaves_the_remembered_id(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("t").with_retention(all(hours(1)))).await?;
    let run = worker.run_one().await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, success(), 1));
    let last = applied(worker.commit_item(&item).await?)?.fence;
    let other = CommitItem::new(run.guard(), item.change.clone());
    cx.shift(HOUR_MS).await?;
    cx.check(PURGE_1, "purged", purge_all(&worker).await?, 1);
    cx.check_gone(PURGE_2, "the task", &worker, "t").await?;
    cx.check(PURGE_2, "what is listed", list(&worker, Filter::all(), 9).await?, Vec::new());
    let total = worker.backend().counts(Count::new(Context::QUEUE)).await?.total();
    cx.check(PURGE_2, "what is counted", total, 0);

    let holder = TaskRef::new(Context::QUEUE, "t");
    let left = EnqueueVerdict::Duplicate { cause: DuplicateCause::Id, holder, state: None };
    let old = CommitVerdict::Stale { fence: run.fence, state: None };
    for (wait, what) in [(0, "right after"), (59_999, "1 ms before it is forgotten")] {
        cx.shift(wait).await?;
        purge_all(&worker).await?;
        let again = worker.try_enqueue(Actor::task("t")).await?;
        cx.check(ENQ_9, &format!("the id, {what}"), again, left.clone());
        let again = worker.commit_item(&item).await?;
        cx.check(ENQ_9, &format!("a repeat, {what}"), again, CommitVerdict::Replayed);
        let again = worker.commit_item(&other).await?;
        cx.check(ENQ_9, &format!("another decision, {what}"), again, old.clone());
    }
    cx.shift(1).await?;
    purge_all(&worker).await?;
    let again = worker.commit_item(&item).await?;
    cx.check(PURGE_2, "a repeat once forgotten", again, CommitVerdict::Gone);
    let born = worker.enqueue(Actor::task("t")).await?;
    cx.check_that(PURGE_2, "the fence of the next task under the id", born > last, born);
    let again = worker.commit_item(&item).await?;
    cx.check(PURGE_2, "a repeat upon the next task", again, CommitVerdict::Gone);
    Ok(())
}

/// The task's own word goes before its queue's, for each way to finish; C46.
pub(crate) async fn own_retention_goes_first(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    keeps(&worker, all(hours(2))).await?;
    for (n, outcome) in endings().into_iter().enumerate() {
        let queue = Actor::task(&format!("queue{n}"));
        let longer = Actor::task(&format!("longer{n}")).with_retention(all(hours(3)));
        let shorter = Actor::task(&format!("shorter{n}")).with_retention(all(hours(1)));
        let names = [shorter.id.clone(), queue.id.clone(), longer.id.clone()];
        for new in [queue, longer, shorter] {
            run_to_end(&worker, new, outcome.clone()).await?;
        }
        for id in names {
            cx.shift(HOUR_MS - 1).await?;
            cx.check(PURGE_1, &format!("purged before {id}"), purge_all(&worker).await?, 0);
            cx.shift(1).await?;
            cx.check(PURGE_1, &format!("purged for {id}"), purge_all(&worker).await?, 1);
            cx.check_gone(PURGE_1, &id, &worker, &id).await?;
        }
    }
    Ok(())
}

/// One setting is for one way to finish, and the defaults are 0, 24 h and for ever.
pub(crate) async fn each_ending_has_its_own(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let ids = ["succeeded", "cancelled", "dead"];
    for (id, outcome) in ids.into_iter().zip(endings()) {
        run_to_end(&worker, Actor::task(id), outcome).await?;
    }
    cx.check_gone(PURGE_1, "succeeded, retention 0", &worker, "succeeded").await?;
    let (cancelled, dead) = (worker.get("cancelled").await?, worker.get("dead").await?);
    cx.shift(24 * HOUR_MS - 1).await?;
    cx.check(PURGE_1, "purged 1 ms before a day", purge_all(&worker).await?, 0);
    cx.check_untouched(PURGE_1, "cancelled", &worker, &cancelled).await?;
    cx.shift(1).await?;
    cx.check(PURGE_1, "purged after a day", purge_all(&worker).await?, 1);
    cx.check_gone(PURGE_1, "cancelled", &worker, "cancelled").await?;
    cx.check_untouched(PURGE_1, "dead", &worker, &dead).await?;

    let own = Retention::default().with_cancelled(hours(1));
    for (id, outcome) in ["s", "c", "d"].into_iter().zip(endings()) {
        run_to_end(&worker, Actor::task(id).with_retention(own), outcome).await?;
    }
    cx.shift(HOUR_MS).await?;
    cx.check(PURGE_1, "purged of those with a word about cancelled", purge_all(&worker).await?, 1);
    cx.check_gone(PURGE_1, "the cancelled one", &worker, "c").await?;
    Ok(())
}

/// For ever is longer than any queue's setting.
pub(crate) async fn forever_is_never_over(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    keeps(&worker, all(Keep::NOT)).await?;
    let mut kept = Vec::new();
    for (n, outcome) in endings().into_iter().enumerate() {
        let id = format!("t{n}");
        let new = Actor::task(&id).with_retention(all(Keep::Forever));
        run_to_end(&worker, new, outcome).await?;
        kept.push(worker.get(&id).await?);
    }
    cx.shift(400 * 24 * HOUR_MS).await?;
    cx.check(PURGE_1, "purged after 400 days", purge_all(&worker).await?, 0);
    for before in &kept {
        cx.check_untouched(PURGE_1, "a task kept for ever", &worker, before).await?;
    }
    Ok(())
}

/// A retention of 0 needs no purge: the task leaves as it finishes, remembered.
pub(crate) async fn zero_leaves_at_once(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    keeps(&worker, all(hours(1))).await?;
    for (n, outcome) in endings().into_iter().enumerate() {
        let id = format!("t{n}");
        worker.enqueue(Actor::task(&id).with_retention(all(Keep::NOT))).await?;
        let run = worker.run_one().await?;
        let item = CommitItem::new(run.guard(), decide::run(&run, outcome, 1));
        applied(worker.commit_item(&item).await?)?;
        cx.check_gone(PURGE_1, "a task with retention 0", &worker, &id).await?;
        let again = worker.commit_item(&item).await?;
        cx.check(ENQ_9, "a repeat of its last commit", again, CommitVerdict::Replayed);
    }
    let total = worker.backend().counts(Count::new(Context::QUEUE)).await?.total();
    cx.check(PURGE_1, "the tasks of the queue", total, 0);
    cx.check(PURGE_1, "purged", purge_all(&worker).await?, 0);
    Ok(())
}

/// Not from the enqueue, nor from the claim, nor from an end that a redrive took back.
pub(crate) async fn counted_from_the_finish(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    keeps(&worker, all(hours(4))).await?;
    worker.enqueue(Actor::task("t")).await?;
    cx.shift(3 * HOUR_MS).await?;
    let run = worker.run_one().await?;
    cx.shift(3 * HOUR_MS).await?;
    applied(worker.succeed(&run).await?)?;
    cx.shift(3 * HOUR_MS).await?;
    applied(worker.act(&worker.get("t").await?, Intervention::Redrive).await?)?;
    let waiting = worker.get("t").await?;
    cx.shift(3 * HOUR_MS).await?;
    cx.check(PURGE_1, "purged after a redrive", purge_all(&worker).await?, 0);
    cx.check_untouched(PURGE_1, "the task after a redrive", &worker, &waiting).await?;
    applied(worker.end(&worker.run_one().await?, endings()[2].clone()).await?)?;
    let dead = worker.get("t").await?;
    cx.shift(4 * HOUR_MS - 1).await?;
    cx.check(PURGE_1, "purged 1 ms too early", purge_all(&worker).await?, 0);
    cx.check_untouched(PURGE_1, "the dead task", &worker, &dead).await?;
    cx.shift(1).await?;
    cx.check(PURGE_1, "purged at 4 h from the second end", purge_all(&worker).await?, 1);
    Ok(())
}

/// A late success of a dead letter begins the stay of a success.
pub(crate) async fn late_success_begins_anew(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let retention = Retention::default().with_succeeded(hours(40)).with_dead(hours(24));
    let new = Actor::task("t").with_retention(retention);
    let mut scene = Staged::bring(cx, &worker, new, Met::Lost).await?;
    let run = scene.run.take().ok_or_else(|| Stop::because("a scene without its run"))?;
    cx.shift(23 * HOUR_MS).await?;
    let late = applied(worker.succeed(&run).await?)?.late;
    cx.check(PURGE_1, "whether the success was late", late, true);
    let done = worker.get("t").await?;
    cx.check(PURGE_1, "the task", done.state, State::Succeeded);
    cx.shift(40 * HOUR_MS - 1).await?;
    cx.check(PURGE_1, "purged 1 ms before its stay is over", purge_all(&worker).await?, 0);
    cx.check_untouched(PURGE_1, "the task", &worker, &done).await?;
    cx.shift(1).await?;
    cx.check(PURGE_1, "purged when its stay is over", purge_all(&worker).await?, 1);
    Ok(())
}

/// Purge of one queue leaves the others alone, and a second claimant of the id there.
pub(crate) async fn one_queue_only(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let backend = worker.backend();
    let other = TaskRef::new("q2", "t");
    let keep = all(hours(1));
    let _ = backend.enqueue_one("q2", Actor::task("t").with_retention(keep)).await?;
    let seen = backend.task(&other).await?.ok_or_else(|| Stop::because("no task in q2"))?;
    applied(worker.act(&seen, Intervention::Cancel).await?)?;
    run_to_end(&worker, Actor::task("t").with_retention(keep), success()).await?;
    let before = backend.task(&other).await?;
    cx.shift(2 * HOUR_MS).await?;
    cx.check(PURGE_1, "purged", purge_all(&worker).await?, 1);
    cx.check(PURGE_1, "the other queue's task", backend.task(&other).await?, before);
    let purged = backend.purge(Purge::new("q2", 9)).await?;
    cx.check(PURGE_1, "purged there", purged.tasks, 1);
    let purged = backend.purge(Purge::new("never seen", 9)).await?;
    cx.check(PURGE_1, "purged where nothing ever was", (purged.tasks, purged.more), (0, false));
    Ok(())
}

/// The old run of a task that was purged and made anew is nothing to the new one.
pub(crate) async fn next_task_owes_the_old_nothing(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.configure(Configure::new(Context::QUEUE).with_id_memory(Duration::ZERO)).await?;
    let keep = Retention::default().with_cancelled(Keep::NOT);
    let scene =
        Staged::bring(cx, &worker, Actor::task("t").with_retention(keep), Met::Lapsed).await?;
    applied(worker.act(&scene.task, Intervention::Cancel).await?)?;
    worker.enqueue(Actor::task("t")).await?;
    let claimed = worker.claim(1).await?;
    let run = demand::lease(cx, PURGE_2, "a claim of the next task", claimed)?;
    let now = worker.get("t").await?;
    let old = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    let verdict = worker.succeed(&old).await?;
    cx.check(PURGE_2, "the old run's success", verdict, CommitVerdict::Gone);
    cx.check_untouched(PURGE_2, "the new task", &worker, &now).await?;
    let verdict = worker.act(&scene.task, Intervention::Delete).await?;
    cx.check(PURGE_2, "an act on the old task", verdict, CommitVerdict::Gone);
    applied(worker.end(&run, endings()[1].clone()).await?)?;
    let now = worker.get("t").await?;
    cx.check(PURGE_2, "a repeat by the new run", worker.succeed(&run).await?, stale(&now));
    Ok(())
}
