//! The suite used as a library and as a test binary: what its reports say, and that they have
//! the form that they promise.

#[path = "shared/memory.rs"]
mod memory;

use std::process::ExitCode;

use leasehold_conformance::{Case, Filter, Level, Orders, Report, Settings, cases, main_with, run};
use leasehold_core::Features;
use leasehold_core::clause::FENCE_2;
use memory::Memory;
use serde_json::{Value, json};

fn schema() -> jsonschema::Validator {
    let schema = include_str!("../schema/report.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::meta::validate(&schema).expect("the schema is a schema");
    jsonschema::validator_for(&schema).expect("the schema can be used")
}

fn json(report: &Report) -> Value {
    let text = report.to_json().expect("a report is JSON");
    serde_json::from_str(&text).expect("it can be read again")
}

async fn fence_cases(features: Features) -> Report {
    let filter = Filter::all().with_clause(FENCE_2);
    run(&Memory(features, Orders::Some(20)), &Settings::default().with_filter(filter)).await
}

#[tokio::test]
async fn the_whole_suite_passes_with_no_feature_and_each_was_refused() {
    let report = run(&Memory(Features::empty(), Orders::Some(20)), &Settings::default()).await;
    assert!(report.green, "{report}");
    assert_eq!((report.partial.len(), report.problems.len()), (0, 0));
    let totals = &report.totals;
    assert_eq!(totals.cases, cases().len());
    // In memory nobody can hold a lock, no step can fail in its middle, and there is no network.
    let of_networks = |case: &&Case| case.id.starts_with("link/") && case.level() == Level::Core;
    assert_eq!(totals.inapplicable, 2 + cases().iter().filter(of_networks).count());
    assert_eq!(totals.pass + totals.unsupported + totals.inapplicable, totals.cases);
    let extended = cases().iter().filter(|case| !case.needs.features.is_empty());
    assert_eq!(totals.unsupported, extended.count());
    let all = ["limits", "unique", "kinds", "replay", "follow-ups"];
    assert_eq!(
        (report.backend.declared.len(), &report.backend.refused[..]),
        (0, &all.map(String::from)[..])
    );
    assert_eq!(report.backend.clocks, ["manual", "real"]);
    let faults: Vec<_> =
        schema().iter_errors(&json(&report)).map(|error| error.to_string()).collect();
    assert_eq!(faults, [""; 0]);
}

#[tokio::test]
async fn a_spoiled_report_is_not_of_the_form() {
    let (schema, sound) = (schema(), json(&fence_cases(Features::all()).await));
    assert!(schema.is_valid(&sound));
    let spoil = |path: &str, value: Value| {
        let mut spoiled = sound.clone();
        *spoiled.pointer_mut(path).unwrap_or_else(|| panic!("no {path}")) = value;
        assert!(!schema.is_valid(&spoiled), "{path}");
    };
    spoil("/cases/0/verdict", json!("skipped"));
    spoil("/cases/0/kind", json!("other"));
    spoil("/cases/0/id", json!("Not An Id"));
    spoil("/cases/0/duration_ms", json!(-1));
    spoil("/clauses/0/id", json!("FENCE-2"));
    spoil("/totals/vacuous", Value::Null);
    spoil("/backend/durability/failover", json!("maybe"));
    spoil("/backend/clocks/0", json!("sundial"));
    spoil("/seed", json!("1"));
    spoil("/partial", json!(true));
    let Value::Object(fields) = &sound else { panic!("a report is an object") };
    for name in fields.keys() {
        let mut spoiled = fields.clone();
        spoiled.remove(name);
        assert!(!schema.is_valid(&spoiled.into()), "without {name}");
    }
    let mut more = fields.clone();
    more.insert("skipped".to_owned(), json!(0));
    assert!(!schema.is_valid(&more.into()), "with one field more");
}

#[tokio::test]
async fn a_report_for_a_readme_says_how_to_make_it_again() {
    let report = fence_cases(Features::LIMITS).await;
    let markdown = report.to_markdown();
    assert!(
        markdown.starts_with("**memory 0.1.0 no fault found, but the run is partial** 0.1 by"),
        "{markdown}"
    );
    assert!(markdown.contains("- only clause LH-FENCE-2\n"), "{markdown}");
    assert!(markdown.contains("| Core | "), "{markdown}");
    let last = markdown.lines().last().unwrap_or_default();
    let command = "cargo test -p leasehold-conformance --test report";
    assert_eq!(last, format!("How to reproduce: `LH_SEED=1 {command}`"));
}

#[tokio::test]
async fn a_report_as_junit_has_every_case_and_its_word() {
    let settings = Settings::default().with_filter(Filter::all().with_id("uniq/keys"));
    let report = run(&Memory(Features::empty(), Orders::Some(20)), &settings).await;
    let junit = report.to_junit().expect("it can be written");
    assert!(
        junit.contains(
            "<testsuites name=\"leasehold-conformance\" tests=\"1\" skipped=\"0\" failures=\"0\""
        ),
        "{junit}"
    );
    assert!(junit.contains("<testcase name=\"uniq/keys_belong_to_a_queue\""), "{junit}");
    assert!(junit.contains("<property name=\"verdict\" value=\"unsupported\"/>"), "{junit}");
}

#[test]
fn a_test_binary_writes_what_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let mut settings = Settings::default().with_seed(5);
    for name in ["a.json", "a.xml", "a.md", "a.txt"] {
        settings = settings.with_report(path(name));
    }
    let ended = main_of(
        Memory(Features::all(), Orders::Some(20)),
        settings,
        &["race/matching_success", "--exact"],
    );
    assert_eq!(ended, ExitCode::SUCCESS);
    let read = |name: &str| std::fs::read_to_string(path(name)).expect(name);
    let json: Value = serde_json::from_str(&read("a.json")).expect("it is JSON");
    assert!(schema().is_valid(&json));
    assert_eq!(json["totals"]["cases"], 1);
    assert_eq!(json["partial"][0], format!("1 of {} cases ran", cases().len()));
    assert_eq!(json["seed"], 5);
    assert!(read("a.xml").starts_with("<?xml"));
    assert!(read("a.md").contains("LH_SEED=5 "));
    assert!(read("a.txt").ends_with("green, partial: 1 cases: 1 pass, 0 fail, 0 unsupported, 0 incomplete, 0 known, 0 vacuous, 0 inapplicable\n"));
}

#[test]
fn a_test_binary_that_cannot_write_its_report_fails() {
    let settings = Settings::default().with_report("no/such/folder/a.json");
    let ended = main_of(
        Memory(Features::all(), Orders::Some(20)),
        settings,
        &["race/matching_success", "--exact"],
    );
    assert_eq!(ended, ExitCode::FAILURE);
}

#[test]
fn a_test_binary_without_a_case_left_is_refused() {
    let filter = Filter::all().core_only().with_features(Features::LIMITS);
    let settings = Settings::default().with_filter(filter);
    assert_eq!(
        main_of(Memory(Features::all(), Orders::Some(20)), settings, &[]),
        ExitCode::from(2)
    );
}

/// Runs the test binary of this harness with its list of tests kept out of this one's.
fn main_of(harness: Memory, settings: Settings, arguments: &[&str]) -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log").display().to_string();
    let arguments = ["conformance", "--logfile", &log].into_iter().chain(arguments.iter().copied());
    main_with(harness, settings, arguments)
}
