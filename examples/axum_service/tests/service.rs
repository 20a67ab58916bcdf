//! The service as its users meet it: a built program that is asked over HTTP and stopped by a
//! signal. A document that is a FIFO holds its handler up until the test writes to it.

#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::time::Duration;

use leasehold::{DeadReason, Event, Purpose, State};
use serde_json::{Value, json};

#[path = "service/http.rs"]
mod http;
#[path = "service/place.rs"]
mod place;
#[path = "service/process.rs"]
mod process;

use http::Request;
use place::Place;
use process::Process;

/// How often a test asks for what has to come by itself: for 60 s.
const LOOKS_MAX: u32 = 1_200;

fn order(name: &str) -> Request {
    Request::post("/reports", &json!({ "name": name }).to_string())
}

/// Asks until the report stands as it is waited for.
fn wait_for(service: &Process, path: &str, state: &str) -> Value {
    let mut last = None;
    for _ in 0..LOOKS_MAX {
        let answer = Request::get(path).send(service.port());
        assert_eq!(answer.status, 200, "{answer:?}");
        let standing = answer.json();
        if standing["state"] == state {
            return standing;
        }
        last = Some(standing);
        service.pace();
    }
    panic!("{path} never came to {state}: {last:?}")
}

#[test]
fn a_report_is_ordered_made_and_read() {
    let place = Place::new();
    fs::write(place.documents().join("poem.txt"), "two words\nand three more\n")
        .expect("it is new");
    let service = place.start(&[]);

    let accepted = order("poem.txt").send(service.port());
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let task = accepted.json();
    let path = accepted.header("location").expect("it says where");
    assert_eq!(path, format!("/reports/{}", task["id"].as_str().expect("the task has an id")));
    assert_eq!(task["queue"], "reports");

    let standing = wait_for(&service, path, "done");
    let report = json!({ "bytes": 25, "lines": 2, "words": 5 });
    assert_eq!(standing, json!({ "state": "done", "attempt": 1, "report": report }));
    assert_eq!(service.stop().code(), Some(0));
    let stored = place.task(task["id"].as_str().expect("as above"));
    assert_eq!((stored.state, stored.attempt), (State::Succeeded, 1), "{stored:?}");
}

#[test]
fn a_second_order_is_led_to_the_first_one_while_that_is_on_its_way() {
    let place = Place::new();
    let slow = place.fifo("slow.txt");
    let service = place.start(&[]);
    let first = order("slow.txt").send(service.port());
    let gate = slow.reader_is_there();
    let second = order("slow.txt").send(service.port());
    assert_eq!((first.status, second.status), (202, 200), "{second:?}");
    assert_eq!(first.json(), second.json());
    assert_eq!(first.header("location"), second.header("location"));
    let path = first.header("location").expect("it says where");
    assert_eq!(Request::get(path).send(service.port()).json()["state"], "running");

    drop(gate);
    wait_for(&service, path, "done");
    let third = order("slow.txt").send(service.port());
    assert_eq!(third.status, 202, "{third:?}");
    assert_ne!(third.json(), first.json(), "a finished report is in nobody's way");
}

#[test]
fn a_report_that_cannot_be_made_says_why_in_one_word() {
    let place = Place::new();
    let service = place.start(&[]);
    let accepted = order("missing.txt").send(service.port());
    let path = accepted.header("location").expect("it says where");
    let standing = wait_for(&service, path, "failed");
    assert_eq!(standing, json!({ "state": "failed", "attempt": 1, "reason": "rejected" }));
    let task = place.task(accepted.json()["id"].as_str().expect("the task has an id"));
    assert_eq!(task.state, State::Dead(DeadReason::Rejected));
}

#[test]
fn what_is_asked_wrongly_is_refused_and_makes_no_task() {
    let place = Place::new();
    let service = place.start(&[]);
    let long = "x".repeat(101);
    for name in ["", ".", "..", "../place.rs", "/etc/passwd", "a/b", ".hidden", "a b", &long] {
        let answer = order(name).send(service.port());
        assert_eq!(answer.status, 422, "{name:?}: {answer:?}");
        assert!(answer.json()["error"].is_string(), "{name:?}: {answer:?}");
    }
    let long = format!("/reports/{}", "x".repeat(300));
    for path in ["/reports/nothing", "/reports/%00", &long, "/nothing"] {
        assert_eq!(Request::get(path).send(service.port()).status, 404, "{path}");
    }
    for (body, status) in [("no JSON", 400), ("{}", 422), (r#"{"name":7}"#, 422)] {
        let answer = Request::post("/reports", body).send(service.port());
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        assert!(answer.json()["error"].is_string(), "{body}: {answer:?}");
    }
    assert_eq!(place.count(), 0);
}

#[test]
fn health_tells_what_runs() {
    let place = Place::new();
    let slow = place.fifo("slow.txt");
    let service = place.start(&[]);
    let _ = order("slow.txt").send(service.port());
    let _gate = slow.reader_is_there();
    let answer = Request::get("/health").send(service.port());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json(), json!({ "phase": "working", "running": 1, "failing": [] }));
}

#[test]
fn a_stop_lets_the_running_handler_end() {
    let place = Place::new();
    let slow = place.fifo("slow.txt");
    let service = place.start(&[]);
    let accepted = order("slow.txt").send(service.port());
    let mut gate = slow.reader_is_there();
    service.terminate();
    service.read_to("stopping");
    gate.write_all(b"late, but not too late\n").expect("its reader is there");
    drop(gate);
    assert_eq!(service.end().code(), Some(0));

    let task = place.task(accepted.json()["id"].as_str().expect("the task has an id"));
    assert_eq!((task.state, task.attempt), (State::Succeeded, 1), "{task:?}");
    assert_eq!((task.failures, task.rescues), (0, 0), "{task:?}");
    let events: Vec<_> = task.history.records.iter().map(|record| record.event).collect();
    assert_eq!(events, [Event::Succeeded]);
}

#[test]
fn a_handler_that_outlasts_the_grace_gives_its_task_back_for_free() {
    let place = Place::new();
    let slow = place.fifo("slow.txt");
    let service = place.start(&["--grace", "0"]);
    let accepted = order("slow.txt").send(service.port());
    let gate = slow.reader_is_there();
    service.terminate();
    // The grace that a service has by default is longer than this.
    let status = service.end_within(Duration::from_secs(15));
    assert_eq!(status.code(), Some(0), "the hanging read broke the process");
    let id = accepted.json()["id"].as_str().expect("the task has an id").to_owned();
    let task = place.task(&id);
    assert_eq!((task.state, task.attempt), (State::Waiting, 1), "{task:?}");
    assert_eq!((task.failures, task.rescues), (0, 0), "LH-GIVE-1: {task:?}");
    let events: Vec<_> = task.history.records.iter().map(|record| record.event).collect();
    assert_eq!(events, [Event::Released]);

    // The next start goes on with it.
    drop(gate);
    let service = place.start(&[]);
    drop(slow.reader_is_there());
    let standing = wait_for(&service, accepted.header("location").expect("it says where"), "done");
    assert_eq!(standing["attempt"], 2, "{standing}");
}

#[test]
fn a_stop_answers_the_request_on_its_way_and_takes_no_other() {
    let place = Place::new();
    let service = place.start(&[]);
    // The service asks for the body, so it has begun with this request.
    let waiting = order("poem.txt").send_head(service.port());
    service.terminate();
    service.read_to("stopping");
    service.wait_until_it_refuses();
    let answer = waiting.send_body();
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(service.end().code(), Some(0));
    // Nobody claims any more: the task that was promised waits for the next start.
    let task = place.task(answer.json()["id"].as_str().expect("the task has an id"));
    assert_eq!((task.state, task.attempt), (State::Waiting, 0), "{task:?}");
}

#[test]
fn a_second_signal_does_not_wait() {
    let place = Place::new();
    let slow = place.fifo("slow.txt");
    let service = place.start(&[]);
    let accepted = order("slow.txt").send(service.port());
    let _gate = slow.reader_is_there();
    service.terminate();
    service.read_to("stopping");
    assert_eq!(service.stop().code(), Some(1));
    // Its lease lapses, and whoever is still there rescues it.
    let task = place.task(accepted.json()["id"].as_str().expect("the task has an id"));
    assert_eq!(task.state, State::Leased(Purpose::Run), "{task:?}");
}

#[test]
fn a_store_may_be_named_by_its_url() {
    let place = Place::new();
    let service = Process::start(place.folder(), &["0"], Some("sqlite:named.db")).listening();
    let accepted = order("missing.txt").send(service.port());
    assert_eq!(accepted.status, 202, "{accepted:?}");
    assert!(place.folder().join("named.db").is_file());
    assert_eq!(service.stop().code(), Some(0));
}

#[test]
fn a_start_that_cannot_be_says_so_and_fails() {
    let place = Place::new();
    for (arguments, code) in [
        (&["many"][..], 2),
        (&["0", "reports.db", "more"], 2),
        (&["--grace", "long"], 2),
        (&["0", "missing/reports.db"], 1),
    ] {
        let service = Process::start(place.folder(), arguments, None);
        assert_eq!(service.end().code(), Some(code), "{arguments:?}");
    }
}
