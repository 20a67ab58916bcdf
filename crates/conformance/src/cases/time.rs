//! Whose clock counts, how fine it is, and what a clock that goes wrong may not break (LH-TIME).

use std::future::pending;
use std::time::Duration;

use leasehold_core::clause::{
    CLAIM_1, CLAIM_2, COMMIT_7, FENCE_3, LAPSE_1, RENEW_1, RENEW_2, TIME_1, TIME_3, TIME_4, TIME_5,
    TIME_6,
};
use leasehold_core::{
    BackendExt, Bounds, Change, Clock, CommitItem, Count, Due, Edit, Error, ErrorKind, Event,
    Intervention, Lease, LostReason, NewTask, OnLeased, Outcome, Purpose, RenewItem, RenewVerdict,
    Retry, Role, State, Status, StoredTask, Timestamp, To, When,
};

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};
use crate::demand;

const HOUR: Duration = Duration::from_secs(60 * 60);
const HOUR_MS: i64 = 3_600_000;
const DECADE_MS: i64 = 315_576_000_000;

/// C64, C65: every instant comes from the clock that a shift moves, wherever it stands.
pub(crate) async fn only_the_stores_clock_counts(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for (id, era) in [("now", 0), ("past", -2 * DECADE_MS), ("future", 5 * DECADE_MS)] {
        cx.shift(era).await?;
        worker.enqueue(Actor::kept(id).with_due(Due::In(HOUR))).await?;
        let task = worker.get(id).await?;
        let hours = |n: i64| Timestamp::from_millis(task.enqueued_at.as_millis() + n * HOUR_MS);
        cx.check(TIME_1, "a due time", task.due, hours(1));
        cx.check(TIME_1, "a claim before it", worker.claim(1).await?.leases, []);
        cx.shift(HOUR_MS).await?;
        let run = demand::lease(cx, TIME_1, "a claim at it", worker.claim(1).await?)?;
        let until = worker.get(id).await?.until;
        cx.check(TIME_1, "the end of a lease", until, Some(hours(1).after(Actor::TTL)));
        applied(worker.end(&run, Outcome::Snoozed(2 * HOUR)).await?)?;
        cx.check(TIME_1, "a snooze", worker.get(id).await?.due, hours(3));
        cx.shift(2 * HOUR_MS).await?;
        let lost = worker.run_one().await?;
        cx.shift(HOUR_MS).await?;
        applied(worker.give_back(&worker.rescue_one().await?).await?)?;
        let run = worker.run_one().await?;
        cx.check(TIME_1, "the due time of a rescued run", run.due, hours(4));
        cx.shift(HOUR_MS / 2).await?;
        let overdue = applied(worker.succeed(&run).await?)?.overdue;
        cx.check(COMMIT_7, "a success after half an hour", overdue, true);
        let task = worker.get(id).await?;
        let end = hours(4).after(HOUR / 2);
        cx.check(TIME_1, "the end of the task", task.finished_at, Some(end));
        let records: Vec<_> = task.history.records.iter().map(|record| record.at).collect();
        cx.check(TIME_1, "the times of its records", records, [hours(1), hours(4), end]);
        cx.check_that(FENCE_3, "the fences", lost.fence < run.fence, (&lost, &run));
    }
    Ok(())
}

pub(crate) async fn due_is_exact(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    // Within a second, so that a clock of whole seconds shows.
    cx.shift(337).await?;
    worker.enqueue(Actor::task("first")).await?;
    let at = worker.get("first").await?.enqueued_at.after(Duration::from_secs(1));
    worker.enqueue(Actor::task("at").with_due(Due::At(at))).await?;
    worker.enqueue(Actor::task("in").with_due(Due::In(Duration::from_secs(1)))).await?;
    worker.enqueue(Actor::task("snoozed").with_due(Due::Now)).await?;
    for lease in worker.claim(10).await?.leases {
        let second = Duration::from_secs(1);
        let again = match lease.task_ref.id.as_str() {
            "snoozed" => Outcome::Snoozed(second),
            _ => Outcome::Failed { message: String::new(), retry: Retry::After(second) },
        };
        applied(worker.end(&lease, again).await?)?;
    }
    cx.shift(999).await?;
    let early = worker.claim(10).await?;
    cx.check(
        TIME_3,
        "a claim 1 ms before the due time",
        (early.leases, early.more),
        (vec![], false),
    );
    let ready = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    let got = (ready.of(Status::Ready), ready.of(Status::Scheduled));
    cx.check(TIME_3, "ready and scheduled tasks 1 ms before", got, (0, 4));
    cx.shift(1).await?;
    let ready = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    let got = (ready.of(Status::Ready), ready.of(Status::Scheduled));
    cx.check(TIME_3, "ready and scheduled tasks at the due time", got, (4, 0));
    let leases = worker.claim(10).await?.leases;
    let ids: Vec<_> = leases.iter().map(|lease| lease.task_ref.id.as_str()).collect();
    cx.check(CLAIM_1, "a claim at the due time", ids, ["first", "at", "in", "snoozed"]);
    Ok(())
}

pub(crate) async fn lapse_is_exact(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    cx.shift(337).await?;
    worker.enqueue(Actor::task("kept")).await?;
    worker.enqueue(Actor::task("lost")).await?;
    let (kept, lost) = (worker.run_one().await?, worker.run_one().await?);
    cx.shift(Actor::TTL_MS - 1).await?;
    cx.check(LAPSE_1, "a rescue 1 ms before the end", rescuer.rescue(9).await?.leases, []);
    let renewed = worker.renew(&kept).await?;
    let held = RenewVerdict::Held { ttl_left: Actor::TTL };
    cx.check(RENEW_1, "a renew 1 ms before the end", renewed, held);
    let counts = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    let got = (counts.of(Status::Leased), counts.of(Status::Lapsed));
    cx.check(TIME_3, "leased and lapsed tasks 1 ms before", got, (2, 0));

    cx.shift(1).await?;
    let before = worker.get("lost").await?;
    let reply = worker.renew(&lost).await?;
    cx.check(RENEW_2, "a renew at the end", reply, RenewVerdict::Lost(LostReason::Lapsed));
    cx.check_untouched(RENEW_2, "the task of a lapsed renew", &worker, &before).await?;
    let counts = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    let got = (counts.of(Status::Leased), counts.of(Status::Lapsed));
    cx.check(TIME_3, "leased and lapsed tasks at the end", got, (1, 1));
    let ids: Vec<_> = rescuer.rescue(9).await?.leases.into_iter().map(|l| l.task_ref.id).collect();
    cx.check(TIME_3, "a rescue at the end", ids, ["lost"]);
    Ok(())
}

pub(crate) async fn ttl_left_is_told_and_never_shortened(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("t")).await?;
    let mut want = worker.get("t").await?;
    let start = want.enqueued_at;
    let run = worker.run_one().await?;
    cx.check(TIME_5, "what is left right after the claim", run.ttl_left, Actor::TTL);
    (want.state, want.fence, want.run) = (State::Leased(Purpose::Run), run.fence, Some(run.fence));
    (want.attempt, want.holder) = (1, Some("worker".to_owned()));
    let second = Duration::from_secs(1);
    // Seconds on the clock, seconds asked for, and the end in seconds after the start.
    for (at, ttl, end) in [(0, 5, 30), (10, 5, 30), (10, 20, 30), (10, 21, 31), (30, 60, 90)] {
        cx.shift(start.after(at * second).as_millis() - clock(&worker).await?.as_millis()).await?;
        let reply = worker.backend().renew_one(RenewItem::new(run.guard(), ttl * second)).await?;
        let what = format!("a renew by {ttl} s after {at} s");
        cx.check(TIME_5, &what, reply, RenewVerdict::Held { ttl_left: (end - at) * second });
        want.until = Some(start.after(end * second));
        cx.check_untouched(RENEW_1, "the task after it", &worker, &want).await?;
    }
    Ok(())
}

pub(crate) async fn ttl_has_bounds(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let (backend, bounds) = (worker.backend(), worker.backend().capabilities().bounds);
    worker.enqueue(Actor::task("t")).await?;
    let before = worker.get("t").await?;
    let ms = Duration::from_millis(1);
    let claim = |ttl| {
        let mut claim = worker.request(Purpose::Run, 1);
        claim.ttl = ttl;
        backend.claim(claim)
    };
    let beyond = [Duration::ZERO, bounds.ttl_min - ms, bounds.ttl_max + ms, Duration::MAX];
    for ttl in beyond {
        let refused = claim(ttl).await.err().map(|error| error.kind());
        cx.check(TIME_5, &format!("a claim for {ttl:?}"), refused, Some(ErrorKind::Invalid));
    }
    cx.check_untouched(TIME_5, "the task of refused claims", &worker, &before).await?;
    let lease = claim(bounds.ttl_min).await?.leases.pop();
    let lease = lease.ok_or_else(|| Stop::because("the shortest lease was not granted"))?;
    cx.check(TIME_5, "the shortest lease", lease.ttl_left, bounds.ttl_min);
    let before = worker.get("t").await?;
    for ttl in beyond {
        let refused = backend.renew_one(RenewItem::new(lease.guard(), ttl)).await;
        let refused = refused.err().map(|error| error.kind());
        cx.check(TIME_5, &format!("a renew by {ttl:?}"), refused, Some(ErrorKind::Invalid));
    }
    cx.check_untouched(TIME_5, "the task of refused renews", &worker, &before).await?;
    let reply = backend.renew_one(RenewItem::new(lease.guard(), bounds.ttl_max)).await?;
    cx.check(TIME_5, "the longest renew", reply, RenewVerdict::Held { ttl_left: bounds.ttl_max });
    Ok(())
}

/// C67: a time that can be stored is kept to the millisecond; one beyond is refused.
pub(crate) async fn far_times_are_kept_or_refused(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let ms = Duration::from_millis(1);
    let delays = [1_u64 << 31, (1 << 31) - 1, 1 << 32, (1 << 40) + 1].map(Duration::from_millis);
    let delays = [&delays[..], &[Bounds::DELAY_MAX - ms, Bounds::DELAY_MAX]].concat();
    for (n, delay) in delays.into_iter().enumerate() {
        let id = format!("in{n}");
        user.enqueue(Actor::task(&id).with_due(Due::In(delay))).await?;
        let task = user.get(&id).await?;
        let kept = task.due.since(task.enqueued_at);
        cx.check(TIME_6, "a far delay", kept, delay);
    }
    user.enqueue(Actor::task("at").with_due(Due::At(Timestamp::MAX))).await?;
    cx.check(TIME_6, "the last due time", user.get("at").await?.due, Timestamp::MAX);
    let early = user.claim(10).await?.leases;
    cx.check(CLAIM_1, "a claim long before", early, []);

    let late = Timestamp::from_millis(Timestamp::MAX.as_millis() + 1);
    for due in [
        Due::In(Bounds::DELAY_MAX + ms),
        Due::In(Duration::MAX),
        Due::At(late),
        Due::At(Timestamp::from_millis(i64::MAX)),
    ] {
        let refused = user.try_enqueue(Actor::task("beyond").with_due(due)).await;
        let refused = refused.err().map(|error| error.kind());
        cx.check(TIME_6, &format!("{due:?}"), refused, Some(ErrorKind::Invalid));
        cx.check_gone(TIME_6, "a task due beyond the bounds", &user, "beyond").await?;
    }
    let edit = Edit::default().with_due(Due::At(late));
    let before = user.get("at").await?;
    let refused = user.act(&before, Intervention::Edit(edit)).await;
    let refused = refused.as_ref().map_err(Error::kind).err();
    cx.check(TIME_6, "an edit beyond the bounds", refused, Some(ErrorKind::Invalid));
    cx.check_untouched(TIME_6, "the task of a refused edit", &user, &before).await
}

pub(crate) async fn a_far_snooze_is_cut_and_noted(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("t")).await?;
    let run = worker.run_one().await?;
    let before = worker.get("t").await?;
    let beyond = To::Waiting(When::After(Bounds::DELAY_MAX + Duration::from_millis(1)));
    let change = Change::new(Role::Worker, beyond, Event::Snoozed);
    let refused = worker.backend().commit_one(CommitItem::new(run.guard(), change)).await;
    let refused = refused.err().map(|error| error.kind());
    cx.check(TIME_6, "a change beyond the bounds", refused, Some(ErrorKind::Invalid));
    cx.check_untouched(TIME_6, "the task of a refused change", &worker, &before).await?;

    applied(worker.end(&run, Outcome::Snoozed(2 * Bounds::DELAY_MAX)).await?)?;
    let task = worker.get("t").await?;
    let cut = task.enqueued_at.after(Bounds::DELAY_MAX);
    cx.check(TIME_6, "a snooze beyond the bounds", (task.state, task.due), (State::Waiting, cut));
    let noted = task.history.records.last().is_some_and(|record| !record.message.is_empty());
    cx.check_that(TIME_6, "the note about the cut", noted, &task.history);
    Ok(())
}

pub(crate) async fn a_clock_set_back_keeps_the_claim(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let other = cx.actor("other").await?;
    worker.enqueue(Actor::kept("t")).await?;
    let run = worker.run_one().await?;
    cx.shift(-HOUR_MS).await?;
    let before = worker.get("t").await?;
    cx.check(CLAIM_2, "a second claim", other.claim(9).await?.leases, []);
    cx.check(LAPSE_1, "a rescue", other.rescue(9).await?.leases, []);
    let left = Actor::TTL + HOUR;
    let held = RenewVerdict::Held { ttl_left: left };
    cx.check(TIME_4, "a renew, which shortens nothing", worker.renew(&run).await?, held);
    cx.check_untouched(TIME_4, "the leased task", &worker, &before).await?;

    cx.shift(HOUR_MS + Actor::TTL_MS).await?;
    let lapsed = other.rescue_one().await?;
    cx.shift(-HOUR_MS).await?;
    let before = worker.get("t").await?;
    let lost = RenewVerdict::Lost(LostReason::Taken(lapsed.fence));
    cx.check(TIME_4, "a renew that a clock set back would allow", worker.renew(&run).await?, lost);
    cx.check_untouched(TIME_4, "the task under rescue", &worker, &before).await?;
    let late = applied(worker.succeed(&run).await?)?.late;
    cx.check(TIME_4, "the success of the run", late, true);
    let before = worker.get("t").await?;
    for by_ms in [-DECADE_MS, 2 * DECADE_MS] {
        cx.shift(by_ms).await?;
        cx.check(TIME_4, "a claim of the finished task", other.claim(9).await?.leases, []);
        cx.check(TIME_4, "a rescue of the finished task", other.rescue(9).await?.leases, []);
        cx.check_untouched(TIME_4, "the finished task", &worker, &before).await?;
    }
    Ok(())
}

pub(crate) async fn a_jumping_clock_keeps_every_fence(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let other = cx.actor("other").await?;
    let mut newest = worker.enqueue(Actor::task("t")).await?;
    let mut old: Option<Lease> = None;
    for by_ms in [0, -1, HOUR_MS, -2 * HOUR_MS, DECADE_MS, -2 * DECADE_MS, 1] {
        cx.shift(by_ms).await?;
        let act = Intervention::Requeue(OnLeased::Revoke);
        let requeued = applied(other.act(&worker.get("t").await?, act).await?)?.fence;
        cx.check_that(TIME_4, "the fence of a requeue", requeued > newest, (requeued, newest));
        let run = worker.run_one().await?;
        cx.check_that(TIME_4, "the fence of a claim", run.fence > requeued, (run.fence, requeued));
        cx.check(CLAIM_2, "a second claim", other.claim(9).await?.leases, []);
        if let Some(old) = old.replace(run.clone()) {
            let before = worker.get("t").await?;
            let stale = worker.succeed(&old).await?;
            let is_stale = matches!(stale, leasehold_core::CommitVerdict::Stale { .. });
            cx.check_that(TIME_4, "the success of an older run", is_stale, stale);
            cx.check_untouched(TIME_4, "the task of the newer run", &worker, &before).await?;
        }
        newest = applied(worker.end(&run, Outcome::Snoozed(HOUR)).await?)?.fence;
        cx.check_that(TIME_4, "the fence of a commit", newest > run.fence, (newest, run.fence));
    }
    Ok(())
}

const SHORT: Duration = Duration::from_millis(300);

pub(crate) async fn a_real_lease_lapses(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    worker.enqueue(Actor::task("t")).await?;
    granted(&worker, Purpose::Run).await?;
    let end = worker.get("t").await?.until;
    let lapsed = granted(&rescuer, Purpose::Rescue).await?;
    let rescued_at = granted_at(&worker.get("t").await?);
    cx.check_that(TIME_1, "a rescue after the end", rescued_at >= end, (rescued_at, end));
    applied(rescuer.give_back(&lapsed).await?)?;
    let run = worker.run_one().await?;
    cx.check(TIME_1, "attempt and rescues of the next run", (run.attempt, run.rescues), (2, 1));
    Ok(())
}

pub(crate) async fn a_real_delay_passes(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("t").with_due(Due::In(SHORT))).await?;
    let task = worker.get("t").await?;
    cx.check(TIME_5, "the delay", task.due.since(task.enqueued_at), SHORT);
    granted(&worker, Purpose::Run).await?;
    let at = granted_at(&worker.get("t").await?);
    cx.check_that(TIME_1, "a claim after the delay", at >= Some(task.due), (at, task.due));
    let soon = task.due.after(Duration::from_secs(5));
    cx.check_that(TIME_3, "a claim soon after the delay", at <= Some(soon), (at, soon));
    Ok(())
}

pub(crate) async fn a_real_renew_keeps_the_lease(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    worker.enqueue(Actor::task("t")).await?;
    let mut claim = worker.request(Purpose::Run, 1);
    claim.ttl = Duration::from_secs(1);
    let run = worker.backend().claim(claim).await?.leases.pop();
    let run = run.ok_or_else(|| Stop::because("a ready task was not granted"))?;
    let end = worker.get("t").await?.until.unwrap_or_default();
    let reply = worker.renew(&run).await?;
    let left = Actor::TTL - Duration::from_secs(20)..=Actor::TTL;
    let held = matches!(reply, RenewVerdict::Held { ttl_left } if left.contains(&ttl_left));
    cx.check_that(RENEW_1, "a renew before the first end", held, reply);
    for _ in 0..500 {
        if clock(&worker).await? > end {
            break;
        }
        rest().await;
    }
    let now = clock(&worker).await?;
    cx.check_that(TIME_1, "the store's clock moves past the first end", now > end, (now, end));
    cx.check(RENEW_1, "a rescue after the first end", rescuer.rescue(9).await?.leases, []);
    let reply = worker.renew(&run).await?;
    let held = matches!(reply, RenewVerdict::Held { .. });
    cx.check_that(RENEW_1, "a renew after the first end", held, reply);
    let punctual = applied(worker.succeed(&run).await?)?;
    cx.check(COMMIT_7, "whether the success is overdue", punctual.overdue, false);
    Ok(())
}

pub(crate) async fn real_instants_are_plausible(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::kept("t")).await?;
    let run = worker.run_one().await?;
    let left = Actor::TTL - Duration::from_secs(20)..=Actor::TTL;
    cx.check_that(TIME_5, "what is left", left.contains(&run.ttl_left), run.ttl_left);
    let task = worker.get("t").await?;
    let at = task.until.map(|until| Timestamp::from_millis(until.as_millis() - Actor::TTL_MS));
    let soon = task.enqueued_at.after(Duration::from_secs(20));
    let in_order = at >= Some(task.enqueued_at) && at <= Some(soon);
    cx.check_that(TIME_5, "the claim soon after the enqueue", in_order, &task);
    applied(worker.end(&run, success()).await?)?;
    let task = worker.get("t").await?;
    cx.check_that(TIME_1, "the end after the claim", task.finished_at >= at, &task);
    // The machine's clock and the store's may differ, but not by the unit that they count in.
    let (here, day) = (Clock::System.now(), Duration::from_secs(24 * 60 * 60));
    let apart = here.since(task.enqueued_at).max(task.enqueued_at.since(here));
    cx.check_that(TIME_1, "the store's clock tells today", apart < day, (here, &task));
    Ok(())
}

/// Claims with a short lease until there is a grant, for about 10 s at most.
async fn granted(who: &Actor, purpose: Purpose) -> Result<Lease, Stop> {
    for _ in 0..500 {
        let mut claim = who.request(purpose, 1);
        claim.ttl = SHORT;
        if let Some(lease) = who.backend().claim(claim).await?.leases.pop() {
            return Ok(lease);
        }
        rest().await;
    }
    Err(Stop::because(format!("nothing was granted to {purpose:?} within 10 s")))
}

/// When a lease of [`SHORT`], which nobody has renewed, was granted.
fn granted_at(task: &StoredTask) -> Option<Timestamp> {
    let until = task.until?.as_millis();
    Some(Timestamp::from_millis(until - i64::try_from(SHORT.as_millis()).ok()?))
}

/// Lets 20 ms of real time pass.
async fn rest() {
    let _ = tokio::time::timeout(Duration::from_millis(20), pending::<()>()).await;
}

/// What the store's clock shows, as a task of another queue was stamped with it.
async fn clock(user: &Actor) -> Result<Timestamp, Stop> {
    let probe: NewTask = NewTask::new("probe", "", leasehold_core::Delivery::NotAfterLoss);
    let task = leasehold_core::TaskRef::new("clock", probe.id.clone());
    let _ = user.backend().enqueue_one(&task.queue, probe).await?;
    let probe = user.backend().task(&task).await?;
    probe.map(|task| task.enqueued_at).ok_or_else(|| Stop::because("the probe is not there"))
}
