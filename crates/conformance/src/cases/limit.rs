//! How many tasks of one key run at once (LH-LIMIT).

mod slots;

use std::time::Duration;

use leasehold_core::clause::{
    CLAIM_10, CLAIM_12, ENQ_5, LATE_3, LIMIT_1, LIMIT_2, LIMIT_3, LIMIT_4, LIMIT_5, LIMIT_6,
    RENEW_3, RENEW_8,
};
use leasehold_core::decide::{self, Intervention, Outcome, Retry};
use leasehold_core::{
    BackendExt, CommitItem, CommitVerdict, Configure, Due, Edit, ErrorKind, Fence, Guard, Lease,
    LimitKey, LostReason, NewTask, OnLeased, Priority, Purpose, RenewVerdict, State, StoredTask,
};

use crate::actor::{Actor, applied, failure, success};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::{Met, Staged, clear, ids, outcomes, stale, take, take_as};

pub(crate) use slots::{
    a_clock_set_back_hides_no_blocked_task, a_purge_frees_no_slot, a_shorter_lease_is_waited_for,
    leases_of_one_call_have_a_slot_each, many_blocked_never_end_the_search, newer_takes_no_place,
    surplus_slot_beside_a_live_one_is_mended, surplus_slot_is_mended, the_first_end_counts,
};

const HELD: RenewVerdict = RenewVerdict::Held { ttl_left: Actor::TTL };

/// A task of the key `k` in the group `g`.
fn one(id: &str) -> NewTask {
    of("k", id)
}

fn of(key: &str, id: &str) -> NewTask {
    Actor::task(id).with_limit(LimitKey::new("g", key))
}

async fn set(by: &Actor, max: u32) -> Result<(), Stop> {
    Ok(by.configure(Configure::new(Context::QUEUE).with_limit("g", max)).await?)
}

/// Two workers under a limit of the group `g`, and tasks of the key `k` under these ids.
async fn under(cx: &Context, max: u32, tasks: &[&str]) -> Result<(Actor, Actor), Stop> {
    let (worker, other) = (cx.actor("worker").await?, cx.actor("other").await?);
    set(&worker, max).await?;
    worker.enqueue_all(tasks.iter().map(|id| one(id)).collect()).await?;
    Ok((worker, other))
}

/// Reports a fault unless exactly these tasks can be claimed, in this order.
async fn claimable(
    cx: &mut Context,
    clause: leasehold_core::clause::Clause,
    what: &str,
    by: &Actor,
    want: &[&str],
) -> Result<Vec<Lease>, Stop> {
    let leases = take(by, 20).await?;
    cx.check(clause, &format!("what can be claimed {what}"), ids(&leases), want);
    Ok(leases)
}

/// Two workers, two keys, one group: the number holds for each key at every moment.
pub(crate) async fn never_above_the_number(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 2, &[]).await?;
    let mut new = Vec::new();
    for n in 0..5 {
        new.extend([of("a", &format!("a{n}")), of("b", &format!("b{n}"))]);
    }
    worker.enqueue_all(new).await?;
    let (mut running, mut done): (Vec<Lease>, Vec<String>) = (Vec::new(), Vec::new());
    for round in 0..10 {
        let by = if round % 2 == 0 { &worker } else { &other };
        running.extend(take(by, 3).await?);
        running.extend(take(&worker, 3).await?);
        for key in ["a", "b"] {
            let count = running.iter().filter(|lease| lease.task_ref.id.starts_with(key)).count();
            let started = done.iter().filter(|id| id.starts_with(key)).count();
            let want = 2.min(5 - started);
            cx.check(LIMIT_1, &format!("runs of {key} in round {round}"), count, want);
        }
        if running.is_empty() {
            return Err(Stop::because("nothing runs although tasks wait"));
        }
        let first = running.remove(0);
        applied(by.succeed(&first).await?)?;
        done.push(first.task_ref.id);
    }
    let order: Vec<_> = done.iter().map(|id| &id[1..]).collect();
    cx.check_that(LIMIT_2, "the order of service", order.is_sorted(), &done);
    Ok(())
}

/// Sin 37: a blocked head stays as it is, in its place, and hides neither another key nor none.
pub(crate) async fn blocked_waits_unspent(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["t1", "t2"]).await?;
    worker.enqueue(one("high").with_priority(Priority::HIGHEST).with_due(later())).await?;
    worker.enqueue(one("t3")).await?;
    worker.enqueue(of("other key", "o")).await?;
    worker.enqueue(Actor::task("free")).await?;
    let mut runs = claimable(cx, LIMIT_2, "at first", &worker, &["t1", "o", "free"]).await?;
    let mut blocked = Vec::new();
    for id in ["t2", "high", "t3"] {
        blocked.push(worker.get(id).await?);
    }
    cx.shift(5_000).await?;
    for _ in 0..3 {
        claimable(cx, LIMIT_2, "behind a full key", &other, &[]).await?;
    }
    for before in &blocked {
        cx.check_untouched(LIMIT_2, "a blocked task", &worker, before).await?;
    }
    for want in ["high", "t2", "t3"] {
        applied(worker.succeed(demand::nth(&runs, 0)?).await?)?;
        runs = claimable(cx, LIMIT_2, "once the slot is free", &other, &[want]).await?;
        cx.check(LIMIT_2, "its attempt", demand::nth(&runs, 0)?.attempt, 1);
    }
    Ok(())
}

fn later() -> Due {
    Due::In(Duration::from_secs(5))
}

/// 1,000 tasks of a full key, each more urgent, do not hide the one that is free.
pub(crate) async fn thousand_blocked_hide_nothing(cx: &mut Context) -> Result<(), Stop> {
    let (worker, _) = under(cx, 1, &[]).await?;
    for batch in 0..10 {
        let new = (0..100).map(|n| one(&format!("b{batch}-{n}")).with_priority(Priority::HIGHEST));
        worker.enqueue_all(new.collect()).await?;
    }
    let run = worker.run_one().await?;
    worker.enqueue(Actor::task("free").with_priority(Priority::LOWEST)).await?;
    worker.enqueue(of("k2", "other key").with_priority(Priority::LOWEST)).await?;
    claimable(cx, CLAIM_12, "behind 1,000", &worker, &["free", "other key"]).await?;
    applied(worker.succeed(&run).await?)?;
    let leases = take(&worker, 20).await?;
    cx.check(LIMIT_2, "what can be claimed of 999 and a free slot", ids(&leases), ["b0-1"]);
    Ok(())
}

/// Sin 12, C31: what is Stale frees nothing, whatever it wanted.
pub(crate) async fn stale_commit_keeps_slot(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["a", "b", "c"]).await?;
    let run = worker.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let rescue = other.rescue_one().await?;
    let b = other.run_one().await?;
    let (mut now, held) = (worker.get("a").await?, worker.get("b").await?);
    for pending in [true, false] {
        for (outcome, state) in outcomes() {
            if state == State::Succeeded {
                continue;
            }
            let what = format!("{outcome:?} of a lost run");
            cx.check(LIMIT_3, &what, worker.end(&run, outcome).await?, stale(&now));
            cx.check_untouched(LIMIT_3, &what, &worker, &now).await?;
            claimable(cx, LIMIT_3, "after it", &other, &[]).await?;
        }
        if pending {
            applied(other.give_back(&rescue).await?)?;
            now = worker.get("a").await?;
        }
    }
    cx.check_untouched(LIMIT_3, "the holder of the slot", &worker, &held).await?;
    applied(other.succeed(&b).await?)?;
    claimable(cx, LIMIT_3, "after the holder's own commit", &other, &["c"]).await?;
    Ok(())
}

/// Sin 13: the slot is the lease's, so a task's old run cannot free its new one's; C31.
pub(crate) async fn old_run_cannot_free_new_slot(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["b"]).await?;
    worker.enqueue(one("a").with_priority(Priority::HIGHEST)).await?;
    let mut old = Vec::new();
    for _ in 0..3 {
        old.push(worker.run_one().await?);
        cx.shift(Actor::TTL_MS).await?;
        applied(other.give_back(&other.rescue_one().await?).await?)?;
    }
    let new = other.run_one().await?;
    cx.check(LIMIT_4, "the new run", new.task_ref.id.as_str(), "a");
    let now = worker.get("a").await?;
    for run in &old {
        for outcome in [success(), failure()] {
            cx.check(LIMIT_4, "an old run's commit", worker.end(run, outcome).await?, stale(&now));
        }
        let lost = RenewVerdict::Lost(LostReason::Taken(new.fence));
        cx.check(LIMIT_4, "an old run's renew", worker.renew(run).await?, lost);
        cx.check_untouched(LIMIT_4, "the task", &worker, &now).await?;
        claimable(cx, LIMIT_4, "under the new run", &worker, &[]).await?;
    }
    applied(other.succeed(&new).await?)?;
    claimable(cx, LIMIT_4, "after the new run", &worker, &["b"]).await?;
    Ok(())
}

/// Its slot ended with the lease, so a late success has none to free: the count is exact.
pub(crate) async fn late_success_frees_nothing_twice(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 2, &["a", "b", "c", "d"]).await?;
    let a = worker.run_one().await?;
    cx.shift(Actor::TTL_MS / 2).await?;
    let b = other.run_one().await?;
    cx.shift(Actor::TTL_MS / 2).await?;
    other.rescue_one().await?;
    let c = claimable(cx, LIMIT_3, "in the slot that has ended", &other, &["c"]).await?;
    let late = applied(worker.succeed(&a).await?)?.late;
    cx.check(LATE_3, "whether the success is late", late, true);
    claimable(cx, LATE_3, "after a late success, with two running", &other, &[]).await?;
    applied(other.succeed(&b).await?)?;
    claimable(cx, LIMIT_1, "after one of the two", &other, &["d"]).await?;
    applied(other.succeed(demand::nth(&c, 0)?).await?)?;
    Ok(())
}

/// A late success from Waiting and one from Dead(Lost) free nothing either.
pub(crate) async fn late_success_after_rescue_frees_nothing(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &[]).await?;
    for met in [Met::Returned, Met::Lost] {
        let scene = Staged::bring(cx, &worker, one(&format!("{met:?}")), met).await?;
        let run = scene.run.ok_or_else(|| Stop::because("a scene without its run"))?;
        let first = format!("first{met:?}");
        worker.enqueue(one(&first).with_priority(Priority::HIGHEST)).await?;
        worker.enqueue(one(&format!("next{met:?}"))).await?;
        let holder = other.run_one().await?;
        cx.check(LATE_3, "the new holder", holder.task_ref.id.as_str(), first.as_str());
        cx.check(LATE_3, "late", applied(worker.succeed(&run).await?)?.late, true);
        claimable(cx, LATE_3, "after a late success", &other, &[]).await?;
        applied(other.succeed(&holder).await?)?;
        let next = other.run_one().await?;
        applied(other.succeed(&next).await?)?;
    }
    Ok(())
}

/// C34: every way in which a run ends frees its slot, in the same step, and no other slot.
pub(crate) async fn every_change_frees_its_own_slot(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 2, &[]).await?;
    for (n, (outcome, _)) in outcomes().into_iter().enumerate() {
        let key = format!("key{n}");
        let what = format!("after {outcome:?}");
        let ending = of(&key, &format!("ending{n}")).with_priority(Priority::LOWEST);
        worker.enqueue(ending).await?;
        let run = worker.run_one().await?;
        let others = (0..3).map(|m| of(&key, &format!("{n}-{m}"))).collect();
        worker.enqueue_all(others).await?;
        let first = format!("{n}-0");
        claimable(cx, LIMIT_1, "beside it", &other, &[&first]).await?;
        applied(worker.end(&run, outcome).await?)?;
        let second = format!("{n}-1");
        claimable(cx, LIMIT_3, &what, &other, &[&second]).await?;
    }
    Ok(())
}

/// What comes from somebody who holds no slot, or not any more, frees none.
pub(crate) async fn freed_by_nobody_else(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["b", "c"]).await?;
    worker.enqueue(one("a").with_priority(Priority::HIGHEST)).await?;
    let old = worker.run_one().await?;
    let retry = Outcome::Failed { message: "no".to_owned(), retry: Retry::After(Duration::ZERO) };
    let failed = CommitItem::new(old.guard(), decide::run(&old, retry, 1));
    applied(worker.commit_item(&failed).await?)?;
    let new = other.run_one().await?;
    let now = worker.get("a").await?;
    cx.check(LIMIT_3, "the new run", new.attempt, 2);
    let again = worker.commit_item(&failed).await?;
    cx.check(LIMIT_3, "a repeat of the old run's", again, CommitVerdict::Replayed);
    cx.check(LIMIT_3, "another of it", worker.succeed(&old).await?, stale(&now));
    let decided = RenewVerdict::Lost(LostReason::Decided);
    cx.check(LIMIT_3, "its renew", worker.renew(&old).await?, decided);
    let unborn = Guard::new(old.task_ref.clone(), Fence::new(0));
    let gone = worker.commit(unborn, failed.change.clone()).await?;
    cx.check(LIMIT_3, "one below born", gone, CommitVerdict::Gone);
    let requeue = Intervention::Requeue(OnLeased::Refuse);
    applied(worker.act(&worker.get("b").await?, requeue).await?)?;
    claimable(cx, LIMIT_3, "under the new run", &worker, &[]).await?;

    let done = CommitItem::new(new.guard(), decide::run(&new, success(), 1));
    applied(other.commit_item(&done).await?)?;
    let next = claimable(cx, LIMIT_3, "after its success", &worker, &["b"]).await?;
    let again = other.commit_item(&done).await?;
    cx.check(LIMIT_3, "a repeat of the success", again, CommitVerdict::Replayed);
    applied(other.act(&other.get("c").await?, Intervention::Cancel).await?)?;
    worker.enqueue(one("d")).await?;
    claimable(cx, LIMIT_3, "under the next", &other, &[]).await?;
    applied(worker.succeed(demand::nth(&next, 0)?).await?)?;
    claimable(cx, LIMIT_3, "after the next", &other, &["d"]).await?;
    Ok(())
}

/// The slot ended with the lease; an overdue commit that comes then frees no other's.
pub(crate) async fn overdue_commit_frees_only_its_own(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &[]).await?;
    for (n, (outcome, _)) in outcomes().into_iter().enumerate() {
        let what = format!("after an overdue {outcome:?}");
        let (key, next) = (format!("key{n}"), format!("next{n}"));
        worker.enqueue(of(&key, &format!("late{n}")).with_priority(Priority::LOWEST)).await?;
        let run = worker.run_one().await?;
        worker.enqueue_all(vec![of(&key, &format!("new{n}")), of(&key, &next)]).await?;
        cx.shift(Actor::TTL_MS).await?;
        let holder = other.run_one().await?;
        let overdue = applied(worker.end(&run, outcome).await?)?.overdue;
        cx.check(LIMIT_3, &what, overdue, true);
        claimable(cx, LIMIT_3, &what, &other, &[]).await?;
        cx.check(LIMIT_3, &what, other.renew(&holder).await?, HELD);
        applied(other.succeed(&holder).await?)?;
        let seen = worker.get(&next).await?;
        clear(&worker, &seen).await?;
        if let Some(rest) = worker.backend().task(&run.task_ref).await? {
            clear(&worker, &rest).await?;
        }
    }
    Ok(())
}

/// Sin 14, C32: the slot goes along with the lease, far beyond its first length.
pub(crate) async fn renew_extends_slot(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["a", "b"]).await?;
    let run = worker.run_one().await?;
    cx.shift(Actor::TTL_MS / 2).await?;
    for _ in 0..10 {
        cx.shift(Actor::TTL_MS / 2 - 1).await?;
        claimable(cx, RENEW_3, "before a renew", &other, &[]).await?;
        cx.check(RENEW_3, "renew", worker.renew(&run).await?, HELD);
        cx.shift(Actor::TTL_MS / 2).await?;
        claimable(cx, RENEW_3, "past the length before", &other, &[]).await?;
    }
    cx.shift(Actor::TTL_MS / 2 - 1).await?;
    claimable(cx, LIMIT_1, "1 ms before the end of the last length", &other, &[]).await?;
    cx.shift(1).await?;
    claimable(cx, LIMIT_6, "at the end of the last length", &other, &["b"]).await?;
    Ok(())
}

/// C34: nobody has to rescue first; whoever asks at the lease's end gets the slot.
pub(crate) async fn dead_holder_frees_at_lease_end(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 2, &["a", "b", "c", "d"]).await?;
    take(&worker, 2).await?;
    cx.shift(Actor::TTL_MS - 1).await?;
    claimable(cx, LIMIT_1, "1 ms before the end", &other, &[]).await?;
    cx.shift(1).await?;
    claimable(cx, LIMIT_6, "at the end", &other, &["c", "d"]).await?;
    // The rescue itself needs no slot, and its decision frees none.
    for _ in 0..2 {
        applied(other.give_back(&other.rescue_one().await?).await?)?;
    }
    claimable(cx, LIMIT_1, "once the lapsed ones wait again", &other, &[]).await?;
    Ok(())
}

/// What was granted goes on, and counts until it ends; a higher number counts at once.
pub(crate) async fn lowering_revokes_nothing(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 3, &["a", "b", "c", "d", "e", "f", "g"]).await?;
    let runs = claimable(cx, LIMIT_1, "of three", &worker, &["a", "b", "c"]).await?;
    set(&other, 1).await?;
    cx.shift(1_000).await?;
    for run in &runs {
        cx.check(LIMIT_5, "the renew of a run", worker.renew(run).await?, HELD);
    }
    for run in runs.iter().take(2) {
        applied(worker.succeed(run).await?)?;
        claimable(cx, LIMIT_5, "while as many run as may", &other, &[]).await?;
    }
    set(&other, 3).await?;
    claimable(cx, LIMIT_5, "of three again", &other, &["d", "e"]).await?;
    applied(worker.succeed(demand::nth(&runs, 2)?).await?)?;
    claimable(cx, LIMIT_5, "after the last of the first", &other, &["f"]).await?;
    Ok(())
}

/// A number of 0 starts none of the group and hides none of the others.
pub(crate) async fn zero_stops_the_group(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 0, &["a"]).await?;
    worker.enqueue(Actor::task("free")).await?;
    let before = worker.get("a").await?;
    claimable(cx, LIMIT_1, "under 0", &worker, &["free"]).await?;
    cx.shift(24 * 60 * 60 * 1_000).await?;
    claimable(cx, LIMIT_1, "under 0, a day on", &other, &[]).await?;
    cx.check_untouched(LIMIT_2, "the blocked task", &worker, &before).await?;
    set(&worker, 1).await?;
    claimable(cx, LIMIT_5, "under 1", &other, &["a"]).await?;
    Ok(())
}

/// Sin 15: once another has had the slot, a clock that goes back does not give it back.
pub(crate) async fn swept_slot_is_never_given_back(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &["a", "b", "c"]).await?;
    let a = worker.run_one().await?;
    cx.shift(Actor::TTL_MS).await?;
    let b = other.run_one().await?;
    let before: [StoredTask; 2] = [worker.get("a").await?, worker.get("b").await?];
    cx.shift(-20_000).await?;
    let lost = RenewVerdict::Lost(LostReason::Lapsed);
    cx.check(RENEW_8, "the first renew after the slot was swept", worker.renew(&a).await?, lost);
    for before in &before {
        cx.check_untouched(RENEW_8, "both tasks", &worker, before).await?;
    }
    let held = RenewVerdict::Held { ttl_left: Duration::from_secs(50) };
    cx.check(RENEW_8, "the renew of the slot's holder", other.renew(&b).await?, held);
    claimable(cx, LIMIT_1, "beside it", &other, &[]).await?;
    // The fence is current, so the outcome counts; the slot of another is not its to free.
    applied(worker.succeed(&a).await?)?;
    claimable(cx, LIMIT_3, "after the outcome of the run without a slot", &other, &[]).await?;
    applied(other.succeed(&b).await?)?;
    claimable(cx, LIMIT_3, "after the holder's", &other, &["c"]).await?;
    Ok(())
}

/// A group without a number is Invalid, whole call included, and never means unlimited.
pub(crate) async fn unset_group_is_invalid(cx: &mut Context) -> Result<(), Stop> {
    let (worker, _) = under(cx, 1, &["a"]).await?;
    let before = worker.get("a").await?;
    let unset = Actor::task("unset").with_limit(LimitKey::new("G", "k"));
    let batch = vec![one("before"), unset, Actor::task("after")];
    let refused = worker.enqueue_all(batch).await.map_err(|error| error.kind());
    cx.check(ENQ_5, "a group that is not set", refused, Err(ErrorKind::Invalid));
    for id in ["before", "unset", "after"] {
        cx.check_gone(ENQ_5, "a task of the refused call", &worker, id).await?;
    }
    cx.check_untouched(ENQ_5, "an older task", &worker, &before).await?;
    claimable(cx, ENQ_5, "afterwards", &worker, &["a"]).await?;
    Ok(())
}

/// Neither a separator in a name, nor another queue, nor another group joins two keys.
pub(crate) async fn keys_and_groups_are_apart(cx: &mut Context) -> Result<(), Stop> {
    let (worker, _) = under(cx, 1, &[]).await?;
    let groups = ["g", "g/k", "g:k", "G"];
    let mut settings = Configure::new(Context::QUEUE);
    for group in groups {
        settings = settings.with_limit(group, 1);
    }
    worker.configure(settings).await?;
    let keys = [
        ("g", "k"),
        ("g", "k/x"),
        ("g/k", "x"),
        ("g", "k:x"),
        ("g:k", "x"),
        ("G", "k"),
        ("g", "K"),
    ];
    let names: Vec<_> = (0..keys.len()).map(|n| format!("t{n}")).collect();
    for (id, (group, key)) in names.iter().zip(keys) {
        let limit = LimitKey::new(group, key);
        worker.enqueue(Actor::task(id).with_limit(limit.clone())).await?;
        worker.enqueue(Actor::task(&format!("{id}-")).with_limit(limit)).await?;
    }
    let first: Vec<_> = names.iter().map(String::as_str).collect();
    claimable(cx, LIMIT_1, "of seven keys", &worker, &first).await?;
    // Of this group and this key there are slots, but none of both.
    worker.enqueue(Actor::task("t7").with_limit(LimitKey::new("G", "K"))).await?;
    claimable(cx, LIMIT_1, "of an eighth one", &worker, &["t7"]).await?;
    let queue = Configure::new("q2").with_limit("g", 1);
    worker.configure(queue).await?;
    let new = leasehold_core::Enqueue::new("q2", vec![one("t0")]);
    let _ = worker.backend().enqueue(new).await?;
    let mut claim = worker.request(Purpose::Run, 2);
    "q2".clone_into(&mut claim.queue);
    let leases = take_as(&worker, claim).await?;
    cx.check(LIMIT_1, "what the same key gives in another queue", ids(&leases), ["t0"]);
    Ok(())
}

/// The next in line may go at any moment, before or after the slot is freed: the one behind
/// it takes the slot.
pub(crate) async fn gone_heir_strands_nobody(cx: &mut Context) -> Result<(), Stop> {
    let (worker, operator) = under(cx, 1, &[]).await?;
    let edit = |priority, due| {
        let mut edit = Edit::default();
        (edit.priority, edit.due) = (priority, due);
        Intervention::Edit(edit)
    };
    let hour = Due::In(Duration::from_secs(60 * 60));
    let acts = [
        Intervention::Cancel,
        Intervention::Bury,
        Intervention::Delete,
        edit(None, Some(hour)),
        edit(Some(Priority::LOWEST), None),
    ];
    for (n, act) in acts.into_iter().flat_map(|act| [act.clone(), act]).enumerate() {
        let [a, b, c] = ["a", "b", "c"].map(|id| format!("{id}{n}"));
        worker.enqueue_all(vec![one(&a), one(&b), one(&c)]).await?;
        let run = worker.run_one().await?;
        claimable(cx, LIMIT_2, "behind it", &worker, &[]).await?;
        let before = n % 2 == 0;
        if before {
            applied(operator.act(&operator.get(&b).await?, act.clone()).await?)?;
        }
        applied(worker.succeed(&run).await?)?;
        if !before {
            applied(operator.act(&operator.get(&b).await?, act.clone()).await?)?;
        }
        let what = format!("after {act:?} of the next, before the slot was free: {before}");
        let leases = claimable(cx, LIMIT_6, &what, &worker, &[&c]).await?;
        for lease in &leases {
            applied(worker.succeed(lease).await?)?;
        }
        for id in [&b, &c] {
            let task = leasehold_core::TaskRef::new(Context::QUEUE, id.as_str());
            if let Some(rest) = operator.backend().task(&task).await? {
                clear(&operator, &rest).await?;
            }
        }
    }
    Ok(())
}

/// A worker that knows one kind gets its tasks past those of the same key that it does not
/// know, and takes a slot from them no longer than it runs.
pub(crate) async fn kinds_never_starve_under_a_key(cx: &mut Context) -> Result<(), Stop> {
    let (worker, other) = under(cx, 1, &[]).await?;
    let kind = |id: &str, kind: &str| {
        let mut new = one(id);
        kind.clone_into(&mut new.kind);
        new
    };
    let tasks = [("x1", "x"), ("x2", "x"), ("y1", "y"), ("x3", "x"), ("y2", "y")];
    worker.enqueue_all(tasks.iter().map(|(id, of)| kind(id, of)).collect()).await?;
    let claim =
        |by: &Actor, kinds: &[&str]| by.request(Purpose::Run, 5).with_kinds(kinds.iter().copied());
    let unknown = take_as(&other, claim(&other, &["z"])).await?;
    cx.check(CLAIM_10, "what an unknown kind is granted", ids(&unknown), [""; 0]);
    for (kinds, want) in [(["y"], "y1"), (["x"], "x1"), (["x"], "x2"), (["y"], "y2"), (["x"], "x3")]
    {
        let leases = take_as(&worker, claim(&worker, &kinds)).await?;
        cx.check(CLAIM_10, "what a kind is granted while the slot is free", ids(&leases), [want]);
        for kinds in [&["x", "y"][..], &["x"], &["y"]] {
            let blocked = take_as(&other, claim(&other, kinds)).await?;
            cx.check(LIMIT_1, "what kinds are granted under a full key", ids(&blocked), [""; 0]);
        }
        for lease in &leases {
            applied(worker.succeed(lease).await?)?;
        }
    }
    Ok(())
}
