//! A worker that is told to end, told twice, or killed: what becomes of the tasks it held.

#![cfg(unix)]

mod support;

use std::collections::HashSet;

use leasehold::{Event, Purpose, State};
use leasehold_process_tests::{WhenCancelled, Work};
use support::Place;
use support::place::{kept, times};

/// Short, as the tests wait for its end.
const SHORT: &str = "3000";

#[test]
fn the_first_sigterm_gives_a_task_back_once_the_grace_is_over() {
    let place = Place::new();
    place.hold("hold", WhenCancelled::Fail);
    let worker = place.start(&["--grace", "100"]);
    worker.read_start("hold", 1);
    let ended = worker.terminate();
    ended.assert_in_order();
    assert_eq!(ended.with("cancelled hold "), ["cancelled hold Stopping"]);
    let task = place.task("hold");
    assert_eq!((task.state, task.attempt), (State::Waiting, 1), "{task:#?}");
    assert_eq!((task.failures, task.rescues), (0, 0), "LH-GIVE-1: {task:#?}");
    assert_eq!(times(&task, Event::Released), 1, "{task:#?}");

    let mut next = place.start(&[]);
    next.read_start("hold", 2);
    next.go("hold");
    next.terminate().assert_in_order();
    assert_eq!(place.task("hold").state, State::Succeeded);
}

#[test]
fn the_second_sigterm_ends_the_process_and_the_lease_lapses() {
    let place = Place::new();
    place.hold("hold", WhenCancelled::GoOn);
    // The grace is far longer than a test waits for a line.
    let worker = place.start(&["--lease", SHORT, "--grace", "600000"]);
    let first = worker.read_start("hold", 1);
    worker.signal("TERM");
    worker.read_to("phase Stopping");
    let ended = worker.terminate();
    ended.assert_in_order();
    assert_eq!(ended.with("dropped hold").len(), 1, "{ended:#?}");
    for words in ["cancelled", "notice decided", "notice lost"] {
        assert!(ended.with(words).is_empty(), "{words}: {ended:#?}");
    }
    let task = place.task("hold");
    assert_eq!(task.state, State::Leased(Purpose::Run), "{task:#?}");
    assert_eq!((task.fence.value(), task.attempt), (first, 1), "{task:#?}");

    let mut next = place.start(&[]);
    next.read_to("notice rescued hold ");
    next.read_start("hold", 2);
    next.go("hold");
    next.terminate().assert_in_order();
    let task = place.task("hold");
    assert_eq!((task.state, task.attempt), (State::Succeeded, 2), "{task:#?}");
    assert_eq!((task.failures, task.rescues), (0, 1), "{task:#?}");
    assert_eq!(place.effects()["hold"].len(), 2);
}

const KILLS: usize = 3;

/// What each worker is given to do, and of that what it has done before it is killed.
const TASKS_EACH: usize = 400;
const SUCCESSES_EACH: usize = 200;

#[test]
fn killed_workers_lose_no_task_and_only_what_they_held_is_rescued() {
    let place = Place::new();
    place.hold("held", WhenCancelled::Fail);
    let mut left = HashSet::new();
    for kill in 1..=KILLS {
        let worker = place.start(&["--lease", "3000", "--concurrency", "10"]);
        worker.read_start("held", kill as u32);
        let work = |n| kept(&format!("work{kill}.{n}"), Work { millis: 5 + n as u64 % 20 });
        place.ask(async |client| client.enqueue_many((0..TASKS_EACH).map(work)).await);
        for _ in 0..SUCCESSES_EACH {
            worker.read_to("notice decided work");
        }
        worker.kill();
        // Of a kill before, some leases may not have lapsed until this one.
        let mut tasks = place.tasks();
        tasks.retain(|task| task.state == State::Leased(Purpose::Run));
        left.extend(tasks.into_iter().map(|task| (task.task_ref.id, task.fence)));
        assert_eq!(left.iter().filter(|(id, _)| id == "held").count(), kill, "no handler ran");
    }
    assert!(left.len() > KILLS, "no kill met a handler under load");

    let mut last = place.start(&["--concurrency", "10"]);
    last.read_start("held", KILLS as u32 + 1);
    last.go("held");
    place.wait_for_all();
    last.terminate().assert_in_order();
    let (tasks, mut effects) = (place.tasks(), place.effects());
    assert_eq!(tasks.len(), TASKS_EACH * KILLS + 1);
    for task in &tasks {
        let lapses = left.iter().filter(|(id, _)| *id == task.task_ref.id).count() as u32;
        assert_eq!((task.state, task.attempt), (State::Succeeded, 1 + lapses), "{task:#?}");
        assert_eq!((task.failures, task.rescues), (0, lapses), "{task:#?}");
        assert_eq!(times(task, Event::Succeeded), 1, "{task:#?}");
        assert_eq!(times(task, Event::Lapsed), lapses, "{task:#?}");
        // A run that was killed may have been too young for an effect, or have had it.
        let runs = effects.remove(&task.task_ref.id).unwrap_or_default();
        let attempts: Vec<_> = runs.iter().map(|run| run.attempt).collect();
        assert!(attempts.is_sorted_by(|a, b| a < b), "{attempts:?} of {task:#?}");
        assert_eq!(attempts.last(), Some(&task.attempt), "{attempts:?} of {task:#?}");
    }
    assert!(effects.is_empty(), "{effects:?}");
}
