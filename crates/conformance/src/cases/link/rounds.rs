//! One call of each verb that loses something, and its repeat: whether it was carried out, and
//! that it was so once at most.

use std::time::Duration;

use leasehold_core::clause::{CLAIM_8, CLAIM_9, COMMIT_4, ENQ_2, ENQ_8, GEN_4};
use leasehold_core::decide::{self, Outcome};
use leasehold_core::{
    Backend, BackendExt, ClaimerId, CommitItem, CommitVerdict, Configure, Count, DuplicateCause,
    EnqueueVerdict, Error, Keep, Lease, NewTask, Purge, Purpose, QueueSettings, RenewItem,
    RenewVerdict, Retention, State, StoredTask, TaskRef,
};

use super::wire::{Again, Loss, Lost, Wire, check_told};
use crate::actor::{Actor, applied, failure, success};
use crate::context::{Context, Stop};
use crate::demand;
use crate::staged::ids;

/// What a round saw.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Whether the call lost something.
    pub struck: bool,
    /// Whether it was told something all the same.
    pub told: bool,
    /// Whether it was carried out, as its repeat tells.
    pub applied: bool,
}

impl Seen {
    fn of<T>(lost: &Lost<Result<T, Error>>, applied: bool) -> Self {
        Self { struck: lost.struck, told: lost.told.is_ok(), applied }
    }
}

const SECOND_MS: i64 = 1_000;

pub(super) async fn enqueue(cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
    let lost = at.lose(cx, loss, at.caller.try_enqueue(Actor::kept("t"))).await?;
    let Again { answer, first } = at.again(cx, || at.caller.try_enqueue(Actor::kept("t"))).await?;
    let task = at.witness.get("t").await?;
    check_told(cx, "an enqueue", &lost, |told| is_new(told, &task));
    let own = EnqueueVerdict::Duplicate {
        cause: DuplicateCause::Id,
        holder: task.task_ref.clone(),
        state: Some(State::Waiting),
    };
    let applied = answer == own;
    let fits = applied || (lost.told.is_err() && is_new(&answer, &task));
    cx.check_that(ENQ_2, "its repeat", fits, &answer);
    let total = at.witness.backend().counts(Count::new(at.witness.queue())).await?.total();
    let got = (task.state, task.fence, task.attempt, total);
    cx.check(GEN_4, "the task then", got, (State::Waiting, task.born, 0, 1));
    Ok(Seen::of(&lost, applied && first))
}

fn is_new(told: &EnqueueVerdict, task: &StoredTask) -> bool {
    *told == EnqueueVerdict::Enqueued { fence: task.born }
}

pub(super) async fn claim(cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
    at.witness.enqueue(Actor::kept("t")).await?;
    let lost = at.lose(cx, loss, at.caller.claim(1)).await?;
    let granted = at.witness.get("t").await?.fence;
    check_told(cx, "a claim of the only task", &lost, |told| {
        told.leases.iter().map(|lease| lease.fence).eq([granted])
    });
    let mut again = at.again(cx, || at.caller.claim(1)).await?.answer.leases;
    let applied = again.is_empty();
    let lease = match again.pop() {
        Some(lease) => lease,
        // Nobody heard of the grant.
        None => {
            cx.shift(Actor::TTL_MS).await?;
            let lapsed = at.witness.rescue(9).await?;
            let lapsed = demand::lease(cx, CLAIM_8, "the lease that nobody heard of", lapsed)?;
            crate::actor::applied(at.witness.give_back(&lapsed).await?)?;
            at.witness.run_one().await?
        }
    };
    let task = at.witness.get("t").await?;
    let got = (task.state, task.fence, task.attempt, task.rescues);
    let lapses = u32::from(applied);
    let want = (State::Leased(Purpose::Run), lease.fence, 1 + lapses, lapses);
    cx.check(GEN_4, "the task, claimed again", got, want);
    Ok(Seen::of(&lost, applied))
}

pub(super) async fn named_claim(cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
    for id in ["a", "b"] {
        at.witness.enqueue(Actor::kept(id)).await?;
    }
    let request = at.caller.request(Purpose::Run, 2).with_ticket(ClaimerId::fresh(), 1);
    let lost = at.lose(cx, loss, at.caller.backend().claim(request.clone())).await?;
    at.witness.enqueue(Actor::kept("c")).await?;
    cx.shift(SECOND_MS).await?;
    let Again { answer, first } =
        at.again(cx, || at.caller.backend().claim(request.clone())).await?;
    let fences = |leases: &[Lease]| leases.iter().map(|lease| lease.fence).collect::<Vec<_>>();
    check_told(cx, "a claim with a name", &lost, |told| {
        fences(&told.leases) == fences(&answer.leases)
    });
    cx.check(CLAIM_9, "its repeat", ids(&answer.leases), ["a", "b"]);
    let aged = Actor::TTL - Duration::from_secs(1);
    let applied = answer.leases.iter().all(|lease| lease.ttl_left == aged);
    let new = answer.leases.iter().all(|lease| lease.ttl_left == Actor::TTL);
    let fits = applied || (new && lost.told.is_err());
    cx.check_that(CLAIM_9, "what is left of its leases", fits, &answer.leases);
    for lease in &answer.leases {
        let task = at.witness.get(&lease.task_ref.id).await?;
        let got = (task.fence, task.attempt);
        cx.check(CLAIM_9, &format!("lease of {}", task.task_ref.id), got, (lease.fence, 1));
    }
    let other = at.witness.get("c").await?.state;
    cx.check(CLAIM_9, "what the first claim could not see", other, State::Waiting);
    Ok(Seen::of(&lost, applied && first))
}

pub(super) async fn renew(cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
    at.witness.enqueue(Actor::kept("t")).await?;
    let lease = at.witness.run_one().await?;
    let mut want = at.witness.get("t").await?;
    cx.shift(SECOND_MS).await?;
    let item = RenewItem::new(lease.guard(), Actor::TTL).with_note("half");
    let lost = at.lose(cx, loss, at.caller.backend().renew_one(item.clone())).await?;
    let held = RenewVerdict::Held { ttl_left: Actor::TTL };
    check_told(cx, "a renew", &lost, |told| *told == held);
    let applied = at.witness.get("t").await?.note.is_some();
    cx.shift(SECOND_MS).await?;
    let again = at.again(cx, || at.caller.backend().renew_one(item.clone())).await?.answer;
    cx.check(GEN_4, "its repeat", again, held);
    want.until = want.until.map(|until| until.after(Duration::from_secs(2)));
    want.note = Some("half".into());
    cx.check_untouched(GEN_4, "the task, renewed again", &at.witness, &want).await?;
    Ok(Seen::of(&lost, applied))
}

pub(super) async fn commit(cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
    let ended = end(cx, at, loss, failure(), &[]).await?;
    let task = at.witness.get("t").await?;
    let got = (task.state, task.failures, task.attempt);
    cx.check(GEN_4, "the task of a failure", got, (State::Waiting, 1, 1));
    Ok(ended)
}

pub(super) async fn commit_bringing(cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
    let brought = ["a", "b"];
    let ended = end(cx, at, loss, success(), &brought).await?;
    let total = at.witness.backend().counts(Count::new(at.witness.queue())).await?.total();
    cx.check(ENQ_8, "the tasks then", total, 3);
    for id in brought {
        let task = at.witness.get(id).await?;
        let got = (task.state, task.fence, task.attempt);
        cx.check(ENQ_8, &format!("follow-up {id}"), got, (State::Waiting, task.born, 0));
    }
    Ok(ended)
}

/// Ends a run, with follow-ups of these ids.
async fn end(
    cx: &mut Context,
    at: &Wire,
    loss: Loss,
    outcome: Outcome,
    brought: &[&str],
) -> Result<Seen, Stop> {
    at.witness.enqueue(Actor::kept("t")).await?;
    let lease = at.witness.run_one().await?;
    let follow_ups: Vec<NewTask> = brought.iter().map(|id| Actor::kept(id)).collect();
    let change = decide::run(&lease, outcome, 1).with_follow_ups(follow_ups);
    let item = CommitItem::new(lease.guard(), change);
    let lost: Lost<_> = at.lose(cx, loss, at.caller.commit_item(&item)).await?;
    let Again { answer, first } = at.again(cx, || at.caller.commit_item(&item)).await?;
    let task = at.witness.get("t").await?;
    let mut made = Vec::new();
    for id in brought {
        made.push(EnqueueVerdict::Enqueued { fence: at.witness.get(id).await?.born });
    }
    let counts = |told: &CommitVerdict| match told {
        CommitVerdict::Applied(told) => told.fence == task.fence && told.follow_ups == made,
        _ => false,
    };
    check_told(cx, "a commit", &lost, counts);
    let applied = answer == CommitVerdict::Replayed;
    let fits = applied || (lost.told.is_err() && counts(&answer));
    cx.check_that(COMMIT_4, "its repeat", fits, &answer);
    let third = at.witness.commit_item(&item).await?;
    cx.check(COMMIT_4, "the commit once more", third, CommitVerdict::Replayed);
    let shown = task.shown.map(|shown| (shown.fence, shown.decision));
    let got = (shown, task.history.records.len());
    cx.check(GEN_4, "what the task shows", got, (Some((lease.fence, item.decision)), 1));
    Ok(Seen::of(&lost, applied && first))
}

pub(super) async fn configure(cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
    let retention = Retention::default().with_dead(Keep::For(Duration::from_secs(7 * 60 * 60)));
    let request = Configure::new(at.caller.queue())
        .pause()
        .with_retention(retention)
        .with_id_memory(Duration::from_secs(9));
    let mut want = QueueSettings::default();
    want.apply(&request);
    let lost = at.lose(cx, loss, at.caller.backend().configure(request.clone())).await?;
    check_told(cx, "a change of settings", &lost, |told| *told == want);
    let applied = settings(&at.witness).await? == want;
    let again = at.again(cx, || at.caller.backend().configure(request.clone())).await?.answer;
    cx.check(GEN_4, "its repeat", &again, &want);
    cx.check(GEN_4, "the settings then", settings(&at.witness).await?, want);
    Ok(Seen::of(&lost, applied))
}

/// The settings of the queue as they are.
async fn settings(by: &Actor) -> Result<QueueSettings, Stop> {
    Ok(by.backend().configure(Configure::new(by.queue())).await?)
}

pub(super) async fn purge(cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
    let short = Retention::default().with_succeeded(Keep::For(Duration::from_secs(1)));
    for id in ["a", "b", "c"] {
        at.witness.enqueue(Actor::task(id).with_retention(short)).await?;
        applied(at.witness.succeed(&at.witness.run_one().await?).await?)?;
    }
    at.witness.enqueue(Actor::task("unfinished")).await?;
    cx.shift(SECOND_MS).await?;
    let lost = at.lose(cx, loss, purged(at.caller.backend().as_ref(), at.caller.queue())).await?;
    let again = at.again(cx, || purged(at.caller.backend().as_ref(), at.caller.queue())).await?;
    let Again { answer: removed, first } = again;
    let rest = purged(at.witness.backend().as_ref(), at.witness.queue()).await?;
    check_told(cx, "a purge of two of three", &lost, |told| *told == 2 && removed + rest == 1);
    // The lost one took two, or nothing; an earlier repeat may have been lost as well.
    let fits = matches!((removed, rest), (1, 0) | (2, 1)) || !first;
    cx.check_that(GEN_4, "what its repeat removed, and one more", fits, (removed, rest));
    for id in ["a", "b", "c"] {
        cx.check_gone(GEN_4, "a purged task", &at.witness, id).await?;
    }
    let unfinished = TaskRef::new(at.witness.queue(), "unfinished");
    let unfinished = at.witness.backend().task(&unfinished).await?;
    cx.check(GEN_4, "the unfinished task", unfinished.map(|task| task.state), Some(State::Waiting));
    Ok(Seen::of(&lost, (removed, rest) == (1, 0)))
}

/// How many a purge of at most two removes.
async fn purged(by: &dyn Backend, queue: &str) -> Result<usize, Error> {
    Ok(by.purge(Purge::new(queue, 2)).await?.tasks)
}
