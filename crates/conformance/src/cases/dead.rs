//! Dead letters: kept whole, found, sent back, and removed by nothing but an operator or age
//! (LH-DEAD).

use std::collections::BTreeSet;
use std::time::Duration;

use leasehold_core::clause::{DEAD_1, DEAD_2, DEAD_3, DEAD_4, DEAD_5, DEAD_6};
use leasehold_core::decide::{self, Entered, Intervention, Outcome, Retry, Unknown};
use leasehold_core::{
    Commit, CommitItem, CommitVerdict, Configure, Count, DeadReason, Delivery, DuplicateCause,
    Edit, EnqueueVerdict, Event, Filter, Keep, Lease, LimitKey, List, NewTask, Priority, RenewItem,
    Retention, RetryPolicy, State, Status,
};

use crate::actor::{Actor, applied, failure};
use crate::context::{Context, Stop};
use crate::staged::{Met, Staged, act, after, clear, finished, list, purge_all, stale, take};

const HOUR: Duration = Duration::from_secs(60 * 60);
const HOUR_MS: i64 = 60 * 60 * 1_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn rejected() -> Outcome {
    Outcome::Failed { message: "no use".to_owned(), retry: Retry::Never }
}

fn dead() -> Filter {
    Filter::all().with_status(Status::Dead)
}

/// Every way to die in a worker's hand, for a task without retries.
fn deaths() -> Vec<(DeadReason, Outcome)> {
    vec![
        (DeadReason::Exhausted, failure()),
        (DeadReason::Rejected, rejected()),
        (DeadReason::Undecodable, Outcome::Undecodable { message: "what?".to_owned() }),
        (DeadReason::UnknownKind, Outcome::UnknownKind(Unknown::Bury)),
        (DeadReason::Corrupt, Outcome::Corrupt),
    ]
}

/// A task with a value in every part that the contract's core has.
fn rich(id: &str) -> NewTask {
    NewTask::new("kind of its own", b"\0\xffbytes".to_vec(), Delivery::at_least_once())
        .with_id(id)
        .with_header("trace", "a=\"1\"")
        .with_header("trace", "")
        .with_priority(Priority::new(7))
        .with_retry(RetryPolicy::at_most(1))
        .with_retention(Retention::default().with_dead(Keep::Forever))
}

/// Brings a task to its third run, with a note, one failure and one rescue on it.
async fn well_used(cx: &Context, by: &Actor, id: &str) -> Result<Lease, Stop> {
    by.enqueue(rich(id)).await?;
    let first = by.run_one().await?;
    let note = RenewItem::new(first.guard(), Actor::TTL).with_note(&b"half way"[..]);
    let renewed = by.backend().renew(leasehold_core::Renew::new(vec![note])).await?;
    if !matches!(renewed[..], [Ok(leasehold_core::RenewVerdict::Held { .. })]) {
        return Err(Stop::because(format!("a note was not stored: {renewed:?}")));
    }
    let retry = Retry::After(Duration::ZERO);
    let message = "first".to_owned();
    applied(by.end(&first, Outcome::Failed { message, retry }).await?)?;
    by.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    applied(by.give_back(&by.rescue_one().await?).await?)?;
    by.run_one().await
}

/// C89, C90: whatever the reason, a dead letter has everything that the task had.
pub(crate) async fn kept_whole(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let mut deaths: Vec<_> = deaths().into_iter().map(|(r, o)| (r, Some(o))).collect();
    deaths.push((DeadReason::Operator, None));
    for (reason, outcome) in deaths {
        let id = format!("{reason}");
        let run = well_used(cx, &worker, &id).await?;
        let before = worker.get(&id).await?;
        let now = before.enqueued_at.after(Actor::TTL);
        let mut held = None;
        let want = match outcome {
            Some(outcome) => {
                let item = CommitItem::new(run.guard(), decide::run(&run, outcome, 1));
                let fence = applied(worker.commit_item(&item).await?)?.fence;
                after(&before, &item, fence, now)
            }
            None => {
                held = before.until;
                act(&worker, &before, Intervention::Bury, now).await?
            }
        };
        let mut want = finished(want, State::Dead(reason), now);
        want.held_until = held;
        cx.check_untouched(DEAD_1, &format!("a dead letter, {reason}"), &worker, &want).await?;
    }
    Ok(())
}

/// The same for a task whose worker was lost once too often.
pub(crate) async fn lost_is_kept_whole(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let mut new = rich("t");
    new.policy.delivery = Delivery::AtLeastOnce { max_rescues: 1 };
    let scene = Staged::bring(cx, &worker, new, Met::Returned).await?;
    worker.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let rescue = worker.rescue_one().await?;
    let before = worker.get("t").await?;
    let item = CommitItem::new(rescue.guard(), decide::rescue(&rescue));
    let fence = applied(worker.commit_item(&item).await?)?.fence;
    let now = scene.now.after(Actor::TTL);
    let want = finished(after(&before, &item, fence, now), State::Dead(DeadReason::Lost), now);
    cx.check_untouched(DEAD_1, "a dead letter, lost", &worker, &want).await?;
    cx.check(DEAD_1, "its spent rescues", want.rescues, 1);
    cx.check_that(DEAD_1, "its right to a late success", want.run.is_some(), want.run);
    Ok(())
}

/// Sin 25: the step that leaves the lease makes the one entry; a repeat makes no second.
pub(crate) async fn dead_in_the_same_step(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for (n, (reason, outcome)) in (1..).zip(deaths()) {
        let (id, what) = (format!("{reason}"), format!("dead, {reason}"));
        worker.enqueue(Actor::task(&id).with_retry(RetryPolicy::NONE)).await?;
        let run = worker.run_one().await?;
        let item = CommitItem::new(run.guard(), decide::run(&run, outcome, 1));
        applied(worker.commit_item(&item).await?)?;
        let entry = worker.get(&id).await?;
        cx.check(DEAD_2, &what, (entry.state, entry.until), (State::Dead(reason), None));
        for repeat in 0..2 {
            let letters = list(&worker, dead().with_reason(reason), 10).await?;
            cx.check(DEAD_2, &format!("{what}: listed"), &letters[..], &[entry.clone()][..]);
            let counts = worker.backend().counts(Count::new(Context::QUEUE)).await?;
            let got = (counts.of(Status::Dead), counts.events.buried, counts.total());
            cx.check(DEAD_2, &format!("{what}: dead, burials, tasks"), got, (n, n, n));
            let verdict = worker.commit_item(&item).await?;
            let what = format!("{what}: repeat {repeat}");
            cx.check(DEAD_2, &what, verdict, CommitVerdict::Replayed);
        }
        cx.check(DEAD_2, &format!("{what}: ready"), worker.claim(9).await?.leases.len(), 0);
        cx.shift(Actor::TTL_MS).await?;
        cx.check(DEAD_2, &format!("{what}: lapsed"), worker.rescue(9).await?.leases.len(), 0);
    }
    Ok(())
}

/// A second death after a redrive is a second burial and still one entry; C86.
pub(crate) async fn one_entry_for_each_burial(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Rejected).await?;
    applied(worker.act(&scene.task, Intervention::Redrive).await?)?;
    let letters = list(&worker, dead(), 10).await?;
    cx.check(DEAD_2, "dead letters after a redrive", letters, Vec::new());
    let run = worker.run_one().await?;
    applied(worker.end(&run, rejected()).await?)?;
    let letters = list(&worker, dead(), 10).await?;
    cx.check(DEAD_2, "after the second death", letters, vec![worker.get("t").await?]);
    let counts = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    let got = (counts.of(Status::Dead), counts.events.buried);
    cx.check(DEAD_2, "dead letters and burials", got, (1, 2));
    let records = worker.get("t").await?.history.records;
    let events: Vec<_> = records.iter().map(|record| record.event).collect();
    let want = [Event::Rejected, Event::Redriven, Event::Rejected];
    cx.check(DEAD_2, "the records of both deaths", events, want);
    Ok(())
}

/// Sin 24, C87: 1,200 dead letters, each listed, counted and whole.
pub(crate) async fn no_cap_evicts(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let bounds = worker.backend().capabilities().bounds;
    let names: BTreeSet<String> = (0..1_200).map(|n| format!("t{n:04}")).collect();
    let batch = bounds.batch_max.min(bounds.claim_max).min(300);
    let mut rest: Vec<String> = names.iter().cloned().collect();
    while !rest.is_empty() {
        let some = rest.split_off(rest.len().saturating_sub(batch));
        let new = some.iter().map(|id| Actor::task(id).with_retry(RetryPolicy::NONE)).collect();
        let enqueued = worker.enqueue_all(new).await?.len();
        let mut items = Vec::new();
        for run in take(&worker, enqueued).await? {
            items.push(CommitItem::new(run.guard(), decide::run(&run, failure(), 1)));
        }
        for verdict in worker.backend().commit(Commit::new(items)).await? {
            applied(verdict?)?;
        }
    }
    cx.check(DEAD_3, "purged", purge_all(&worker).await?, 0);
    let letters = list(&worker, dead(), bounds.page_max.min(500)).await?;
    cx.check(DEAD_3, "dead letters that are listed", letters.len(), names.len());
    let listed: BTreeSet<_> = letters.iter().map(|task| task.task_ref.id.clone()).collect();
    cx.check_that(DEAD_3, "their ids", listed == names, listed.len());
    let whole = letters.iter().filter(|t| t.payload.as_bytes() == t.task_ref.id.as_bytes());
    cx.check(DEAD_3, "those with their own payload", whole.count(), names.len());
    let counts = worker.backend().counts(Count::new(Context::QUEUE)).await?;
    cx.check(DEAD_3, "dead letters that are counted", counts.of(Status::Dead), 1_200);
    worker.get("t0000").await?;
    Ok(())
}

/// Without a setting a dead letter stays for ever, in full.
pub(crate) async fn stays_for_ever_by_default(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let dead = Staged::bring(cx, &worker, Actor::task("rejected"), Met::Rejected).await?;
    let lost = Staged::bring(cx, &worker, Actor::task("lost"), Met::Lost).await?;
    for _ in 0..4 {
        cx.shift(100 * DAY_MS).await?;
        cx.check(DEAD_3, "purged", purge_all(&worker).await?, 0);
        cx.check_untouched(DEAD_3, "a dead letter", &worker, &dead.task).await?;
        cx.check_untouched(DEAD_3, "a lost one", &worker, &lost.task).await?;
    }
    Ok(())
}

/// Retention goes by age alone, and what it removes is counted.
pub(crate) async fn retention_goes_by_age(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let retention = Retention::default().with_dead(Keep::For(HOUR * 24));
    worker.configure(Configure::new(Context::QUEUE).with_retention(retention)).await?;
    for met in [Met::Rejected, Met::Rejected, Met::Lost] {
        let id = format!(
            "{met:?}{}",
            worker.backend().counts(Count::new(Context::QUEUE)).await?.total()
        );
        Staged::bring(cx, &worker, Actor::task(&id), met).await?;
        cx.shift(HOUR_MS).await?;
    }
    // The clock stands at 3 h and 30 s; the three died at 0, 1 h, and 2 h and 30 s.
    cx.shift(21 * HOUR_MS - Actor::TTL_MS - 1).await?;
    cx.check(DEAD_3, "purged 1 ms before the first one's age", purge_all(&worker).await?, 0);
    for (wait, age) in [(1, "first"), (HOUR_MS, "second"), (HOUR_MS + Actor::TTL_MS, "third")] {
        cx.shift(wait).await?;
        cx.check(DEAD_3, &format!("purged at the {age} one's age"), purge_all(&worker).await?, 1);
    }
    Ok(())
}

/// By kind, by reason, by both and by the time of death, `from` included, `before` not.
pub(crate) async fn listed_by_kind_reason_and_time(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let kinds = ["mail", "mail2"];
    let mut letters = Vec::new();
    for (n, (reason, outcome)) in deaths().into_iter().enumerate() {
        let mut new = Actor::task(&format!("t{n}")).with_retry(RetryPolicy::NONE);
        kinds[n % 2].clone_into(&mut new.kind);
        worker.enqueue(new).await?;
        applied(worker.end(&worker.run_one().await?, outcome).await?)?;
        letters.push((reason, worker.get(&format!("t{n}")).await?));
        cx.shift(1_000).await?;
    }
    worker.enqueue(Actor::task("waits")).await?;
    for (reason, letter) in &letters {
        for filter in [dead().with_reason(*reason), Filter::all().with_reason(*reason)] {
            let got = list(&worker, filter, 10).await?;
            cx.check(DEAD_4, &format!("dead, {reason}"), &got[..], &[letter.clone()][..]);
        }
    }
    let all: Vec<_> = letters.into_iter().map(|(_, letter)| letter).collect();
    for (n, kind) in kinds.iter().enumerate() {
        let got = list(&worker, dead().with_kind(*kind), 10).await?;
        let want: Vec<_> = all.iter().skip(n).step_by(2).cloned().collect();
        cx.check(DEAD_4, &format!("dead, of kind {kind}"), got, want);
    }
    let at = |n: usize| all[n].finished_at.unwrap_or_default();
    let got = list(&worker, dead().with_finished(at(1), at(3)), 10).await?;
    cx.check(DEAD_4, "dead in a range of time", &got[..], &all[1..3]);
    let filter = dead().with_kind("mail").with_reason(DeadReason::Undecodable);
    let got = list(&worker, filter.with_finished(at(2), at(3)), 10).await?;
    cx.check(DEAD_4, "by all three", &got[..], &all[2..3]);
    let got = list(&worker, dead().with_kind("mail2").with_reason(DeadReason::Corrupt), 10).await?;
    cx.check(DEAD_4, "where kind and reason do not meet", got, Vec::new());
    Ok(())
}

/// Between two pages others die, are sent back and are discarded.
pub(crate) async fn cursor_neither_skips_nor_repeats(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for n in 0..12 {
        Staged::bring(cx, &worker, Actor::task(&format!("t{n:02}")), Met::Rejected).await?;
    }
    let changed = [("t00", Intervention::Delete), ("t07", Intervention::Redrive)];
    let mut request = List::new(Context::QUEUE, dead(), 3);
    let mut listed = Vec::new();
    for round in 0..100 {
        let page = worker.backend().list(request.clone()).await?;
        cx.check_that(DEAD_4, "the size of a page", page.tasks.len() <= 3, page.tasks.len());
        listed.extend(page.tasks.into_iter().map(|task| task.task_ref.id));
        let Some(cursor) = page.next else { break };
        request = request.after(cursor);
        if round == 0 {
            for (id, act) in changed.clone() {
                applied(worker.act(&worker.get(id).await?, act).await?)?;
            }
            let run = worker.run_one().await?;
            applied(worker.succeed(&run).await?)?;
            Staged::bring(cx, &worker, Actor::task("t12"), Met::Rejected).await?;
        }
    }
    let unchanged = |id: &&String| !["t00", "t07", "t12"].contains(&id.as_str());
    let got: Vec<_> = listed.iter().filter(unchanged).cloned().collect();
    let want: Vec<_> =
        (0..12).filter(|n| ![0, 7].contains(n)).map(|n| format!("t{n:02}")).collect();
    cx.check(DEAD_4, "the unchanged entries, in order", got, want);
    Ok(())
}

/// Sin 26: a redrive keeps the id and everything but what it is meant to reset, once.
pub(crate) async fn redrive_once(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = (cx.actor("worker").await?, cx.actor("other").await?);
    let run = well_used(cx, &worker, "t").await?;
    applied(worker.end(&run, failure()).await?)?;
    let seen = worker.get("t").await?;
    cx.check(DEAD_5, "the spent budgets", (seen.failures, seen.rescues), (1, 1));
    cx.shift(1_000).await?;
    let now = seen.enqueued_at.after(Actor::TTL + Duration::from_secs(1));
    let item = worker.decide(&seen, Intervention::Redrive)?;
    let second = other.decide(&seen, Intervention::Redrive)?;
    let fence = applied(worker.commit_item(&item).await?)?.fence;
    let mut want = after(&seen, &item, fence, now);
    want.state = State::Waiting;
    (want.due, want.finished_at, want.note) = (now, None, None);
    (want.failures, want.rescues) = (0, 0);
    cx.check_untouched(DEAD_5, "the task that was sent back", &worker, &want).await?;
    let verdict = other.commit_item(&second).await?;
    cx.check(DEAD_5, "a second redrive of the same fence", verdict, stale(&want));
    let verdict = worker.commit_item(&item).await?;
    cx.check(DEAD_5, "a repeat of the first", verdict, CommitVerdict::Replayed);
    cx.check_untouched(DEAD_5, "the task after both", &worker, &want).await?;
    let total = worker.backend().counts(Count::new(Context::QUEUE)).await?.total();
    cx.check(DEAD_5, "the tasks of the queue", total, 1);
    let again = worker.run_one().await?;
    let got = (again.attempt, again.failures, again.rescues, again.payload);
    cx.check(DEAD_5, "the run after it", got, (4, 0, 0, seen.payload));
    Ok(())
}

/// Whatever finished can be sent back; it has lost its end, and its old run every right.
pub(crate) async fn redrive_of_each_finished_state(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    for met in Met::ALL.into_iter().filter(|met| met.is_finished()) {
        let what = format!("redrive of a {met:?} task");
        let scene = Staged::bring(cx, &worker, Actor::task(&format!("{met:?}")), met).await?;
        cx.shift(2_000).await?;
        let now = scene.now.after(Duration::from_secs(2));
        let mut want = act(&worker, &scene.task, Intervention::Redrive, now).await?;
        want.state = State::Waiting;
        (want.due, want.finished_at, want.rescues) = (now, None, 0);
        cx.check_untouched(DEAD_5, &what, &worker, &want).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        cx.check(DEAD_5, &what, worker.succeed(&run).await?, stale(&want));
        let lease = worker.run_one().await?;
        cx.check(DEAD_5, &format!("{what}: its next run"), lease.attempt, 2);
        clear(&worker, &want).await?;
    }
    Ok(())
}

/// C86: a task with a unique key and a limit key comes back with both, is held to both, and is
/// as whole after a second death as it was after the first.
pub(crate) async fn redrive_keeps_its_keys(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    worker.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    let limit = || LimitKey::new("g", "k");
    let new = rich("t").with_unique("u").with_limit(limit());
    let scene = Staged::bring(cx, &worker, new, Met::Rejected).await?;
    cx.shift(1_000).await?;
    let now = scene.now.after(Duration::from_secs(1));
    let mut want = act(&worker, &scene.task, Intervention::Redrive, now).await?;
    (want.state, want.due, want.finished_at) = (State::Waiting, now, None);
    cx.check_untouched(DEAD_5, "the task that was sent back", &worker, &want).await?;
    let second = worker.try_enqueue(Actor::task("second").with_unique("u")).await?;
    let holder = EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Key,
        holder: want.task_ref.clone(),
        state: Some(State::Waiting),
    };
    cx.check(DEAD_5, "a second task of its unique key", second, holder);

    let run = worker.run_one().await?;
    worker.enqueue(Actor::task("behind").with_limit(limit())).await?;
    cx.check(DEAD_5, "what starts beside it", take(&worker, 9).await?, []);
    let before = worker.get("t").await?;
    let item = CommitItem::new(run.guard(), decide::run(&run, rejected(), 1));
    let fence = applied(worker.commit_item(&item).await?)?.fence;
    let want = finished(after(&before, &item, fence, now), State::Dead(DeadReason::Rejected), now);
    cx.check_untouched(DEAD_1, "the task after its second death", &worker, &want).await?;
    cx.check(DEAD_1, "the dead letters", list(&worker, dead(), 9).await?, vec![want]);
    let next = take(&worker, 9).await?;
    let next: Vec<_> = next.iter().map(|lease| lease.task_ref.id.as_str()).collect();
    cx.check(DEAD_5, "what starts after it", next, ["behind"]);
    Ok(())
}

/// A discard takes one letter; its late run, a rescue, a claim and purge take none.
pub(crate) async fn only_an_operator_discards(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = (cx.actor("worker").await?, cx.actor("operator").await?);
    let scene = Staged::bring(cx, &worker, Actor::task("t"), Met::Lost).await?;
    let other = Staged::bring(cx, &worker, Actor::task("other"), Met::Rejected).await?;
    let (run, rescue) = (scene.run.ok_or_else(|| Stop::because("no run"))?, scene.rescue);
    let late = [failure(), rejected(), Outcome::Released(Entered::No)];
    for outcome in late {
        cx.check(DEAD_6, "a late outcome", worker.end(&run, outcome).await?, stale(&scene.task));
    }
    if let Some(rescue) = rescue {
        let again = worker.give_back(&rescue).await?;
        cx.check(DEAD_6, "a second decision of the rescue", again, stale(&scene.task));
    }
    cx.check(DEAD_6, "ready", worker.claim(9).await?.leases.len(), 0);
    cx.check(DEAD_6, "lapsed", worker.rescue(9).await?.leases.len(), 0);
    cx.check(DEAD_6, "purged", purge_all(&worker).await?, 0);
    cx.check_untouched(DEAD_6, "the dead letter", &worker, &scene.task).await?;
    applied(operator.act(&scene.task, Intervention::Delete).await?)?;
    cx.check_gone(DEAD_6, "the discarded one", &worker, "t").await?;
    cx.check(DEAD_6, "those left", list(&worker, dead(), 9).await?, vec![other.task]);
    Ok(())
}

/// Dead(Lost) stays 24 h although queue and task say less, for its late success.
pub(crate) async fn lost_stays_a_day(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let short = |keep| Retention::default().with_dead(keep);
    let hour = short(Keep::For(HOUR));
    worker.configure(Configure::new(Context::QUEUE).with_retention(hour)).await?;
    let own = |id| Actor::task(id).with_retention(short(Keep::NOT));
    for new in [Actor::task("queue"), own("own")] {
        let scene = Staged::bring(cx, &worker, new, Met::Lost).await?;
        cx.shift(DAY_MS - 1).await?;
        cx.check(DEAD_6, "purged 1 ms before a day", purge_all(&worker).await?, 0);
        cx.check_untouched(DEAD_6, "a lost task", &worker, &scene.task).await?;
        cx.shift(1).await?;
        cx.check(DEAD_6, "purged after a day", purge_all(&worker).await?, 1);
    }
    // The other reasons have no such least.
    Staged::bring(cx, &worker, Actor::task("rejected"), Met::Rejected).await?;
    cx.shift(HOUR_MS).await?;
    cx.check(DEAD_6, "purged an hour later", purge_all(&worker).await?, 1);
    Ok(())
}

/// An edit of a dead letter leaves it dead, in its place on the list, and as old as it was.
pub(crate) async fn edited_stays_dead_and_listed(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let keep = Retention::default().with_dead(Keep::For(HOUR));
    for id in ["a", "b"] {
        Staged::bring(cx, &worker, Actor::task(id).with_retention(keep), Met::Rejected).await?;
    }
    cx.shift(HOUR_MS - 1).await?;
    let edit = Edit::default().with_payload(Vec::new());
    applied(worker.act(&worker.get("a").await?, Intervention::Edit(edit)).await?)?;
    let want = vec![worker.get("a").await?, worker.get("b").await?];
    cx.check(DEAD_4, "dead letters after an edit", list(&worker, dead(), 1).await?, want);
    cx.shift(1).await?;
    cx.check(DEAD_3, "purged at the age of both", purge_all(&worker).await?, 2);
    Ok(())
}
