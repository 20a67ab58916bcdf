//! What a failure does to the task and to its budget (LH-RETRY).

use std::time::Duration;

use leasehold_core::clause::{RETRY_1, RETRY_2, RETRY_3, RETRY_4, RETRY_5, UNIQ_5};
use leasehold_core::{
    Backoff, Change, CommitItem, DeadReason, Delivery, DuplicateCause, EnqueueVerdict, Event,
    Jitter, NewTask, Outcome, Priority, Retry, RetryPolicy, State, TaskRef, decide,
};

use crate::actor::failure;
use crate::context::{Context, Stop};
use crate::expect::KEPT;
use crate::moves::{self, Move};
use crate::scene::{Cast, Scene};

fn failing(retry: RetryPolicy) -> NewTask {
    let new = NewTask::new("kind", "payload", Delivery::at_least_once());
    new.with_retry(retry).with_retention(KEPT)
}

/// The task runs and fails by `outcome`; its delay is spread by `seed`.
async fn fail(
    cx: &mut Context,
    scene: &mut Scene,
    outcome: Outcome,
    seed: u64,
) -> Result<(), Stop> {
    let run = scene.run(cx, &scene.cast.worker).await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, outcome, seed));
    scene.lands(cx, RETRY_1, &Move { name: "a failure", to: State::Waiting, item }).await
}

/// The task is due `delay` from now, and is not ready a millisecond sooner.
async fn due_in(cx: &mut Context, scene: &mut Scene, delay: Duration) -> Result<(), Stop> {
    let task = scene.task().await?;
    cx.check(RETRY_1, "the due time", task.due, scene.now().after(delay));
    let ms = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
    scene.shift(cx, ms - 1).await?;
    let none = scene.cast.second.claim(1).await?.leases;
    cx.check(RETRY_1, "runs before the due time", none, []);
    scene.shift(cx, 1).await
}

pub(crate) async fn delay_follows_the_policy(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let exponential =
        Backoff::Exponential { first: Duration::from_secs(2), cap: Duration::from_secs(15) };
    let constant = Backoff::Constant { delay: Duration::from_secs(3) };
    for (what, backoff, want) in
        [("exponential", exponential, [2, 4, 8, 15, 15]), ("constant", constant, [3; 5])]
    {
        let policy = RetryPolicy::at_most(5).with_backoff(backoff).with_jitter(Jitter::None);
        let mut scene = cast.stage_with(what, failing(policy)).await?;
        for (failures, seconds) in (1..).zip(want) {
            fail(cx, &mut scene, failure(), 1).await?;
            cx.check(RETRY_1, "failures", scene.task().await?.failures, failures);
            due_in(cx, &mut scene, Duration::from_secs(seconds)).await?;
        }
    }
    Ok(())
}

/// The seed picks the delay between half and all of it, the same for the same seed.
pub(crate) async fn delay_is_spread_by_the_seed(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut delays = Vec::new();
    for (what, seed) in [("a", 7), ("b", 7), ("c", 8), ("d", 9)] {
        let mut scene = cast.stage_with(what, failing(RetryPolicy::default())).await?;
        fail(cx, &mut scene, failure(), seed).await?;
        let delay = scene.task().await?.due.since(scene.now());
        let within = (2_500..=5_000).contains(&delay.as_millis());
        cx.check_that(RETRY_1, "the first delay of the default, 2.5 s to 5 s", within, delay);
        cx.check(RETRY_1, "by the policy", delay, RetryPolicy::default().delay(1, seed));
        due_in(cx, &mut scene, delay).await?;
        delays.push(delay);
    }
    cx.check(RETRY_1, "delays of one seed", delays[0], delays[1]);
    delays.dedup();
    cx.check(RETRY_1, "delays of three seeds", delays.len(), 3);
    Ok(())
}

/// The handler's own delay goes before the policy's, and spends the same budget.
pub(crate) async fn retry_after_is_kept_to(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage_with("after", failing(RetryPolicy::at_most(2))).await?;
    for delay in [Duration::from_secs(42), Duration::from_millis(1)] {
        let after = Outcome::Failed { message: "busy".into(), retry: Retry::After(delay) };
        fail(cx, &mut scene, after, 1).await?;
        due_in(cx, &mut scene, delay).await?;
    }
    let after = Retry::After(Duration::from_secs(1));
    fail(cx, &mut scene, Outcome::Failed { message: "busy".into(), retry: after }, 1).await?;
    let state = scene.task().await?.state;
    cx.check(RETRY_2, "after the budget", state, State::Dead(DeadReason::Exhausted));
    Ok(())
}

/// C25, C50 and C51: a budget of n gives n + 1 runs, for failures, panics and timeouts alike.
pub(crate) async fn exhausted_at_the_budget(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for budget in 0..=3 {
        for what in ["failure", "panic", "timeout"] {
            let outcome = || match what {
                "panic" => Outcome::Panicked { message: "it broke".to_owned() },
                "timeout" => Outcome::TimedOut,
                _ => failure(),
            };
            let new = failing(RetryPolicy::at_most(budget).with_jitter(Jitter::None));
            let mut scene = cast.stage_with(&format!("{what} {budget}"), new).await?;
            for failures in 1..=budget {
                fail(cx, &mut scene, outcome(), 1).await?;
                let task = scene.task().await?;
                cx.check(RETRY_1, what, (task.state, task.failures), (State::Waiting, failures));
                scene.shift(cx, 60_000).await?;
            }
            fail(cx, &mut scene, outcome(), 1).await?;
            let task = scene.task().await?;
            let seen = (task.state, task.attempt, task.failures);
            let want = (State::Dead(DeadReason::Exhausted), budget + 1, budget);
            cx.check(RETRY_2, "state, attempt and failures at the end", seen, want);
            scene.lapse(cx).await?;
            scene.claimable(cx, RETRY_2).await?;
        }
    }
    Ok(())
}

/// The default is finite: 20 retries, about four days.
pub(crate) async fn default_is_finite(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage_with("default", failing(RetryPolicy::default())).await?;
    let start = scene.now();
    for seed in 1..=21 {
        fail(cx, &mut scene, failure(), seed).await?;
        let wait = scene.task().await?.due.since(scene.now());
        scene.shift(cx, i64::try_from(wait.as_millis()).unwrap_or(0)).await?;
    }
    let task = scene.task().await?;
    let seen = (task.state, task.attempt);
    cx.check(RETRY_2, "the end", seen, (State::Dead(DeadReason::Exhausted), 21));
    let days = scene.now().since(start).as_secs() / 86_400;
    cx.check_that(RETRY_2, "days until then", (1..=4).contains(&days), days);
    Ok(())
}

/// A failure that no retry can help buries at once, in the first run and in a later one.
pub(crate) async fn fatal_leaves_the_budget(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for before in 0..2 {
        let what = format!("after {before} failures");
        let mut scene = cast.stage_with(&what, failing(RetryPolicy::default())).await?;
        for _ in 0..before {
            fail(cx, &mut scene, failure(), 1).await?;
            scene.shift(cx, 5_000).await?;
        }
        let fatal = Outcome::Failed { message: "no such user".into(), retry: Retry::Never };
        fail(cx, &mut scene, fatal, 1).await?;
        let task = scene.task().await?;
        let seen = (task.state, task.failures);
        cx.check(RETRY_3, &what, seen, (State::Dead(DeadReason::Rejected), before));
        let last = task.history.records.last().map(|last| (last.event, last.message.clone()));
        cx.check(RETRY_3, "why", last, Some((Event::Rejected, "no such user".to_owned())));
        scene.claimable(cx, RETRY_3).await?;
    }
    Ok(())
}

/// What the task was made with is as it was after many retries, and the attempt goes on.
pub(crate) async fn keeps_what_the_task_is(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let new = failing(RetryPolicy::default())
        .with_header("trace", "00-ab")
        .with_priority(Priority::new(7));
    let mut scene = cast.stage_with("kept", new).await?;
    let made = scene.task().await?;
    for attempt in 1..=10 {
        fail(cx, &mut scene, failure(), 1).await?;
        let task = scene.task().await?;
        cx.check(RETRY_4, "the attempt", task.attempt, attempt);
        let mut like = made.clone();
        (like.due, like.fence, like.shown) = (task.due, task.fence, task.shown);
        (like.attempt, like.failures) = (attempt, attempt);
        like.history = task.history.clone();
        cx.check(RETRY_4, "the rest of the task", &task, &like);
        scene.shift(cx, 6 * 60 * 60 * 1_000).await?;
    }
    Ok(())
}

/// While the task waits for its retry nobody else gets its unique key.
pub(crate) async fn keeps_the_unique_key(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let new = failing(RetryPolicy::at_most(1)).with_unique("k");
    let mut scene = cast.stage_with("key", new).await?;
    let rival = |id: &str| failing(RetryPolicy::NONE).with_unique("k").with_id(id);
    fail(cx, &mut scene, failure(), 1).await?;
    let told = scene.cast.operator.try_enqueue(rival("u")).await?;
    let holder = TaskRef::new("key", "t");
    let want = EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Key,
        holder,
        state: Some(State::Waiting),
    };
    cx.check(UNIQ_5, "a rival while the task waits", told, want);
    scene.shift(cx, 5_000).await?;
    fail(cx, &mut scene, failure(), 1).await?;
    scene.cast.operator.enqueue(rival("v")).await?;
    Ok(())
}

/// Thirty failures leave the first record and the newest twenty, and tell how many are missing.
pub(crate) async fn history_is_bounded(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let max = cast.operator.backend().capabilities().bounds.history_max;
    let mut scene = cast.stage_with("history", failing(RetryPolicy::at_most(100))).await?;
    let failures = max + 9;
    for n in 1..=failures {
        let message = format!("failure {n}");
        let retry = Retry::After(Duration::ZERO);
        fail(cx, &mut scene, Outcome::Failed { message, retry }, 1).await?;
        let history = scene.task().await?.history;
        let kept = (history.records.len(), history.dropped as usize);
        cx.check(RETRY_5, "records kept and dropped", kept, (n.min(max), n.saturating_sub(max)));
    }
    let records = scene.task().await?.history.records;
    let told: Vec<_> = records.into_iter().map(|record| record.message).collect();
    let newest = failures - (max - 1) + 1..=failures;
    let want: Vec<_> = std::iter::once(1).chain(newest).map(|n| format!("failure {n}")).collect();
    cx.check(RETRY_5, "the first record and the newest", told, want);
    Ok(())
}

/// C56: a long message is cut at a character's end, and stored.
pub(crate) async fn long_message_is_cut(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for (what, long) in [("ascii", "x".repeat(5_000)), ("wide", "€".repeat(7_000_000))] {
        let mut scene = cast.stage_with(what, failing(RetryPolicy::default())).await?;
        let retry = Retry::ByPolicy;
        fail(cx, &mut scene, Outcome::Failed { message: long.clone(), retry }, 1).await?;
        let last = scene.task().await?.history.records.pop().map(|last| last.message);
        let last = last.unwrap_or_default();
        let max = Change::MESSAGE_BYTES_MAX;
        let fits = long.starts_with(&last) && (max - 3..=max).contains(&last.len());
        cx.check_that(RETRY_5, "the message's size in bytes", fits, last.len());
    }
    Ok(())
}

/// A retry that is overdue counts its delay from the commit, not from the end of the lease.
pub(crate) async fn delay_counts_from_the_commit(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage_with("overdue", failing(RetryPolicy::default())).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    scene.shift(cx, 90_000).await?;
    scene.lands(cx, RETRY_1, &moves::ending(&run, "failure with a delay")?).await?;
    due_in(cx, &mut scene, Duration::from_secs(9)).await?;
    scene.claimable(cx, RETRY_1).await
}
