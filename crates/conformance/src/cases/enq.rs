//! How a task comes to be, once (LH-ENQ).

use std::time::Duration;

use leasehold_core::clause::{
    CLAIM_3, COMMIT_8, ENQ_1, ENQ_2, ENQ_3, ENQ_4, ENQ_5, ENQ_7, ENQ_9, ENQ_10, GEN_2, UNIQ_2,
};
use leasehold_core::decide;
use leasehold_core::{
    BackendExt, Backoff, Bounds, Commit, CommitItem, CommitVerdict, Configure, Count, Delivery,
    Due, DuplicateCause, Enqueue, EnqueueVerdict, Error, ErrorKind, Found, Get, Intervention,
    Jitter, Keep, LimitKey, NewTask, Outcome, Priority, Purge, Purpose, Queues, Retention, Retry,
    RetryPolicy, State, StoredTask, TaskRef,
};

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::take;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DAY_MS: i64 = 86_400_000;

pub(crate) async fn a_new_task_has_every_field(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let all = |delivery| {
        let backoff = Backoff::Exponential { first: Duration::from_millis(1_500), cap: DAY };
        let retry = RetryPolicy::at_most(7).with_backoff(backoff).with_jitter(Jitter::Full);
        NewTask::new("another kind", vec![0, 255], delivery)
            .with_header("b", "2")
            .with_header("a", "1")
            .with_retry(retry)
            .with_due(Due::In(DAY))
    };
    let keep = Retention::default().with_succeeded(Keep::For(DAY)).with_dead(Keep::NOT);
    let news = [
        Actor::task("plain"),
        Actor::kept("kept"),
        all(Delivery::AtMostOnce).with_id("once"),
        all(Delivery::NotAfterLoss).with_id("not after").with_priority(Priority::LOWEST),
        all(Delivery::AtLeastOnce { max_rescues: 9 })
            .with_priority(Priority::HIGHEST)
            .with_retry(RetryPolicy::NONE.with_backoff(Backoff::Constant { delay: DAY }))
            .with_retention(keep),
    ];
    for new in news {
        check_new(cx, &user, new).await?;
    }
    Ok(())
}

pub(crate) async fn a_new_task_has_its_keys(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.configure(Configure::new(Context::QUEUE).with_limit("group", 2)).await?;
    let new =
        Actor::task("t").with_unique("a unique key").with_limit(LimitKey::new("group", "key"));
    check_new(cx, &user, new).await
}

async fn check_new(cx: &mut Context, user: &Actor, new: NewTask) -> Result<(), Stop> {
    let id = new.id.clone();
    let fence = user.enqueue(new.clone()).await?;
    let got = user.get(&id).await?;
    // Field by field first, since stores may build a task by the same function of core.
    let terms = (got.priority, got.policy, &got.limit, &got.unique);
    let want = (new.priority, new.policy, &new.limit, &new.unique);
    cx.check(ENQ_1, &format!("the terms of {id:?}"), terms, want);
    let given = (&got.kind, &got.payload, &got.headers, got.due);
    let want = (&new.kind, &new.payload, &new.headers, new.due.instant(got.enqueued_at));
    cx.check(ENQ_1, &format!("what was given with {id:?}"), given, want);
    let counters = [got.attempt, got.failures, got.rescues, got.takeovers];
    cx.check(ENQ_1, &format!("the counters of {id:?}"), counters, [0; 4]);
    let fences = (got.fence, got.born, got.run, got.shown);
    cx.check(ENQ_1, &format!("the fences of {id:?}"), fences, (fence, fence, None, None));
    let want = StoredTask::enqueued(Context::QUEUE, new, fence, got.enqueued_at);
    cx.check(ENQ_1, &format!("the new task {id:?}"), got, want);
    Ok(())
}

/// C45: a repeat is told apart by the state of what it meets, and changes none of it.
pub(crate) async fn repeat_is_duplicate_in_every_state(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::kept("rescue")).await?;
    user.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    user.rescue_one().await?;
    let over = |retry| Outcome::Failed { message: String::new(), retry };
    for (id, outcome) in [
        ("succeeded", Some(success())),
        ("dead", Some(over(Retry::Never))),
        ("retried", Some(over(Retry::After(DAY)))),
        ("run", None),
    ] {
        user.enqueue(Actor::kept(id)).await?;
        let run = user.run_one().await?;
        if let Some(outcome) = outcome {
            applied(user.end(&run, outcome).await?)?;
        }
    }
    user.enqueue(Actor::kept("cancelled")).await?;
    applied(user.act(&user.get("cancelled").await?, Intervention::Cancel).await?)?;
    user.enqueue(Actor::kept("waiting")).await?;
    for (id, state) in [
        ("rescue", "leased_rescue"),
        ("succeeded", "succeeded"),
        ("dead", "dead_rejected"),
        ("retried", "waiting"),
        ("run", "leased_run"),
        ("cancelled", "cancelled"),
        ("waiting", "waiting"),
    ] {
        let before = user.get(id).await?;
        let other = NewTask::new("other", "other", Delivery::AtMostOnce)
            .with_id(id)
            .with_priority(Priority::HIGHEST)
            .with_due(Due::In(DAY));
        let reply = user.try_enqueue(other).await.map_err(|error| error.kind());
        let want = Ok(duplicate(DuplicateCause::Id, id, State::from_name(state)));
        cx.check(ENQ_2, &format!("an enqueue of a task that is {state}"), reply, want);
        cx.check_untouched(ENQ_2, "the task of the first enqueue", &user, &before).await?;
    }
    Ok(())
}

/// C71: tasks that are alike in all but the id are as many tasks. Those of one instant are
/// served in the order of enqueue, and those that come 300 ms later wait 300 ms longer.
pub(crate) async fn like_tasks_stay_apart(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let like = |id: &String| {
        let new = NewTask::new("kind", "payload", Delivery::at_least_once());
        new.with_id(id.as_str()).with_due(Due::In(DAY))
    };
    let names: Vec<_> = (0..100).map(|n| format!("t{}", n * 77 % 100)).collect();
    for half in names.chunks(50) {
        let replies = user.enqueue_all(half.iter().map(like).collect()).await?;
        let new = replies.iter().filter(|r| matches!(r, EnqueueVerdict::Enqueued { .. })).count();
        cx.check(ENQ_1, "the tasks that are new", new, 50);
        cx.shift(300).await?;
    }
    cx.shift(DAY_MS - 601).await?;
    cx.check(CLAIM_3, "what is served 1 ms too early", user.claim(100).await?.leases, []);
    for (half, wait) in names.chunks(50).zip([1, 300]) {
        cx.shift(wait).await?;
        let leases = user.claim(100).await?.leases;
        let served: Vec<_> = leases.into_iter().map(|lease| lease.task_ref.id).collect();
        cx.check(CLAIM_3, "the order of service", served, half);
    }
    Ok(())
}

pub(crate) async fn repeat_within_one_batch(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let mut other = Actor::task("a");
    other.payload = "other".into();
    let batch = vec![Actor::task("a"), other, Actor::task("b")];
    let replies = user.backend().enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
    cx.check(GEN_2, "the number of replies", replies.len(), 3);
    let want = duplicate(DuplicateCause::Id, "a", Some(State::Waiting));
    cx.check(ENQ_2, "the repeat within the batch", replies.get(1), Some(&want));
    let leases = user.claim(10).await?.leases;
    let payloads: Vec<_> = leases.iter().map(|lease| lease.payload.as_bytes()).collect();
    cx.check(ENQ_2, "the payloads that are there", payloads, [b"a", b"b"]);
    Ok(())
}

pub(crate) async fn id_is_looked_at_before_the_key(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let memory = Configure::new(Context::QUEUE).with_id_memory(DAY);
    user.configure(memory).await?;
    user.enqueue(Actor::task("left")).await?;
    applied(user.succeed(&user.run_one().await?).await?)?;
    user.enqueue(Actor::task("a").with_unique("1")).await?;
    user.enqueue(Actor::task("b").with_unique("2")).await?;
    let waiting = Some(State::Waiting);
    for (id, key, cause, holder, state) in [
        ("a", "2", DuplicateCause::Id, "a", waiting),
        ("a", "1", DuplicateCause::Id, "a", waiting),
        ("left", "2", DuplicateCause::Id, "left", None),
        ("c", "2", DuplicateCause::Key, "b", waiting),
    ] {
        let reply = user.try_enqueue(Actor::task(id).with_unique(key)).await?;
        let clause = if cause == DuplicateCause::Id { ENQ_2 } else { UNIQ_2 };
        let what = format!("an enqueue of {id} with key {key}");
        cx.check(clause, &what, reply, duplicate(cause, holder, state));
    }
    cx.check_gone(UNIQ_2, "a task refused by its key", &user, "c").await
}

/// A time long past is worth no more than now: order goes by max(due, time of enqueue).
pub(crate) async fn past_due_overtakes_nobody(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::task("first")).await?;
    let now = user.get("first").await?.enqueued_at;
    let hour_ago = leasehold_core::Timestamp::from_millis(now.as_millis() - 3_600_000);
    let ages_ago = leasehold_core::Timestamp::from_millis(i64::MIN);
    for (id, due) in [("hour", hour_ago), ("ages", ages_ago)] {
        user.enqueue(Actor::task(id).with_due(Due::At(due))).await?;
        cx.check(ENQ_3, "a due time in the past", user.get(id).await?.due, now);
    }
    cx.shift(1).await?;
    user.enqueue(Actor::task("later").with_due(Due::At(hour_ago))).await?;
    user.enqueue(Actor::task("last")).await?;
    let ids: Vec<_> = user.claim(10).await?.leases.into_iter().map(|l| l.task_ref.id).collect();
    let want = ["first", "hour", "ages", "later", "last"];
    cx.check(ENQ_3, "the order of service", ids, want);
    Ok(())
}

pub(crate) async fn far_due_never_expires(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let years = 99 * 365;
    let new = Actor::task("t").with_header("h", "v").with_due(Due::In(years * DAY));
    user.enqueue(new).await?;
    let before = user.get("t").await?;
    for days in [1, 400, 36_135 - 402] {
        cx.shift(days * DAY_MS).await?;
        let purged = user.backend().purge(Purge::new(Context::QUEUE, 100)).await?;
        cx.check(ENQ_3, "what a purge takes", purged.tasks, 0);
        cx.check(ENQ_3, "a claim before the due time", user.claim(1).await?.leases, []);
        cx.check_untouched(ENQ_3, "the waiting task", &user, &before).await?;
    }
    cx.shift(DAY_MS).await?;
    let lease = user.run_one().await?;
    let got = (&lease.payload, &lease.headers);
    cx.check(ENQ_3, "the task after 99 years", got, (&before.payload, &before.headers));
    Ok(())
}

/// C124: one bad item, wherever it stands, and nothing of the call is there.
pub(crate) async fn all_or_nothing(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    for place in [0, 2, 4] {
        let mut batch = ["a", "b", "c", "d"].map(Actor::task).to_vec();
        batch.insert(place, Actor::task("bad").with_due(Due::In(Duration::MAX)));
        let refused = backend.enqueue(Enqueue::new(Context::QUEUE, batch)).await;
        let refused = refused.err().map(|error| error.kind());
        let what = format!("a batch with a bad item at place {place}");
        cx.check(ENQ_7, &what, refused, Some(ErrorKind::Invalid));
        for id in ["a", "b", "c", "d", "bad"] {
            cx.check_gone(ENQ_7, "a task of the refused batch", &user, id).await?;
        }
        cx.check(ENQ_7, "a claim after it", user.claim(10).await?.leases, []);
        let made = backend.queues(Queues::new(10)).await?.queues;
        cx.check(ENQ_7, "the queues after it", made, []);
    }
    let batch = ["a", "b", "c", "d"].map(Actor::task).into();
    let replies = backend.enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
    let new = replies.iter().filter(|r| matches!(r, EnqueueVerdict::Enqueued { .. })).count();
    cx.check(ENQ_7, "the good batch, with the same ids", (new, replies.len()), (4, 4));
    Ok(())
}

/// A group that is not set is Invalid, never unlimited, and refuses the whole call.
pub(crate) async fn a_limit_group_must_be_set(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    let limited = |id| Actor::task(id).with_limit(LimitKey::new("group", "key"));
    let batch = || Enqueue::new(Context::QUEUE, vec![Actor::task("a"), limited("b")]);
    for set in [None, Some("another")] {
        if let Some(group) = set {
            user.configure(Configure::new(Context::QUEUE).with_limit(group, 1)).await?;
        }
        let refused = backend.enqueue(batch()).await.err().map(|error| error.kind());
        cx.check(ENQ_7, "a batch for a group without a number", refused, Some(ErrorKind::Invalid));
        for id in ["a", "b"] {
            cx.check_gone(ENQ_7, "a task of the refused batch", &user, id).await?;
        }
        let queues = backend.queues(Queues::new(10)).await?.queues.len();
        cx.check(ENQ_7, "the queues that were made", queues, usize::from(set.is_some()));
    }
    user.configure(Configure::new(Context::QUEUE).with_limit("group", 0)).await?;
    let replies = backend.enqueue(batch()).await?;
    cx.check(ENQ_7, "the replies once the number is set", replies.len(), 2);
    let ids: Vec<_> = user.claim(9).await?.leases.into_iter().map(|l| l.task_ref.id).collect();
    cx.check(ENQ_4, "what may start under a limit of 0", ids, ["a"]);
    Ok(())
}

pub(crate) async fn every_handle_can_claim(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for n in 0..8 {
        let id = format!("t{n}");
        let worker = cx.actor(&id).await?;
        user.enqueue(Actor::task(&id)).await?;
        let claimed = worker.claim(1).await?;
        let lease = demand::lease(cx, ENQ_4, "a claim by another handle", claimed)?;
        cx.check(ENQ_4, "a claim right after the enqueue", lease.task_ref.id, id);
    }
    Ok(())
}

/// Whichever way a task left, its id is taken for as long as it is remembered, and no longer.
pub(crate) async fn an_id_is_remembered_and_then_free(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    for (way, memory) in [("success", 60), ("cancel", 90), ("delete", 60), ("purge", 30)] {
        let set = Configure::new(Context::QUEUE).with_id_memory(Duration::from_secs(memory));
        // A success is the first: 60 s is what a queue has by default.
        if way != "success" {
            user.configure(set).await?;
        }
        let last = leave(cx, &user, way).await?;
        let again = || Actor::task(way).with_due(Due::In(DAY));
        let memory_ms = i64::try_from(memory).unwrap_or_default() * 1_000;
        let left = duplicate(DuplicateCause::Id, way, None);
        let found = user.backend().get(Get::new(TaskRef::new(Context::QUEUE, way))).await?;
        cx.check_that(ENQ_9, "a get of the id", matches!(found, Found::Left(_)), found);
        for by_ms in [0, memory_ms - 1] {
            cx.shift(by_ms).await?;
            let what = format!("an enqueue {by_ms} ms after the {way}");
            cx.check(ENQ_9, &what, user.try_enqueue(again()).await?, left.clone());
            cx.check_gone(ENQ_9, "the remembered task", &user, way).await?;
            let _ = user.backend().purge(Purge::new(Context::QUEUE, 100)).await?;
        }
        cx.shift(1).await?;
        let found = user.backend().get(Get::new(TaskRef::new(Context::QUEUE, way))).await?;
        cx.check(ENQ_9, "a get once the memory has passed", found, Found::Nothing);
        let what = format!("an enqueue once the {way} is forgotten");
        let answer = user.try_enqueue(again()).await;
        let verdict = demand::answered(cx, ENQ_9, &what, answer)?;
        let fence = demand::enqueued(cx, ENQ_9, &what, verdict)?;
        cx.check_that(ENQ_9, "the fence of the next task", fence > last, (fence, last));
        let now = user.get(way).await?;
        let want = StoredTask::enqueued(Context::QUEUE, again(), fence, now.enqueued_at);
        cx.check(ENQ_9, "the next task under the id", now, want);
    }
    Ok(())
}

/// What is remembered of an id's first task ends in its own time, and ends nothing of what is
/// remembered of its second one.
pub(crate) async fn an_id_that_left_twice_is_remembered(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    // Both leave by one call, and only one of them comes again.
    user.enqueue_all(["t", "other"].map(Actor::task).into()).await?;
    let leases = take(&user, 2).await?;
    let ends =
        leases.iter().map(|one| CommitItem::new(one.guard(), decide::run(one, success(), 0)));
    for told in user.backend().commit(Commit::new(ends.collect())).await? {
        applied(told?)?;
    }
    cx.shift(60_000).await?;
    user.enqueue(Actor::task("t")).await?;
    let lease = user.run_one().await?;
    applied(user.succeed(&lease).await?)?;
    let _ = user.backend().purge(Purge::new(Context::QUEUE, 100)).await?;
    cx.shift(59_999).await?;
    let left = duplicate(DuplicateCause::Id, "t", None);
    let told = user.try_enqueue(Actor::task("t")).await?;
    cx.check(ENQ_9, "an enqueue 1 ms before the second memory ends", told, left);
    Ok(())
}

/// Makes a task called `way` and lets it leave that way; its last fence.
async fn leave(cx: &mut Context, user: &Actor, way: &str) -> Result<leasehold_core::Fence, Stop> {
    let brief = Retention::default()
        .with_succeeded(Keep::For(Duration::from_secs(1)))
        .with_cancelled(Keep::NOT);
    let new = match way {
        "success" => Actor::task(way),
        _ => Actor::task(way).with_retention(brief),
    };
    user.enqueue(new).await?;
    let run = user.run_one().await?;
    let cancelled = || Outcome::Cancelled { message: String::new() };
    Ok(match way {
        "cancel" => applied(user.end(&run, cancelled()).await?)?.fence,
        "delete" => {
            applied(user.end(&run, Outcome::Snoozed(DAY)).await?)?;
            applied(user.act(&user.get(way).await?, Intervention::Delete).await?)?.fence
        }
        "purge" => {
            let fence = applied(user.succeed(&run).await?)?.fence;
            cx.shift(1_000).await?;
            let purged = user.backend().purge(Purge::new(Context::QUEUE, 100)).await?;
            cx.check(ENQ_9, "what the purge takes", purged.tasks, 1);
            fence
        }
        _ => applied(user.succeed(&run).await?)?.fence,
    })
}

pub(crate) async fn a_remembered_commit_is_replayed(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::task("t")).await?;
    let run = user.run_one().await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, success(), 1));
    applied(user.backend().commit_one(item.clone()).await?)?;
    for by_ms in [0, 59_999] {
        cx.shift(by_ms).await?;
        let again = user.backend().commit_one(item.clone()).await?;
        cx.check(ENQ_9, "the commit repeated", again, CommitVerdict::Replayed);
        let stale = CommitVerdict::Stale { fence: run.fence, state: None };
        cx.check(COMMIT_8, "another decision", user.fail(&run).await?, stale);
    }
    cx.shift(1).await?;
    let again = user.backend().commit_one(item).await?;
    cx.check(COMMIT_8, "the commit after the id memory", again, CommitVerdict::Gone);
    Ok(())
}

pub(crate) async fn an_id_memory_of_nothing(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::task("earlier")).await?;
    applied(user.succeed(&user.run_one().await?).await?)?;
    user.configure(Configure::new(Context::QUEUE).with_id_memory(Duration::ZERO)).await?;
    user.enqueue(Actor::task("t")).await?;
    let run = user.run_one().await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, success(), 1));
    let last = applied(user.backend().commit_one(item.clone()).await?)?.fence;
    let again = user.backend().commit_one(item.clone()).await?;
    cx.check(ENQ_9, "the commit repeated", again, CommitVerdict::Gone);
    // What was promised when an earlier task left is kept.
    let reply = user.try_enqueue(Actor::task("earlier")).await?;
    let left = duplicate(DuplicateCause::Id, "earlier", None);
    cx.check(ENQ_9, "an enqueue under an id from before the change", reply, left);
    let born = user.enqueue(Actor::task("t")).await?;
    cx.check_that(ENQ_9, "the fence of the next task", born > last, (born, last));
    let before = user.get("t").await?;
    let again = user.backend().commit_one(item).await?;
    cx.check(COMMIT_8, "the commit against the next task", again, CommitVerdict::Gone);
    cx.check_untouched(COMMIT_8, "the next task", &user, &before).await
}

/// C119: what is not valid is refused before the store is asked, and the largest is taken.
pub(crate) async fn invalid_is_refused(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let bounds = user.backend().capabilities().bounds;
    let delivery = Delivery::at_least_once();
    let never = Delivery::AtLeastOnce { max_rescues: 0 };
    let beyond = Bounds::DELAY_MAX + Duration::from_millis(1);
    let late = RetryPolicy::default().with_backoff(Backoff::Constant { delay: beyond });
    let keep = Retention::default().with_dead(Keep::For(beyond));
    let large = vec![0; bounds.payload_bytes_max + 1];
    let wide = "x".repeat(bounds.headers_bytes_max);
    let task = || Actor::task("t");
    let mut bad = vec![
        ("at-least-once without a rescue", NewTask::new("kind", "", never).with_id("t")),
        ("too large a payload", NewTask::new("kind", large, delivery).with_id("t")),
        ("too large headers", task().with_header("h", wide)),
        ("a retry after more than 100 years", task().with_retry(late)),
        ("a retention of more than 100 years", task().with_retention(keep)),
    ];
    for name in bad_names(&bounds) {
        bad.push(("an id that is no name", Actor::task(&name)));
        bad.push(("a kind that is no name", NewTask::new(&name, "", delivery).with_id("t")));
        bad.push(("a header that has no name", task().with_header(&name, "")));
    }
    for (what, new) in bad {
        let what = format!("{what}: id {:?}, kind {:?}", new.id, new.kind);
        let refused = user.try_enqueue(new).await.as_ref().map_err(Error::kind).err();
        cx.check(ENQ_5, &what, refused, Some(ErrorKind::Invalid));
    }
    for name in bad_names(&bounds) {
        let refused = user.backend().enqueue_one(&name, task()).await;
        let refused = refused.as_ref().map_err(Error::kind).err();
        cx.check(ENQ_5, &format!("queue {name:?}"), refused, Some(ErrorKind::Invalid));
    }
    let made = user.backend().queues(Queues::new(10)).await?.queues;
    cx.check(ENQ_5, "the queues that refused calls made", made, []);
    cx.check_gone(ENQ_5, "a task of a refused call", &user, "t").await?;

    let longest = "\u{e9}".repeat(bounds.name_bytes_max / 2);
    let mut new = Actor::task(&longest).with_header(&longest, "");
    new.kind = longest;
    check_new(cx, &user, new).await
}

pub(crate) async fn invalid_keys_are_refused(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let bounds = user.backend().capabilities().bounds;
    user.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    for name in bad_names(&bounds) {
        let set = user.configure(Configure::new(Context::QUEUE).with_limit(&name, 1)).await;
        let set = set.err().map(|error| error.kind());
        cx.check(ENQ_5, &format!("limit group {name:?} set"), set, Some(ErrorKind::Invalid));
        for new in [
            Actor::task("t").with_unique(&name),
            Actor::task("t").with_limit(LimitKey::new("g", &name)),
            Actor::task("t").with_limit(LimitKey::new(&name, "k")),
        ] {
            let what = format!("{:?} and {:?}", new.unique, new.limit);
            let refused = user.try_enqueue(new).await.as_ref().map_err(Error::kind).err();
            cx.check(ENQ_5, &what, refused, Some(ErrorKind::Invalid));
        }
    }
    cx.check_gone(ENQ_5, "a task of a refused call", &user, "t").await
}

/// C125: the largest batch is taken whole and in order, one more is refused whole.
pub(crate) async fn the_largest_batch(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let (backend, max) = (user.backend(), user.backend().capabilities().bounds.batch_max);
    let batch = |size: usize| (0..size).map(|n| Actor::task(&format!("t{n}"))).collect();
    let refused = backend.enqueue(Enqueue::new(Context::QUEUE, batch(max + 1))).await;
    let refused = refused.err().map(|error| error.kind());
    cx.check(ENQ_10, "one task more than stated", refused, Some(ErrorKind::Invalid));
    cx.check(ENQ_7, "what it left", backend.counts(Count::new(Context::QUEUE)).await?.total(), 0);
    let replies = backend.enqueue(Enqueue::new(Context::QUEUE, batch(max))).await?;
    let new = replies.iter().filter(|r| matches!(r, EnqueueVerdict::Enqueued { .. })).count();
    cx.check(GEN_2, "the replies to the largest batch", (new, replies.len()), (max, max));
    for (n, reply) in replies.iter().enumerate().step_by(97) {
        let born = user.get(&format!("t{n}")).await?.born;
        let same = *reply == EnqueueVerdict::Enqueued { fence: born };
        cx.check_that(GEN_2, &format!("reply {n} tells the fence of its task"), same, reply);
    }
    let first = backend.claim(user.request(Purpose::Run, 3)).await?.leases;
    let ids: Vec<_> = first.into_iter().map(|lease| lease.task_ref.id).collect();
    cx.check(ENQ_4, "the first to be served", ids, ["t0", "t1", "t2"]);
    Ok(())
}

fn bad_names(bounds: &Bounds) -> [String; 5] {
    let long = "x".repeat(bounds.name_bytes_max + 1);
    [String::new(), "a\0b".to_owned(), "\n".to_owned(), "\u{85}".to_owned(), long]
}

fn duplicate(cause: DuplicateCause, id: &str, state: Option<State>) -> EnqueueVerdict {
    EnqueueVerdict::Duplicate { cause, holder: TaskRef::new(Context::QUEUE, id), state }
}

/// The memory of an id that has passed does not stand before the key that is in the way.
pub(crate) async fn an_ended_memory_hides_no_key(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let keyed = |id| Actor::task(id).with_unique("key");
    user.enqueue(keyed("a")).await?;
    applied(user.succeed(&user.run_one().await?).await?)?;
    user.enqueue(keyed("b")).await?;
    for (by_ms, want) in [
        (0, duplicate(DuplicateCause::Id, "a", None)),
        (60_000, duplicate(DuplicateCause::Key, "b", Some(State::Waiting))),
    ] {
        cx.shift(by_ms).await?;
        let what = format!("what is in the way after another {by_ms} ms");
        cx.check(ENQ_9, &what, user.try_enqueue(keyed("a")).await?, want);
    }
    Ok(())
}
