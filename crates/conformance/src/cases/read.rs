//! What get, list, counts and queues may be relied on for (LH-READ).

use std::time::Duration;

use leasehold_core::clause::{DEAD_4, READ_1, READ_2, READ_3, READ_4};
use leasehold_core::{
    BackendExt, Configure, Count, DeadReason, Delivery, Due, Edit, Enqueue, Filter, Intervention,
    List, NewTask, Outcome, Payload, Priority, Purpose, Queues, RenewItem, Retry, State, Status,
    StoredTask, TaskRef,
};

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) async fn get_sees_every_write(cx: &mut Context) -> Result<(), Stop> {
    let writer = cx.actor("writer").await?;
    let reader = cx.actor("reader").await?;
    let fence = writer.enqueue(Actor::kept("t")).await?;
    let seen = reader.get("t").await?;
    cx.check(READ_1, "after an enqueue", (seen.state, seen.fence), (State::Waiting, fence));
    let run = writer.run_one().await?;
    let seen = reader.get("t").await?;
    let leased = State::Leased(Purpose::Run);
    cx.check(READ_1, "after a claim", (seen.state, seen.fence), (leased, run.fence));
    let renew = RenewItem::new(run.guard(), 2 * Actor::TTL).with_note("half");
    let _ = writer.backend().renew_one(renew).await?;
    let (seen, end) = (reader.get("t").await?, seen.until.map(|until| until.after(Actor::TTL)));
    let note = Some(Payload::from("half"));
    cx.check(READ_1, "after a renew", (seen.until, seen.note), (end, note));
    let fence = applied(writer.end(&run, Outcome::Snoozed(DAY)).await?)?.fence;
    let seen = reader.get("t").await?;
    cx.check(READ_1, "after a commit", (seen.state, seen.fence), (State::Waiting, fence));
    let lease = (seen.until, seen.holder.as_deref());
    cx.check(READ_1, "end and holder of the lease after it", lease, (None, None));
    let edit = Edit::default().with_payload("edited");
    applied(writer.act(&seen, Intervention::Edit(edit)).await?)?;
    let seen = reader.get("t").await?;
    cx.check(READ_1, "after an edit", seen.payload.as_bytes(), b"edited");
    let cancelled = applied(writer.act(&seen, Intervention::Cancel).await?)?.fence;
    let seen = reader.get("t").await?;
    let want = (State::Cancelled, cancelled);
    cx.check(READ_1, "after a cancel", (seen.state, seen.fence), want);
    let listed = list(&reader, Filter::all(), 10).await?;
    cx.check(READ_1, "the task in a list", listed.first(), Some(&seen));
    applied(writer.act(&seen, Intervention::Delete).await?)?;
    cx.check_gone(READ_1, "the task after a delete", &reader, "t").await
}

/// Numbers that differ, so that no two of the seven can be taken for one another.
pub(crate) async fn counts_go_by_status(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let second = Duration::from_secs(1);
    enqueue(&user, "lapsed", 4).await?;
    let mut claim = user.request(Purpose::Run, 4);
    claim.ttl = second;
    let _ = user.backend().claim(claim).await?;
    cx.shift(1_000).await?;
    stage(&user, "succeeded", 5, success()).await?;
    stage(&user, "dead", 6, never("it cannot be done")).await?;
    stage(&user, "cancelled", 7, Outcome::Cancelled { message: String::new() }).await?;
    stage(&user, "scheduled", 2, Outcome::Snoozed(second)).await?;
    enqueue(&user, "leased", 3).await?;
    let _ = user.claim(3).await?;
    enqueue(&user, "ready", 1).await?;
    // Ready, scheduled, leased, lapsed, succeeded, dead, cancelled.
    let mut want = [1, 2, 3, 4, 5, 6, 7];
    check_counts(cx, &user, "the tasks by status", want).await?;
    cx.shift(1_000).await?;
    want[..2].copy_from_slice(&[3, 0]);
    check_counts(cx, &user, "once two have become due", want).await?;
    cx.shift(Actor::TTL_MS).await?;
    want[2..4].copy_from_slice(&[0, 7]);
    check_counts(cx, &user, "once three have lapsed", want).await?;
    for lease in user.rescue(7).await?.leases {
        applied(user.give_back(&lease).await?)?;
    }
    (want[0], want[3]) = (10, 0);
    check_counts(cx, &user, "once all were rescued", want).await?;
    let gone = user.get("dead-0").await?;
    applied(user.act(&gone, Intervention::Delete).await?)?;
    want[5] = 5;
    check_counts(cx, &user, "once one was deleted", want).await
}

async fn check_counts(
    cx: &mut Context,
    user: &Actor,
    what: &str,
    want: [u64; 7],
) -> Result<(), Stop> {
    let counts = user.backend().counts(Count::new(Context::QUEUE)).await?;
    let listed = list(user, Filter::all(), 100).await?.len() as u64;
    cx.check(READ_2, what, &counts.tasks, &Status::ALL.into_iter().zip(want).collect());
    cx.check(READ_2, "their sum", counts.total(), listed);
    for (status, count) in Status::ALL.into_iter().zip(want) {
        let listed = list(user, Filter::all().with_status(status), 2).await?.len() as u64;
        cx.check(READ_2, &format!("the tasks listed as {status}, {what}"), listed, count);
    }
    Ok(())
}

pub(crate) async fn reading_changes_nothing(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let (other, backend) = (cx.actor("other").await?, user.backend());
    stage(&user, "dead", 1, never("")).await?;
    enqueue(&user, "lapsed", 1).await?;
    let run = user.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    enqueue(&user, "ready", 2).await?;
    let before = list(&user, Filter::all(), 10).await?;
    let counts = backend.counts(Count::new(Context::QUEUE)).await?;
    for _ in 0..3 {
        for reader in [&user, &other] {
            for task in &before {
                cx.check_untouched(READ_3, "a task that was read", reader, task).await?;
            }
            cx.check(READ_3, "the list", list(reader, Filter::all(), 1).await?, before.clone());
            let again = reader.backend().counts(Count::new(Context::QUEUE)).await?;
            cx.check(READ_3, "the counts", again, counts.clone());
            let empty = reader.backend().counts(Count::new("elsewhere")).await?.total();
            cx.check(READ_3, "the counts of no queue", empty, 0);
            let nobody = reader.backend().task(&TaskRef::new("elsewhere", "t")).await?;
            cx.check(READ_3, "a task of no queue", nobody, None);
            let queues = reader.backend().queues(Queues::new(10)).await?.queues;
            let names: Vec<_> = queues.into_iter().map(|info| info.name).collect();
            cx.check(READ_3, "the queues", names, [Context::QUEUE]);
        }
    }
    let overdue = applied(user.succeed(&run).await?)?.overdue;
    cx.check(READ_3, "the success of a run that was read", overdue, true);
    let ids: Vec<_> = user.claim(9).await?.leases.into_iter().map(|l| l.task_ref.id).collect();
    cx.check(READ_3, "what waits after the reads", ids, ["ready-0", "ready-1"]);
    Ok(())
}

pub(crate) async fn pages_tell_each_task_once(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let mut want = Vec::new();
    for n in 0..23_u8 {
        let id = format!("t{}", (n * 7) % 23);
        let due = Due::In(DAY * (u32::from(n) % 3));
        user.enqueue(Actor::task(&id).with_priority(Priority::new(n % 10)).with_due(due)).await?;
        want.push(id);
    }
    for max in [1, 4, 22, 23, 24] {
        let ids = ids(&list(&user, Filter::all(), max).await?);
        cx.check(READ_4, &format!("all tasks, in pages of {max}"), &ids, &want);
    }
    let ids = ids(&list(&user, Filter::all().with_status(Status::Ready), 3).await?);
    let ready: Vec<_> = want.iter().step_by(3).collect();
    cx.check(READ_4, "the ready ones, in pages of 3", ids.iter().collect::<Vec<_>>(), ready);
    let none = list(&user, Filter::all().with_kind("no such kind"), 3).await?;
    cx.check(READ_4, "a list of nothing", none, []);
    Ok(())
}

/// C139: tasks leave, change and come, before the cursor and behind it; the others stay put.
pub(crate) async fn pages_hold_while_tasks_move(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let batch = (0..30).map(|n| Actor::kept(&format!("t{n:02}"))).collect();
    let _ = user.backend().enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
    let mut request = List::new(Context::QUEUE, Filter::all(), 7);
    let mut seen = Vec::new();
    for round in 0..100 {
        let page = user.backend().list(request.clone()).await?;
        seen.extend(ids(&page.tasks));
        let Some(next) = page.next else { break };
        request = request.after(next);
        if round < 5 {
            for leaves in [3 * round + 1, 28 - 3 * round] {
                let task = user.get(&format!("t{leaves:02}")).await?;
                applied(user.act(&task, Intervention::Delete).await?)?;
            }
            for (changes, act) in
                [(3 * round + 2, Intervention::Cancel), (29 - 3 * round, Intervention::Bury)]
            {
                let task = user.get(&format!("t{changes:02}")).await?;
                applied(user.act(&task, act).await?)?;
            }
            user.enqueue(Actor::kept(&format!("new{round}"))).await?;
        }
    }
    let unchanged: Vec<_> = (0..30).step_by(3).map(|n| format!("t{n:02}")).collect();
    seen.retain(|id| unchanged.contains(id));
    cx.check(READ_4, "the tasks that nobody touched", seen, unchanged);
    Ok(())
}

pub(crate) async fn filters_find_what_they_say(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let mut ends = Vec::new();
    for (n, outcome) in [
        success(),
        never("it cannot be done"),
        Outcome::Undecodable { message: String::new() },
        Outcome::Cancelled { message: String::new() },
        never("it can still not be done"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("t{n}");
        let mut new = Actor::kept(&id);
        new.kind = if n % 2 == 0 { "even" } else { "odd" }.to_owned();
        user.enqueue(new).await?;
        cx.shift(1_000).await?;
        applied(user.end(&user.run_one().await?, outcome).await?)?;
        ends.push(user.get(&id).await?.finished_at.unwrap_or_default());
    }
    user.enqueue(NewTask::new("even", "", Delivery::AtMostOnce).with_id("t5")).await?;
    let all = Filter::all;
    let dead = all().with_status(Status::Dead);
    let rejected = all().with_reason(DeadReason::Rejected);
    let mut from = all();
    from.finished_from = Some(ends[3]);
    let mut before = all();
    before.finished_before = Some(ends[1]);
    for (what, filter, want) in [
        ("the kind even", all().with_kind("even"), vec!["t0", "t2", "t4", "t5"]),
        ("the kind eve", all().with_kind("eve"), vec![]),
        ("dead letters", dead.clone(), vec!["t1", "t2", "t4"]),
        ("dead letters of kind even", dead.clone().with_kind("even"), vec!["t2", "t4"]),
        ("rejected", rejected.clone(), vec!["t1", "t4"]),
        ("rejected, of kind odd", rejected.clone().with_kind("odd"), vec!["t1"]),
        ("lost", all().with_reason(DeadReason::Lost), vec![]),
        ("rejected but not dead", rejected.with_status(Status::Succeeded), vec![]),
        ("ready", all().with_status(Status::Ready), vec!["t5"]),
        (
            "finished from the 2nd to before the 4th",
            all().with_finished(ends[1], ends[3]),
            vec!["t1", "t2"],
        ),
        ("finished within nothing", all().with_finished(ends[1], ends[1]), vec![]),
        ("finished from the 4th", from, vec!["t3", "t4"]),
        ("finished before the 2nd", before, vec!["t0"]),
        ("dead, finished from the 3rd", dead.with_finished(ends[2], ends[4]), vec!["t2"]),
    ] {
        for max in [1, 10] {
            let found = ids(&list(&user, filter.clone(), max).await?);
            cx.check(DEAD_4, &format!("{what}, in pages of {max}"), found, want.clone());
        }
    }
    Ok(())
}

pub(crate) async fn queues_are_listed_in_pages(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    for name in ["b", "a", "\u{e9}", "B", "a:b", "left"] {
        let _ = backend.enqueue_one(name, Actor::task("t")).await?;
    }
    let left = TaskRef::new("left", "t");
    if let Some(seen) = backend.task(&left).await? {
        applied(user.act(&seen, Intervention::Delete).await?)?;
    }
    let set = backend.configure(Configure::new("set").pause()).await?;
    let _ = backend.counts(Count::new("read")).await?;
    let want = ["B", "a", "a:b", "b", "left", "set", "\u{e9}"];
    for max in [1, 3, 6, 7, 8] {
        let (mut request, mut found) = (Queues::new(max), Vec::new());
        for _ in 0..100 {
            let page = backend.queues(request.clone()).await?;
            let short = page.queues.len() <= max;
            cx.check_that(READ_4, &format!("a page of at most {max}"), short, &page);
            found.extend(page.queues);
            let Some(next) = page.next else { break };
            request = request.after(next);
        }
        let names: Vec<_> = found.iter().map(|info| info.name.as_str()).collect();
        cx.check(READ_4, &format!("the queues, in pages of {max}"), names, want);
        for info in found {
            let want = if info.name == "set" { set.clone() } else { Default::default() };
            cx.check(READ_4, &format!("the settings of {:?}", info.name), info.settings, want);
        }
    }
    Ok(())
}

/// All that the filter shows, read in pages of at most `max`.
async fn list(user: &Actor, filter: Filter, max: usize) -> Result<Vec<StoredTask>, Stop> {
    let mut request = List::new(Context::QUEUE, filter, max);
    let mut found = Vec::new();
    for _ in 0..1_000 {
        let page = user.backend().list(request.clone()).await?;
        if page.tasks.len() > max {
            return Err(Stop::because(format!("{} tasks on a page of {max}", page.tasks.len())));
        }
        found.extend(page.tasks);
        match page.next {
            Some(next) => request = request.after(next),
            None => return Ok(found),
        }
    }
    Err(Stop::because("a list of a few tasks did not end after 1,000 pages"))
}

fn ids(tasks: &[StoredTask]) -> Vec<String> {
    tasks.iter().map(|task| task.task_ref.id.clone()).collect()
}

async fn enqueue(user: &Actor, name: &str, count: usize) -> Result<(), Stop> {
    for n in 0..count {
        user.enqueue(Actor::kept(&format!("{name}-{n}"))).await?;
    }
    Ok(())
}

/// Runs `count` new tasks to this end.
async fn stage(user: &Actor, name: &str, count: usize, outcome: Outcome) -> Result<(), Stop> {
    enqueue(user, name, count).await?;
    for lease in user.claim(count).await?.leases {
        applied(user.end(&lease, outcome.clone()).await?)?;
    }
    Ok(())
}

fn never(message: &str) -> Outcome {
    Outcome::Failed { message: message.to_owned(), retry: Retry::Never }
}
