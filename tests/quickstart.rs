//! The example `quickstart` as its users meet it: a built program that is killed, started
//! twice, interrupted and given bad input. What counts is read from the store itself.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use leasehold::{
    BackendExt, Backoff, Configure, Delivery, Event, NewTask, Purpose, RetryPolicy, State, TaskRef,
};

#[path = "quickstart/place.rs"]
mod place;
#[path = "quickstart/process.rs"]
mod process;

use place::{Place, Sums, times};
use process::Process;

const FILES: usize = 2_000;

/// How often a test looks for what has to come by itself: for 30 s.
const LOOKS_MAX: u32 = 600;

#[cfg(unix)]
#[test]
fn a_killed_process_forgets_no_file_and_counts_no_success_twice() {
    let place = Place::with_files(FILES);
    let (mut successes, mut left_leases) = (0, HashSet::new());
    for kill_at in [1, 300, 900] {
        let process = place.start(&["--workers", "8"]);
        while successes < kill_at {
            process.read_to("ok ");
            successes += 1;
        }
        process.kill();
        let tasks = place.tasks();
        let unfinished = tasks.iter().filter(|task| !task.state.is_finished());
        assert!(unfinished.count() > 0, "the kill came too late to be a fault");
        let leased = tasks.iter().filter(|task| task.state == State::Leased(Purpose::Run));
        left_leases.extend(leased.map(|task| (task.task_ref.id.clone(), task.fence)));
    }
    assert!(!left_leases.is_empty(), "three kills met no running task at all");

    let ended = place.start(&["--workers", "8"]).end();
    assert!(ended.status.success(), "{ended:?}");
    let tasks = place.tasks();
    assert_eq!(tasks.len(), FILES);
    for task in &tasks {
        assert_eq!(task.state, State::Succeeded, "{task:?}");
        assert_eq!(times(task, Event::Succeeded), 1, "{task:?}");
    }
    let sums = Sums::of(&tasks);
    assert_eq!((sums.succeeded, sums.dead, sums.retries), (FILES, 0, 0));
    assert!(sums.rescues as usize >= left_leases.len(), "{sums:?}, left {left_leases:?}");
    assert!(sums.runs as usize >= FILES, "{sums:?}");
    assert_eq!(ended.last_line(), place.last_line(&tasks));
}

#[test]
fn two_processes_share_the_files_of_one_store() {
    let place = Place::with_files(1);
    assert!(place.start(&[]).end().status.success());
    place.add_files(1, FILES);
    // Neither process gets a head start: the queue opens when both stand before it.
    place.ask(async |store, queue| store.configure(Configure::new(queue).pause()).await);
    let both = [place.start(&["--workers", "4"]), place.start(&["--workers", "4"])];
    for process in &both {
        process.read_to("quickstart: ");
    }
    place.ask(async |store, queue| store.configure(Configure::new(queue).resume()).await);
    let both = both.map(Process::end);

    let tasks = place.tasks();
    let successes = both.each_ref().map(process::Ended::successes);
    assert!(successes.iter().all(|count| *count > 0), "one process did nothing: {successes:?}");
    assert_eq!(successes.iter().sum::<usize>() + 1, FILES);
    for ended in &both {
        assert!(ended.status.success(), "{ended:?}");
        let odd: Vec<_> = ended.stderr.iter().filter(|line| !line.starts_with("ok ")).collect();
        assert!(odd.is_empty(), "{odd:?}");
        assert_eq!(ended.last_line(), place.last_line(&tasks));
    }
    for task in &tasks {
        assert_eq!((task.state, task.attempt), (State::Succeeded, 1), "{task:?}");
        assert_eq!(times(task, Event::Succeeded), 1, "{task:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_process_gives_its_tasks_back() {
    let place = Place::with_files(FILES);
    let process = place.start(&["--workers", "8"]);
    process.read_to("ok ");
    process.interrupt();
    let ended = process.end();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    let tasks = place.tasks();
    let leased = tasks.iter().filter(|task| matches!(task.state, State::Leased(_)));
    assert_eq!(leased.count(), 0, "a lease was kept");
    let sums = Sums::of(&tasks);
    assert!(sums.succeeded < FILES, "the interrupt came too late to be one");
    assert_eq!((sums.dead, sums.retries, sums.rescues), (0, 0, 0), "{sums:?}");

    let ended = place.start(&[]).end();
    assert!(ended.status.success(), "{ended:?}");
    let sums = Sums::of(&place.tasks());
    assert_eq!((sums.succeeded, sums.rescues), (FILES, 0), "{sums:?}");
}

#[cfg(unix)]
#[test]
fn a_long_run_keeps_its_lease_and_is_given_back_when_interrupted() {
    let place = Place::with_files(0);
    let file = fs::File::create(place.files().join("zeros.bin")).expect("the folder is new");
    file.set_len(64 << 30).expect("what is not written takes no room");
    let process = place.start(&[]);
    process.read_to("quickstart: ");
    place.ask(async |store, queue| {
        let task = TaskRef::new(queue, "zeros.bin");
        let mut pace = tokio::time::interval(Duration::from_millis(50));
        let mut first = None;
        for _ in 0..LOOKS_MAX {
            pace.tick().await;
            let until = store.task(&task).await?.and_then(|task| task.until);
            if first.is_some() && until > first {
                return Ok(());
            }
            first = first.or(until);
        }
        panic!("the lease was never renewed: it ends at {first:?}");
    });
    process.interrupt();
    let ended = process.end();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    let tasks = place.tasks();
    assert_eq!((tasks[0].state, tasks[0].attempt), (State::Waiting, 1), "{tasks:?}");
    assert_eq!((tasks[0].failures, tasks[0].rescues), (0, 0), "LH-GIVE-1");
    assert_eq!(times(&tasks[0], Event::Released), 1, "{tasks:?}");
}

#[test]
fn what_is_finished_is_left_alone_unless_it_is_asked_for_again() {
    let place = Place::with_files(3);
    fs::write(place.files().join(".gitignore"), "*.log\n").expect("the folder can be written to");
    fs::write(place.files().join("noise.log"), "ignored").expect("as above");
    fs::create_dir(place.files().join(".hidden")).expect("as above");
    fs::write(place.files().join(".hidden").join("file.txt"), "hidden").expect("as above");
    let attempts =
        |place: &Place| place.tasks().iter().map(|task| task.attempt).collect::<Vec<_>>();
    assert!(place.start(&[]).end().status.success());
    assert_eq!(attempts(&place), [1; 4], "three files and .gitignore");

    let again = place.start(&[]).end();
    assert!(again.status.success());
    assert_eq!((again.successes(), attempts(&place)), (0, vec![1; 4]));

    fs::remove_file(place.files().join("part0").join("0000.txt")).expect("it was made");
    let fresh = place.start(&["--fresh"]).end();
    assert!(fresh.status.success());
    assert_eq!((fresh.successes(), attempts(&place)), (3, vec![2; 3]), "one file is gone");
    for task in place.tasks() {
        assert_eq!(times(&task, Event::Redriven), 1, "{task:?}");
        assert_eq!(task.history.records[1].actor.as_deref(), Some("quickstart"), "{task:?}");
    }

    // A file that comes back is a new one, whatever is remembered of the task that left.
    place.add_files(0, 1);
    let back = place.start(&[]).end();
    assert!(back.status.success());
    assert_eq!((back.successes(), attempts(&place)), (1, vec![2, 2, 2, 1]));
}

#[test]
fn dead_letters_are_told_and_are_no_failure() {
    let place = Place::with_files(1);
    assert!(place.start(&[]).end().status.success());
    place.ask(async |store, queue| {
        let task = |id: &str, kind: &str, payload: &'static str| {
            let retry = RetryPolicy::at_most(1)
                .with_backoff(Backoff::Constant { delay: Duration::from_millis(100) });
            NewTask::new(kind, payload, Delivery::at_least_once()).with_id(id).with_retry(retry)
        };
        for new in [
            task("missing", "measure", r#"{"path":"part0/missing.txt"}"#),
            task("garbled", "measure", "no JSON at all"),
            task("foreign", "resize", "{}"),
        ] {
            let _ = store.enqueue_one(&queue, new).await?;
        }
        Ok(())
    });
    let ended = place.start(&[]).end();
    assert!(ended.status.success(), "{ended:?}");
    let tasks = place.tasks();
    let sums = Sums { files: 4, succeeded: 1, dead: 3, runs: 5, retries: 1, rescues: 0 };
    assert_eq!(Sums::of(&tasks), sums);
    assert_eq!(ended.last_line(), place.last_line(&tasks));
    for words in [
        "dead letter: part0/missing.txt: exhausted, ",
        "dead letter: garbled: undecodable, ",
        "dead letter: foreign: unknown_kind\n",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn a_name_that_is_no_legal_id_is_measured_under_its_hash() {
    let place = Place::with_files(0);
    let deep = ["d".repeat(100), "e".repeat(100)].iter().collect::<std::path::PathBuf>();
    fs::create_dir_all(place.files().join(&deep)).expect("the folder can be written to");
    fs::write(place.files().join(&deep).join("long.txt"), "long\n").expect("as above");
    fs::write(place.files().join("two\nlines.txt"), "control\n").expect("as above");
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"bytes\xff.txt");
        fs::write(place.files().join(name), "bytes\n").expect("as above");
    }
    let files = fs::read_dir(place.files()).expect("it is a folder").count();
    let ended = place.start(&[]).end();
    assert!(ended.status.success(), "{ended:?}");
    let tasks = place.tasks();
    assert_eq!(Sums::of(&tasks).succeeded, files, "{ended:?}");
    for task in &tasks {
        let id = &task.task_ref.id;
        assert!(id.len() == 64 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
    }
}

#[test]
fn bad_input_gets_one_sentence_and_exit_code_2() {
    let place = Place::with_files(1);
    let files = place.files();
    let files = files.to_str().expect("temporary files have plain names");
    let beside = |name: &str| format!("{files}/../{name}");
    let url = |name: &str| format!("sqlite:{}", beside(name));
    fs::write(beside("notes.txt"), "Not a database, but long enough. ".repeat(100))
        .expect("the folder can be written to");
    for (name, application, schema) in [("foreign.db", 7, 1), ("newer.db", OURS, 9_999)] {
        fs::write(beside(name), database(application, schema)).expect("as above");
    }
    fs::write(beside("fixed.db"), database(0, 0)).expect("as above");
    let mut permissions = fs::metadata(beside("fixed.db")).expect("as above").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(beside("fixed.db"), permissions).expect("as above");
    let (notes, foreign, newer) = (url("notes.txt"), url("foreign.db"), url("newer.db"));
    let fixed = url("fixed.db");
    let (missing, nowhere) = (beside("missing"), url("missing/tasks.db"));
    let table: &[(&[&str], &str)] = &[
        (&[&missing], "name another"),
        (&[&beside("notes.txt")], "is not a folder"),
        (&[files, files], "one folder at a time"),
        (&[files, "--wrokers", "1"], "--help lists"),
        (&[files, "--workers", "0"], "1 to 500"),
        (&[files, "--workers", "many"], "1 to 500"),
        (&[files, "--workers"], "--help lists"),
        (&[files, "--url", "tasks.db"], "known are memory:"),
        (&[files, "--url", "postgres://ada:secret@localhost/tasks"], "use sqlite: or memory:"),
        (&[files, "--url", "sqlite:tasks.db?mode=ro"], "known is synchronous"),
        (&[files, "--url", &nowhere], "folder"),
        (&[files, "--url", &notes], "database"),
        (&[files, "--url", &foreign], "another application"),
        (&[files, "--url", &newer], "upgrade Leasehold"),
        (&[files, "--url", &fixed], "make it writable"),
    ];
    for (arguments, words) in table {
        let ended = Process::start(arguments).end();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {ended:?}");
        assert_eq!(ended.stderr.len(), 1, "{arguments:?}: {ended:?}");
        assert!(ended.stderr[0].contains(words), "{arguments:?}: {ended:?}");
        assert!(!ended.stderr[0].contains("secret"), "{arguments:?}: {ended:?}");
        assert_eq!(ended.stdout, "", "{arguments:?}: {ended:?}");
    }
}

/// What marks a SQLite file as a store of ours: `LHLD`.
const OURS: u32 = u32::from_be_bytes(*b"LHLD");

/// A SQLite file without a table, by its published format: whose it is, and which schema.
fn database(application: u32, schema: u32) -> Vec<u8> {
    let mut page = vec![0; 512];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    // The size of a page, the file format, and the fixed fractions of a page's payload.
    page[16..24].copy_from_slice(&[2, 0, 1, 1, 0, 64, 32, 32]);
    for (at, number) in [
        (24, 1), // how often the file was changed
        (28, 1), // pages
        (44, 4), // format of the schema
        (56, 1), // UTF-8
        (60, schema),
        (68, application),
        (92, 1), // the change that the number of pages is valid for
        (96, 3_051_003),
    ] {
        page[at..at + 4].copy_from_slice(&u32::to_be_bytes(number));
    }
    // The page's own head: a leaf without cells, whose content would begin at its end.
    page[100..108].copy_from_slice(&[13, 0, 0, 0, 0, 2, 0, 0]);
    page
}

#[test]
fn help_is_no_error() {
    let ended = Process::start(&["--help"]).end();
    assert!(ended.status.success());
    assert!(ended.stdout.contains("usage: cargo run --example quickstart"), "{ended:?}");
    assert!(ended.stderr.is_empty(), "{ended:?}");
}
