//! The log: what it says once, what it says in full, and that it quotes no content.

mod support;

use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{
    Backend, Backoff, Claim, Delivery, Draft, Enqueue, ErrorKind, Intervention, Jitter, NewTask,
    Purpose, RetryPolicy, State, Task, TaskRef,
};
use leasehold_worker::{Context, Done, Failure, Worker};
use support::captured::Captured;
use support::working::Working;
use support::{Fault, Stage, Verb, settle};
use tokio::sync::Notify;

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(serde::Serialize, serde::Deserialize)]
struct Letter {
    text: String,
}

impl Task for Letter {
    const KIND: &'static str = "letter";
    const DELIVERY: Delivery = Delivery::at_least_once();
    const RETRY: RetryPolicy = RetryPolicy::at_most(1)
        .with_backoff(Backoff::Constant { delay: Duration::from_secs(1) })
        .with_jitter(Jitter::None);
}

const SECRET: &str = "the launch code";

fn letter() -> Draft {
    Draft::new(&Letter { text: SECRET.to_owned() }).id("t").header("trace", SECRET)
}

async fn enqueue(stage: &Stage, draft: Draft) -> TaskRef {
    stage.client.enqueue(draft).await.expect("it is new").task().clone()
}

/// A Stale is told with both fences: the one of the run, and the task's own now (LH-OBS-2).
#[tokio::test(start_paused = true)]
async fn the_log_tells_a_success_that_did_not_count_with_both_fences() {
    let (log, stage, go) = (Captured::start(), Stage::new(), Arc::new(Notify::new()));
    let task = enqueue(&stage, letter()).await;
    let waits = |_: Letter, cx: Context<Arc<Notify>>| async move {
        cx.state().notified().await;
        Ok::<_, Failure>(())
    };
    let working = Working::start(Worker::new(&stage.client).state(go.clone()).handler(waits));
    settle().await;
    let run = stage.task(&task).await.fence;
    let _ = stage.act(&task, Intervention::Cancel).await;
    go.notify_one();
    stage.until("the verdict came", || working.tally().stale == 1).await;
    let lines = log.with("came too late, and changed nothing");
    assert_eq!(lines.len(), 1, "{:?}", log.lines());
    let now = stage.task(&task).await.fence;
    let fences = format!("verdict=Stale {{ shown: {run:?}, now: {now:?} }}");
    assert!(lines[0].starts_with("WARN ") && lines[0].contains(&fences), "{lines:?}");
    assert_eq!(log.with("ended"), [""; 0]);
}

/// That a rescue was refused is no good news: the task is still in nobody's hands.
#[tokio::test(start_paused = true)]
async fn the_log_does_not_call_a_rescue_needless_that_was_refused() {
    let (log, stage) = (Captured::start(), Stage::new());
    enqueue(&stage, letter()).await;
    assert_eq!(stage.claim("default", Purpose::Run).await.len(), 1);
    stage.pass_in_store(HOUR);
    stage.store.fail_next(Verb::Commit, [Fault::Refused(ErrorKind::Corrupt)]);
    let done = |_: Letter, _: Context| async { Ok::<_, Failure>(()) };
    let _working = Working::start(Worker::new(&stage.client).handler(done));
    stage.until("it was refused", || stage.store.fired() == 1).await;
    settle().await;
    let lines = log.with("rescue: refused by the store");
    assert_eq!((lines.len(), log.with("needed no rescue")), (1, vec![]), "{:?}", log.lines());
    assert!(lines[0].starts_with("WARN "), "{lines:?}");
}

/// A page in the night says that a loop fails, and one line that it works again.
#[tokio::test(start_paused = true)]
async fn the_log_tells_an_outage_once_when_it_begins_and_once_when_it_ends() {
    let (log, stage) = (Captured::start(), Stage::new());
    let done = |_: Letter, _: Context| async { Ok::<_, Failure>(()) };
    let _working = Working::start(Worker::new(&stage.client).handler(done));
    settle().await;
    stage.store.take_down(Verb::Rescue, Fault::LostRequest);
    stage.pass(Duration::from_secs(60)).await;
    stage.store.restore(Verb::Rescue);
    stage.pass(Duration::from_secs(10)).await;
    assert!(stage.store.fired() > 5);
    let begins = log.with("a loop fails, and goes on");
    assert_eq!(begins.len(), 1, "{begins:?}");
    assert!(begins[0].starts_with("ERROR ") && begins[0].contains("name=rescuer"), "{begins:?}");
    let goes_on = log.with("a loop still fails");
    assert_eq!(goes_on.len(), stage.store.fired() - 1);
    assert!(goes_on.iter().all(|line| line.starts_with("DEBUG ")));
    let ends = log.with("a loop works again");
    assert_eq!(ends.len(), 1);
    assert!(ends[0].contains(&format!("tries={}", stage.store.fired())), "{ends:?}");
}

#[tokio::test(start_paused = true)]
async fn the_log_of_a_whole_life_quotes_no_payload() {
    let (log, stage) = (Captured::start(), Stage::new());
    let task = enqueue(&stage, letter().keep_success(HOUR)).await;
    let unreadable = NewTask::named("u", "letter", SECRET, Delivery::at_least_once());
    let unreadable = Enqueue::new("default", vec![unreadable]);
    stage.client.store().enqueue(unreadable).await.expect("a store looks at no payload");
    let handler = |task: Letter, cx: Context| async move {
        cx.checkpoint(&task.text).await?;
        cx.follow_up(Draft::new(&task).queue("default").delay(HOUR))?;
        match cx.attempt() {
            1 => Err(Failure::new("no stamp")),
            2 => Ok(Done::snooze(Duration::ZERO)),
            _ => Done::result(&task.text),
        }
    };
    let _working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.until_it_is(&task, State::Succeeded).await;
    settle().await;
    let lines = log.lines();
    assert!(lines.iter().any(|line| line.contains("claimed")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("reason=undecodable")), "{lines:?}");
    // The handler's own lines stand in a span that names the run.
    let span = "SPAN task kind=letter queue=default id=t attempt=1";
    assert!(lines.iter().any(|line| line.starts_with(span)), "{lines:?}");
    for line in lines {
        assert!(!line.contains(SECRET), "{line}");
    }
}

/// Every line that tells of an end has the reason beside its own text, and both can be read.
#[tokio::test(start_paused = true)]
async fn the_log_names_each_field_of_a_line_once() {
    let (log, stage) = (Captured::start(), Stage::new());
    let task = enqueue(&stage, letter()).await;
    let lost = NewTask::named("l", "letter", SECRET, Delivery::NotAfterLoss);
    let lost = Enqueue::new("default", vec![lost.with_priority(9.into())]);
    stage.client.store().enqueue(lost).await.expect("it is new");
    let claim = Claim::new("default", Purpose::Run, 1, HOUR, "lost");
    let _ = stage.store.memory().claim(claim).await.expect("memory answers");
    stage.pass_in_store(HOUR);
    let handler = |_: Letter, cx: Context| async move {
        match cx.attempt() {
            1 => Err(Failure::new("no stamp")),
            2 => Err(Failure::new("no address").fatal()),
            _ => Ok(Done::cancel("no letter")),
        }
    };
    let working = Working::start(Worker::new(&stage.client).handler(handler));
    stage.until("both are buried", || working.tally().buried == 2).await;
    let _ = stage.act(&task, Intervention::Redrive).await;
    stage.until("it is called off", || working.tally().cancelled == 1).await;
    let said = [
        ("failed, and is tried again", "why=no stamp"),
        ("buried", "why=no address"),
        ("ended", "why=no letter"),
        ("its worker was lost: buried", "why=the lease lapsed"),
    ];
    for (text, why) in said {
        let lines = log.with(text);
        assert!(lines.len() == 1 && lines[0].contains(why), "{why}: {:?}", log.lines());
    }
    let twice = |line: &String| line.starts_with("TWICE ");
    assert!(!log.lines().iter().any(twice), "{:?}", log.lines());
}
