//! The facade: which URL opens which store, what a URL that opens none is told, and how one is
//! shown.

use leasehold::{
    BackendExt, Delivery, EnqueueVerdict, Error, ErrorKind, NewTask, connect, redacted,
};

/// The one sentence that a URL is refused with, and its kind.
async fn refusal(url: &str) -> (ErrorKind, String) {
    let error: Error = match connect(url).await {
        Ok(store) => panic!("{url} opened {store:?}"),
        Err(error) => error,
    };
    (error.kind(), error.to_string())
}

#[tokio::test]
async fn a_url_that_opens_no_store_is_told_why() {
    use ErrorKind::{Invalid, Unsupported};
    let table = [
        ("", Invalid, "begins with its scheme"),
        ("tasks.db", Invalid, "begins with its scheme"),
        (":", Invalid, "begins with its scheme"),
        ("ada secret@host:5432/tasks", Invalid, "begins with its scheme"),
        ("mongodb://localhost/tasks", Invalid, "there is no store for mongodb: URLs"),
        ("sqlight:tasks.db", Invalid, "known are memory:, sqlite:PATH and redis://HOST"),
        ("redis-ring://localhost", Invalid, "there is no store for redis-ring: URLs"),
        ("memory:tasks", Invalid, "memory: takes nothing after it"),
        ("memory://tasks", Invalid, "memory: takes nothing after it"),
        ("postgres://localhost/tasks", Unsupported, "PostgreSQL is planned"),
        ("postgresql://localhost/tasks", Unsupported, "PostgreSQL is planned"),
        ("mysql://localhost/tasks", Unsupported, "MySQL and MariaDB is planned"),
        ("mariadb://localhost/tasks", Unsupported, "MySQL and MariaDB is planned"),
    ];
    for (url, kind, words) in table {
        let (told, sentence) = refusal(url).await;
        assert_eq!(told, kind, "{url}: {sentence}");
        assert!(sentence.contains(words), "{url}: {sentence}");
        assert_eq!(sentence.lines().count(), 1, "{url}: {sentence}");
    }
}

/// URLs of Redis that name no server, so that none is asked.
const REDIS_URLS: [&str; 10] = [
    "redis:hunter2",
    "REDIS://:hunter2@",
    "valkey://ada:hunter2@:6379",
    "redis://ada:hunter2",
    "redis://ada:hun/ter2:hunter2@localhost",
    "redis://hunter2@localhost",
    "redis://localhost/hunter2",
    "redis-sentinel://ada:hunter2@localhost",
    "redis-cluster://ada:hunter2@localhost/1",
    "valkey-sentinel://localhost/m?sentinel_password=hunter2&timeout_ms=hunter2",
];

#[tokio::test]
async fn a_redis_url_is_read_where_there_is_such_a_store() {
    use ErrorKind::{Invalid, Unsupported};
    let (kind, words) = if cfg!(feature = "redis") {
        (Invalid, "")
    } else {
        (Unsupported, "enable the feature redis")
    };
    for url in REDIS_URLS {
        let (told, sentence) = refusal(url).await;
        assert_eq!(told, kind, "{url}: {sentence}");
        assert!(sentence.contains(words), "{url}: {sentence}");
        assert!(!sentence.contains("there is no store"), "{url}: {sentence}");
        assert!(!sentence.contains("hunter2"), "{url}: {sentence}");
        assert!(!redacted(url).contains("hunter2") || url.ends_with("/hunter2"), "{url}");
    }
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn a_redis_that_nobody_serves_is_unavailable() {
    // Bound and dropped: nobody listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    for form in ["redis", "valkey-cluster"] {
        let (kind, sentence) = refusal(&format!("{form}://ada:hunter2@{address}")).await;
        assert_eq!(kind, ErrorKind::Unavailable, "{sentence}");
        assert!(!sentence.contains("hunter2"), "{sentence}");
    }
}

#[tokio::test]
async fn no_error_shows_a_password() {
    let urls = [
        "postgres://ada:hunter2@localhost/tasks",
        "mysql://ada:hunter2@localhost/tasks",
        "redis-ring://:hunter2@localhost",
        "mongodb://ada:hunter2@localhost/tasks",
        "ada hunter2@localhost:5432",
        "sqlite://ada:hunter2@localhost/tasks",
        "sqlite://hunter2@localhost/tasks",
        "sqlite:tasks.db?password=hunter2",
        "sqlite:tasks.db?synchronous=hunter2",
        "memory://ada:hunter2@localhost",
    ];
    for url in urls {
        let (_, sentence) = refusal(url).await;
        assert!(!sentence.contains("hunter2"), "{url}: {sentence}");
        assert!(!redacted(url).contains("hunter2"), "{url}: {}", redacted(url));
    }
}

#[tokio::test]
async fn each_memory_url_opens_a_new_store() {
    let new = || NewTask::new("resize", "cat.png", Delivery::at_least_once()).with_id("cat");
    for url in ["memory:", "memory://", "Memory:"] {
        let store = connect(url).await.expect("memory is always there");
        assert_eq!(store.capabilities().name, "memory");
        let verdict = store.enqueue_one("images", new()).await.expect("memory answers");
        assert!(matches!(verdict, EnqueueVerdict::Enqueued { .. }), "{url}: {verdict:?}");
    }
}

#[cfg(not(feature = "sqlite"))]
#[tokio::test]
async fn a_store_that_was_left_out_names_its_feature() {
    let (kind, sentence) = refusal("sqlite:tasks.db").await;
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(sentence.contains("enable the feature sqlite"), "{sentence}");
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::path::Path;

    use leasehold::{BackendExt, Delivery, ErrorKind, NewTask, TaskRef, connect};

    use super::refusal;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("the system has a folder for temporary files")
    }

    fn text(path: &Path) -> &str {
        path.to_str().expect("temporary files have plain names")
    }

    #[tokio::test]
    async fn a_path_is_found_however_the_url_writes_it() {
        let folder = folder();
        // The file's name, and what a URL may write for it after the folder.
        let table = [
            ("plain.db", "plain.db"),
            ("two words.db", "two words.db"),
            ("two words.db", "two%20words.db"),
            ("100%.db", "100%25.db"),
            ("why?.db", "why%3F.db"),
            ("räksmörgås#1.db", "räksmörgås#1.db"),
            ("full.db", "full.db?synchronous=full"),
            ("normal.db", "normal.db?synchronous=normal"),
            ("none.db", "none.db?"),
        ];
        for (name, written) in table {
            for scheme in ["sqlite:", "sqlite://", "SQLite:"] {
                let url = format!("{scheme}{}/{written}", text(folder.path()));
                let store = connect(&url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
                assert_eq!(store.capabilities().name, "sqlite", "{url}");
                assert!(folder.path().join(name).is_file(), "{url} made no file {name}");
            }
        }
    }

    #[tokio::test]
    async fn a_relative_path_begins_at_the_current_folder() {
        let here = std::env::current_dir().expect("a test has a current folder");
        let folder = tempfile::tempdir_in(&here).expect("a test may write to its folder");
        let relative = folder.path().strip_prefix(&here).expect("it was made in there");
        for (number, scheme) in ["sqlite:", "sqlite:./", "sqlite://"].into_iter().enumerate() {
            let url = format!("{scheme}{}/{number}.db", text(relative));
            connect(&url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
            assert!(folder.path().join(format!("{number}.db")).is_file(), "{url}");
        }
    }

    #[tokio::test]
    async fn two_handles_of_one_url_see_the_same_tasks() {
        let folder = folder();
        let url = format!("sqlite:{}", text(&folder.path().join("tasks.db")));
        let one = connect(&url).await.expect("the first handle makes the file");
        let other = connect(&url).await.expect("the second handle finds it");
        let new = NewTask::new("resize", "cat.png", Delivery::at_least_once()).with_id("cat");
        let _ = one.enqueue_one("images", new).await.expect("the store answers");
        let seen = other.task(&TaskRef::new("images", "cat")).await.expect("the store answers");
        assert!(seen.is_some(), "LH-ENQ-4");
    }

    #[tokio::test]
    async fn a_url_that_opens_no_file_is_told_why() {
        let folder = folder();
        let other = folder.path().join("notes.txt");
        std::fs::write(&other, "Not a database, but long enough to look at. ".repeat(100))
            .expect("the folder can be written to");
        let missing = folder.path().join("missing").join("tasks.db");
        let table = [
            ("sqlite:".to_owned(), "sqlite:PATH"),
            ("sqlite://".to_owned(), "sqlite:PATH"),
            ("sqlite::memory:".to_owned(), "write memory:"),
            ("sqlite://user@host/tasks.db".to_owned(), "no user and no host"),
            ("sqlite:%FF.db".to_owned(), "not UTF-8"),
            ("sqlite:tasks.db?mode=ro".to_owned(), "known is synchronous=full|normal"),
            ("sqlite:tasks.db?synchronous=off".to_owned(), "is full or normal"),
            (format!("sqlite:{}", text(&missing)), "folder"),
            (format!("sqlite:{}", text(&other)), "database"),
        ];
        for (url, words) in table {
            let (kind, sentence) = refusal(&url).await;
            assert_eq!(kind, ErrorKind::Invalid, "{url}: {sentence}");
            assert!(sentence.contains(words), "{url}: {sentence}");
            assert_eq!(sentence.lines().count(), 1, "{url}: {sentence}");
        }
        assert!(!missing.exists());
    }
}

#[test]
fn a_url_is_shown_without_its_secrets() {
    let table = [
        ("memory:", "memory:"),
        ("memory://", "memory://"),
        ("sqlite:tasks.db", "sqlite:tasks.db"),
        ("sqlite:/srv/a@b:c/100%25.db", "sqlite:/srv/a@b:c/100%25.db"),
        ("sqlite:///srv/a@b/tasks.db", "sqlite:///srv/a@b/tasks.db"),
        ("SQLite:räksmörgås#1.db?synchronous=full", "SQLite:räksmörgås#1.db?synchronous=full"),
        ("sqlite:two\nlines\u{85}.db", "sqlite:two%0Alines%C2%85.db"),
        ("sqlite:tasks.db?", "sqlite:tasks.db?"),
        ("sqlite:tasks.db?synchronous=normal&key=s3", "sqlite:tasks.db?synchronous=normal&***"),
        ("sqlite:tasks.db?synchronous=s3", "sqlite:tasks.db?***"),
        ("sqlite://ada:s3@localhost/tasks.db", "sqlite://***@localhost/tasks.db"),
        ("sqlite://s3@tasks.db?key=s3", "sqlite://***@tasks.db?***"),
        ("postgres://ada:s3@db.example:5432/tasks", "postgres://***@db.example:5432/tasks"),
        ("postgres://ada:s3@a:1,b:2/tasks", "postgres://***@a:1,b:2/tasks"),
        ("postgres://db/tasks?user=ada&password=s3", "postgres://db/tasks?***&***"),
        ("postgres://db/tasks?password=a&s3", "postgres://db/tasks?***&***"),
        ("postgres://db/tasks#s3", "postgres://db/tasks#***"),
        ("mysql://ada@/tasks", "mysql://***@/tasks"),
        ("redis://:s3@[::1]:6379/0", "redis://***@[::1]:6379/0"),
        ("redis://[fe80::1%25eth0]/0", "redis://[fe80::1%25eth0]/0"),
        ("rediss://s%40%3A3@cache", "rediss://***@cache"),
        ("redis-sentinel://ada:s3@a:1,b/m/2", "redis-sentinel://***@a:1,b/m/2"),
        ("valkey-sentinel://a/m?sentinel_password=s3", "valkey-sentinel://a/m?***"),
        ("valkeys-cluster://:s3@[::1]:1,b", "valkeys-cluster://***@[::1]:1,b"),
        ("redis-cluster://ada:s/3@a,b", "redis-cluster://***"),
        ("mongodb+srv://ada:s3@db/tasks", "mongodb+srv://***@db/tasks"),
        // A password with a character that ends something, or that something was forgotten of.
        ("postgres://ada:p@s3@db/tasks", "postgres://***@db/tasks"),
        ("postgres://ada:p/s3@db/tasks", "postgres://***"),
        ("postgres://ada:1/s3@db/tasks", "postgres://***"),
        ("postgres://ada:1?s3@db/tasks", "postgres://***"),
        ("postgres://ada:1#s3@db/tasks", "postgres://***"),
        ("postgres://ada:1/s3%40db/tasks", "postgres://***"),
        ("postgres://ada%3As3%40db/tasks", "postgres://***"),
        ("postgres://ada:s3/tasks", "postgres://***"),
        ("postgres://[ada:s3", "postgres://***"),
        ("postgres://[s3#]/tasks", "postgres://***"),
        ("postgres://[s3!]/tasks", "postgres://***"),
        ("postgres://[::1]s3/tasks", "postgres://***"),
        ("postgres:ada:s3@db", "***"),
        ("ada:s3@db:5432/tasks", "***"),
        ("ada s3://db", "***"),
        ("memory:s3", "***"),
        ("host=db password=s3", "***"),
        ("C:\\s3\\tasks.db", "***"),
        ("tasks.db", "***"),
        (":", "***"),
        ("://", "***"),
        ("", "***"),
    ];
    for (url, shown) in table {
        assert_eq!(redacted(url), shown, "{url}");
        assert!(!redacted(url).contains("s3"), "{url}");
    }
}
