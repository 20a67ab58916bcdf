//! How far a pause and a queue's settings reach (LH-CTL, LH-CLAIM-7).

use std::collections::BTreeMap;
use std::time::Duration;

use leasehold_core::clause::{CLAIM_3, CLAIM_7, CTL_1, GEN_7, TIME_6};
use leasehold_core::{
    BackendExt, Bounds, Claim, Configure, Due, ErrorKind, Intervention, Keep, LimitKey, OnLeased,
    Outcome, Purpose, QueueSettings, Queues, RenewVerdict, Retention, Retry, State,
};

use crate::actor::{Actor, applied};
use crate::context::{Context, Stop};
use crate::demand;

const HOUR: Duration = Duration::from_secs(60 * 60);
const HOUR_MS: i64 = 3_600_000;

/// C83, C85: whichever way a task becomes ready, a paused queue starts none.
pub(crate) async fn a_pause_stops_every_run(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let other = cx.actor("other").await?;
    let operator = cx.actor("operator").await?;
    for id in ["retried", "released", "lapsed", "buried"] {
        worker.enqueue(Actor::task(id)).await?;
    }
    let leases = worker.claim(4).await?.leases;
    operator.configure(Configure::new(Context::QUEUE).pause()).await?;
    worker.enqueue(Actor::task("new")).await?;
    worker.enqueue(Actor::task("due").with_due(Due::In(HOUR))).await?;
    worker.enqueue(Actor::task("requeued").with_due(Due::In(24 * HOUR))).await?;
    for lease in &leases {
        let message = String::new();
        let _ = match lease.task_ref.id.as_str() {
            "retried" => {
                let retry = Retry::After(Duration::ZERO);
                worker.end(lease, Outcome::Failed { message, retry }).await?
            }
            "released" => worker.end(lease, Outcome::Released(leasehold_core::Entered::No)).await?,
            "buried" => worker.end(lease, Outcome::Failed { message, retry: Retry::Never }).await?,
            _ => continue,
        };
    }
    cx.shift(HOUR_MS).await?;
    applied(other.give_back(&other.rescue_one().await?).await?)?;
    let act = Intervention::Requeue(OnLeased::Refuse);
    applied(operator.act(&operator.get("requeued").await?, act).await?)?;
    applied(operator.act(&operator.get("buried").await?, Intervention::Redrive).await?)?;
    for who in [&worker, &other, &operator] {
        let claimed = who.claim(10).await?;
        cx.check(CLAIM_7, "a claim while paused", (claimed.leases, claimed.more), (vec![], false));
    }
    operator.configure(Configure::new(Context::QUEUE).resume()).await?;
    let leases = other.claim(10).await?.leases;
    let ids: Vec<_> = leases.iter().map(|lease| lease.task_ref.id.as_str()).collect();
    let want = ["retried", "released", "new", "lapsed", "buried", "due", "requeued"];
    cx.check(CLAIM_3, "what starts on resume, in its order", ids, want);
    Ok(())
}

/// C83: a slot that becomes free during a pause, by its holder's end or by a lapse, starts nobody
/// before the resume, and then the next in line.
pub(crate) async fn a_pause_holds_a_freed_slot(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let operator = cx.actor("operator").await?;
    operator.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await?;
    for id in ["a", "b", "c"] {
        worker.enqueue(Actor::task(id).with_limit(LimitKey::new("g", "k"))).await?;
    }
    let mut run = worker.run_one().await?;
    for (next, lapses) in [("b", false), ("c", true)] {
        cx.check(CLAIM_7, "what starts beside a run", worker.claim(9).await?.leases, []);
        operator.configure(Configure::new(Context::QUEUE).pause()).await?;
        if lapses {
            cx.shift(Actor::TTL_MS).await?;
        } else {
            applied(worker.succeed(&run).await?)?;
        }
        let waiting = worker.get(next).await?;
        for _ in 0..2 {
            let claimed = worker.claim(9).await?;
            cx.check(CLAIM_7, "while paused", (claimed.leases, claimed.more), (vec![], false));
        }
        cx.check_untouched(CLAIM_7, "the next in line", &worker, &waiting).await?;
        operator.configure(Configure::new(Context::QUEUE).resume()).await?;
        run = worker.run_one().await?;
        cx.check(CLAIM_7, "what starts on resume", run.task_ref.id.as_str(), next);
    }
    Ok(())
}

pub(crate) async fn a_pause_stops_nothing_else(cx: &mut Context) -> Result<(), Stop> {
    let worker = cx.actor("worker").await?;
    let rescuer = cx.actor("rescuer").await?;
    for id in ["lost", "kept", "waits"] {
        worker.enqueue(Actor::kept(id)).await?;
    }
    let (_lost, kept) = (worker.run_one().await?, worker.run_one().await?);
    let waits = worker.get("waits").await?;
    rescuer.configure(Configure::new(Context::QUEUE).pause()).await?;
    cx.check_untouched(CLAIM_7, "a waiting task", &worker, &waits).await?;

    cx.shift(Actor::TTL_MS - 1).await?;
    let held = RenewVerdict::Held { ttl_left: Actor::TTL };
    cx.check(CLAIM_7, "a renew while paused", worker.renew(&kept).await?, held);
    cx.shift(1).await?;
    let claimed = rescuer.rescue(1).await?;
    let lapsed = demand::lease(cx, CLAIM_7, "a rescue while paused", claimed)?;
    cx.check(CLAIM_7, "who is rescued while paused", lapsed.task_ref.id.as_str(), "lost");
    applied(rescuer.give_back(&lapsed).await?)?;
    let lost = worker.get("lost").await?;
    let got = (lost.state, lost.rescues);
    cx.check(CLAIM_7, "a rescue's decision while paused", got, (State::Waiting, 1));
    applied(worker.succeed(&kept).await?)?;
    let done = worker.get("kept").await?.state;
    cx.check(CLAIM_7, "a commit while paused", done, State::Succeeded);
    worker.enqueue(Actor::kept("new")).await?;
    cx.check(CLAIM_7, "a claim to run while paused", worker.claim(10).await?.leases, []);

    let _ = rescuer.backend().configure(Configure::new(Context::QUEUE).resume()).await?;
    let ids: Vec<_> = worker.claim(9).await?.leases.into_iter().map(|l| l.task_ref.id).collect();
    cx.check(CLAIM_7, "what starts on resume", ids, ["waits", "lost", "new"]);
    Ok(())
}

pub(crate) async fn a_pause_is_of_one_queue(cx: &mut Context) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    let backend = user.backend();
    for queue in ["q", "q2", "Q"] {
        let _ = backend.enqueue_one(queue, Actor::task("t")).await?;
    }
    user.configure(Configure::new("q").pause()).await?;
    user.configure(Configure::new("not yet").pause()).await?;
    let _ = backend.enqueue_one("not yet", Actor::task("t")).await?;
    for (queue, want) in [("q", 0), ("q2", 1), ("Q", 1), ("not yet", 0)] {
        let claim = Claim::new(queue, Purpose::Run, 1, Actor::TTL, "user");
        let got = backend.claim(claim).await?.leases.len();
        cx.check(GEN_7, &format!("what starts in {queue:?}"), got, want);
    }
    Ok(())
}

/// What a request changes of a queue's settings.
type Step = fn(&mut QueueSettings);

pub(crate) async fn settings_are_told_whole(cx: &mut Context) -> Result<(), Stop> {
    let operator = cx.actor("operator").await?;
    let reader = cx.actor("reader").await?;
    let mut want = QueueSettings::default();
    let new = || Configure::new(Context::QUEUE);
    let part = |succeeded, cancelled, dead| {
        let mut retention = Retention::default();
        (retention.succeeded, retention.cancelled, retention.dead) = (succeeded, cancelled, dead);
        retention
    };
    let (brief, hour) = (Some(Keep::NOT), Some(Keep::For(HOUR)));
    let both = part(hour, None, Some(Keep::For(Bounds::DELAY_MAX)));
    let steps: [(Configure, Step); 7] = [
        (new(), |_| {}),
        (new().pause(), |want| want.paused = true),
        (new().with_id_memory(HOUR), |want| want.id_memory = HOUR),
        (new().with_retention(part(None, brief, None)), |want| {
            want.retention.cancelled = Some(Keep::NOT);
        }),
        (new().with_retention(both), |want| {
            want.retention.succeeded = Some(Keep::For(HOUR));
            want.retention.dead = Some(Keep::For(Bounds::DELAY_MAX));
        }),
        (new().resume().with_retention(part(None, None, Some(Keep::Forever))), |want| {
            (want.paused, want.retention.dead) = (false, Some(Keep::Forever));
        }),
        (new().with_id_memory(Duration::ZERO), |want| want.id_memory = Duration::ZERO),
    ];
    for (request, step) in steps {
        step(&mut want);
        let what = format!("{request:?}");
        let told = operator.backend().configure(request).await?;
        cx.check(CTL_1, &format!("the answer to {what}"), told, want.clone());
        let seen = settings(&reader).await?;
        cx.check(CTL_1, &format!("another handle's view after {what}"), seen, want.clone());
    }
    Ok(())
}

/// The number of one group says nothing about another's, and the rest stays as it is.
pub(crate) async fn limits_are_told_whole(cx: &mut Context) -> Result<(), Stop> {
    let operator = cx.actor("operator").await?;
    let reader = cx.actor("reader").await?;
    let mut want = QueueSettings::default();
    want.paused = true;
    operator.configure(Configure::new(Context::QUEUE).pause()).await?;
    let steps: [&[(&str, u32)]; 4] =
        [&[("a", 3), ("b", 0)], &[("b", u32::MAX)], &[("a:b", 7), ("a", 1), ("A", 2)], &[]];
    for step in steps {
        let mut request = Configure::new(Context::QUEUE);
        for (group, max) in step {
            request = request.with_limit(*group, *max);
            want.limits.insert((*group).to_owned(), *max);
        }
        let told = operator.backend().configure(request).await?;
        cx.check(CTL_1, &format!("the answer to {step:?}"), told, want.clone());
        let seen = settings(&reader).await?;
        cx.check(CTL_1, &format!("another handle's view after {step:?}"), seen, want.clone());
    }
    let all: BTreeMap<_, _> = [("A", 2), ("a", 1), ("a:b", 7), ("b", u32::MAX)]
        .map(|(group, max)| (group.to_owned(), max))
        .into();
    cx.check(CTL_1, "the limits in the end", settings(&reader).await?.limits, all);
    Ok(())
}

pub(crate) async fn a_retention_holds_for_everyone(cx: &mut Context) -> Result<(), Stop> {
    let operator = cx.actor("operator").await?;
    let worker = cx.actor("worker").await?;
    let keep = Keep::For(HOUR);
    let retention = Retention::default().with_succeeded(keep);
    operator.configure(Configure::new(Context::QUEUE).with_retention(retention)).await?;
    for (id, own) in [("queue's", Retention::default()), ("own", Retention::DEFAULT)] {
        worker.enqueue(Actor::task(id).with_retention(own)).await?;
        applied(worker.succeed(&worker.run_one().await?).await?)?;
    }
    let kept = worker.get("queue's").await?.state;
    cx.check(CTL_1, "a task without a word of its own", kept, State::Succeeded);
    cx.check_gone(CTL_1, "a task that is not to be kept", &worker, "own").await
}

pub(crate) async fn invalid_settings_change_nothing(cx: &mut Context) -> Result<(), Stop> {
    let operator = cx.actor("operator").await?;
    let backend = operator.backend();
    let request = Configure::new(Context::QUEUE).with_id_memory(HOUR);
    let before = backend.configure(request).await?;
    let beyond = Bounds::DELAY_MAX + Duration::from_millis(1);
    let keep = Retention::default().with_cancelled(Keep::For(beyond));
    for request in [
        Configure::new(Context::QUEUE).pause().with_id_memory(beyond),
        Configure::new(Context::QUEUE).pause().with_retention(keep),
        Configure::new("").pause(),
        Configure::new("new").pause().with_id_memory(Duration::MAX),
    ] {
        let what = format!("{request:?}");
        let refused = backend.configure(request).await.err().map(|error| error.kind());
        cx.check(TIME_6, &what, refused, Some(ErrorKind::Invalid));
        cx.check(CTL_1, "the settings after it", settings(&operator).await?, before.clone());
    }
    let queues = backend.queues(Queues::new(10)).await?.queues.len();
    cx.check(CTL_1, "the queues after it", queues, 1);
    Ok(())
}

async fn settings(reader: &Actor) -> Result<QueueSettings, Stop> {
    let page = reader.backend().queues(Queues::new(100)).await?;
    let found = page.queues.into_iter().find(|info| info.name == Context::QUEUE);
    found.map(|info| info.settings).ok_or_else(|| Stop::because("the queue is not listed"))
}
