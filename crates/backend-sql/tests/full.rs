//! A disk that is full (C102, C103): what is refused is refused whole and in words, what is
//! leased stays leased, and once there is room again nothing is missing.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use leasehold_core::decide::{self, Outcome};
use leasehold_core::{
    Backend, BackendExt, Claim, CommitItem, CommitVerdict, Count, Delivery, Enqueue,
    EnqueueVerdict, Error, ErrorKind, Lease, NewTask, Purpose, Status,
};
use leasehold_sql::{SqliteBackend, SqliteConfig};

/// The path that a process without room works on, see below.
const CHILD: &str = "LH_FULL_PATH";

/// What `ulimit -f` counts in is 512 bytes or 1,024, as the shell likes.
const FILE_BLOCKS_MAX: usize = 2_048;

/// Tasks of a call, and the bytes of each.
const BATCH: usize = 4;
const PAYLOAD: usize = 32 << 10;

const TTL: Duration = Duration::from_millis(100);

fn on_a_runtime<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(future)
}

async fn open(path: &Path) -> SqliteBackend {
    SqliteBackend::connect(SqliteConfig::new(path)).await.expect("it opens")
}

fn task(id: String, payload: usize) -> NewTask {
    NewTask::named(id, "kind", vec![7; payload], Delivery::at_least_once())
}

async fn claim(store: &SqliteBackend, purpose: Purpose) -> Option<Lease> {
    let claim = Claim::new("q", purpose, 1, TTL, "holder");
    store.claim(claim).await.expect("it claims").leases.pop()
}

fn success(lease: &Lease, result: Vec<u8>) -> CommitItem {
    let done = Outcome::Succeeded { result: Some(result.into()), follow_ups: Vec::new() };
    CommitItem::new(lease.guard(), decide::run(lease, done, 0))
}

fn is_refused<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let error = answer.expect_err("there is no room");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}

/// Not a test of its own: what a process does whose files may not grow.
#[test]
fn a_process_without_room() {
    let Ok(path) = std::env::var(CHILD) else { return };
    on_a_runtime(async {
        let store = open(Path::new(&path)).await;
        let held = claim(&store, Purpose::Run).await.expect("a lease");
        // There is room for the small one, and not for what comes with it.
        let sizes = [0, 1 << 20, 1 << 20, 1 << 20].into_iter().enumerate();
        let batch = sizes.map(|(n, size)| task(format!("large{n}"), size)).collect();
        is_refused(store.enqueue(Enqueue::new("q", batch)).await);
        let counts = store.counts(Count::new("q")).await.expect("reads need no room");
        assert_eq!(counts.of(Status::Ready), 0, "half of a batch was kept");
        let mut kept = 0;
        loop {
            let batch = (kept..kept + BATCH).map(|n| task(format!("t{n}"), PAYLOAD)).collect();
            match store.enqueue(Enqueue::new("q", batch)).await {
                Ok(new) => {
                    let is_new =
                        |new: &EnqueueVerdict| matches!(new, EnqueueVerdict::Enqueued { .. });
                    assert!(new.iter().all(is_new), "{new:?}");
                    kept += BATCH;
                }
                refused => break is_refused(refused),
            }
            assert!(kept * PAYLOAD < FILE_BLOCKS_MAX << 11, "there is no end to the room");
        }
        is_refused(store.commit_one(success(&held, vec![7; 512 << 10])).await);
        let counts = store.counts(Count::new("q")).await.expect("reads need no room");
        let lapsed = counts.of(Status::Leased) + counts.of(Status::Lapsed);
        assert_eq!((counts.of(Status::Ready), lapsed), (kept as u64, 1));
        let task = store.task(&held.task_ref).await.expect("it reads").expect("it is there");
        assert_eq!((task.fence, task.shown), (held.fence, None), "the claim is as it was");
        // Not even a small write has room: SQLite writes each change behind the last one.
        is_refused(store.commit_one(success(&held, vec![])).await);
        println!("kept {kept}.");
    });
}

#[test]
fn a_full_disk_refuses_whole_calls_and_loses_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tasks.db");
    on_a_runtime(async {
        let _enqueued =
            open(&path).await.enqueue_one("q", task("held".into(), 0)).await.expect("new");
    });
    // A write beyond the limit fails as on a full disk, where its signal is ignored.
    let limited = format!("ulimit -f {FILE_BLOCKS_MAX}; trap '' XFSZ; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limited])
        .arg(std::env::current_exe().expect("this program"))
        .args(["a_process_without_room", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, &path)
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let kept = text.split("kept ").nth(1).and_then(|rest| rest.split('.').next());
    let kept: u64 = kept.expect("it tells").parse().expect("a number");
    assert!(kept > 0, "there was no room from the beginning");

    on_a_runtime(async {
        let store = open(&path).await;
        let counts = store.counts(Count::new("q")).await.expect("they are counted");
        assert_eq!((counts.of(Status::Ready), counts.total()), (kept, kept + 1));
        let lapsed = loop {
            if let Some(lapsed) = claim(&store, Purpose::Rescue).await {
                break lapsed;
            }
        };
        let back = CommitItem::new(lapsed.guard(), decide::rescue(&lapsed));
        let verdict = store.commit_one(back).await.expect("there is room again");
        assert!(matches!(verdict, CommitVerdict::Applied(_)), "{verdict:?}");
        let mut done = 0;
        while let Some(lease) = claim(&store, Purpose::Run).await {
            let is_whole = lease.task_ref.id == "held" || lease.payload.len() == PAYLOAD;
            assert!(is_whole && lease.failures == 0, "{lease:?}");
            let verdict = store.commit_one(success(&lease, vec![])).await.expect("it commits");
            assert!(matches!(verdict, CommitVerdict::Applied(_)), "{verdict:?}");
            done += 1;
        }
        assert_eq!(done, kept + 1);
    });
}
