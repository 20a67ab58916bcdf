//! Workers are replaced again and again while tasks come in and are worked on: nothing is
//! lost, nothing runs twice, and no budget pays for it.

#![cfg(unix)]

mod support;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use leasehold::{Count, Draft, Error, Event, State, Status, Task};
use leasehold_process_tests::{WhenCancelled, Work};
use support::place::{kept, open, times};
use support::process::Ended;
use support::{Place, Process};

const DEPLOYS: usize = 20;

/// What a worker has done before it is replaced.
const SUCCESSES_EACH: usize = 150;

/// So many tasks wait at least while workers are replaced, and so many come at a time.
const BACKLOG: u64 = 300;
const BATCH: usize = 100;

/// How often the producer looks whether the backlog has shrunk.
const LOOK: Duration = Duration::from_millis(5);

/// The lease is long: what is lost here would be rescued, but never in place of a worker that
/// only had to wait for the processor.
const OPTIONS: &[&str] = &["--lease", "20000", "--concurrency", "10"];

/// A thread that enqueues as long as it is not told to stop.
struct Producer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Producer {
    fn start(place: &Place) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (url, told) = (place.url.clone(), stop.clone());
        let thread = thread::spawn(move || {
            let (runtime, client) = open(&url);
            let produced = runtime.block_on(async {
                let (mut count, mut pace) = (0, tokio::time::interval(LOOK));
                while !told.load(Ordering::Relaxed) {
                    let waiting = client.store().counts(Count::new(Work::QUEUE)).await?;
                    if waiting.of(Status::Ready) >= BACKLOG {
                        pace.tick().await;
                        continue;
                    }
                    let tasks = (count..count + BATCH).map(work);
                    client.enqueue_many(tasks).await?;
                    count += BATCH;
                }
                Ok(count)
            });
            produced.unwrap_or_else(|error: Error| panic!("{error:?}"))
        });
        Self { stop, thread }
    }

    /// How many tasks there are of it.
    fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the store takes tasks")
    }
}

/// Mostly short, and one in fifty far longer than a claim and a commit take.
fn work(number: usize) -> Draft {
    let millis = if number.is_multiple_of(50) { 300 } else { 5 + number as u64 % 20 };
    kept(&format!("work{number}"), Work { millis })
}

/// Replaces a worker, while one of its handlers is held so that it cannot end at once. In a
/// rolling deploy the new worker is at work before the old one may end.
fn deploy(place: &Place, mut old: Process, number: usize) -> (Process, Ended) {
    let held = format!("held{number}");
    place.hold(&held, WhenCancelled::Fail);
    let fence = old.read_start(&held, 1);
    for _ in 0..SUCCESSES_EACH {
        old.read_to("notice decided work");
    }
    assert!(place.count(Status::Ready) > 0, "deploy {number} was not under load");
    old.signal("TERM");
    old.read_to("phase Stopping");
    let mut new = None;
    if number.is_multiple_of(2) {
        let rolling = place.start(OPTIONS);
        rolling.read_to("notice decided work");
        new = Some(rolling);
    }
    old.go(&held);
    let ended = old.end();
    ended.assert_in_order();
    let well = format!(
        "notice decided {held} fence={fence} event=succeeded applied overdue=false late=false"
    );
    assert_eq!(ended.with(&format!("notice decided {held} ")), [well], "{ended:#?}");
    (new.unwrap_or_else(|| place.start(OPTIONS)), ended)
}

#[test]
fn twenty_deploys_under_load_lose_nothing_and_cost_nothing() {
    let place = Place::new();
    let producer = Producer::start(&place);
    let (mut worker, mut in_flight) = (place.start(OPTIONS), 0);
    for number in 0..DEPLOYS {
        let (new, ended) = deploy(&place, worker, number);
        worker = new;
        // Beside the held one: what was decided after the worker had stopped to claim.
        in_flight += ended.with("notice decided work").len();
    }
    let produced = producer.stop();
    place.wait_for_all();
    worker.terminate().assert_in_order();
    assert!(produced >= DEPLOYS * SUCCESSES_EACH, "only {produced} tasks");
    assert!(in_flight >= DEPLOYS, "{DEPLOYS} deploys met {in_flight} running handlers");

    let (tasks, mut effects) = (place.tasks(), place.effects());
    let ids: HashSet<_> = tasks.iter().map(|task| task.task_ref.id.clone()).collect();
    let made = (0..produced).map(|n| format!("work{n}"));
    assert_eq!(ids, made.chain((0..DEPLOYS).map(|n| format!("held{n}"))).collect());
    for task in &tasks {
        assert_eq!(task.state, State::Succeeded, "{task:#?}");
        assert_eq!((task.failures, task.rescues), (0, 0), "{task:#?}");
        // A claim whose answer met the stop is given back before its handler begins.
        let released = times(task, Event::Released);
        assert_eq!(task.attempt, 1 + released, "{task:#?}");
        assert_eq!(times(task, Event::Succeeded), 1, "{task:#?}");
        assert_eq!(task.history.records.len(), 1 + released as usize, "{task:#?}");
        let runs = effects.remove(&task.task_ref.id).unwrap_or_default();
        let [run] = runs[..] else { panic!("{runs:?} of {task:#?}") };
        let result = task.result_as::<u32>().expect("it is a number");
        assert_eq!((run.attempt, Some(run.pid)), (task.attempt, result), "{task:#?}");
    }
    assert!(effects.is_empty(), "{effects:?}");
}
