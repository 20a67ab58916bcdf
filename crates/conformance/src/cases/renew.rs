//! How a lease is kept, and how its loss is told (LH-RENEW).

use std::time::Duration;

use leasehold_core::clause::{
    Clause, FENCE_2, LIMIT_4, OBS_1, RENEW_1, RENEW_2, RENEW_4, RENEW_5, RENEW_6, RENEW_9,
};
use leasehold_core::{
    BackendExt, Configure, Delivery, Error, ErrorKind, Fence, Guard, Intervention, Lease, LimitKey,
    LostReason, NewTask, Payload, Renew, RenewItem, RenewVerdict, TaskRef,
};

use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::moves::{self, RESCUES};
use crate::scene::{Cast, Place, Scene, newest};
use crate::staged::{Met, Staged, clear, ids, purge_all, take};

/// The lease goes on, `left` from now; the whole task is as before but for that and the note.
async fn held(
    cx: &mut Context,
    scene: &Scene,
    clause: Clause,
    item: RenewItem,
    left: Duration,
) -> Result<(), Stop> {
    let before = scene.see().await?;
    let mut want = before.task.ok_or_else(|| Stop::because("no task to renew"))?;
    want.until = Some(scene.now().after(left));
    want.note = item.note.clone().or(want.note);
    let told = scene.cast.worker.backend().renew_one(item).await?;
    let what = format!("{}: a renew", scene.what());
    cx.check(clause, &what, told, RenewVerdict::Held { ttl_left: left });
    let after = scene.see().await?;
    cx.check(RENEW_4, &format!("{what}: the task"), after.task, Some(want));
    cx.check(RENEW_4, &format!("{what}: the counts"), after.counts, before.counts);
    Ok(())
}

/// The lease is over for `reason`, and nothing changed, not even by the note that came along.
async fn lost(
    cx: &mut Context,
    scene: &Scene,
    clause: Clause,
    guard: Guard,
    reason: LostReason,
) -> Result<(), Stop> {
    let before = scene.see().await?;
    let mut events = before.counts.events;
    events.lost_renews += 1;
    let item = RenewItem::new(guard, Actor::TTL).with_note("a note of the lost");
    let told = scene.cast.worker.backend().renew_one(item).await?;
    let what = format!("{}: a renew that is lost", scene.what());
    cx.check(clause, &what, told, RenewVerdict::Lost(reason));
    let after = scene.see().await?;
    cx.check(FENCE_2, &format!("{what}: the task"), after.task, before.task);
    cx.check(FENCE_2, &format!("{what}: the tasks"), after.counts.tasks, before.counts.tasks);
    cx.check(OBS_1, &format!("{what}: the events"), after.counts.events, events);
    Ok(())
}

/// A run's lease and a rescue's are held from each renew on, and lapse when the last one ends.
pub(crate) async fn extends_a_live_lease(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for purpose in ["run", "rescue"] {
        let mut scene = cast.stage(purpose, Delivery::at_least_once()).await?;
        let lease = match purpose {
            "run" => scene.run(cx, &scene.cast.worker).await?,
            _ => scene.lapsed(cx).await?.1,
        };
        for after_ms in [0, 10_000, 29_999, 29_999] {
            scene.shift(cx, after_ms).await?;
            let item = RenewItem::new(lease.guard(), Actor::TTL);
            held(cx, &scene, RENEW_1, item, Actor::TTL).await?;
        }
        scene.shift(cx, 29_999).await?;
        scene.claimable(cx, RENEW_1).await?;
        scene.shift(cx, 1).await?;
        lost(cx, &scene, RENEW_2, lease.guard(), LostReason::Lapsed).await?;
        scene.claimable(cx, RENEW_1).await?;
    }
    Ok(())
}

pub(crate) async fn never_shortens(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("short", Delivery::at_least_once()).await?;
    let lease = scene.run(cx, &scene.cast.worker).await?;
    let item = |ms| RenewItem::new(lease.guard(), Duration::from_millis(ms));
    held(cx, &scene, RENEW_1, item(100), Actor::TTL).await?;
    scene.shift(cx, 10_000).await?;
    held(cx, &scene, RENEW_1, item(5_000), Duration::from_secs(20)).await?;
    held(cx, &scene, RENEW_1, item(20_001), Duration::from_millis(20_001)).await?;
    // Nor does a clock that went back (LH-TIME-4).
    scene.shift(cx, -5_000).await?;
    held(cx, &scene, RENEW_1, item(100), Duration::from_millis(25_001)).await?;
    Ok(())
}

/// Once its end has come a lease is over, though nobody has taken it; the rescue still can.
pub(crate) async fn lapsed_is_lost(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for after_ms in [30_000, 30_001, 3_000_000] {
        let what = format!("after {after_ms} ms");
        let mut scene = cast.stage(&what, Delivery::at_least_once()).await?;
        let run = scene.run(cx, &scene.cast.worker).await?;
        scene.shift(cx, after_ms).await?;
        lost(cx, &scene, RENEW_2, run.guard(), LostReason::Lapsed).await?;
        lost(cx, &scene, RENEW_2, run.guard(), LostReason::Lapsed).await?;
        let lapsed = scene.rescue(cx, &scene.cast.rescuer).await?;
        let taken = LostReason::Taken(lapsed.fence);
        lost(cx, &scene, RENEW_2, run.guard(), taken).await?;
        scene.lapse(cx).await?;
        lost(cx, &scene, RENEW_2, lapsed.guard(), LostReason::Lapsed).await?;
        // A finished decision is still worth a commit.
        scene.lands(cx, RENEW_2, &moves::rescue(&lapsed)).await?;
    }
    Ok(())
}

/// C36: who has lost the lease keeps no slot by asking for more of it, be the lease over, in a
/// rescuer's hand, given back or taken away.
pub(crate) async fn lost_keeps_no_slot(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = (cx.actor("worker").await?, cx.actor("other").await?);
    worker.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    let one = |id: &str| Actor::task(id).with_limit(LimitKey::new("g", "k"));
    for met in [Met::Lapsed, Met::Rescuing, Met::Returned, Met::Running] {
        let (id, next) = (format!("{met:?}"), format!("next{met:?}"));
        let scene = Staged::bring(cx, &worker, one(&id), met).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        worker.enqueue(one(&next)).await?;
        let revoked = met == Met::Running;
        if revoked {
            crate::actor::applied(other.act(&scene.task, Intervention::Cancel).await?)?;
            cx.shift(Actor::TTL_MS - 1).await?;
        }
        for _ in 0..2 {
            let told = worker.renew(&run).await?;
            let is_lost = matches!(told, RenewVerdict::Lost(_));
            cx.check_that(RENEW_2, &format!("a renew of a {met:?} one"), is_lost, &told);
        }
        if revoked {
            let early = take(&other, 9).await?;
            cx.check(LIMIT_4, "what starts 1 ms before the end", ids(&early), [""; 0]);
            cx.shift(1).await?;
        }
        let want = if met == Met::Returned { &id } else { &next };
        let leases = take(&other, 9).await?;
        cx.check(LIMIT_4, &format!("what starts after a {met:?} one's"), ids(&leases), [want]);
        for id in [&id, &next] {
            clear(&other, &worker.get(id).await?).await?;
        }
        cx.shift(Actor::TTL_MS).await?;
        purge_all(&other).await?;
    }
    Ok(())
}

/// The fence of an older claim, of the wait before this one, and one that never was.
pub(crate) async fn foreign_is_lost(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("foreign", Delivery::at_least_once()).await?;
    let (old, lapsed) = scene.rescued(cx).await?;
    let waiting = scene.task().await?.fence;
    lost(cx, &scene, RENEW_2, old.guard(), LostReason::Taken(waiting)).await?;
    lost(cx, &scene, RENEW_2, lapsed.guard(), LostReason::Decided).await?;
    let run = scene.run(cx, &scene.cast.second).await?;
    let taken = LostReason::Taken(run.fence);
    lost(cx, &scene, RENEW_2, old.guard(), taken).await?;
    let never = Fence::new(run.fence.value() + 1_000_000);
    lost(cx, &scene, RENEW_2, Guard::new(run.task_ref.clone(), never), taken).await?;
    lost(cx, &scene, RENEW_2, Guard::new(run.task_ref.clone(), waiting), taken).await?;
    held(cx, &scene, RENEW_1, RenewItem::new(run.guard(), Actor::TTL), Actor::TTL).await
}

/// A rescuer that was taken over hears of it as a worker does.
pub(crate) async fn taken_over_rescuer_is_told(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("rescuers", Delivery::at_least_once()).await?;
    let (run, first) = scene.lapsed(cx).await?;
    scene.lapse(cx).await?;
    let second = scene.rescue(cx, &scene.cast.other).await?;
    for stalled in [&run, &first] {
        let taken = LostReason::Taken(second.fence);
        lost(cx, &scene, RENEW_2, stalled.guard(), taken).await?;
    }
    held(cx, &scene, RENEW_1, RenewItem::new(second.guard(), Actor::TTL), Actor::TTL).await
}

pub(crate) async fn cancelled_is_told(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let (mut scene, run) = cast.stage_at(cx, "cancel", Place::Running).await?;
    scene.lands(cx, RENEW_6, &moves::act(&scene.task().await?, "cancel")?).await?;
    lost(cx, &scene, RENEW_6, newest(&run)?.guard(), LostReason::Cancelled).await?;
    scene.lapse(cx).await?;
    lost(cx, &scene, RENEW_6, newest(&run)?.guard(), LostReason::Cancelled).await
}

/// A run, or a rescue, whose lease an operator took away otherwise.
pub(crate) async fn revoked_is_told(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for act in ["bury", "revoke"] {
        let (mut scene, run) = cast.stage_at(cx, act, Place::Running).await?;
        scene.lands(cx, RENEW_2, &moves::act(&scene.task().await?, act)?).await?;
        lost(cx, &scene, RENEW_2, newest(&run)?.guard(), LostReason::Revoked).await?;

        let mut scene = cast.stage(&format!("{act} of a rescue"), RESCUES[0].1).await?;
        let (run, lapsed) = scene.lapsed(cx).await?;
        scene.lands(cx, RENEW_2, &moves::act(&scene.task().await?, act)?).await?;
        lost(cx, &scene, RENEW_2, lapsed.guard(), LostReason::Revoked).await?;
        let taken = LostReason::Taken(scene.task().await?.fence);
        lost(cx, &scene, RENEW_2, run.guard(), taken).await?;
    }
    Ok(())
}

/// A claim that has committed, for each way in which a run can end.
pub(crate) async fn decided_is_told(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    for name in moves::ENDINGS {
        let (mut scene, run) = cast.stage_at(cx, name, Place::Running).await?;
        scene.lands(cx, RENEW_2, &moves::ending(newest(&run)?, name)?).await?;
        lost(cx, &scene, RENEW_2, newest(&run)?.guard(), LostReason::Decided).await?;
        scene.claimable(cx, RENEW_2).await?;
    }
    Ok(())
}

/// No such task, one that has left and is no longer remembered, and a younger one.
pub(crate) async fn gone_is_told(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("lives", Delivery::at_least_once()).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    for guard in [
        Guard::new(TaskRef::new(scene.what(), "nobody"), run.fence),
        Guard::new(TaskRef::new("no such queue", "t"), run.fence),
    ] {
        let told = cast.worker.backend().renew_one(RenewItem::new(guard, Actor::TTL)).await?;
        cx.check(RENEW_2, "a renew of no task", told, RenewVerdict::Lost(LostReason::Gone));
    }
    scene.lapse(cx).await?;
    scene.lands(cx, RENEW_2, &moves::act(&scene.task().await?, "delete")?).await?;
    scene.shift(cx, 60_000).await?;
    lost(cx, &scene, RENEW_2, run.guard(), LostReason::Gone).await?;
    let again = NewTask::new("kind", "younger", Delivery::at_least_once()).with_id("t");
    scene.cast.operator.enqueue(again).await?;
    lost(cx, &scene, RENEW_2, run.guard(), LostReason::Gone).await?;
    scene.run(cx, &scene.cast.second).await?;
    lost(cx, &scene, RENEW_2, run.guard(), LostReason::Gone).await
}

/// A batch answers in order; what is lost or invalid in it does no harm to the others.
pub(crate) async fn one_lost_item_does_not_hurt(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for id in ["first", "decided", "last"] {
        worker.enqueue(Actor::task(id)).await?;
    }
    let leases = worker.claim(3).await?.leases;
    let [first, decided, last] = leases.as_slice() else {
        return Err(Stop::because("three ready tasks were not granted"));
    };
    let verdict = worker.end(decided, crate::actor::failure()).await?;
    crate::actor::applied(verdict)?;
    let before = worker.get("decided").await?;
    cx.shift(20_000).await?;
    let item = |guard| RenewItem::new(guard, Actor::TTL);
    let nobody = Guard::new(TaskRef::new(Context::QUEUE, "nobody"), first.fence);
    let broken = RenewItem::new(last.guard(), Duration::ZERO);
    let items = [first, decided].map(|lease| item(lease.guard()));
    let mut items = Vec::from(items);
    items.push(item(nobody));
    items.push(item(last.guard()));
    let told = worker.backend().renew(Renew::new(items)).await?;
    let told: Vec<_> = told.into_iter().map(|one| one.map_err(|error| error.kind())).collect();
    let held = Ok(RenewVerdict::Held { ttl_left: Actor::TTL });
    let lost = |reason| Ok(RenewVerdict::Lost(reason));
    let want = vec![held.clone(), lost(LostReason::Decided), lost(LostReason::Gone), held.clone()];
    cx.check(RENEW_5, "the answers, in order", told, want);
    let told = worker.backend().renew(Renew::new(vec![broken, item(first.guard())])).await?;
    let told: Vec<_> = told.into_iter().map(|one| one.map_err(|error| error.kind())).collect();
    cx.check(RENEW_5, "beside an invalid item", told, vec![Err(ErrorKind::Invalid), held]);
    cx.check_untouched(RENEW_5, "the task that was lost", &worker, &before).await
}

/// Failures, rescues and the rest stay through a hundred renews (checked by `held`).
pub(crate) async fn changes_no_counter(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("counters", Delivery::at_least_once()).await?;
    scene.rescued(cx).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    scene.lands(cx, RENEW_4, &moves::ending(&run, "failure with a delay")?).await?;
    scene.shift(cx, 9_000).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    for _ in 0..100 {
        scene.shift(cx, 20_000).await?;
        held(cx, &scene, RENEW_4, RenewItem::new(run.guard(), Actor::TTL), Actor::TTL).await?;
    }
    let task = scene.task().await?;
    let counters = (task.attempt, task.failures, task.rescues, task.takeovers);
    cx.check(RENEW_4, "attempt, failures, rescues, takeovers", counters, (3, 1, 1, 0));
    Ok(())
}

/// A note is stored with a Held, replaced by the next one, left alone by a renew without one,
/// and not stored by what is lost (checked by `lost`).
pub(crate) async fn note_is_stored_if_held(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("note", Delivery::at_least_once()).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    let item = || RenewItem::new(run.guard(), Actor::TTL);
    held(cx, &scene, RENEW_9, item(), Actor::TTL).await?;
    cx.check(RENEW_9, "no note yet", scene.task().await?.note, None);
    for note in [&b"at row 7"[..], b"\0\xff", b"at row 9"] {
        held(cx, &scene, RENEW_9, item().with_note(note.to_vec()), Actor::TTL).await?;
    }
    held(cx, &scene, RENEW_9, item(), Actor::TTL).await?;
    scene.lapse(cx).await?;
    lost(cx, &scene, RENEW_9, run.guard(), LostReason::Lapsed).await?;
    cx.check(RENEW_9, "the note", scene.task().await?.note, Some("at row 9".into()));
    Ok(())
}

/// A rescue and a retry hand the note on to the next lease; a redrive drops it.
pub(crate) async fn note_outlives_rescue_and_retry(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("note", Delivery::at_least_once()).await?;
    let note = Some(Payload::from("at row 7"));
    let run = scene.run(cx, &scene.cast.worker).await?;
    let item = RenewItem::new(run.guard(), Actor::TTL).with_note("at row 7");
    held(cx, &scene, RENEW_9, item, Actor::TTL).await?;
    scene.lapse(cx).await?;
    let lapsed = scene.rescue(cx, &scene.cast.rescuer).await?;
    cx.check(RENEW_9, "the note told to the rescuer", &lapsed.note, &note);
    scene.lands(cx, RENEW_9, &moves::rescue(&lapsed)).await?;
    let mut run = scene.run(cx, &scene.cast.worker).await?;
    for ends in ["failure with a delay", "snooze", "release"] {
        cx.check(RENEW_9, &format!("the note told to the run before {ends}"), &run.note, &note);
        scene.lands(cx, RENEW_9, &moves::ending(&run, ends)?).await?;
        scene.shift(cx, 9_000).await?;
        run = scene.run(cx, &scene.cast.second).await?;
    }
    scene.lands(cx, RENEW_9, &moves::ending(&run, "fatal")?).await?;
    let dead = scene.task().await?;
    cx.check(RENEW_9, "the note of the dead letter", &dead.note, &note);
    scene.lands(cx, RENEW_9, &moves::act(&dead, "redrive")?).await?;
    let run: Lease = scene.run(cx, &scene.cast.worker).await?;
    cx.check(RENEW_9, "the note after a redrive", run.note, None);
    Ok(())
}

/// The largest note is stored; one byte more is Invalid, for its item only, and extends nothing.
pub(crate) async fn too_large_note_is_invalid(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.enqueue(Actor::task("large")).await?;
    worker.enqueue(Actor::task("fine")).await?;
    let leases = worker.claim(2).await?.leases;
    let [large, fine] = leases.as_slice() else {
        return Err(Stop::because("two ready tasks were not granted"));
    };
    let max = worker.backend().capabilities().bounds.note_bytes_max;
    let before = worker.get("large").await?;
    cx.shift(10_000).await?;
    let item = |lease: &Lease, bytes| {
        RenewItem::new(lease.guard(), Actor::TTL).with_note(vec![0xff; bytes])
    };
    let items = vec![item(large, max + 1), item(fine, max)];
    let told = worker.backend().renew(Renew::new(items)).await?;
    let told: Vec<_> =
        told.into_iter().map(|one| one.map_err(|error: Error| error.kind())).collect();
    let held = Ok(RenewVerdict::Held { ttl_left: Actor::TTL });
    cx.check(
        RENEW_9,
        "a note too large beside a fine one",
        told,
        vec![Err(ErrorKind::Invalid), held],
    );
    cx.check_untouched(RENEW_9, "whose note was too large", &worker, &before).await?;
    let note = worker.get("fine").await?.note.map(|note| note.len());
    cx.check(RENEW_9, "the bytes of the largest note", note, Some(max));
    Ok(())
}

/// A paused queue renews (LH-CLAIM-7 is about Run claims alone).
pub(crate) async fn goes_on_while_paused(cx: &mut Context) -> Result<(), Stop> {
    let cast = Cast::open(cx).await?;
    let mut scene = cast.stage("paused", Delivery::at_least_once()).await?;
    let run = scene.run(cx, &scene.cast.worker).await?;
    scene.cast.operator.configure(Configure::new("paused").pause()).await?;
    scene.shift(cx, 10_000).await?;
    held(cx, &scene, RENEW_1, RenewItem::new(run.guard(), Actor::TTL), Actor::TTL).await
}
