//! Tasks that ride on a commit: made in its step, or not at all (LH-ENQ-8, LH-ENQ-10).

use std::time::Duration;

use leasehold_core::clause::{ENQ_8, ENQ_10};
use leasehold_core::decide::{self, Intervention, Outcome, Retry};
use leasehold_core::{
    Applied, BackendExt, Bounds, Budget, Change, Commit, CommitItem, CommitVerdict, Configure,
    Count, DeadReason, Due, DuplicateCause, EnqueueVerdict, ErrorKind, Event, Keep, Lease,
    LimitKey, NewTask, Priority, Purpose, Retention, RetryPolicy, Role, State, StoredTask, TaskRef,
    To, When,
};

use crate::actor::{Actor, applied, failure, success};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::{Met, Staged, after, clear, ids, outcomes, stale, take};

/// The end of a run, with these tasks on it.
fn bringing(run: &Lease, outcome: Outcome, new: Vec<NewTask>) -> CommitItem {
    CommitItem::new(run.guard(), decide::run(run, outcome, 1).with_follow_ups(new))
}

/// A task with a value in every part that the contract's core has.
fn rich(id: &str) -> NewTask {
    Actor::task(id)
        .with_header("trace", "x")
        .with_priority(Priority::LOWEST)
        .with_due(Due::In(Duration::from_secs(7)))
        .with_retry(RetryPolicy::at_most(3))
        .with_retention(Retention::default().with_dead(Keep::Forever))
}

fn in_queue(id: &str) -> TaskRef {
    TaskRef::new(Context::QUEUE, id)
}

fn fences(applied: &Applied) -> Vec<Option<leasehold_core::Fence>> {
    let fence = |verdict: &EnqueueVerdict| match verdict {
        EnqueueVerdict::Enqueued { fence } => Some(*fence),
        EnqueueVerdict::Duplicate { .. } => None,
    };
    applied.follow_ups.iter().map(fence).collect()
}

/// Reports a fault unless the commit made exactly this task, whole.
async fn makes(
    cx: &mut Context,
    what: &str,
    by: &Actor,
    item: &CommitItem,
    now: leasehold_core::Timestamp,
) -> Result<Applied, Stop> {
    let applied = applied(by.commit_item(item).await?)?;
    let replies = fences(&applied);
    cx.check(ENQ_8, &format!("replies, {what}"), replies.len(), item.change.follow_ups.len());
    for (new, fence) in item.change.follow_ups.iter().zip(replies) {
        let Some(fence) = fence else {
            cx.check_that(ENQ_8, &format!("a follow-up, {what}"), false, &applied.follow_ups);
            continue;
        };
        let want = StoredTask::enqueued(Context::QUEUE, new.clone(), fence, now);
        cx.check_untouched(ENQ_8, &format!("a follow-up, {what}"), by, &want).await?;
    }
    Ok(applied)
}

/// Whatever a run's commit decides, it brings its tasks along, each as it was given.
pub(crate) async fn every_change_brings_them(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let mut outcomes = outcomes();
    outcomes.push((failure(), State::Dead(DeadReason::Exhausted)));
    for (n, (outcome, state)) in outcomes.into_iter().enumerate() {
        let what = format!("with {outcome:?}");
        let id = format!("t{n}");
        let mut new = Actor::task(&id);
        new.policy.retention.succeeded = Some(Keep::Forever);
        if state == State::Dead(DeadReason::Exhausted) {
            new = new.with_retry(RetryPolicy::NONE);
        }
        let scene = Staged::bring(cx, &worker, new, Met::Running).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        let follow = vec![rich(&format!("f{n}")), rich(&format!("g{n}"))];
        let item = bringing(&run, outcome, follow);
        let fence = makes(cx, &what, &worker, &item, scene.now).await?.fence;
        let mut want = after(&scene.task, &item, fence, scene.now);
        let now = worker.get(&id).await?;
        (want.state, want.finished_at) = (state, Some(scene.now).filter(|_| state.is_finished()));
        (want.due, want.failures) = (now.due, now.failures);
        cx.check_untouched(ENQ_8, &format!("the parent, {what}"), &worker, &want).await?;
        clear(&worker, &now).await?;
    }
    Ok(())
}

/// An overdue commit brings them, and so does a late success, be it from the undecided
/// rescue, from Waiting or from Dead(Lost).
pub(crate) async fn overdue_and_late_bring_them(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for met in [Met::Lapsed, Met::Rescuing, Met::Returned, Met::Lost] {
        let what = format!("upon a {met:?} parent");
        let scene = Staged::bring(cx, &worker, Actor::task(&format!("{met:?}")), met).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        let item = bringing(&run, success(), vec![rich(&format!("f{met:?}"))]);
        let applied = makes(cx, &what, &worker, &item, scene.now).await?;
        let got = (applied.overdue, applied.late);
        cx.check(
            ENQ_8,
            &format!("{what}: overdue, late"),
            got,
            (met == Met::Lapsed, met != Met::Lapsed),
        );
        let id = format!("o{met:?}");
        let task = Actor::task(&format!("{id}1")).with_priority(Priority::HIGHEST);
        let scene = Staged::bring(cx, &worker, task, Met::Lapsed).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        let item = bringing(&run, failure(), vec![rich(&id)]);
        let overdue =
            makes(cx, "with an overdue failure", &worker, &item, scene.now).await?.overdue;
        cx.check(ENQ_8, "overdue", overdue, true);
        clear(&worker, &scene.task).await?;
        for id in [format!("f{met:?}"), id] {
            clear(&worker, &worker.get(&id).await?).await?;
        }
    }
    Ok(())
}

/// A repeat makes none, also when what the first had made is long forgotten.
pub(crate) async fn replayed_makes_none(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Running).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    let day = Outcome::Snoozed(Duration::from_secs(24 * 60 * 60));
    let item = bringing(&run, day, vec![Actor::task("f"), Actor::task("g")]);
    makes(cx, "at first", &worker, &item, scene.now).await?;
    let parent = worker.get("t").await?;
    for id in ["f", "g"] {
        let follower = worker.run_one().await?;
        cx.check(ENQ_8, "what runs next", follower.task_ref.id.as_str(), id);
        applied(worker.succeed(&follower).await?)?;
    }
    for _ in 0..2 {
        let again = worker.commit_item(&item).await?;
        cx.check(ENQ_8, "a repeat", again, CommitVerdict::Replayed);
        for id in ["f", "g"] {
            cx.check_gone(ENQ_8, "a follow-up that is done", &worker, id).await?;
        }
        cx.check_untouched(ENQ_8, "the parent", &worker, &parent).await?;
        // Beyond the time for which ids are remembered.
        cx.shift(3_600_000).await?;
        crate::staged::purge_all(&worker).await?;
    }
    let total = worker.backend().counts(Count::new(Context::QUEUE)).await?.total();
    cx.check(ENQ_8, "the tasks of the queue", total, 1);
    Ok(())
}

/// Neither does one that is Stale, Gone or a decision after the run's own.
pub(crate) async fn stale_and_gone_make_none(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let new = || vec![Actor::task("f")];
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Returned).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    for (outcome, state) in outcomes() {
        if state != State::Succeeded {
            let verdict = worker.commit_item(&bringing(&run, outcome, new())).await?;
            cx.check(ENQ_8, "a late outcome", verdict, stale(&scene.task));
        }
    }
    let newer = worker.run_one().await?;
    let now = worker.get("t").await?;
    let verdict = worker.commit_item(&bringing(&run, success(), new())).await?;
    cx.check(ENQ_8, "a success once the next run has begun", verdict, stale(&now));
    cx.check_untouched(ENQ_8, "the parent", &worker, &now).await?;
    applied(worker.end(&newer, Outcome::Cancelled { message: String::new() }).await?)?;
    let now = worker.get("t").await?;
    let verdict = worker.commit_item(&bringing(&newer, success(), new())).await?;
    cx.check(ENQ_8, "a second decision", verdict, stale(&now));
    let mut nobody = bringing(&newer, success(), new());
    nobody.guard.task = in_queue("nobody");
    let verdict = worker.commit_item(&nobody).await?;
    cx.check(ENQ_8, "upon a task that never was", verdict, CommitVerdict::Gone);
    cx.check_gone(ENQ_8, "the follow-up", &worker, "f").await?;
    cx.check(ENQ_8, "ready", worker.claim(9).await?.leases, Vec::new());
    let born = worker.enqueue(Actor::task("f")).await?;
    cx.check_that(ENQ_8, "the id is free", born > now.fence, born);
    Ok(())
}

/// A Duplicate is a reply inside Applied: an id that exists, one that is remembered, one that
/// stands twice in the same change; the rest is made.
pub(crate) async fn duplicate_does_not_undo(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("left")).await?;
    applied(worker.succeed(&worker.run_one().await?).await?)?;
    worker.enqueue(Actor::task("t")).await?;
    let run = worker.run_one().await?;
    worker.enqueue(rich("there")).await?;
    let there = worker.get("there").await?;
    let follow = ["new", "there", "left", "new", "last"];
    let item = bringing(&run, success(), follow.map(Actor::task).into());
    let what = "a commit with follow-ups that exist";
    let verdict = demand::answered(cx, ENQ_8, what, worker.commit_item(&item).await)?;
    let done = demand::applied(cx, ENQ_8, what, verdict)?;
    let duplicate = |id: &str, state| EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Id,
        holder: in_queue(id),
        state,
    };
    let is_new: Vec<_> = fences(&done).iter().map(Option::is_some).collect();
    cx.check(ENQ_8, "those made", is_new, [true, false, false, false, true]);
    let waiting = Some(State::Waiting);
    let got = done.follow_ups.get(1..4).map(<[_]>::to_vec);
    let want = [duplicate("there", waiting), duplicate("left", None), duplicate("new", waiting)];
    cx.check(ENQ_8, "the duplicates", got, Some(want.to_vec()));
    cx.check_untouched(ENQ_8, "the one that was there", &worker, &there).await?;
    cx.check_gone(ENQ_8, "the parent", &worker, "t").await?;
    let leases = take(&worker, 9).await?;
    cx.check(ENQ_8, "what can be claimed", ids(&leases), ["new", "last"]);
    Ok(())
}

/// One item ends a task whose id and whose unique key the follow-ups of another item bear. No order
/// is promised between the two, but there is one, and it explains all answers.
pub(crate) async fn one_order_explains_a_call(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for (n, (memory_ms, is_first)) in
        [(60_000, true), (60_000, false), (0, true), (0, false)].into_iter().enumerate()
    {
        let memory = Duration::from_millis(memory_ms);
        worker.configure(Configure::new(Context::QUEUE).with_id_memory(memory)).await?;
        let (ends, new) = (format!("ends{n}"), format!("new{n}"));
        worker.enqueue(Actor::task(&ends).with_unique("key")).await?;
        let ending = worker.run_one().await?;
        worker.enqueue(Actor::task(&format!("brings{n}"))).await?;
        let run = worker.run_one().await?;
        let follow = vec![Actor::task(&new).with_unique("key"), Actor::task(&ends)];
        let (end, bring) =
            (bringing(&ending, success(), vec![]), bringing(&run, success(), follow));
        let items = if is_first { vec![end, bring] } else { vec![bring, end] };
        let what = format!("its place is first: {is_first}, memory: {memory:?}");
        let mut replies = worker.backend().commit(Commit::new(items)).await?;
        if !is_first {
            replies.reverse();
        }
        let brought = replies.pop().ok_or_else(|| Stop::because("no answer"))?;
        let brought = demand::answered(cx, ENQ_8, &what, brought)?;
        let told = demand::applied(cx, ENQ_8, &what, brought)?.follow_ups;

        let held = |cause, state| Some((cause, in_queue(&ends), state));
        let got: Vec<_> = told.iter().map(obstacle).collect();
        let left = if memory_ms == 0 { None } else { held(DuplicateCause::Id, None) };
        let leased = Some(State::Leased(Purpose::Run));
        let after = [None, left];
        let before = [held(DuplicateCause::Key, leased), held(DuplicateCause::Id, leased)];
        cx.check_that(ENQ_8, &what, got == after || got == before, &got);
        let made = [&new, &ends].into_iter().zip(&got).filter(|(_, obstacle)| obstacle.is_none());
        let made: Vec<_> = made.map(|(id, _)| id.clone()).collect();
        let leases = take(&worker, 9).await?;
        cx.check(ENQ_8, &format!("what can be claimed, {what}"), ids(&leases), made);
        for lease in &leases {
            applied(worker.succeed(lease).await?)?;
        }
    }
    Ok(())
}

/// What a follow-up met, if it was not made.
fn obstacle(verdict: &EnqueueVerdict) -> Option<(DuplicateCause, TaskRef, Option<State>)> {
    match verdict {
        EnqueueVerdict::Enqueued { .. } => None,
        EnqueueVerdict::Duplicate { cause, holder, state } => {
            Some((*cause, holder.clone(), *state))
        }
    }
}

/// The parent's own id is Invalid, in whatever place, and nothing of the item happens.
pub(crate) async fn own_id_is_invalid(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Running).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    for outcome in [success(), failure()] {
        let item = bringing(&run, outcome, vec![Actor::task("f"), Actor::task("t")]);
        let kind = worker.commit_item(&item).await.map_err(|error| error.kind());
        cx.check(ENQ_8, "a follow-up under the parent's id", kind, Err(ErrorKind::Invalid));
        cx.check_untouched(ENQ_8, "the parent", &worker, &scene.task).await?;
        cx.check_gone(ENQ_8, "the other follow-up", &worker, "f").await?;
    }
    applied(worker.succeed(&run).await?)?;
    Ok(())
}

/// The parent ends first: a follow-up may take its unique key, at once ready; from a parent
/// that goes on it cannot.
pub(crate) async fn takes_the_parents_key(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let keyed = |id: &str| Actor::task(id).with_unique("key");
    for (n, (outcome, state)) in outcomes().into_iter().enumerate() {
        let (id, next) = (format!("t{n}"), format!("f{n}"));
        let what = format!("a follow-up with the key of its parent after {outcome:?}");
        let scene = Staged::bring(cx, &worker, keyed(&id), Met::Running).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        let item = bringing(&run, outcome, vec![keyed(&next), keyed("second")]);
        let replies = applied(worker.commit_item(&item).await?)?.follow_ups;
        let holder = if state.is_finished() { &next } else { &id };
        let second = EnqueueVerdict::Duplicate {
            cause: DuplicateCause::Key,
            holder: in_queue(holder),
            state: Some(State::Waiting),
        };
        let is_new = matches!(replies.first(), Some(EnqueueVerdict::Enqueued { .. }));
        cx.check(ENQ_8, &what, is_new, state.is_finished());
        cx.check(ENQ_8, "a second one", replies.get(1), Some(&second));
        let held = worker.get(holder).await?.held_until;
        cx.check(ENQ_8, "held until of the key's holder", held, None);
        for id in [&id, &next] {
            if let Some(rest) = worker.backend().task(&in_queue(id)).await? {
                clear(&worker, &rest).await?;
            }
        }
    }
    Ok(())
}

/// The parent's slot is free by the same step, and a follow-up takes it at its claim.
pub(crate) async fn slot_is_free_for_them(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    let limited = |id: &str| Actor::task(id).with_limit(LimitKey::new("g", "k"));
    worker.enqueue(limited("t")).await?;
    let run = worker.run_one().await?;
    let item = bringing(&run, success(), vec![limited("f1"), limited("f2")]);
    let done = applied(worker.commit_item(&item).await?)?;
    cx.check(ENQ_8, "replies", done.follow_ups.len(), 2);
    let leases = take(&worker, 9).await?;
    cx.check(ENQ_8, "what can be claimed under one slot", ids(&leases), ["f1"]);
    Ok(())
}

/// As many as may be, in their order; one more is Invalid and makes none.
pub(crate) async fn as_many_as_may_be(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let max = worker.backend().capabilities().bounds.follow_max;
    cx.check_that(ENQ_8, "the most follow-ups of one change", max >= 100, max);
    let names: Vec<_> = (0..=max).map(|n| format!("f{n:05}")).collect();
    let follow = |count: usize| names[..count].iter().map(|id| Actor::task(id)).collect();
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Running).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    let item = bringing(&run, success(), follow(max + 1));
    let kind = worker.commit_item(&item).await.map_err(|error| error.kind());
    cx.check(ENQ_10, "one more than may be", kind, Err(ErrorKind::Invalid));
    cx.check_untouched(ENQ_10, "the parent", &worker, &scene.task).await?;
    cx.check_gone(ENQ_10, "the first of them", &worker, &names[0]).await?;
    makes(cx, "among many", &worker, &bringing(&run, success(), follow(max)), scene.now).await?;
    let leases = take(&worker, max).await?;
    let want: Vec<_> = names[..max].iter().map(String::as_str).collect();
    cx.check(ENQ_8, "the order in which they are served", ids(&leases), want);
    Ok(())
}

/// What breaks a bound, each in one part only.
fn too_much(bounds: &Bounds) -> Vec<NewTask> {
    let long = "x".repeat(bounds.name_bytes_max + 1);
    let big = vec![0; bounds.payload_bytes_max + 1];
    let far = Duration::from_secs(101 * 31_557_600);
    let mut nameless = Actor::task("f");
    nameless.kind.clear();
    let mut payload = Actor::task("f");
    payload.payload = big.into();
    vec![
        Actor::task(""),
        Actor::task("with\0control"),
        Actor::task(&long),
        nameless,
        payload,
        Actor::task("f").with_header("name", "x".repeat(bounds.headers_bytes_max)),
        Actor::task("f").with_due(Due::In(far)),
        Actor::task("f").with_retention(Retention::default().with_dead(Keep::For(far))),
    ]
}

/// An Invalid follow-up refuses its item alone: its parent goes on, the item beside it counts.
pub(crate) async fn invalid_one_refuses_its_item_alone(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let bounds = worker.backend().capabilities().bounds;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Running).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    for (n, bad) in too_much(&bounds).into_iter().enumerate() {
        cx.check_that(ENQ_10, "core's own check", bad.check(&bounds).is_err(), &bad.id);
        let (id, next) = (format!("t{n}"), format!("next{n}"));
        worker.enqueue(Actor::task(&id)).await?;
        let other = worker.run_one().await?;
        let good =
            bringing(&other, success(), vec![Actor::task(&next).with_due(Due::In(Actor::TTL))]);
        let item = bringing(&run, success(), vec![Actor::task("good"), bad]);
        let replies = worker.backend().commit(Commit::new(vec![item, good])).await?;
        let kinds: Vec<_> =
            replies.iter().map(|r| r.as_ref().map_err(|e| e.kind()).err()).collect();
        cx.check(ENQ_10, "the items' errors", kinds, [Some(ErrorKind::Invalid), None]);
        cx.check_untouched(ENQ_8, "the parent", &worker, &scene.task).await?;
        cx.check_gone(ENQ_8, "its other follow-up", &worker, "good").await?;
        cx.check_gone(ENQ_8, "the parent beside it", &worker, &id).await?;
        worker.get(&next).await?;
    }
    let done = bringing(&run, success(), vec![Actor::task("good")]);
    makes(cx, "at last", &worker, &done, scene.now).await?;
    Ok(())
}

/// What stands exactly at a bound, each in one part only.
fn just_enough(bounds: &Bounds) -> Vec<NewTask> {
    let long = "x".repeat(bounds.name_bytes_max);
    let mut new = vec![
        Actor::task(&long),
        Actor::task("header").with_header("name", "x".repeat(bounds.headers_bytes_max - 4)),
        Actor::task("due").with_due(Due::In(Bounds::DELAY_MAX)),
        Actor::task("key"),
        Actor::task("payload"),
    ];
    new[3].kind = long;
    new[4].payload = vec![b'x'; bounds.payload_bytes_max].into();
    new
}

/// What is within every stated bound, be it by a hair, is taken: the handler that was not
/// told of an error has none at its commit.
pub(crate) async fn bounds_are_exact_for_follow_ups(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let bounds = worker.backend().capabilities().bounds;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Running).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    let new = just_enough(&bounds);
    for task in &new {
        cx.check_that(ENQ_10, "core's own check", task.check(&bounds).is_ok(), &task.id);
    }
    makes(cx, "at a bound", &worker, &bringing(&run, success(), new), scene.now).await?;
    Ok(())
}

/// The same bounds for an enqueue, on both sides.
pub(crate) async fn bounds_are_exact_for_enqueue(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let bounds = worker.backend().capabilities().bounds;
    for new in too_much(&bounds) {
        let what = format!("over a bound: {:.20}", new.id);
        let refused = worker.try_enqueue(new).await.map_err(|error| error.kind());
        cx.check(ENQ_10, &what, refused, Err(ErrorKind::Invalid));
    }
    for new in just_enough(&bounds) {
        let fence = worker.enqueue(new.clone()).await?;
        let now = worker.get(&new.id).await?.enqueued_at;
        let want = StoredTask::enqueued(Context::QUEUE, new, fence, now);
        cx.check_untouched(ENQ_10, "a task at a bound", &worker, &want).await?;
    }
    Ok(())
}

/// A follow-up whose limit group is not set is Invalid as well, and never unlimited.
pub(crate) async fn unset_group_refuses_the_item(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Running).await?;
    let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
    let limited = Actor::task("f").with_limit(LimitKey::new("g", "k"));
    let item = bringing(&run, success(), vec![Actor::task("good"), limited]);
    let kind = worker.commit_item(&item).await.map_err(|error| error.kind());
    cx.check(ENQ_8, "a follow-up of a group that is not set", kind, Err(ErrorKind::Invalid));
    cx.check_untouched(ENQ_8, "the parent", &worker, &scene.task).await?;
    for id in ["good", "f"] {
        cx.check_gone(ENQ_8, "a follow-up", &worker, id).await?;
    }
    worker.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    makes(cx, "once the group is set", &worker, &item, scene.now).await?;
    Ok(())
}

/// Only a worker's change may bring tasks: not a rescuer's, not an operator's.
pub(crate) async fn only_a_worker_brings_them(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Rescuing).await?;
    let back = To::Waiting(When::After(Duration::ZERO));
    let changes = [
        Change::new(Role::Rescuer, back, Event::Lapsed).with_budget(Budget::SpendRescue),
        Change::new(Role::Rescuer, To::Dead(DeadReason::Lost), Event::Lapsed),
        Change::new(Role::Operator, To::Cancelled, Event::Cancelled),
        Change::new(Role::Operator, To::Gone, Event::Deleted),
        Change::new(Role::Operator, back, Event::Requeued),
    ];
    for change in changes {
        let what = format!("follow-ups of {:?}, {:?}", change.by, change.event);
        let guard = leasehold_core::Guard::new(in_queue("t"), scene.task.fence);
        let change = change.with_follow_ups(vec![Actor::task("f")]);
        let kind = worker.commit(guard, change).await.map_err(|error| error.kind());
        cx.check(ENQ_8, &what, kind, Err(ErrorKind::Invalid));
        cx.check_untouched(ENQ_8, "the parent", &worker, &scene.task).await?;
        cx.check_gone(ENQ_8, "the follow-up", &worker, "f").await?;
    }
    applied(worker.act(&scene.task, Intervention::Delete).await?)?;
    Ok(())
}

/// A chain: each run ends with the next one's birth, through a failure and a lapse.
pub(crate) async fn chain_neither_breaks_nor_forks(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let now = Outcome::Failed { message: "no".to_owned(), retry: Retry::After(Duration::ZERO) };
    worker.enqueue(Actor::task("0")).await?;
    for n in 1..6 {
        let run = worker.run_one().await?;
        if n % 2 == 0 {
            applied(worker.end(&run, now.clone()).await?)?;
        } else {
            cx.shift(Actor::TTL_MS).await?;
            applied(worker.give_back(&worker.rescue_one().await?).await?)?;
        }
        let next = || vec![Actor::task(&format!("{n}"))];
        let newer = worker.run_one().await?;
        let item = bringing(&newer, success(), next());
        applied(worker.commit_item(&item).await?)?;
        let again = worker.commit_item(&item).await?;
        cx.check(ENQ_8, "a repeat of the link", again, CommitVerdict::Replayed);
        let old = worker.commit_item(&bringing(&run, success(), next())).await?;
        let is_stale = matches!(old, CommitVerdict::Stale { state: None, .. });
        cx.check_that(ENQ_8, "the link by the run before", is_stale, &old);
        let total = worker.backend().counts(Count::new(Context::QUEUE)).await?.total();
        cx.check(ENQ_8, "the tasks of the queue", total, 1);
    }
    Ok(())
}
