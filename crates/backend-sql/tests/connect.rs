//! Opening a file: what is refused and how it is said, and what several handles share.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

use leasehold_core::decide::{self, Outcome};
use leasehold_core::{
    Backend, BackendExt, Bounds, Claim, CommitItem, CommitVerdict, Count, Delivery, Enqueue,
    EnqueueVerdict, Error, ErrorKind, NewTask, Purpose, Status,
};
use leasehold_sql::{SqliteBackend, SqliteConfig, Synchronous};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::timeout;

const TTL: Duration = Duration::from_secs(30);

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

async fn open(path: &Path) -> SqliteBackend {
    SqliteBackend::connect(SqliteConfig::new(path)).await.expect("it opens")
}

async fn refused(path: &Path) -> Error {
    SqliteBackend::connect(SqliteConfig::new(path)).await.expect_err("it must be refused")
}

/// A database that somebody else made.
async fn foreign(path: &Path, sql: &'static str) {
    let mut conn = raw(path).await;
    sqlx::raw_sql(sql).execute(&mut conn).await.expect("it is made");
    conn.close().await.expect("it is closed");
}

async fn raw(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    options.connect().await.expect("sqlite itself opens it")
}

fn task(id: impl Into<String>) -> NewTask {
    NewTask::named(id, "kind", "payload", Delivery::NotAfterLoss)
}

#[cfg(unix)]
fn forbid_writing(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = if path.is_dir() { 0o555 } else { 0o444 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode is set");
}

#[cfg(unix)]
#[tokio::test]
async fn each_unusable_path_is_told_apart_and_what_to_do() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let garbage = at("garbage.db");
    fs::write(&garbage, "no database at all ".repeat(100)).expect("it is written");
    let (tables, named, newer) = (at("tables.db"), at("named.db"), at("newer.db"));
    foreign(&tables, "create table invoice (n integer)").await;
    foreign(&named, "pragma application_id = 7; pragma user_version = 1").await;
    drop(open(&newer).await);
    foreign(&newer, "pragma user_version = 1000").await;
    let (read_only, locked) = (at("read_only.db"), at("locked"));
    drop(open(&read_only).await);
    forbid_writing(&read_only);
    fs::create_dir(&locked).expect("it is made");
    forbid_writing(&locked);

    let cases: [(PathBuf, ErrorKind, &str); 10] = [
        (at("missing/tasks.db"), ErrorKind::Invalid, "does not exist: make it first"),
        (folder.path().to_owned(), ErrorKind::Invalid, "is a folder: name a file in it"),
        (PathBuf::new(), ErrorKind::Invalid, "needs a path"),
        (at("nul\0byte.db"), ErrorKind::Invalid, "has a NUL byte"),
        (garbage.clone(), ErrorKind::Invalid, "is not a SQLite database"),
        (tables.clone(), ErrorKind::Invalid, "is a database of another application"),
        (named, ErrorKind::Invalid, "is a database of another application"),
        (newer, ErrorKind::Unsupported, "upgrade Leasehold"),
        (read_only, ErrorKind::Invalid, "read_only.db is read-only"),
        (locked.join("tasks.db"), ErrorKind::Invalid, "locked is read-only"),
    ];
    for (path, kind, says) in cases {
        let error = refused(&path).await;
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(text.contains(says), "{text}");
        assert!(!text.contains('\n') && !text.ends_with('.'), "one sentence: {text}");
    }
    let before = "no database at all ".repeat(100);
    assert_eq!(fs::read_to_string(garbage).expect("it is there"), before, "left as it was");
    let mode: String = sqlx::query("pragma journal_mode")
        .fetch_one(&mut raw(&tables).await)
        .await
        .expect("a mode")
        .get(0);
    assert_eq!(mode, "delete", "somebody else's database is left as it was");
}

#[tokio::test]
async fn an_empty_file_and_a_relative_path_are_fine() {
    let folder = folder();
    let path = folder.path().join("file:odd?mode=memory#name.db");
    fs::write(&path, "").expect("it is written");
    let _enqueued = open(&path).await.enqueue_one("q", task("t")).await.expect("it is enqueued");
    assert!(fs::metadata(&path).expect("the file of this very name").len() > 0);
}

#[tokio::test]
async fn a_file_is_migrated_once_and_keeps_its_tasks() {
    let folder = folder();
    let path = folder.path().join("tasks.db");
    let _enqueued = open(&path).await.enqueue_one("q", task("t")).await.expect("it is enqueued");
    for _ in 0..3 {
        let counts = open(&path).await.counts(Count::new("q")).await.expect("they are counted");
        assert_eq!(counts.of(Status::Ready), 1);
    }
}

/// Each round staggers the openings otherwise, so that some meet the migration half-way.
#[test]
fn many_may_make_the_file_at_once() {
    const HANDLES: usize = 8;
    for round in 0..12 {
        let folder = folder();
        let path = folder.path().join("tasks.db");
        let start = Barrier::new(HANDLES);
        std::thread::scope(|scope| {
            for n in 0..HANDLES {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    on_a_runtime(async {
                        start.wait();
                        for _ in 0..n * round * 150 {
                            tokio::task::yield_now().await;
                        }
                        let store = open(path).await;
                        let enqueued = store.enqueue_one("q", task(n.to_string())).await;
                        assert!(matches!(enqueued, Ok(EnqueueVerdict::Enqueued { .. })));
                    });
                });
            }
        });
        let counts = on_a_runtime(async { open(&path).await.counts(Count::new("q")).await });
        assert_eq!(counts.expect("they are counted").of(Status::Ready), HANDLES as u64);
    }
}

/// A file that somebody has removed is not there again, empty, because somebody reads.
#[cfg(unix)]
#[tokio::test]
async fn a_reader_makes_no_file() {
    let folder = folder();
    let path = folder.path().join("tasks.db");
    let store = open(&path).await;
    fs::remove_file(&path).expect("it is removed");
    // One read has the reader that is open, the other one has to open its own.
    let (one, other) = tokio::join!(store.counts(Count::new("q")), store.counts(Count::new("q")));
    assert!(one.is_ok(), "{one:?}");
    assert_eq!(other.expect_err("no file to open").kind(), ErrorKind::Unavailable);
    assert!(!path.exists());
}

fn on_a_runtime<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(future)
}

/// The path that another process of this test works on, see below.
const CHILD: &str = "LH_CHILD_PATH";

/// Not a test of its own: what each of the other processes does.
#[test]
fn another_process() {
    let Ok(path) = std::env::var(CHILD) else { return };
    on_a_runtime(async {
        let store = open(Path::new(&path)).await;
        loop {
            let claim = Claim::new("q", Purpose::Run, 1, TTL, "child");
            let claimed = store.claim(claim).await.expect("it claims");
            let Some(lease) = claimed.leases.into_iter().next() else { break };
            println!("ran {}", lease.task_ref.id);
            let done = Outcome::Succeeded { result: None, follow_ups: Vec::new() };
            let item = CommitItem::new(lease.guard(), decide::run(&lease, done, 0));
            let verdict = store.commit_one(item).await.expect("it commits");
            assert!(matches!(verdict, CommitVerdict::Applied(_)));
        }
    });
}

#[test]
fn processes_share_a_file_and_run_each_task_once() {
    const TASKS: usize = 60;
    let folder = folder();
    let path = folder.path().join("tasks.db");
    on_a_runtime(async {
        let tasks = (0..TASKS).map(|n| task(n.to_string())).collect();
        open(&path).await.enqueue(Enqueue::new("q", tasks)).await.expect("they are enqueued");
    });
    let child = |_| {
        Command::new(std::env::current_exe().expect("this program"))
            .args(["another_process", "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    let children: Vec<_> = (0..3).map(child).collect();
    let mut ran = Vec::new();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("text");
        ran.extend(text.split("ran ").skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].to_owned()
        }));
    }
    assert_eq!(ran.len(), TASKS);
    assert_eq!(ran.iter().collect::<BTreeSet<_>>().len(), TASKS, "no task ran twice");
    let counts = on_a_runtime(async { open(&path).await.counts(Count::new("q")).await });
    assert_eq!(counts.expect("they are counted").total(), 0);
}

#[tokio::test]
async fn a_lock_that_is_not_let_go_is_unavailable_and_reads_go_on() {
    let folder = folder();
    let path = folder.path().join("tasks.db");
    let config = SqliteConfig::new(&path).with_busy_timeout(Duration::from_millis(20));
    let store = SqliteBackend::connect(config).await.expect("it opens");
    let mut stranger = raw(&path).await;
    let lock = stranger.begin_with("begin immediate").await.expect("it locks");

    let error = store.enqueue_one("q", task("t")).await.expect_err("it is locked");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    let counts = store.counts(Count::new("q")).await.expect("reads do not wait");
    assert_eq!(counts.total(), 0);

    lock.rollback().await.expect("it is let go");
    let _enqueued = store.enqueue_one("q", task("t")).await.expect("the handle is usable");
    let counts = store.counts(Count::new("q")).await.expect("they are counted");
    assert_eq!(counts.total(), 1);
}

/// SQLite itself looks ever more rarely, and a process that writes with short breaks would keep
/// one that waits out for seconds, which is longer than a lease may be.
#[tokio::test]
async fn a_short_break_of_another_writer_is_found_after_a_long_wait() {
    const FILES: usize = 8;
    // As many as files, but for a machine that stops a waiting thread for all of a break.
    const BREAKS_MAX: usize = FILES + 4;
    let mut files = JoinSet::new();
    for _ in 0..FILES {
        files.spawn(breaks_until_a_write());
    }
    let breaks = files.join_all().await;
    assert!(breaks.iter().sum::<usize>() <= BREAKS_MAX, "{breaks:?}");
}

/// How many breaks of 25 ms it takes until a write gets in that has waited for long.
async fn breaks_until_a_write() -> usize {
    let folder = folder();
    let path = folder.path().join("tasks.db");
    let store = open(&path).await;
    let mut stranger = raw(&path).await;
    let mut lock = stranger.begin_with("begin immediate").await.expect("it locks");
    let mut write = tokio::spawn(async move { store.enqueue_one("q", task("t")).await });
    // By then SQLite would look every 100 ms.
    pass(Duration::from_millis(300)).await;
    let mut breaks = 0;
    let written = loop {
        assert!(breaks > 0 || !write.is_finished(), "it did not wait: {:?}", write.await);
        lock.rollback().await.expect("it is let go");
        breaks += 1;
        if let Ok(written) = timeout(Duration::from_millis(25), &mut write).await {
            break written;
        }
        lock = stranger.begin_with("begin immediate").await.expect("it locks again");
        pass(Duration::from_millis(150)).await;
        if write.is_finished() {
            // It got in, and was still at it when the break ended.
            break write.await;
        }
    };
    let _enqueued = written.expect("no panic").expect("it is written");
    breaks
}

/// Waits for the wall clock, which is what SQLite waits by.
async fn pass(time: Duration) {
    let mut beat = tokio::time::interval(time);
    beat.tick().await;
    beat.tick().await;
}

#[tokio::test]
async fn settings_are_told_as_capabilities() {
    let folder = folder();
    let path = folder.path().join("tasks.db");
    let full = open(&path).await.capabilities();
    assert!(full.durability.process_crash && full.durability.host_crash);
    assert!(!full.durability.can_lose_a_claim());
    let config = SqliteConfig::new(&path)
        .with_synchronous(Synchronous::Normal)
        .with_readers(0)
        .with_bounds(Bounds::default().with_payload_bytes_max(3));
    let store = SqliteBackend::connect(config).await.expect("it opens");
    assert!(store.capabilities().durability.can_lose_a_claim());
    let error = store.enqueue_one("q", task("t")).await.expect_err("a payload of 7 bytes");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(store.counts(Count::new("q")).await.expect("they are counted").total(), 0);
    let shown = format!("{store:?}");
    assert_eq!(shown, format!("SqliteBackend {{ path: {path:?}, .. }}"));
}
