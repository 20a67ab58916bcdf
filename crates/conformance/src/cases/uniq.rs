//! How a key keeps a second unfinished task out of its queue (LH-UNIQ).

use std::time::Duration;

use leasehold_core::clause::{
    Clause, ENQ_2, GEN_2, GEN_7, LATE_2, LATE_3, OPER_11, UNIQ_1, UNIQ_2, UNIQ_3, UNIQ_4, UNIQ_5,
};
use leasehold_core::decide::{self, Intervention, Outcome, Retry};
use leasehold_core::{
    BackendExt, Commit, CommitItem, CommitVerdict, DuplicateCause, Edit, EnqueueVerdict, Keep,
    NewTask, OnLeased, Retention, RetryPolicy, State, StoredTask, TaskRef,
};

use crate::actor::{Actor, applied, failure, success};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::{Met, Staged, act, clear, finished, ids, outcomes, purge_all, stale};

fn keyed(id: &str) -> NewTask {
    Actor::task(id).with_unique("key")
}

/// A task that stays once finished, so that what it still holds can be seen.
fn kept(id: &str) -> NewTask {
    let keep = Keep::Forever;
    keyed(id).with_retention(
        Retention::default().with_succeeded(keep).with_cancelled(keep).with_dead(keep),
    )
}

fn in_queue(id: &str) -> TaskRef {
    TaskRef::new(Context::QUEUE, id)
}

/// The answer to a second task of a key.
fn duplicate(holder: &StoredTask) -> EnqueueVerdict {
    EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Key,
        holder: holder.task_ref.clone(),
        state: Some(holder.state),
    }
}

/// Reports a fault unless the key is `holder`'s, whom the attempt to take it leaves untouched.
async fn held_by(
    cx: &mut Context,
    clause: Clause,
    what: &str,
    by: &Actor,
    holder: &str,
) -> Result<(), Stop> {
    let before = by.get(holder).await?;
    let verdict = by.try_enqueue(keyed("intruder")).await?;
    cx.check(clause, &format!("a second task {what}"), verdict, duplicate(&before));
    cx.check_untouched(clause, &format!("the key's holder {what}"), by, &before).await?;
    cx.check_gone(clause, &format!("the second task {what}"), by, "intruder").await
}

/// Reports a fault unless the key can be taken, by a task that is then whole and ready.
async fn is_free(
    cx: &mut Context,
    clause: Clause,
    what: &str,
    by: &Actor,
    next: &str,
) -> Result<(), Stop> {
    let verdict = by.try_enqueue(keyed(next)).await?;
    let is_new = matches!(verdict, EnqueueVerdict::Enqueued { .. });
    cx.check_that(clause, &format!("the next task {what}"), is_new, &verdict);
    if is_new {
        held_by(cx, UNIQ_1, what, by, next).await?;
        clear(by, &by.get(next).await?).await?;
    }
    Ok(())
}

/// In every unfinished state the key is taken; the id is looked at first.
pub(crate) async fn second_is_duplicate(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for met in Met::UNFINISHED {
        let id = format!("{met:?}");
        let scene = Staged::bring(cx, &worker, keyed(&id), met).await?;
        held_by(cx, UNIQ_2, &format!("beside a {met:?} one"), &worker, &id).await?;
        let again = worker.try_enqueue(keyed(&id)).await?;
        let want = EnqueueVerdict::Duplicate {
            cause: DuplicateCause::Id,
            holder: in_queue(&id),
            state: Some(scene.task.state),
        };
        cx.check(ENQ_2, "the same id with the same key", again, want);
        cx.check_untouched(UNIQ_2, "the holder", &worker, &scene.task).await?;
        clear(&worker, &scene.task).await?;
        cx.shift(Actor::TTL_MS).await?;
    }
    Ok(())
}

/// Within one batch the first has it; the others of the batch are made; C43.
pub(crate) async fn second_in_a_batch_is_duplicate(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let batch = vec![
        Actor::task("before"),
        keyed("first"),
        keyed("second"),
        Actor::task("other key").with_unique("Key"),
        keyed("third"),
        Actor::task("after"),
    ];
    let got = worker.enqueue_all(batch).await?;
    let first = duplicate(&worker.get("first").await?);
    let is_new = |at: usize| matches!(got[at], EnqueueVerdict::Enqueued { .. });
    cx.check(UNIQ_2, "replies", got.len(), 6);
    cx.check(UNIQ_2, "those enqueued", [0, 1, 3, 5].map(is_new), [true; 4]);
    cx.check(UNIQ_2, "the second", &got[2], &first);
    cx.check(UNIQ_2, "the third", &got[4], &first);
    let leases = worker.claim(9).await?.leases;
    let want = ["before", "first", "other key", "after"];
    cx.check(UNIQ_1, "the tasks that there are", ids(&leases), want);
    Ok(())
}

/// C39: who comes back to Waiting, in whatever way, still holds its key.
pub(crate) async fn kept_by_what_goes_on(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(keyed("t")).await?;
    for (outcome, state) in outcomes() {
        if state != State::Waiting {
            continue;
        }
        let run = worker.run_one().await?;
        held_by(cx, UNIQ_3, "beside a run", &worker, "t").await?;
        applied(worker.end(&run, outcome.clone()).await?)?;
        cx.check(UNIQ_5, "its state", worker.get("t").await?.state, State::Waiting);
        held_by(cx, UNIQ_5, &format!("after {outcome:?}"), &worker, "t").await?;
        cx.shift(600_000).await?;
    }
    worker.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let rescue = worker.rescue_one().await?;
    held_by(cx, UNIQ_3, "beside a rescue", &worker, "t").await?;
    applied(worker.give_back(&rescue).await?)?;
    held_by(cx, UNIQ_5, "after a rescue", &worker, "t").await?;
    let edit = Edit::default().with_payload(Vec::new());
    for act in [Intervention::Edit(edit), Intervention::Requeue(OnLeased::Refuse)] {
        applied(worker.act(&worker.get("t").await?, act.clone()).await?)?;
        held_by(cx, UNIQ_3, &format!("after {act:?}"), &worker, "t").await?;
    }
    Ok(())
}

/// The very step that finishes a run's task frees the key, be the record kept or not; C42.
pub(crate) async fn freed_by_each_outcome_that_finishes(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let mut endings: Vec<_> = outcomes().into_iter().filter(|(_, s)| s.is_finished()).collect();
    endings.push((failure(), State::Waiting));
    for (n, (outcome, _)) in endings.into_iter().enumerate() {
        for stays in [true, false] {
            let id = format!("t{n}{stays}");
            let mut new = kept(&id).with_retry(RetryPolicy::NONE);
            if !stays {
                let keep = Keep::NOT;
                new.policy.retention =
                    Retention::default().with_succeeded(keep).with_cancelled(keep).with_dead(keep);
            }
            worker.enqueue(new).await?;
            let run = worker.run_one().await?;
            held_by(cx, UNIQ_3, "beside a run", &worker, &id).await?;
            applied(worker.end(&run, outcome.clone()).await?)?;
            let there = worker.backend().task(&in_queue(&id)).await?.is_some();
            // Of a record that cannot be read no policy is read: it stays for ever.
            let stays = stays || outcome == Outcome::Corrupt;
            cx.check(UNIQ_3, "whether the record is kept", there, stays);
            is_free(cx, UNIQ_3, &format!("after {outcome:?}"), &worker, &format!("n{id}")).await?;
        }
    }
    Ok(())
}

/// So does an operator who ends it, and a rescue that buries it as Lost.
pub(crate) async fn freed_by_acts_and_loss(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let acts = [Intervention::Cancel, Intervention::Bury, Intervention::Delete];
    for met in Met::UNFINISHED {
        for act in &acts {
            let id = format!("{met:?}{act:?}");
            let scene = Staged::bring(cx, &worker, kept(&id), met).await?;
            applied(worker.act(&scene.task, act.clone()).await?)?;
            let what = format!("after {act:?} of a {met:?} one");
            is_free(cx, UNIQ_3, &what, &worker, &format!("next{id}")).await?;
            cx.shift(Actor::TTL_MS).await?;
        }
    }
    Staged::bring(cx, &worker, kept("lost"), Met::Lost).await?;
    is_free(cx, UNIQ_5, "after a loss", &worker, "next").await
}

/// A late success ends the task, so it frees the key where the task still held it.
pub(crate) async fn freed_by_a_late_success(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for met in [Met::Rescuing, Met::Returned] {
        let id = format!("{met:?}");
        let scene = Staged::bring(cx, &worker, kept(&id), met).await?;
        held_by(cx, UNIQ_5, "before a late success", &worker, &id).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        cx.check(UNIQ_3, "late", applied(worker.succeed(&run).await?)?.late, true);
        is_free(cx, UNIQ_3, "after a late success", &worker, &format!("next{id}")).await?;
    }
    Ok(())
}

/// A late failure is Stale, and so the key stays with its task.
pub(crate) async fn late_failure_frees_nothing(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for met in [Met::Rescuing, Met::Returned] {
        let id = format!("{met:?}");
        let scene = Staged::bring(cx, &worker, keyed(&id), met).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        for (outcome, state) in outcomes() {
            if state != State::Succeeded {
                let verdict = worker.end(&run, outcome).await?;
                cx.check(LATE_2, "a late outcome", verdict, stale(&scene.task));
            }
        }
        held_by(cx, UNIQ_3, "after late outcomes", &worker, &id).await?;
        clear(&worker, &scene.task).await?;
    }
    Ok(())
}

/// The key of the next holder is nothing to the last one's late, stale or repeated commits,
/// nor to what an operator or purge does to its record.
pub(crate) async fn old_holder_frees_nothing(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let day = Keep::For(Duration::from_secs(24 * 60 * 60));
    let stay = Retention::default().with_succeeded(day).with_dead(day);
    let scene = Staged::bring(cx, &worker, keyed("a").with_retention(stay), Met::Lost).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    worker.enqueue(keyed("b")).await?;
    let verdict = worker.end(&run, failure()).await?;
    cx.check(LATE_2, "the lost run's failure", verdict, stale(&scene.task));
    held_by(cx, UNIQ_3, "after the lost run's failure", &worker, "b").await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, success(), 1));
    cx.check(LATE_3, "late", applied(worker.commit_item(&item).await?)?.late, true);
    held_by(cx, LATE_3, "after the lost run's late success", &worker, "b").await?;
    let again = worker.commit_item(&item).await?;
    cx.check(UNIQ_3, "a repeat of it", again, CommitVerdict::Replayed);
    held_by(cx, UNIQ_3, "after a repeat", &worker, "b").await?;
    cx.shift(24 * 60 * 60 * 1_000).await?;
    cx.check(UNIQ_3, "purged", purge_all(&worker).await?, 1);
    held_by(cx, UNIQ_3, "after the purge of the old holder", &worker, "b").await?;
    Ok(())
}

/// C40: whoever holds a key, in whatever state, still holds it after a purge, also when the
/// record of an earlier holder goes by the same call.
pub(crate) async fn purge_frees_no_key_in_use(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let second = Keep::For(Duration::from_secs(1));
    let brief = Retention::default().with_dead(second).with_cancelled(second);
    for met in Met::UNFINISHED {
        let (id, old) = (format!("{met:?}"), format!("before{met:?}"));
        let earlier = keyed(&old).with_retention(brief);
        Staged::bring(cx, &worker, earlier, Met::Rejected).await?;
        let scene = Staged::bring(cx, &worker, keyed(&id), met).await?;
        cx.shift(1_000).await?;
        cx.check(UNIQ_3, "purged", purge_all(&worker).await?, 1);
        held_by(cx, UNIQ_3, &format!("after a purge beside a {met:?} one"), &worker, &id).await?;
        clear(&worker, &scene.task).await?;
        cx.shift(Actor::TTL_MS).await?;
        purge_all(&worker).await?;
    }
    Ok(())
}

/// Neither an edit of a dead letter nor its removal touches the key of another.
pub(crate) async fn acts_on_old_holder_free_nothing(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for met in [Met::Lost, Met::Rejected] {
        let (id, next) = (format!("{met:?}"), format!("next{met:?}"));
        Staged::bring(cx, &worker, kept(&id), met).await?;
        let edit = Edit::default().with_payload(Vec::new());
        let seen = worker.get(&id).await?;
        applied(worker.act(&seen, Intervention::Edit(edit.clone())).await?)?;
        is_free(cx, UNIQ_3, "after an edit of a dead letter", &worker, &format!("x{id}")).await?;
        worker.enqueue(keyed(&next)).await?;
        for act in [Intervention::Edit(edit), Intervention::Delete] {
            applied(worker.act(&worker.get(&id).await?, act).await?)?;
            held_by(cx, UNIQ_3, "after an act on the old holder", &worker, &next).await?;
        }
        clear(&worker, &worker.get(&next).await?).await?;
    }
    Ok(())
}

/// The next holder waits until the lease that was taken away would have ended; whoever comes
/// after an end of its own accord does not.
pub(crate) async fn next_holder_inherits_held_until(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for act in [Intervention::Cancel, Intervention::Bury, Intervention::Delete] {
        let (id, next) = (format!("{act:?}"), format!("next{act:?}"));
        let scene = Staged::bring(cx, &worker, keyed(&id), Met::Running).await?;
        cx.shift(10_000).await?;
        applied(worker.act(&scene.task, act.clone()).await?)?;
        let fence = worker.enqueue(keyed(&next)).await?;
        let now = scene.now.after(Duration::from_secs(10));
        let mut want = StoredTask::enqueued(Context::QUEUE, keyed(&next), fence, now);
        want.held_until = scene.task.until;
        let what = format!("the next holder after {act:?} of a run");
        cx.check_untouched(UNIQ_3, &what, &worker, &want).await?;
        cx.shift(Actor::TTL_MS - 10_001).await?;
        let early = worker.claim(2).await?.leases;
        cx.check(UNIQ_3, "leases 1 ms before the old lease's end", ids(&early), [""; 0]);
        cx.shift(1).await?;
        let run = worker.run_one().await?;
        cx.check(UNIQ_3, "who runs at the old lease's end", &run.task_ref, &in_queue(&next));
        applied(worker.succeed(&run).await?)?;
        is_ready_at_once(cx, &worker, &format!("third{act:?}")).await?;
    }
    Ok(())
}

async fn is_ready_at_once(cx: &mut Context, by: &Actor, id: &str) -> Result<(), Stop> {
    by.enqueue(keyed(id)).await?;
    let held = by.get(id).await?.held_until;
    cx.check(UNIQ_3, "held until after a holder that ended by itself", held, None);
    let run = by.run_one().await?;
    cx.check(UNIQ_3, "who runs", run.task_ref.id.as_str(), id);
    applied(by.succeed(&run).await?)?;
    Ok(())
}

/// It passes through holders that never ran, and their records stay as long; a redrive takes
/// it on as well.
pub(crate) async fn inherits_through_others(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let first = Staged::bring(cx, &worker, kept("a"), Met::Running).await?;
    let until = first.task.until;
    applied(worker.act(&first.task, Intervention::Cancel).await?)?;
    for (n, id) in (1..).zip(["b", "c", "d"]) {
        cx.shift(1_000).await?;
        worker.enqueue(keyed(id)).await?;
        let seen = worker.get(id).await?;
        cx.check(UNIQ_3, &format!("held until of {id}"), seen.held_until, until);
        let now = first.now.after(Duration::from_secs(n));
        let deleted = act(&worker, &seen, Intervention::Delete, now).await?;
        let want = finished(deleted, State::Cancelled, now);
        cx.check_untouched(OPER_11, "deleted while held", &worker, &want).await?;
    }
    cx.check(OPER_11, "purged while held", purge_all(&worker).await?, 0);
    worker.enqueue(keyed("e")).await?;
    cx.shift(Actor::TTL_MS - 3_001).await?;
    cx.check(UNIQ_3, "leases 1 ms too early", worker.claim(2).await?.leases, Vec::new());
    cx.shift(1).await?;
    let run = worker.run_one().await?;
    cx.check(OPER_11, "purged at the end", purge_all(&worker).await?, 3);
    // The run of "e" is taken away in its turn; the redriven "a" waits for that one too.
    let running = worker.get("e").await?;
    cx.check(UNIQ_3, "who runs at the end", run.fence, running.fence);
    applied(worker.act(&running, Intervention::Cancel).await?)?;
    applied(worker.act(&worker.get("a").await?, Intervention::Redrive).await?)?;
    let redriven = worker.get("a").await?;
    cx.check(UNIQ_3, "held until of the redriven", redriven.held_until, running.until);
    cx.shift(Actor::TTL_MS - 1).await?;
    cx.check(UNIQ_3, "leases 1 ms too early", worker.claim(2).await?.leases, Vec::new());
    cx.shift(1).await?;
    cx.check(UNIQ_3, "leases then", ids(&worker.claim(2).await?.leases), ["a"]);
    Ok(())
}

/// C94: while another unfinished task has the key, a redrive is a Conflict without effect.
pub(crate) async fn redrive_conflicts_with_another(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for met in Met::ALL.into_iter().filter(|met| met.is_finished()) {
        let (id, next) = (format!("{met:?}"), format!("next{met:?}"));
        let scene = Staged::bring(cx, &worker, kept(&id), met).await?;
        worker.enqueue(keyed(&next)).await?;
        let item = worker.decide(&scene.task, Intervention::Redrive)?;
        let mut run = None;
        for running in [false, true] {
            if running {
                run = Some(worker.run_one().await?);
            }
            let what = format!("redrive of a {met:?} one, the other running: {running}");
            let other = worker.get(&next).await?;
            let verdict = worker.commit_item(&item).await.map_err(|error| error.kind());
            cx.check(UNIQ_4, &what, verdict, Ok(CommitVerdict::Conflict(in_queue(&next))));
            cx.check_untouched(UNIQ_4, &what, &worker, &scene.task).await?;
            cx.check_untouched(UNIQ_4, "the other", &worker, &other).await?;
        }
        let run = run.ok_or_else(|| Stop::because("the other does not run"))?;
        applied(worker.end(&run, Outcome::Cancelled { message: String::new() }).await?)?;
        applied(worker.commit_item(&item).await?)?;
        held_by(cx, UNIQ_4, "after the redrive", &worker, &id).await?;
        clear(&worker, &scene.task).await?;
    }
    Ok(())
}

/// C94: of the redrives in one call each has its own answer. Where another task holds the key,
/// where the task was deleted since and where none ever was nothing happens; the others go.
pub(crate) async fn one_conflict_hurts_no_other(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let (mut dead, mut items) = (Vec::new(), Vec::new());
    for n in 0..6 {
        let new = Actor::task(&format!("t{n}")).with_unique(format!("key{n}"));
        let scene = Staged::bring(cx, &worker, new, Met::Rejected).await?;
        items.push(worker.decide(&scene.task, Intervention::Redrive)?);
        dead.push(scene.task);
    }
    worker.enqueue(Actor::task("rival").with_unique("key1")).await?;
    let rival = worker.get("rival").await?;
    clear(&worker, &dead[3]).await?;
    items[4].guard.task = in_queue("nobody");
    let told = worker.backend().commit(Commit::new(items)).await?;
    let told: Vec<_> = told.into_iter().collect::<Result<_, _>>()?;
    let is_applied = |at: usize| matches!(told.get(at), Some(CommitVerdict::Applied(_)));
    cx.check(GEN_2, "those that were applied", [0, 2, 5].map(is_applied), [true; 3]);
    let conflict = CommitVerdict::Conflict(rival.task_ref.clone());
    cx.check(UNIQ_4, "the one whose key is held", told.get(1), Some(&conflict));
    let left = CommitVerdict::Stale { fence: dead[3].fence, state: None };
    cx.check(GEN_2, "the one that was deleted", told.get(3), Some(&left));
    cx.check(GEN_2, "the one that never was", told.get(4), Some(&CommitVerdict::Gone));
    for before in [&dead[1], &dead[4], &rival] {
        cx.check_untouched(UNIQ_4, "a task that was not redriven", &worker, before).await?;
    }
    let leases = worker.claim(9).await?.leases;
    cx.check(GEN_2, "what can run then", ids(&leases), ["t0", "t2", "t5", "rival"]);
    Ok(())
}

/// C43: a task is no rival of itself; a redrive takes the key again and its end frees it.
pub(crate) async fn redrive_takes_the_key_again(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for met in Met::ALL.into_iter().filter(|met| met.is_finished()) {
        let id = format!("{met:?}");
        let scene = Staged::bring(cx, &worker, kept(&id), met).await?;
        for round in 0..2 {
            let seen = worker.get(&id).await?;
            let verdict = worker.act(&seen, Intervention::Redrive).await?;
            demand::applied(cx, UNIQ_4, &format!("a redrive of {id}"), verdict)?;
            held_by(cx, UNIQ_4, &format!("in round {round}"), &worker, &id).await?;
            let run = worker.run_one().await?;
            let message = "no".to_owned();
            let rejected = Outcome::Failed { message, retry: Retry::Never };
            applied(worker.end(&run, rejected).await?)?;
            is_free(cx, UNIQ_3, "after its end", &worker, &format!("{id}{round}")).await?;
        }
        clear(&worker, &scene.task).await?;
    }
    Ok(())
}

/// The same key in another queue is another key.
pub(crate) async fn keys_belong_to_a_queue(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(keyed("t")).await?;
    let there = worker.backend().enqueue_one("q2", keyed("t")).await?;
    let is_new = matches!(there, EnqueueVerdict::Enqueued { .. });
    cx.check_that(UNIQ_1, "the same key in another queue", is_new, &there);
    let second = worker.backend().enqueue_one("q2", keyed("u")).await?;
    let want = EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Key,
        holder: TaskRef::new("q2", "t"),
        state: Some(State::Waiting),
    };
    cx.check(UNIQ_1, "a second one there", second, want);
    applied(worker.succeed(&worker.run_one().await?).await?)?;
    is_free(cx, UNIQ_1, "after the end here", &worker, "next").await?;
    let third = worker.backend().enqueue_one("q2", keyed("u")).await?;
    let is_second = matches!(third, EnqueueVerdict::Duplicate { .. });
    cx.check_that(UNIQ_1, "a second one there after the end here", is_second, &third);
    Ok(())
}

/// Who inherits: the next holder of the same key in the same queue, as long as there is something
/// to wait for; by an enqueue and by a redrive.
pub(crate) async fn only_the_next_holder_inherits(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let elsewhere = worker.on("q2");
    for (by, id, key) in
        [(&worker, "r", "another key"), (&elsewhere, "r", "key"), (&worker, "rest", "key")]
    {
        by.enqueue(kept(id).with_unique(key)).await?;
        applied(by.succeed(&by.run_one().await?).await?)?;
    }
    let scene = Staged::bring(cx, &worker, kept("t"), Met::Running).await?;
    applied(worker.act(&scene.task, Intervention::Cancel).await?)?;
    for (by, clause, key) in [(&worker, UNIQ_3, "another key"), (&elsewhere, GEN_7, "key")] {
        let what = |act: &str| format!("{act} with {key} in {}", by.queue());
        by.enqueue(keyed("n").with_unique(key)).await?;
        let new = by.get("n").await?;
        cx.check(clause, &what("held until of a new one"), new.held_until, None);
        clear(by, &new).await?;
        applied(by.act(&by.get("r").await?, Intervention::Redrive).await?)?;
        let held = by.get("r").await?.held_until;
        cx.check(clause, &what("held until of a redriven one"), held, None);
    }
    cx.shift(Actor::TTL_MS).await?;
    applied(worker.act(&worker.get("rest").await?, Intervention::Redrive).await?)?;
    let held = worker.get("rest").await?.held_until;
    cx.check(UNIQ_3, "held until of one redriven once it has passed", held, None);
    Ok(())
}

/// An id or a key that is in the way in another queue explains nothing here.
pub(crate) async fn the_holder_is_of_this_queue(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let other = worker.on("q2");
    worker.enqueue(keyed("gone")).await?;
    applied(worker.succeed(&worker.run_one().await?).await?)?;
    worker.enqueue(keyed("here")).await?;
    other.enqueue(keyed("there")).await?;
    for (by, id, holder) in [
        (&worker, "new", "here"),
        (&other, "new", "there"),
        (&other, "gone", "there"),
        (&other, "here", "there"),
    ] {
        let want = duplicate(&by.get(holder).await?);
        let what = format!("what keeps {id} out of {}", by.queue());
        cx.check(GEN_7, &what, by.try_enqueue(keyed(id)).await?, want);
    }
    Ok(())
}
