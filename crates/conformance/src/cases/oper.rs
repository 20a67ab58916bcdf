//! What an operator may do to a task, and what it must show (LH-OPER).

use std::time::Duration;

use leasehold_core::clause::{
    OPER_1, OPER_2, OPER_3, OPER_4, OPER_5, OPER_6, OPER_7, OPER_8, OPER_10, RENEW_6,
};
use leasehold_core::decide::Intervention;
use leasehold_core::{
    BackendExt, CommitItem, CommitVerdict, Count, DeadReason, Delivery, Due, DuplicateCause, Edit,
    EnqueueVerdict, Error, ErrorKind, Event, Filter, LostReason, OnLeased, Policy, Priority,
    RenewVerdict, State, StoredTask, TaskRef,
};

use crate::actor::{Actor, applied};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::{Met, Staged, act, after, clear, finished, ids, list, purge_all, stale};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// An edit of one part.
fn edit() -> Intervention {
    Intervention::Edit(Edit::default().with_priority(Priority::new(7)))
}

fn acts() -> Vec<Intervention> {
    vec![
        Intervention::Cancel,
        Intervention::Bury,
        Intervention::Requeue(OnLeased::Refuse),
        Intervention::Requeue(OnLeased::Revoke),
        edit(),
        Intervention::Delete,
        Intervention::Redrive,
    ]
}

/// What the contract's table of moves admits.
fn admits(met: Met, act: &Intervention) -> bool {
    match act {
        Intervention::Delete => true,
        Intervention::Redrive => met.is_finished(),
        Intervention::Edit(_) => {
            matches!(met, Met::Waiting | Met::Returned | Met::Rejected | Met::Lost)
        }
        Intervention::Requeue(OnLeased::Refuse) => {
            matches!(met, Met::Waiting | Met::Returned | Met::Rescuing)
        }
        Intervention::Requeue(OnLeased::Revoke) | Intervention::Cancel | Intervention::Bury => {
            !met.is_finished()
        }
    }
}

fn every_pair() -> impl Iterator<Item = (usize, Met, Intervention)> {
    let pairs = Met::ALL.into_iter().flat_map(|met| acts().into_iter().map(move |a| (met, a)));
    pairs.enumerate().map(|(n, (met, act))| (n, met, act))
}

/// The commit of an act on `seen` that core would refuse to decide, to ask the store itself.
fn forced(by: &Actor, seen: &StoredTask, act: Intervention) -> Result<CommitItem, Error> {
    let mut pretended = seen.clone();
    pretended.state = match act {
        Intervention::Redrive => State::Cancelled,
        _ => State::Waiting,
    };
    by.decide(&pretended, act)
}

async fn two(cx: &Context) -> Result<(Actor, Actor), Stop> {
    Ok((cx.actor("worker").await?, cx.actor("operator").await?))
}

/// Sin 10: an operator writes without the fence that was seen; C92.
pub(crate) async fn stale_act_changes_nothing(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for (n, met, late) in every_pair().filter(|(_, met, act)| admits(*met, act)) {
        let what = format!("{late:?} of a {met:?} task that changed since it was seen");
        let scene = Staged::bring(cx, &worker, Actor::task(&format!("t{n}")), met).await?;
        let item = operator.decide(&scene.task, late)?;
        let first = match met {
            Met::Rejected | Met::Lost => edit(),
            Met::Succeeded | Met::Cancelled => Intervention::Redrive,
            _ => Intervention::Requeue(OnLeased::Revoke),
        };
        applied(worker.act(&scene.task, first).await?)?;
        let now = worker.get(&scene.task.task_ref.id).await?;
        cx.check(OPER_1, &what, operator.commit_item(&item).await?, stale(&now));
        cx.check_untouched(OPER_1, &what, &operator, &now).await?;
        clear(&worker, &now).await?;
    }
    Ok(())
}

/// The operator read Waiting, then the worker claimed: the run goes on; C92.
pub(crate) async fn claim_makes_acts_stale(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    worker.enqueue(Actor::task("t")).await?;
    let seen = operator.get("t").await?;
    let run = worker.run_one().await?;
    let now = operator.get("t").await?;
    for act in acts().into_iter().filter(|act| admits(Met::Waiting, act)) {
        let what = format!("{act:?} of a task that was claimed since it was seen");
        cx.check(OPER_1, &what, operator.act(&seen, act).await?, stale(&now));
        cx.check_untouched(OPER_1, &what, &operator, &now).await?;
    }
    let held = RenewVerdict::Held { ttl_left: Actor::TTL };
    cx.check(OPER_1, "the run's renew", worker.renew(&run).await?, held);
    let ended = applied(worker.succeed(&run).await?)?;
    cx.check(OPER_1, "whether the run's success is late", ended.late, false);
    cx.check_gone(OPER_1, "the task after its success", &worker, "t").await
}

/// Sin 11: an act leaves older claims their rights; "late success after an operator's act".
pub(crate) async fn act_ends_every_older_right(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for (n, met, act) in every_pair().filter(|(_, met, act)| admits(*met, act)) {
        let what = format!("after {act:?} of a {met:?} task, ");
        let id = format!("t{n}");
        let scene = Staged::bring(cx, &worker, Actor::task(&id), met).await?;
        let other = worker.decide(&scene.task, Intervention::Delete)?;
        let fence = applied(operator.act(&scene.task, act).await?)?.fence;
        cx.check_that(OPER_2, &format!("{what}the fence"), fence > scene.task.fence, fence);
        let now = worker.backend().task(&scene.task.task_ref).await?;
        let left = CommitVerdict::Stale { fence: scene.task.fence, state: None };
        let want = now.as_ref().map_or(left, stale);
        let mut got = vec![("another operator", worker.commit_item(&other).await?)];
        if let Some(run) = &scene.run {
            got.push(("the run's success", worker.succeed(run).await?));
            got.push(("the run's failure", worker.fail(run).await?));
            let lost = matches!(worker.renew(run).await?, RenewVerdict::Lost(_));
            cx.check(OPER_2, &format!("{what}whether the run's lease is lost"), lost, true);
        }
        if let Some(rescue) = &scene.rescue {
            got.push(("the rescue's decision", worker.give_back(rescue).await?));
        }
        for (who, verdict) in got {
            cx.check(OPER_2, &format!("{what}{who}"), verdict, want.clone());
        }
        let then = worker.backend().task(&scene.task.task_ref).await?;
        cx.check(OPER_2, &format!("{what}the task"), then, now);
        clear(&worker, &scene.task).await?;
    }
    Ok(())
}

/// Ends every kind of unfinished task and compares the whole of it.
async fn ends_each(
    cx: &mut Context,
    clause: leasehold_core::clause::Clause,
    ending: Intervention,
    state: State,
) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for (n, met) in Met::UNFINISHED.into_iter().enumerate() {
        let what = format!("{ending:?} of a {met:?} task");
        let scene = Staged::bring(cx, &worker, Actor::task(&format!("t{n}")), met).await?;
        let now = act(&operator, &scene.task, ending.clone(), scene.now).await?;
        let mut want = finished(now, state, scene.now);
        want.held_until = scene.task.until.filter(|_| met == Met::Running);
        cx.check_untouched(clause, &what, &operator, &want).await?;
        let reason = match state {
            State::Cancelled => LostReason::Cancelled,
            _ => LostReason::Revoked,
        };
        let current = scene.rescue.or(scene.run).filter(|lease| lease.fence == scene.task.fence);
        if let Some(lease) = current {
            let told = worker.renew(&lease).await?;
            cx.check(RENEW_6, &format!("{what}: renew"), told, RenewVerdict::Lost(reason));
        }
        cx.check_untouched(clause, &what, &operator, &want).await?;
        clear(&operator, &scene.task).await?;
    }
    Ok(())
}

/// C91: the cancel stands, whatever the handler does next.
pub(crate) async fn cancel_of_each_state(cx: &mut Context) -> Result<(), Stop> {
    ends_each(cx, OPER_3, Intervention::Cancel, State::Cancelled).await
}

pub(crate) async fn bury_of_each_state(cx: &mut Context) -> Result<(), Stop> {
    ends_each(cx, OPER_6, Intervention::Bury, State::Dead(DeadReason::Operator)).await
}

/// In Waiting the due time is now; a run loses its lease and its task waits out the lease's
/// end; a rescue loses its decision, and the task is ready at once.
pub(crate) async fn requeue_of_each_state(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for (n, met) in Met::UNFINISHED.into_iter().enumerate() {
        let what = format!("requeue of a {met:?} task");
        let (id, due) = (format!("t{n}"), Due::In(HOUR));
        let new =
            if met == Met::Waiting { Actor::task(&id).with_due(due) } else { Actor::task(&id) };
        let scene = Staged::bring(cx, &worker, new, met).await?;
        cx.shift(1_000).await?;
        let now = scene.now.after(Duration::from_secs(1));
        let on_leased = match met {
            Met::Running | Met::Lapsed => OnLeased::Revoke,
            _ => OnLeased::Refuse,
        };
        let requeue = Intervention::Requeue(on_leased);
        let mut want = act(&operator, &scene.task, requeue, now).await?;
        want.state = State::Waiting;
        want.due = now;
        want.held_until = scene.task.until.filter(|_| met == Met::Running);
        cx.check_untouched(OPER_4, &what, &operator, &want).await?;
        let granted = worker.claim(2).await?.leases;
        let ready: &[&str] = if met == Met::Running { &[] } else { &[&id] };
        cx.check(OPER_4, &format!("{what}: what can be claimed at once"), ids(&granted), ready);
        clear(&operator, &scene.task).await?;
    }
    Ok(())
}

/// A requeue without `revoke` leaves the run as it is.
pub(crate) async fn requeue_without_revoke_spares_the_run(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    worker.enqueue(Actor::task("t")).await?;
    let run = worker.run_one().await?;
    let seen = operator.get("t").await?;
    let refused = forced(&operator, &seen, Intervention::Requeue(OnLeased::Refuse))?;
    let kind = operator.commit_item(&refused).await.map_err(|error| error.kind());
    cx.check(OPER_4, "a requeue without revoke", kind, Err(ErrorKind::Invalid));
    cx.check_untouched(OPER_4, "the task of the run", &operator, &seen).await?;
    let held = RenewVerdict::Held { ttl_left: Actor::TTL };
    cx.check(OPER_4, "the run's renew", worker.renew(&run).await?, held);

    let requeue = Intervention::Requeue(OnLeased::Revoke);
    applied(operator.act(&seen, requeue).await?)?;
    let lost = RenewVerdict::Lost(LostReason::Revoked);
    cx.check(OPER_4, "the renew of a run that was revoked", worker.renew(&run).await?, lost);
    Ok(())
}

fn edits() -> Vec<Edit> {
    let policy = Policy::new(Delivery::AtMostOnce);
    let none = Edit::default;
    vec![
        none().with_payload(b"other\0bytes".to_vec()),
        none().with_priority(Priority::HIGHEST),
        none().with_due(Due::In(HOUR)),
        none().with_policy(policy),
        Edit::default()
            .with_payload(Vec::new())
            .with_priority(Priority::LOWEST)
            .with_due(Due::Now)
            .with_policy(policy),
    ]
}

/// Each part alone and all together; what is not named stays, and so does the state.
pub(crate) async fn edit_of_each_part(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for met in [Met::Waiting, Met::Returned, Met::Rejected, Met::Lost] {
        for (n, edit) in edits().into_iter().enumerate() {
            let id = format!("{met:?}{n}");
            let scene = Staged::bring(cx, &worker, Actor::task(&id), met).await?;
            let change = Intervention::Edit(edit.clone());
            let mut want = act(&operator, &scene.task, change, scene.now).await?;
            want.payload = edit.payload.unwrap_or(want.payload);
            want.priority = edit.priority.unwrap_or(want.priority);
            want.due = edit.due.map_or(want.due, |due| due.instant(scene.now));
            want.policy = edit.policy.unwrap_or(want.policy);
            let what = format!("edit {n} of a {met:?} task");
            cx.check_untouched(OPER_5, &what, &operator, &want).await?;
            clear(&operator, &want).await?;
        }
    }
    Ok(())
}

/// What was edited is what is claimed, and when.
pub(crate) async fn edit_steers_the_next_claim(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for id in ["first", "second", "later"] {
        worker.enqueue(Actor::task(id)).await?;
    }
    let change = |payload: Option<&str>, priority, due| {
        let mut edit = Edit::default();
        edit.payload = payload.map(|text| text.as_bytes().to_vec().into());
        (edit.priority, edit.due) = (priority, due);
        Intervention::Edit(edit)
    };
    for (id, edit) in [
        ("second", change(Some("edited"), Some(Priority::HIGHEST), None)),
        ("later", change(None, Some(Priority::HIGHEST), Some(Due::In(HOUR)))),
    ] {
        applied(operator.act(&operator.get(id).await?, edit).await?)?;
    }
    let granted = worker.claim(3).await?.leases;
    cx.check(OPER_5, "what is claimed", ids(&granted), ["second", "first"]);
    let payload = demand::nth(&granted, 0)?.payload.as_bytes();
    cx.check(OPER_5, "the payload that is granted", payload, &b"edited"[..]);
    cx.shift(60 * 60 * 1_000).await?;
    let granted = worker.claim(3).await?.leases;
    cx.check(OPER_5, "what is claimed an hour on", ids(&granted), ["later"]);
    Ok(())
}

/// Everything outside the table of moves is Invalid and leaves the whole task as it was.
pub(crate) async fn other_acts_are_invalid(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for (n, met, act) in every_pair().filter(|(_, met, act)| !admits(*met, act)) {
        let clause = match act {
            Intervention::Edit(_) => OPER_5,
            Intervention::Requeue(_) => OPER_4,
            Intervention::Cancel => OPER_3,
            _ => OPER_6,
        };
        let what = format!("{act:?} of a {met:?} task");
        let scene = Staged::bring(cx, &worker, Actor::task(&format!("t{n}")), met).await?;
        let decided = operator.decide(&scene.task, act.clone()).map_err(|error| error.kind());
        cx.check(clause, &format!("core: {what}"), decided.err(), Some(ErrorKind::Invalid));
        let item = forced(&operator, &scene.task, act)?;
        let kind = operator.commit_item(&item).await.map_err(|error| error.kind());
        cx.check(clause, &what, kind, Err(ErrorKind::Invalid));
        cx.check_untouched(clause, &what, &operator, &scene.task).await?;
        clear(&operator, &scene.task).await?;
    }
    Ok(())
}

/// A delete of what does not run leaves nothing but the remembered id and the fence source.
pub(crate) async fn delete_leaves_nothing(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    let id_left = |id: &str| EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Id,
        holder: TaskRef::new(Context::QUEUE, id),
        state: None,
    };
    let mut last = Vec::new();
    for met in Met::ALL.into_iter().filter(|met| *met != Met::Running) {
        let (id, what) = (format!("{met:?}"), format!("delete of a {met:?} task"));
        let scene = Staged::bring(cx, &worker, Actor::task(&id), met).await?;
        let item = operator.decide(&scene.task, Intervention::Delete)?;
        last.push((id.clone(), applied(operator.commit_item(&item).await?)?.fence));
        cx.check_gone(OPER_7, &what, &worker, &id).await?;
        let again = worker.try_enqueue(Actor::task(&id)).await?;
        cx.check(OPER_7, &format!("{what}: the id"), again, id_left(&id));
        let again = operator.commit_item(&item).await?;
        cx.check(OPER_7, &format!("{what}: repeat"), again, CommitVerdict::Replayed);
    }
    cx.check(OPER_7, "what is listed", list(&operator, Filter::all(), 10).await?, Vec::new());
    let total = operator.backend().counts(Count::new(Context::QUEUE)).await?.total();
    cx.check(OPER_7, "what is counted", total, 0);
    cx.check(OPER_7, "what can be claimed", worker.claim(9).await?.leases, Vec::new());
    cx.shift(24 * 60 * 60 * 1_000).await?;
    cx.check(OPER_7, "what can be rescued", worker.rescue(9).await?.leases, Vec::new());
    purge_all(&operator).await?;
    for (id, fence) in last {
        let born = worker.enqueue(Actor::task(&id)).await?;
        cx.check_that(OPER_7, "the fence of an id that is used again", born > fence, born);
    }
    Ok(())
}

/// What falls between a rescue's claim and its decision wins, whichever way that decides.
pub(crate) async fn act_beats_an_undecided_rescue(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for (n, delivery) in [Delivery::at_least_once(), Delivery::NotAfterLoss].iter().enumerate() {
        for act in [Intervention::Delete, Intervention::Requeue(OnLeased::Refuse)] {
            let what = format!("{act:?} before a rescue under {delivery:?}");
            let mut new = Actor::task(&format!("{n}{act:?}"));
            new.policy.delivery = *delivery;
            let scene = Staged::bring(cx, &worker, new, Met::Rescuing).await?;
            let rescue = scene.rescue.ok_or_else(|| Stop::because("no rescue"))?;
            applied(operator.act(&scene.task, act).await?)?;
            let now = worker.backend().task(&scene.task.task_ref).await?;
            let left = CommitVerdict::Stale { fence: scene.task.fence, state: None };
            let want = now.as_ref().map_or(left, stale);
            cx.check(OPER_8, &what, worker.give_back(&rescue).await?, want);
            let then = worker.backend().task(&scene.task.task_ref).await?;
            cx.check(OPER_8, &what, then, now.clone());
            let granted = worker.claim(2).await?.leases;
            let want = usize::from(now.is_some());
            cx.check(OPER_8, &format!("{what}: leases afterwards"), granted.len(), want);
            clear(&operator, &scene.task).await?;
        }
    }
    Ok(())
}

/// The other order: the rescue decides first, and the act that saw it undecided is Stale.
pub(crate) async fn act_after_a_decided_rescue(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    for act in [Intervention::Delete, Intervention::Requeue(OnLeased::Refuse)] {
        let new = Actor::task(&format!("{act:?}"));
        let scene = Staged::bring(cx, &worker, new, Met::Rescuing).await?;
        let rescue = scene.rescue.ok_or_else(|| Stop::because("no rescue"))?;
        applied(worker.give_back(&rescue).await?)?;
        let now = worker.get(&scene.task.task_ref.id).await?;
        let what = format!("{act:?} after the rescue decided");
        cx.check(OPER_8, &what, operator.act(&scene.task, act).await?, stale(&now));
        cx.check_untouched(OPER_8, &what, &operator, &now).await?;
        clear(&operator, &now).await?;
    }
    Ok(())
}

/// Every act leaves a record with what was done, by whom and why.
pub(crate) async fn history_tells_who_and_why(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = two(cx).await?;
    let revoke = Intervention::Requeue(OnLeased::Revoke);
    for (met, act, event) in [
        (Met::Running, Intervention::Cancel, Event::Cancelled),
        (Met::Running, Intervention::Bury, Event::Buried),
        (Met::Running, revoke, Event::Requeued),
        (Met::Running, Intervention::Delete, Event::Deleted),
        (Met::Waiting, edit(), Event::Edited),
        (Met::Rejected, Intervention::Redrive, Event::Redriven),
    ] {
        let id = format!("{event:?}");
        let scene = Staged::bring(cx, &worker, Actor::task(&id), met).await?;
        let item = operator.decide(&scene.task, act)?;
        let fence = applied(operator.commit_item(&item).await?)?.fence;
        let got = operator.get(&id).await?.history;
        cx.check(OPER_10, &id, &got, &after(&scene.task, &item, fence, scene.now).history);
        let last = got.records.last().map(|r| (r.event, r.actor.clone(), r.message.clone()));
        let who = (event, Some("operator".to_owned()), "a case of the suite".to_owned());
        cx.check(OPER_10, &id, last, Some(who));
        clear(&operator, &scene.task).await?;
    }
    Ok(())
}
