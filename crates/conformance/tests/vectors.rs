//! The golden vectors: the files are what `vectors/` of this folder writes, the model takes each
//! right answer and no wrong one, and every clause that is named is the one that is broken.
//!
//! `LH_WRITE=1 cargo test -p leasehold-conformance --test vectors` writes the files anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use leasehold_conformance::model::{Model, Op, predict, step};
use leasehold_conformance::vectors::{Answer, Book, Call, Vector, vectors};
use leasehold_core::{Capabilities, Durability, Failover, Features, ManualClock};
use serde_json::{Value, json};

#[path = "vectors/again.rs"]
mod again;
#[path = "vectors/basic.rs"]
mod basic;
#[path = "vectors/calls.rs"]
mod calls;
#[path = "vectors/keys.rs"]
mod keys;
#[path = "vectors/races.rs"]
mod races;
#[path = "vectors/script.rs"]
mod script;

use crate::script::Script;

fn scripts() -> Vec<Script> {
    let mut all = basic::scripts();
    all.extend(again::scripts());
    all.extend(races::scripts());
    all.extend(keys::scripts());
    all
}

fn start() -> (Model, Book) {
    let durability = Durability::new(false, false, Failover::Single);
    let capabilities = Capabilities::new("model", Features::all(), durability);
    let now = ManualClock::default().now();
    (Model::new("q", capabilities, now), Book::plain("q", now))
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(format!("{name}.json"))
}

/// The vector of a script: the right answers are the model's.
fn written(script: &Script) -> Vector {
    let (mut model, mut book) = start();
    let steps = script.steps.iter().map(|(call, wrong)| {
        let read: Call = serde_json::from_value(call.clone()).expect("a call is well formed");
        let op = read.op(&book).expect("a call names what is there");
        book.note(&model, &op);
        let (next, reply) = predict(&model, &op);
        model = next;
        let right = Answer::of(&reply, &book).expect("a file can write the answer");
        let right = serde_json::to_value(&right).expect("an answer is JSON");
        let wrong: Vec<_> = wrong.iter().map(|wrong| wrong.written(&right)).collect();
        json!({ "call": call, "right": right, "wrong": wrong })
    });
    let steps: Vec<_> = steps.collect();
    let vector = json!({ "about": script.about, "features": script.features, "steps": steps });
    serde_json::from_value(vector).expect("a vector is well formed")
}

#[test]
fn the_files_are_what_the_scripts_say() {
    let write = std::env::var_os("LH_WRITE").is_some();
    let mut differing = Vec::new();
    for script in scripts() {
        let text = serde_json::to_string_pretty(&written(&script)).expect("JSON") + "\n";
        let path = path(script.name);
        if write {
            std::fs::write(&path, &text).expect("vectors/ can be written");
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        if there != text {
            differing.push(script.name);
        }
    }
    assert_eq!(differing, [""; 0], "LH_WRITE=1 writes these files anew");
    let read: Vec<_> = vectors().into_iter().map(|(name, _)| name).collect();
    let scripts: Vec<_> = scripts().into_iter().map(|script| script.name).collect();
    assert_eq!(read, scripts, "the suite reads every file, and no other");
}

#[test]
fn the_model_takes_the_right_answers_and_no_wrong_one() {
    let (mut right, mut wrong, mut faults) = (0, 0, Vec::new());
    for (name, vector) in vectors() {
        let (mut model, mut book) = start();
        for (at, step_of) in vector.steps.iter().enumerate() {
            let place = format!("{name}, step {}", at + 1);
            let op = step_of.call.op(&book).expect("a call names what is there");
            book.note(&model, &op);
            for one in &step_of.wrong {
                wrong += 1;
                let reply = one.answer.reply(&book).expect("an answer names what is there");
                match step(&model, &op, &reply) {
                    Ok(_) => faults.push(format!("{place}: {} is taken", one.means)),
                    Err(breach) if breach.clause.id != one.breaks => {
                        faults.push(format!("{place}: {} is {breach}", one.means));
                    }
                    Err(_) => {}
                }
            }
            right += 1;
            let reply = step_of.right.reply(&book).expect("an answer names what is there");
            match step(&model, &op, &reply) {
                Ok(next) => model = next,
                Err(breach) => panic!("{place}: {breach}"),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    println!("{} vectors, {right} right answers, {wrong} wrong ones", vectors().len());
}

#[test]
fn wrong_answers_are_many_and_distinct() {
    let mut faults = Vec::new();
    for (name, vector) in vectors() {
        for (at, step_of) in vector.steps.iter().enumerate() {
            let place = format!("{name}, step {}", at + 1);
            let (_, book) = start();
            let is_shift = matches!(step_of.call.op(&book), Ok(Op::Shift(_)));
            let count = step_of.wrong.len();
            if !is_shift && !(2..=6).contains(&count) {
                faults.push(format!("{place}: {count} wrong answers"));
            }
            let text = |answer: &Answer| serde_json::to_string(answer).expect("JSON");
            let mut seen = BTreeSet::from([text(&step_of.right)]);
            for wrong in step_of.wrong.iter().filter(|wrong| !seen.insert(text(&wrong.answer))) {
                faults.push(format!("{place}: {} stands twice", wrong.means));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_verb_and_every_verdict_has_a_right_answer() {
    let mut seen = BTreeSet::new();
    for (_, vector) in vectors() {
        for step_of in &vector.steps {
            seen.extend(key(&serde_json::to_value(&step_of.call).expect("JSON")));
            let right = serde_json::to_value(&step_of.right).expect("JSON");
            seen.extend(key(&right));
            seen.extend(right.pointer("/lost/reason").and_then(Value::as_str).map(str::to_owned));
        }
    }
    let wanted = [
        "enqueue",
        "claim",
        "renew",
        "commit",
        "get",
        "counts",
        "configure",
        "purge",
        "shift",
        "enqueued",
        "claimed",
        "held",
        "lost",
        "applied",
        "replayed",
        "stale",
        "conflict",
        "gone",
        "task",
        "left",
        "nothing",
        "settings",
        "purged",
        "refused",
        "lapsed",
        "taken",
        "cancelled",
        "revoked",
        "decided",
    ];
    let missing: Vec<_> = wanted.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(missing.is_empty(), "no vector has {missing:?}");
}

/// The name of an enum's value in JSON.
fn key(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Object(parts) => parts.keys().next().cloned(),
        _ => None,
    }
}
