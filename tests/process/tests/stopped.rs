//! A worker that stands still past the end of its lease, and then goes on: its handler is
//! cancelled, what it still decides is told truly, and the run of another worker is untouched.

#![cfg(unix)]

mod support;

use std::time::Duration;

use leasehold::{Clock, Draft, Event, Purpose, State, StoredTask};
use leasehold_process_tests::{WhenCancelled, Work};
use support::place::times;
use support::{Place, Process};

/// Short, as the tests wait for its end.
const SHORT: &[&str] = &["--lease", "2000"];

/// How often a stage is made, until the worker does not happen to be stopped in the middle of
/// a write: in SQLite all others wait for that one.
const STAGES_MAX: usize = 10;

/// A worker that was stopped while it held the task `hold`.
struct Stage {
    place: Place,
    stopped: Process,
    /// The fence of its run.
    first: u64,
}

impl Stage {
    /// One whose lease is over.
    fn lapsed(when_cancelled: WhenCancelled) -> Self {
        Self::new(SHORT, when_cancelled, Duration::ZERO)
    }

    /// One whose lease has so much left, or less. A worker that is told to stop does not yet
    /// stand still; but it does when it has let the time of a renew pass.
    fn new(lease: &[&str], when_cancelled: WhenCancelled, left: Duration) -> Self {
        // The store's clock is the machine's.
        let clock = Clock::default();
        for _ in 0..STAGES_MAX {
            let place = Place::new();
            let stopped = place.start(lease);
            place.hold("hold", when_cancelled);
            let first = stopped.read_start("hold", 1);
            stopped.signal("STOP");
            let task = place.wait_for("hold", |task| {
                task.until.is_none_or(|until| until.since(clock.now()) <= left)
            });
            if task.fence.value() == first && place.can_be_written() {
                return Self { place, stopped, first };
            }
        }
        panic!("{STAGES_MAX} times in a row the worker was stopped in the middle of a write");
    }

    fn task(&self) -> StoredTask {
        self.place.task("hold")
    }

    /// Lets the worker go on, and returns the line of its decision, once its handler has been
    /// cancelled.
    fn resume(&self) -> String {
        self.stopped.signal("CONT");
        self.stopped.read_to("cancelled hold Lost(");
        self.stopped.read_to("notice decided hold ")
    }

    /// What the worker has to say when its decision came after the fence `now`.
    fn stale(&self, event: &str, now: u64) -> String {
        let first = self.first;
        format!("notice decided hold fence={first} event={event} stale shown={first} now={now}")
    }

    /// A second worker, once its own run has begun; and the fence of that.
    fn second(&self) -> (Process, u64) {
        let other = self.place.start(&[]);
        let second = other.read_start("hold", 2);
        assert!(second > self.first, "LH-FENCE-1");
        (other, second)
    }

    /// A second worker that has rescued the task and cannot run it, as the queue is paused.
    fn rescuer(&self) -> Process {
        self.place.configure(|queue| queue.pause());
        let other = self.place.start(&[]);
        other.read_to("notice rescued hold ");
        let task = self.task();
        assert_eq!((task.state, task.attempt), (State::Waiting, 1), "{task:#?}");
        assert_eq!((task.rescues, task.failures), (1, 0), "{task:#?}");
        other
    }

    /// Both workers end in order, and neither has begun a run that was not read before.
    fn end(self, other: Process) -> Place {
        for process in [self.stopped, other] {
            let ended = process.terminate();
            ended.assert_in_order();
            for words in ["started", "cancelled", "dropped", "notice lost", "notice decided hold"] {
                assert!(ended.with(words).is_empty(), "{words}: {ended:#?}");
            }
        }
        self.place
    }
}

/// The run of the second worker stands as if nobody else had ever been there.
fn assert_second_runs(task: &StoredTask, second: u64) {
    assert_eq!(task.state, State::Leased(Purpose::Run), "{task:#?}");
    assert_eq!((task.fence.value(), task.run), (second, Some(task.fence)), "{task:#?}");
    assert_eq!((task.attempt, task.rescues, task.failures), (2, 1, 0), "{task:#?}");
    assert_eq!(times(task, Event::Lapsed), 1, "{task:#?}");
    assert_eq!(task.history.records.len(), 1, "{task:#?}");
}

/// The second worker ends its run, and the success is its own.
fn finish_second(stage: Stage, mut other: Process, second: u64) {
    other.go("hold");
    let decided = other.read_to("notice decided hold ");
    let well = format!(
        "notice decided hold fence={second} event=succeeded applied overdue=false late=false"
    );
    assert_eq!(decided, well);
    let pid = other.pid();
    let task = stage.end(other).task("hold");
    assert_succeeded(&task, 2, pid);
    assert_eq!((task.rescues, task.failures), (1, 0), "{task:#?}");
}

fn assert_succeeded(task: &StoredTask, attempt: u32, pid: u32) {
    assert_eq!((task.state, task.attempt), (State::Succeeded, attempt), "{task:#?}");
    assert_eq!(task.result_as::<u32>().expect("it is a number"), Some(pid), "{task:#?}");
    assert_eq!(times(task, Event::Succeeded), 1, "{task:#?}");
}

#[test]
fn a_success_is_stale_once_another_run_has_begun() {
    let stage = Stage::lapsed(WhenCancelled::Succeed);
    let (other, second) = stage.second();
    assert_eq!(stage.resume(), stage.stale("succeeded", second), "LH-LATE-1");
    assert_second_runs(&stage.task(), second);
    finish_second(stage, other, second);
}

#[test]
fn a_failure_is_stale_once_another_run_has_begun() {
    let stage = Stage::lapsed(WhenCancelled::Fail);
    let (other, second) = stage.second();
    assert_eq!(stage.resume(), stage.stale("failed", second), "LH-LATE-2");
    assert_second_runs(&stage.task(), second);
    finish_second(stage, other, second);
}

#[test]
fn a_handler_that_goes_on_is_dropped_and_what_it_gives_back_is_stale() {
    let stage = Stage::lapsed(WhenCancelled::GoOn);
    let (other, second) = stage.second();
    stage.stopped.signal("CONT");
    stage.stopped.read_to(&format!("notice lost hold fence={} ", stage.first));
    stage.stopped.read_to("cancelled hold Lost(");
    stage.stopped.read_to("dropped hold");
    assert_eq!(stage.stopped.read_to("notice decided hold "), stage.stale("released", second));
    assert_second_runs(&stage.task(), second);
    finish_second(stage, other, second);
}

#[test]
fn a_success_counts_after_the_rescue_and_nothing_runs_again() {
    let stage = Stage::lapsed(WhenCancelled::Succeed);
    let other = stage.rescuer();
    let first = stage.first;
    let late = format!(
        "notice decided hold fence={first} event=succeeded applied overdue=false late=true"
    );
    assert_eq!(stage.resume(), late, "LH-LATE-1");
    // What is enqueued after the resume is served after what waited before it.
    stage.place.configure(|queue| queue.resume());
    stage.place.enqueue("next", Draft::new(&Work { millis: 1 }));
    stage.place.wait_for("next", |task| task.state == State::Succeeded);
    let pid = stage.stopped.pid();
    let place = stage.end(other);
    let task = place.task("hold");
    assert_succeeded(&task, 1, pid);
    assert_eq!((task.rescues, task.failures), (1, 0), "{task:#?}");
    assert_eq!(place.effects()["hold"].len(), 1);
}

#[test]
fn a_failure_after_the_rescue_is_stale_and_spends_nothing() {
    let stage = Stage::lapsed(WhenCancelled::Fail);
    let other = stage.rescuer();
    let waiting = stage.task();
    assert_eq!(stage.resume(), stage.stale("failed", waiting.fence.value()), "LH-LATE-2");
    assert_eq!(stage.task(), waiting, "LH-FENCE-2");
    stage.end(other);
}

/// With a lease of 20 s a worker renews when 13.3 s are left at the least, and cancels what it
/// could not renew when 3.3 s are left.
#[test]
fn a_worker_that_goes_on_in_time_has_lost_nothing() {
    const RENEW_MISSED: Duration = Duration::from_secs(12);
    // If its handler were cancelled all the same, it would fail.
    let stage = Stage::new(&["--lease", "20000"], WhenCancelled::Fail, RENEW_MISSED);
    let stale = stage.task();
    let other = stage.place.start(&[]);
    stage.place.enqueue("next", Draft::new(&Work { millis: 1 }));
    other.read_to("notice decided next ");
    stage.stopped.signal("CONT");
    let mut renewed = stage.place.wait_for("hold", |task| task.until > stale.until);
    renewed.until = stale.until;
    assert_eq!(renewed, stale, "LH-RENEW-4");
    let Stage { place, mut stopped, first } = stage;
    stopped.go("hold");
    let decided = stopped.read_to("notice decided hold ");
    let well = format!(
        "notice decided hold fence={first} event=succeeded applied overdue=false late=false"
    );
    assert_eq!(decided, well);
    let pid = stopped.pid();
    for process in [stopped, other] {
        let ended = process.terminate();
        ended.assert_in_order();
        assert!(ended.with("notice rescued").is_empty(), "{ended:#?}");
    }
    let task = place.task("hold");
    assert_succeeded(&task, 1, pid);
    assert_eq!((task.rescues, task.failures), (0, 0), "{task:#?}");
    assert_eq!(place.effects()["hold"].len(), 1);
}
