//! What holds for every verb (LH-GEN): batches, bytes, names, repeats, and a caller who goes
//! away in the middle of a call (`dropped`).

mod apart;

use std::time::Duration;

use leasehold_core::clause::{
    CLAIM_4, COMMIT_2, COMMIT_3, COMMIT_11, GEN_2, GEN_4, GEN_6, GEN_7, GEN_8, READ_3, RENEW_5,
    RENEW_9,
};
use leasehold_core::decide;
use leasehold_core::{
    BackendExt, Budget, Change, Claim, Commit, CommitItem, CommitVerdict, Configure, Count, Counts,
    Enqueue, EnqueueVerdict, Error, ErrorKind, Event, Events, Fence, Filter, Guard, Lease, List,
    LostReason, Outcome, Payload, Purge, Purpose, Queues, Renew, RenewItem, RenewVerdict, Retry,
    Role, State, Status, StoredTask, TaskRef, To,
};

use crate::actor::{Actor, applied, success};
use crate::context::{Context, Stop};
use crate::demand;

pub(crate) use apart::{a_name_in_two_queues_is_two_tasks, what_left_a_queue_left_no_other};

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) async fn batches_answer_in_order(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    user.enqueue(Actor::kept("old")).await?;
    let batch = ["a", "old", "b", "a", "c"].map(Actor::kept).into();
    let replies = backend.enqueue(Enqueue::new(Context::QUEUE, batch)).await?;
    let holders: Vec<_> = replies.iter().map(holder).collect();
    let want = [None, Some("old"), None, Some("a"), None];
    cx.check(GEN_2, "the replies to a batch of enqueues", holders, want);

    let [old, a, b, c] = leases(&user).await?;
    let nobody = Guard::new(TaskRef::new(Context::QUEUE, "nobody"), c.fence);
    let renew = |guard, secs| RenewItem::new(guard, Duration::from_secs(secs));
    let items = vec![renew(c.guard(), 50), renew(nobody.clone(), 60), renew(a.guard(), 40)];
    let replies = kinds(backend.renew(Renew::new(items)).await?);
    let held = |secs| Ok(RenewVerdict::Held { ttl_left: Duration::from_secs(secs) });
    let lost = Ok(RenewVerdict::Lost(LostReason::Gone));
    cx.check(GEN_2, "the replies to a batch of renews", replies, [held(50), lost, held(40)]);

    let commit = |guard, lease| CommitItem::new(guard, decide::run(lease, success(), 1));
    let stale = Guard::new(old.task_ref.clone(), Fence::new(old.fence.value() + 1));
    let items = vec![
        commit(c.guard(), &c),
        commit(nobody, &c),
        commit(a.guard(), &a),
        commit(stale, &old),
        commit(b.guard(), &b),
    ];
    let replies = backend.commit(Commit::new(items)).await?;
    let words: Vec<_> = replies.iter().map(word).collect();
    let want = ["applied", "gone", "applied", "stale", "applied"];
    cx.check(GEN_2, "the replies to a batch of commits", words, want);
    let states: Vec<_> = all(&user).await?.into_iter().map(|task| task.state).collect();
    let run = State::Leased(Purpose::Run);
    let want = [run, State::Succeeded, State::Succeeded, State::Succeeded];
    cx.check(GEN_2, "the states of old, a, b and c", states, want);
    Ok(())
}

pub(crate) async fn empty_batches_do_nothing(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    user.enqueue(Actor::task("t")).await?;
    user.run_one().await?;
    let before = user.get("t").await?;
    for queue in [Context::QUEUE, "elsewhere"] {
        let replies = backend.enqueue(Enqueue::new(queue, Vec::new())).await?;
        cx.check(GEN_2, "the replies to no enqueue", replies, []);
    }
    let renewed = backend.renew(Renew::new(vec![])).await;
    let replies = demand::answered(cx, GEN_2, "a call of no renew", renewed)?;
    cx.check(GEN_2, "the replies to no renew", replies.len(), 0);
    let committed = backend.commit(Commit::new(vec![])).await;
    let replies = demand::answered(cx, GEN_2, "a call of no commit", committed)?;
    cx.check(GEN_2, "the replies to no commit", replies.len(), 0);
    cx.check_untouched(GEN_2, "a task beside empty batches", &user, &before).await?;
    cx.check(GEN_2, "the queues", queues(&user).await?, [Context::QUEUE]);
    Ok(())
}

pub(crate) async fn an_invalid_item_hurts_no_other(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    for id in ["a", "b", "c", "d"] {
        user.enqueue(Actor::kept(id)).await?;
    }
    let [a, b, c, d] = leases(&user).await?;
    let (before_b, before_c) = (user.get("b").await?, user.get("c").await?);

    let blink = Duration::from_millis(1);
    let items = [(&a, MINUTE), (&b, blink), (&c, Actor::TTL), (&d, MINUTE)];
    let items = items.map(|(lease, ttl)| RenewItem::new(lease.guard(), ttl)).into();
    let renewed = backend.renew(Renew::new(items)).await;
    let replies = kinds(demand::answered(cx, GEN_2, "renews, one of them invalid", renewed)?);
    let held = |ttl_left| Ok(RenewVerdict::Held { ttl_left });
    let want = [held(MINUTE), Err(ErrorKind::Invalid), held(Actor::TTL), held(MINUTE)];
    cx.check(RENEW_5, "the replies to renews, one of them invalid", replies, want);
    cx.check_untouched(RENEW_5, "the task of the invalid renew", &user, &before_b).await?;

    let unfit =
        Change::new(Role::Operator, To::Waiting(leasehold_core::When::Unchanged), Event::Redriven)
            .with_budget(Budget::Reset);
    let senseless = Change::new(Role::Worker, To::Gone, Event::Deleted);
    let done = |lease| decide::run(lease, success(), 1);
    let items = [(&a, done(&a)), (&b, senseless), (&c, unfit), (&d, done(&d))];
    let items = items.map(|(lease, change)| CommitItem::new(lease.guard(), change)).into();
    let committed = backend.commit(Commit::new(items)).await;
    let replies = demand::answered(cx, GEN_2, "commits, two of them invalid", committed)?;
    let words: Vec<_> = replies.iter().map(word).collect();
    let want = ["applied", "invalid", "invalid", "applied"];
    cx.check(COMMIT_3, "the replies to commits, two of them invalid", words, want);
    cx.check_untouched(COMMIT_3, "the task of a senseless change", &user, &before_b).await?;
    cx.check_untouched(COMMIT_3, "the task of an unfit change", &user, &before_c).await?;
    for id in ["a", "d"] {
        cx.check(GEN_2, "a good neighbour", user.get(id).await?.state, State::Succeeded);
    }
    Ok(())
}

pub(crate) async fn one_task_twice_is_invalid(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    for queue in [Context::QUEUE, "elsewhere"] {
        let _ = backend.enqueue_one(queue, Actor::kept("t")).await?;
    }
    user.enqueue(Actor::kept("u")).await?;
    let [t, u] = leases(&user).await?;
    let far = Claim::new("elsewhere", Purpose::Run, 1, Actor::TTL, "user");
    let far = single(backend.claim(far).await?.leases)?;
    let before = all(&user).await?;

    let renews = [&t, &u, &t].map(|lease| RenewItem::new(lease.guard(), MINUTE)).into();
    let refused = backend.renew(Renew::new(renews)).await.err().map(|error| error.kind());
    cx.check(COMMIT_11, "a renew that names one task twice", refused, Some(ErrorKind::Invalid));
    let done = |lease: &Lease| CommitItem::new(lease.guard(), decide::run(lease, success(), 1));
    let refused = backend.commit(Commit::new([&t, &u, &t].map(done).into())).await;
    let refused = refused.err().map(|error| error.kind());
    cx.check(COMMIT_11, "a commit that names one task twice", refused, Some(ErrorKind::Invalid));
    cx.check(COMMIT_11, "the tasks of refused calls", all(&user).await?, before);

    let replies = backend.commit(Commit::new([&t, &u, &far].map(done).into())).await?;
    let words: Vec<_> = replies.iter().map(word).collect();
    cx.check(COMMIT_11, "one id in two queues", words, ["applied"; 3]);
    Ok(())
}

/// C118: any bytes, also those that a text column or a script would not carry.
pub(crate) async fn opaque_bytes(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let every: Vec<u8> = (0..=255).collect();
    let size = user.backend().capabilities().bounds.payload_bytes_max;
    let largest = every.iter().copied().cycle().take(size).collect();
    let payloads = [
        Vec::new(),
        vec![0],
        vec![0; 4],
        b"a\0b\0".to_vec(),
        b"\xff\xfe\xc3\x28".to_vec(),
        b"{\"n\": 10000000000000001, \"n\": [], \"o\": {}}\r\n".to_vec(),
        "\u{1f980} e\u{301}".into(),
        every,
        largest,
    ];
    for (n, payload) in payloads.into_iter().map(Payload::from).enumerate() {
        let id = format!("t{n}");
        let mut new = Actor::kept(&id);
        new.payload = payload.clone();
        user.enqueue(new).await?;
        let what = format!("payload {n} of {} bytes", payload.len());
        let task = user.get(&id).await?;
        cx.check_that(GEN_6, &format!("{what} as read"), task.payload == payload, &task.payload);
        let lease = user.run_one().await?;
        let same = lease.payload == payload;
        cx.check_that(GEN_6, &format!("{what} as leased"), same, &lease.payload);
        applied(user.succeed(&lease).await?)?;
        let listed = all(&user).await?.pop().map(|task| task.payload);
        let same = listed.as_ref() == Some(&payload);
        cx.check_that(GEN_6, &format!("{what} as listed"), same, &listed);
    }
    Ok(())
}

pub(crate) async fn opaque_headers(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let headers = [
        ("traceparent", "00-ab-cd-01"),
        ("nul", "\0a\0"),
        ("crab", "\u{1f980} e\u{301}"),
        ("empty", ""),
        ("same", "2"),
        ("same", "1"),
        ("SAME", "3"),
        (" spaced ", " \r\n\t"),
        ("quoted\"'\\{}", "\"'\\{}$1 %s :x"),
    ];
    let mut new = Actor::task("t");
    for (name, value) in headers {
        new = new.with_header(name, value);
    }
    user.enqueue(new.clone()).await?;
    cx.check(GEN_6, "headers as read", user.get("t").await?.headers, new.headers.clone());
    let lease = user.run_one().await?;
    cx.check(GEN_6, "headers as leased", &lease.headers, &new.headers);

    let size = user.backend().capabilities().bounds.headers_bytes_max;
    let largest = Actor::task("u").with_header("h", "\u{e9}".repeat((size - 1) / 2));
    user.enqueue(largest.clone()).await?;
    let same = user.get("u").await?.headers == largest.headers;
    cx.check_that(GEN_6, "the largest headers come back", same, size);
    Ok(())
}

/// C118: what a run leaves has to come back as whole as what it was given.
pub(crate) async fn opaque_notes_and_results(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let size = user.backend().capabilities().bounds.note_bytes_max;
    let largest: Vec<u8> = (0..=255).cycle().take(size).collect();
    for (n, bytes) in [vec![], vec![0, 255, 0], largest].into_iter().enumerate() {
        let (id, bytes) = (format!("t{n}"), Payload::from(bytes));
        user.enqueue(Actor::kept(&id)).await?;
        let run = user.run_one().await?;
        let note = RenewItem::new(run.guard(), Actor::TTL).with_note(bytes.clone());
        let reply = user.backend().renew_one(note).await?;
        cx.check(
            RENEW_9,
            "a renew with a note",
            reply,
            RenewVerdict::Held { ttl_left: Actor::TTL },
        );
        let note = user.get(&id).await?.note;
        cx.check(RENEW_9, "the note as read", note.as_ref(), Some(&bytes));
        let message = "\0 \u{1f980} \"'\\".to_owned();
        let retry = Retry::After(Duration::ZERO);
        let failed = Outcome::Failed { message: message.clone(), retry };
        applied(user.end(&run, failed).await?)?;
        let told = user.get(&id).await?.history.records.pop().map(|record| record.message);
        cx.check(COMMIT_2, "the record of the failure", told, Some(message));
        let run = user.run_one().await?;
        cx.check(GEN_6, "the note as leased", run.note.as_ref(), Some(&bytes));
        let done = Outcome::Succeeded { result: Some(bytes.clone()), follow_ups: Vec::new() };
        applied(user.end(&run, done).await?)?;
        cx.check(COMMIT_2, "the result", user.get(&id).await?.result, Some(bytes));
    }
    Ok(())
}

/// C120: a name is text, and no character of it means anything.
pub(crate) async fn queues_never_touch(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    let names = names();
    for name in &names {
        let mut new = Actor::kept("t");
        new.payload = name.clone().into();
        let reply = backend.enqueue_one(name, new).await?;
        let new = matches!(reply, EnqueueVerdict::Enqueued { .. });
        cx.check_that(GEN_7, &format!("the first task of queue {name:?}"), new, reply);
    }
    for name in &names {
        let claim = Claim::new(name, Purpose::Run, 10, Actor::TTL, name);
        let leases = backend.claim(claim).await?.leases;
        let got: Vec<_> = leases.iter().map(|lease| lease.payload.as_bytes()).collect();
        cx.check(GEN_7, &format!("the tasks of queue {name:?}"), got, [name.as_bytes()]);
        let Some(lease) = leases.first() else { continue };
        let holder = backend.task(&lease.task_ref).await?.and_then(|task| task.holder);
        cx.check(GEN_7, "the holder's name", holder.as_ref(), Some(name));
        let reply = user.succeed(lease).await?;
        cx.check(GEN_7, "the end of its task", word(&Ok(reply)), "applied");
    }
    for name in &names {
        let counts = backend.counts(Count::new(name)).await?;
        cx.check(GEN_7, &format!("what queue {name:?} counts"), counts, one_success());
    }
    Ok(())
}

/// C120, C121: ids are told apart by every byte.
pub(crate) async fn ids_never_meet(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let names = names();
    for name in &names {
        let mut new = Actor::kept(name);
        new.kind.clone_from(name);
        let reply = user.try_enqueue(new).await?;
        let new = matches!(reply, EnqueueVerdict::Enqueued { .. });
        cx.check_that(GEN_7, &format!("a task under the id {name:?}"), new, reply);
    }
    for (n, lease) in user.claim(names.len()).await?.leases.iter().enumerate() {
        let got = (lease.task_ref.id.as_str(), lease.kind.as_str(), lease.payload.as_bytes());
        let name = names[n].as_str();
        cx.check(GEN_7, "id, kind and payload of a task", got, (name, name, name.as_bytes()));
        if n % 2 == 0 {
            applied(user.succeed(lease).await?)?;
        }
    }
    for (n, name) in names.iter().enumerate() {
        let run = State::Leased(Purpose::Run);
        let want = if n % 2 == 0 { State::Succeeded } else { run };
        cx.check(GEN_7, &format!("the task {name:?}"), user.get(name).await?.state, want);
    }
    Ok(())
}

pub(crate) async fn verbs_can_be_repeated(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    user.enqueue(Actor::kept("t")).await?;
    let before = user.get("t").await?;
    let again = user.try_enqueue(Actor::kept("t")).await?;
    cx.check(GEN_4, "an enqueue repeated", holder(&again), Some("t"));
    cx.check_untouched(GEN_4, "the task of a repeated enqueue", &user, &before).await?;

    let run = user.run_one().await?;
    cx.check(GEN_4, "a claim repeated without a name", user.claim(1).await?.leases, []);
    cx.shift(1_000).await?;
    let held = RenewVerdict::Held { ttl_left: Actor::TTL };
    cx.check(GEN_4, "a renew", user.renew(&run).await?, held.clone());
    let before = user.get("t").await?;
    let again = demand::answered(cx, GEN_4, "a renew repeated", user.renew(&run).await)?;
    cx.check(GEN_4, "a renew repeated", again, held);
    cx.check_untouched(GEN_4, "the task of a repeated renew", &user, &before).await?;

    let item = CommitItem::new(run.guard(), decide::run(&run, success(), 1));
    applied(backend.commit_one(item.clone()).await?)?;
    let before = user.get("t").await?;
    let again = backend.commit_one(item).await?;
    cx.check(GEN_4, "a commit repeated", again, CommitVerdict::Replayed);
    cx.check_untouched(GEN_4, "the task of a repeated commit", &user, &before).await?;

    let pause = Configure::new(Context::QUEUE).pause();
    let first = backend.configure(pause.clone()).await?;
    cx.check(GEN_4, "a setting repeated", backend.configure(pause).await?, first);
    for _ in 0..2 {
        let purged = backend.purge(Purge::new(Context::QUEUE, 10)).await?;
        cx.check(GEN_4, "a purge of nothing, repeated", (purged.tasks, purged.more), (0, false));
    }
    Ok(())
}

pub(crate) async fn a_lost_race_is_a_value(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    user.enqueue(Actor::kept("t")).await?;
    let run = user.run_one().await?;
    applied(user.succeed(&run).await?)?;
    let before = user.get("t").await?;
    let guard = |queue: &str, id: &str| Guard::new(TaskRef::new(queue, id), run.fence);
    let done = || decide::run(&run, success(), 1);
    for (what, guard, want) in [
        ("a commit of a finished task", run.guard(), "stale"),
        ("a commit without a task", guard(Context::QUEUE, "nobody"), "gone"),
        ("a commit without a queue", guard("nowhere", "t"), "gone"),
    ] {
        let reply = backend.commit_one(CommitItem::new(guard, done())).await;
        cx.check(GEN_8, what, word(&reply), want);
    }
    for (what, guard, want) in [
        ("a renew of a finished task", run.guard(), LostReason::Decided),
        ("a renew without a task", guard(Context::QUEUE, "nobody"), LostReason::Gone),
        ("a renew without a queue", guard("nowhere", "t"), LostReason::Gone),
    ] {
        let reply = backend.renew_one(RenewItem::new(guard, MINUTE)).await;
        let reply = reply.map_err(|error| error.kind());
        cx.check(GEN_8, what, reply, Ok(RenewVerdict::Lost(want)));
    }
    let reply = user.try_enqueue(Actor::kept("t")).await;
    let same = matches!(reply, Ok(EnqueueVerdict::Duplicate { state: Some(State::Succeeded), .. }));
    cx.check_that(GEN_8, "an enqueue of a finished task", same, reply);
    cx.check_untouched(GEN_8, "the task of lost races", &user, &before).await
}

pub(crate) async fn an_unknown_queue_is_empty(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    for purpose in [Purpose::Run, Purpose::Rescue] {
        let claimed = backend.claim(user.request(purpose, 10)).await?;
        let got = (claimed.leases.len(), claimed.more, claimed.superseded);
        cx.check(CLAIM_4, &format!("a claim to {purpose:?}"), got, (0, false, false));
    }
    let task = backend.task(&TaskRef::new(Context::QUEUE, "t")).await?;
    cx.check(READ_3, "a task", task, None);
    cx.check(READ_3, "a list", all(&user).await?, []);
    let none = Counts::new(Events::default());
    cx.check(READ_3, "its counts", backend.counts(Count::new(Context::QUEUE)).await?, none);
    let purged = backend.purge(Purge::new(Context::QUEUE, 10)).await?;
    cx.check(READ_3, "a purge", (purged.tasks, purged.more), (0, false));
    cx.check(READ_3, "the queues, which no call has made", queues(&user).await?, [""; 0]);
    Ok(())
}

/// Names that something on the way could take for more than text, or for one another.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "a",
        "A",
        "a ",
        " a",
        "a:b",
        "a:b:c",
        "a/b",
        "a\\b",
        "a.b",
        "..",
        "a*",
        "*",
        "a?",
        "[ab]",
        "a%",
        "%",
        "a_",
        "_",
        "{a}",
        "{a}b",
        "{}",
        "a'b",
        "a\"b",
        "a`b",
        "a';--",
        "$1",
        "?1",
        ":a",
        "0",
        "00",
        "-1",
        "1e3",
        "null",
        "NULL",
        "true",
        "\u{e9}",
        "e\u{301}",
        "\u{1f980}",
        "\u{df}",
        "ss",
        "\u{202e}a",
    ]
    .map(str::to_owned)
    .into();
    names.push("x".repeat(200));
    names.push(format!("{}y", "x".repeat(199)));
    names.push("\u{1f980}".repeat(50));
    names
}

fn one_success() -> Counts {
    let mut counts = Counts::new(Events::default());
    let only = |status| (status, u64::from(status == Status::Succeeded));
    counts.tasks = Status::ALL.map(only).into();
    counts
}

/// Claims the whole queue, which has to have `N` ready tasks.
async fn leases<const N: usize>(user: &Actor) -> Result<[Lease; N], Stop> {
    let leases = user.claim(N).await?.leases;
    leases.try_into().map_err(|got| Stop::because(format!("not {N} leases: {got:?}")))
}

fn single(leases: Vec<Lease>) -> Result<Lease, Stop> {
    let [lease]: [Lease; 1] =
        leases.try_into().map_err(|got| Stop::because(format!("not one lease: {got:?}")))?;
    Ok(lease)
}

async fn all(user: &Actor) -> Result<Vec<StoredTask>, Error> {
    Ok(user.backend().list(List::new(Context::QUEUE, Filter::all(), 100)).await?.tasks)
}

async fn queues(user: &Actor) -> Result<Vec<String>, Error> {
    let page = user.backend().queues(Queues::new(100)).await?;
    Ok(page.queues.into_iter().map(|info| info.name).collect())
}

/// Whom a Duplicate names; `None` for a new task.
fn holder(reply: &EnqueueVerdict) -> Option<&str> {
    match reply {
        EnqueueVerdict::Enqueued { .. } => None,
        EnqueueVerdict::Duplicate { holder, .. } => Some(&holder.id),
    }
}

fn word(reply: &Result<CommitVerdict, Error>) -> &'static str {
    match reply {
        Ok(CommitVerdict::Applied(_)) => "applied",
        Ok(CommitVerdict::Replayed) => "replayed",
        Ok(CommitVerdict::Stale { .. }) => "stale",
        Ok(CommitVerdict::Conflict(_)) => "conflict",
        Ok(CommitVerdict::Gone) => "gone",
        Err(error) if error.kind() == ErrorKind::Invalid => "invalid",
        Err(_) => "another error",
    }
}

fn kinds<T>(replies: Vec<Result<T, Error>>) -> Vec<Result<T, ErrorKind>> {
    replies.into_iter().map(|reply| reply.map_err(|error| error.kind())).collect()
}
