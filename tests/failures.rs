//! The example `failures` as its users meet it: a built program whose worker processes die.
//! What its tasks came to is read from the store itself.

use std::collections::HashMap;
use std::fs;

use leasehold::{DeadReason, Delivery, Event, State};

#[path = "failures/place.rs"]
mod place;
#[path = "failures/process.rs"]
mod process;

use place::Place;
use process::Process;

/// What a task has to come to: state, runs, failures, rescues, and what happened to it.
type Fate = (State, u32, u32, u32, Vec<Event>);

fn fates() -> HashMap<&'static str, Fate> {
    use Event::{Edited, Failed, Lapsed, Panicked, Redriven, Rejected, Succeeded, TimedOut};
    let dead = State::Dead;
    HashMap::from([
        ("fails-twice", (State::Succeeded, 3, 2, 0, vec![Failed, Panicked, Succeeded])),
        ("never-in-time", (dead(DeadReason::Exhausted), 2, 1, 0, vec![TimedOut; 2])),
        ("aborts-once", (State::Succeeded, 2, 0, 1, vec![Lapsed, Succeeded])),
        ("aborts-always", (dead(DeadReason::Lost), 3, 0, 2, vec![Lapsed; 3])),
        ("must-not-repeat", (dead(DeadReason::Lost), 1, 0, 0, vec![Lapsed])),
        ("wrong-address", (State::Succeeded, 2, 0, 0, vec![Rejected, Edited, Redriven, Succeeded])),
    ])
}

#[test]
fn each_planted_task_ends_as_its_budgets_say() {
    let place = Place::new();
    let ended = Process::start(&["--url", &place.url]).end();
    assert!(ended.status.success(), "{ended:?}");
    let tasks = place.tasks();
    let told: HashMap<_, _> = tasks
        .iter()
        .map(|task| {
            let events = task.history.records.iter().map(|record| record.event).collect();
            let fate = (task.state, task.attempt, task.failures, task.rescues, events);
            (task.task_ref.id.as_str(), fate)
        })
        .collect();
    assert_eq!(told, fates());

    let task = |id: &str| tasks.iter().find(|task| task.task_ref.id == id).expect("as above");
    assert_eq!(task("aborts-always").policy.delivery, Delivery::AtLeastOnce { max_rescues: 2 });
    assert_eq!(task("must-not-repeat").policy.delivery, Delivery::NotAfterLoss);
    let repaired = task("wrong-address");
    assert_eq!(repaired.payload.as_bytes(), br#"{"to":"ada@example.org"}"#);
    for act in &repaired.history.records[1..3] {
        assert_eq!(act.actor.as_deref(), Some("ada"), "LH-OPER-10");
        assert!(!act.message.is_empty(), "LH-OPER-10");
    }

    // Each abort ended a process and nothing else did, so the handlers ran as often as is told.
    assert_eq!(ended.stdout.matches(" died: ").count(), 5, "{}", ended.stdout);
    assert_eq!(ended.stdout.matches(" started\n").count(), 2 + 5, "{}", ended.stdout);
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(lines.last(), Some(&place::last_line(&tasks).as_str()));
    let table = &lines[lines.len() - 1 - tasks.len()..lines.len() - 1];
    for (line, task) in table.iter().zip(&tasks) {
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), place::row(task));
    }
    for words in [
        "  dead letter: never-in-time: dead_exhausted: the handler ran over its time\n",
        "  dead letter: aborts-always: dead_lost: the lease lapsed and the rescue budget is spent\n",
        "  dead letter: must-not-repeat: dead_lost: the lease lapsed and the rescue budget is spent\n",
        "  dead letter: wrong-address: dead_rejected: \"ada\" is no address\n    \
         attempt 1: rejected: \"ada\" is no address\n",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert_eq!(ended.stdout.matches(": stale, as the task is at fence ").count(), 1, "LH-OPER-1");

    let again = Process::start(&["--url", &place.url]).end();
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert!(again.stderr.contains("name another store"), "{again:?}");
    assert_eq!(again.stdout, "", "no worker was started");
    assert_eq!(place.tasks(), tasks, "a store with tasks was left as it was");
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_neither_process_nor_folder() {
    let place = Place::new();
    let process = Process::start_in(place.folder(), &[]);
    process.read_to("fails-twice: ");
    assert_eq!(fs::read_dir(place.folder()).expect("it is there").count(), 1, "no store was made");
    process.interrupt();
    // The workers write to the same pipes, so that these end with the last of them.
    let ended = process.end();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert_eq!(fs::read_dir(place.folder()).expect("it is there").count(), 0, "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_killed_operator_takes_the_workers_along() {
    let place = Place::new();
    let process = Process::start(&["--url", &place.url]);
    process.read_to("fails-twice: ");
    process.kill();
    let ended = process.end();
    assert!(ended.status.code().is_none(), "the process had ended by itself: {ended:?}");
}

#[test]
fn workers_that_cannot_start_end_the_story() {
    let place = Place::new();
    let ended = Process::start(&["--url", &format!("{}?synchronous=normal", place.url)]).end();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(ended.stderr.contains("use a more durable store"), "LH-MODE-4: {ended:?}");
    assert!(ended.stderr.contains("cannot work, as it says itself"), "{ended:?}");
    assert_eq!(ended.stdout.matches(" started\n").count(), 2, "{ended:?}");
}

#[test]
fn bad_input_gets_one_sentence_and_exit_code_2() {
    let table: &[(&[&str], &str)] = &[
        (&["--url", "memory:"], "name a SQLite file"),
        (&["--url", "tasks.db"], "known are memory:"),
        (&["--url"], "--help lists"),
        (&["--wrokers"], "--help lists"),
        (&["story"], "--help lists"),
        (&["worker"], "needs the --url"),
    ];
    for (arguments, words) in table {
        let ended = Process::start(arguments).end();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(words), "{arguments:?}: {ended:?}");
        assert_eq!(ended.stdout, "", "{arguments:?}: {ended:?}");
    }
}

#[test]
fn help_is_no_error() {
    let ended = Process::start(&["--help"]).end();
    assert!(ended.status.success(), "{ended:?}");
    assert!(ended.stdout.contains("usage: cargo run --example failures"), "{ended:?}");
    assert_eq!(ended.stderr, "");
}
