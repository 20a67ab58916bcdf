//! What is this store's own beside limits: sizes of replies, records that it cannot read, what
//! leaves within one call, and the bounds of a purge.

#[path = "shared/residue.rs"]
mod residue;
#[path = "shared/world.rs"]
mod world;

use std::time::Duration;

use leasehold_core::decide::{self, Intervention, Operator, Outcome};
use leasehold_core::{
    Backend, BackendExt, Bounds, Claim, ClaimerId, Commit, CommitItem, CommitVerdict, Configure,
    Count, Delivery, Due, DuplicateCause, Edit, EnqueueVerdict, ErrorKind, Filter, Keep, List,
    NewTask, Policy, Priority, Purge, Purpose, Retention, Status,
};

use crate::world::{TTL, World, ids, limited, task};

/// A reply is no larger than the bounds say, and goes on where it was cut.
#[tokio::test]
async fn large_payloads_cut_a_claim_and_a_page_short() {
    let mut bounds = Bounds::default();
    bounds.batch_bytes_max = 100;
    let world = World::new(bounds).await;
    for (id, size) in [("a", 60), ("b", 60), ("c", 30), ("d", 100), ("e", 0)] {
        let new = NewTask::named(id, "kind", vec![7; size], Delivery::NotAfterLoss);
        world.enqueue([new]).await;
    }
    let mut pages = Vec::new();
    let mut list = List::new("q", Filter::all(), 10);
    loop {
        let page = world.store.list(list.clone()).await.expect("a page");
        pages.push(page.tasks.iter().map(|task| task.task_ref.id.clone()).collect::<String>());
        match page.next {
            Some(next) => list = list.after(next),
            None => break,
        }
    }
    assert_eq!(pages, ["a", "bc", "de"]);
    let mut claims = Vec::new();
    loop {
        let claimed = world.claim(10).await;
        claims.push(ids(&claimed).concat());
        if !claimed.more {
            break;
        }
    }
    assert_eq!(claims, ["a", "bc", "de"]);
    world.clock.shift(30_000);
    let rescue = Claim::new("q", Purpose::Rescue, 10, TTL, "rescuer");
    let claimed = world.claim_as(rescue).await;
    assert_eq!((ids(&claimed), claimed.more), (vec!["a"], true));
}

/// LH-READ-4: a page looks at 10,000 tasks at most, and the next one goes on behind them, though
/// none of them was in it.
#[tokio::test]
async fn a_list_goes_on_behind_what_a_page_has_looked_at() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([task("first")]).await;
    world
        .sql(
            "with recursive n (n) as (select 1 union all select n + 1 from n where n < 20004)
             insert into task (queue, id, kind, format, terms, rank, state, enqueued_at, due,
               fence, born, finished_at, payload)
             select queue, n, iif(n > 20000, 'rare', kind), format, terms, rank,
               iif(n % 2, state, 'succeeded'), enqueued_at, due, fence, born,
               iif(n % 2, null, enqueued_at), payload
             from n join task on task.id = 'first'",
        )
        .await;
    let rare = Filter::all().with_kind("rare");
    for (filter, want) in [
        (rare.clone(), ("20001 20002 20003 20004", 3)),
        (rare.with_status(Status::Succeeded), ("20002 20004", 2)),
    ] {
        let (mut list, mut found, mut pages) = (List::new("q", filter, 9), Vec::new(), 0);
        loop {
            let page = world.store.list(list.clone()).await.expect("a page");
            found.extend(page.tasks.into_iter().map(|task| task.task_ref.id));
            pages += 1;
            match page.next {
                Some(next) if pages < 9 => list = list.after(next),
                _ => break,
            }
        }
        assert_eq!((found.join(" ").as_str(), pages), want);
    }
}

/// LH-CLAIM-11: a record that cannot be read is shown, listed and granted as raw bytes, and an
/// operator may give it new terms or delete it.
#[tokio::test]
async fn a_broken_record_can_be_seen_and_acted_on() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([task("broken"), task("sound")]).await;
    world.sql("update task set terms = cast(x'ff00' as text) where id = 'broken'").await;

    let page = world.store.list(List::new("q", Filter::all(), 10)).await.expect("listed");
    let corrupt: Vec<_> = page.tasks.iter().map(|task| task.corrupt.is_some()).collect();
    assert_eq!(corrupt, [true, false]);
    let broken = world.task("broken").await;
    assert_eq!(broken.corrupt.as_ref().map(|raw| raw.as_bytes()), Some(&b"\xff\0"[..]));
    assert_eq!(broken.policy.delivery, Delivery::NotAfterLoss, "no promise of another run");
    let claimed = world.claim(10).await;
    assert_eq!(ids(&claimed), ["broken", "sound"]);
    let change = decide::run(&claimed.leases[0], Outcome::Corrupt, 0);
    let item = CommitItem::new(claimed.leases[0].guard(), change);
    let verdict = world.store.commit_one(item).await;
    assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");

    let by = Operator::new("ada", "because");
    let policy = Policy::new(Delivery::at_least_once());
    let edit = Intervention::Edit(Edit::default().with_policy(policy));
    let verdict = world.store.intervene(&world.task("broken").await, edit, &by).await;
    assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");
    let mended = world.task("broken").await;
    assert_eq!((mended.corrupt, mended.policy), (None, policy));
}

/// A line of a history that cannot be read keeps nobody from looking at the task.
#[tokio::test]
async fn a_record_of_the_history_that_cannot_be_read_counts_as_dropped() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([task("t")]).await;
    let by = Operator::new("ada", "because");
    for act in [Intervention::Bury, Intervention::Redrive] {
        let verdict = world.store.intervene(&world.task("t").await, act, &by).await;
        assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");
    }
    world.sql("update history set cause = '{\"event\":\"OfAnotherVersion\"}' where n = 1").await;
    let history = world.task("t").await.history;
    assert_eq!((history.records.len(), history.dropped), (1, 1));
}

/// LH-ENQ-8, LH-ENQ-9: the follow-up of one item may bear the id of a task that another item
/// of the same call has made leave, if nothing is remembered.
#[tokio::test]
async fn an_id_that_leaves_within_a_call_is_free_or_remembered_in_it() {
    for (memory, is_new) in [(Duration::ZERO, true), (Duration::from_secs(60), false)] {
        let mut world = World::new(Bounds::default()).await;
        world.store.configure(Configure::new("q").with_id_memory(memory)).await.expect("set");
        world.enqueue([task("first"), task("second")]).await;
        let leases = world.claim(2).await.leases;
        let success = |follow_ups| Outcome::Succeeded { result: None, follow_ups };
        let outcomes = [success(vec![]), success(vec![task("first")])];
        let items = leases
            .iter()
            .zip(outcomes)
            .map(|(lease, outcome)| CommitItem::new(lease.guard(), decide::run(lease, outcome, 0)));
        let items: Vec<_> = items.collect();
        let replies = world.store.commit(Commit::new(items.clone())).await.expect("committed");
        let Ok(CommitVerdict::Applied(second)) = &replies[1] else { panic!("{replies:?}") };
        match &second.follow_ups[0] {
            EnqueueVerdict::Enqueued { fence } => {
                assert!(is_new && *fence > leases[0].fence);
                assert_eq!(world.task("first").await.born, *fence);
            }
            EnqueueVerdict::Duplicate { cause, state, .. } => {
                assert_eq!((is_new, *cause, *state), (false, DuplicateCause::Id, None));
            }
        }
        world.check_residue().await;
    }
}

/// LH-UNIQ-3: a redrive takes its key again, with what the last holder has left to wait for.
#[tokio::test]
async fn a_redrive_inherits_the_held_until_of_its_key() {
    let world = World::new(Bounds::default()).await;
    let by = Operator::new("ada", "because");
    let act = async |id: &str, act| {
        let verdict = world.store.intervene(&world.task(id).await, act, &by).await;
        assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");
    };
    world.enqueue([task("buried").with_unique("u")]).await;
    act("buried", Intervention::Bury).await;
    world.enqueue([task("runs").with_unique("u")]).await;
    let until = world.clock.now().after(TTL);
    assert_eq!(ids(&world.claim(1).await), ["runs"]);
    act("runs", Intervention::Cancel).await;
    act("buried", Intervention::Redrive).await;
    assert_eq!(world.task("buried").await.held_until, Some(until));
    assert_eq!(ids(&world.claim(1).await), [""; 0]);
    world.clock.shift(30_000);
    assert_eq!(ids(&world.claim(1).await), ["buried"]);
}

/// LH-CLAIM-9, LH-RENEW-8: a repeated claim returns no lease whose slot was swept, though the
/// clock has gone back behind its end.
#[tokio::test]
async fn a_repeat_returns_no_lease_without_its_slot() {
    let world = World::new(Bounds::default()).await;
    world.enqueue([limited("a", "k"), task("b")]).await;
    let claimer = ClaimerId::fresh();
    let claim = || Claim::new("q", Purpose::Run, 9, TTL, "holder").with_ticket(claimer, 1);
    assert_eq!(ids(&world.claim_as(claim()).await), ["a", "b"]);
    world.clock.shift(30_000);
    world.store.purge(Purge::new("q", 10)).await.expect("purged");
    world.clock.shift(-10_000);
    assert_eq!(ids(&world.claim_as(claim()).await), ["b"]);
}

/// LH-PURGE-1, LH-READ-2: a purge is bounded and says when there is more; what is left is
/// still counted.
#[tokio::test]
async fn a_purge_is_bounded_and_says_when_there_is_more() {
    let mut world = World::new(Bounds::default()).await;
    let keep = Retention::default().with_succeeded(Keep::For(Duration::from_secs(1)));
    world.store.configure(Configure::new("q").with_retention(keep)).await.expect("set");
    world.enqueue((0..5).map(|n| task(n.to_string()))).await;
    for lease in world.claim(5).await.leases {
        world.succeed(&lease).await;
    }
    world.clock.shift(1_000);
    for (left, more) in [(3, true), (1, true), (0, false)] {
        let purged = world.store.purge(Purge::new("q", 2)).await.expect("purged");
        assert_eq!(purged.more, more);
        assert_eq!(world.counted(Status::Succeeded).await, left);
    }
    let remembered = "select count(*) from remembered";
    assert_eq!(world.number(remembered).await, 5);
    world.clock.shift(60_000);
    world.store.purge(Purge::new("q", 2)).await.expect("purged");
    assert_eq!(world.number(remembered).await, 0);
    world.check_residue().await;
}

/// LH-FENCE-7: after a loss of data, here of the newest fences, none of them is given again as
/// long as the clock goes forward.
#[tokio::test]
async fn a_lost_fence_is_not_given_again() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([task("a"), task("b")]).await;
    let before = world.claim(1).await.leases.remove(0);
    world.sql("update fence set value = 1").await;
    world.clock.shift(1);
    let after = world.claim(1).await.leases.remove(0);
    assert!(after.fence > before.fence, "{} after {}", after.fence, before.fence);
}

/// LH-CTL-1: what was set holds after a restart.
#[tokio::test]
async fn settings_outlive_a_restart() {
    let mut world = World::new(Bounds::default()).await;
    let request = Configure::new("q").pause().with_limit("g", 7).with_id_memory(TTL);
    let set = world.store.configure(request).await.expect("configured");
    world.reopen().await;
    let kept = world.store.configure(Configure::new("q")).await.expect("read");
    assert_eq!((kept.paused, kept.limits.get("g"), kept.id_memory), (true, Some(&7), TTL));
    assert_eq!(kept, set);
    world.enqueue([task("a")]).await;
    assert_eq!(world.claim(1).await.leases, []);
}

/// LH-CLAIM-11: however many records of a newer version are not due, a claim looks at a bounded
/// number of them to count those that are.
#[tokio::test]
async fn a_claim_looks_at_a_bounded_number_of_newer_records() {
    let mut world = World::new(Bounds::default()).await;
    let later = |n: usize| task(format!("later{n}")).with_due(Due::In(TTL));
    world.enqueue((0..99).map(later).chain([task("a"), task("b")])).await;
    world.sql("update task set format = 2").await;
    assert_eq!(ids(&world.claim(9).await), [""; 0]);
    let counts = world.store.counts(Count::new("q")).await.expect("counted");
    assert_eq!(counts.events.skipped_newer, 1, "the hundredth is due, the next is not looked at");
}

/// LH-ENQ-9, LH-TIME-4: an id that leaves unremembered is free, also when an earlier task of it
/// was remembered and the clock goes back to where that still counted.
#[tokio::test]
async fn an_id_that_leaves_unremembered_is_free_though_the_clock_goes_back() {
    let mut world = World::new(Bounds::default()).await;
    let run = async |world: &World| {
        world.enqueue([task("t")]).await;
        let lease = world.claim(1).await.leases.remove(0);
        world.succeed(&lease).await;
    };
    run(&world).await;
    world.clock.shift(60_000);
    let forget = Configure::new("q").with_id_memory(Duration::ZERO);
    world.store.configure(forget).await.expect("set");
    run(&world).await;
    world.clock.shift(-30_000);
    assert_eq!(world.number("select count(*) from remembered").await, 0);
    let again = world.store.enqueue_one("q", task("t")).await;
    assert!(matches!(again, Ok(EnqueueVerdict::Enqueued { .. })), "{again:?}");
}

/// LH-CLAIM-11: what a newer version has written is not written over in this version's words;
/// a broken record of this version is mended by the same edit.
#[tokio::test]
async fn the_terms_of_a_newer_record_are_not_written_over() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([task("newer"), task("other")]).await;
    world.sql("update task set format = 2, terms = '{\"v\":2}' where id = 'newer'").await;
    let by = Operator::new("ada", "because");
    let policy = Policy::new(Delivery::at_least_once());
    let edit = || Intervention::Edit(Edit::default().with_policy(policy));
    let seen = world.task("newer").await;
    let error = world.store.intervene(&seen, edit(), &by).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("a newer Leasehold has written this task"), "{error}");
    assert_eq!(world.task("newer").await, seen, "nothing has changed");

    // Other edits leave the terms alone; whoever saw an older state hears of that first.
    let higher = Intervention::Edit(Edit::default().with_priority(Priority::HIGHEST));
    let verdict = world.store.intervene(&seen, higher, &by).await;
    assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");
    let verdict = world.store.intervene(&seen, edit(), &by).await;
    assert!(matches!(verdict, Ok(CommitVerdict::Stale { .. })), "{verdict:?}");
    let terms = "select count(*) from task where format = 2 and terms = '{\"v\":2}'";
    assert_eq!(world.number(terms).await, 1);
}

/// Values that no build can read do not get into the file.
#[tokio::test]
async fn the_schema_refuses_what_cannot_be_read() {
    let mut world = World::new(Bounds::default()).await;
    world.enqueue([task("t")]).await;
    let by = Operator::new("ada", "because");
    let edit = Intervention::Edit(Edit::default().with_priority(Priority::HIGHEST));
    let verdict = world.store.intervene(&world.task("t").await, edit, &by).await;
    assert!(matches!(verdict, Ok(CommitVerdict::Applied(_))), "{verdict:?}");
    for sql in [
        "update task set decision = x'00'",
        "update task set decision = null",
        "update task set shown_by = 'nobody'",
        "update task set rank = 10",
        "update task set state = 'asleep'",
        // C20: a lease without an end would be a lease that no sweep can find.
        "update task set state = 'leased_run'",
    ] {
        let refused = sqlx::query(sql).execute(&mut world.raw).await;
        assert!(refused.is_err(), "{sql}");
    }
}

/// LH-GEN-2, LH-CLAIM-11: a record that cannot be read at all is the error of its own item.
#[tokio::test]
async fn an_unreadable_record_does_not_block_the_batch() {
    for broken in [
        "update task set kind = cast(x'ff' as text) where id = 'broken'",
        "update task set shown = 1, shown_by = 'worker', decision = x'00' where id = 'broken'",
        "update task set rank = 77 where id = 'broken'",
    ] {
        let mut world = World::new(Bounds::default()).await;
        world.enqueue([task("broken"), task("sound")]).await;
        let leases = world.claim(2).await.leases;
        sqlx::raw_sql("pragma ignore_check_constraints = on")
            .execute(&mut world.raw)
            .await
            .expect("as damage would");
        world.sql(broken).await;
        let items = leases.iter().map(|lease| {
            let done = Outcome::Succeeded { result: None, follow_ups: vec![] };
            CommitItem::new(lease.guard(), decide::run(lease, done, 0))
        });
        let replies = world.store.commit(Commit::new(items.collect())).await.expect("answered");
        let error = replies[0].as_ref().expect_err("it cannot be read");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{broken}: {error}");
        assert!(matches!(replies[1], Ok(CommitVerdict::Applied(_))), "{broken}: {replies:?}");
    }
}
