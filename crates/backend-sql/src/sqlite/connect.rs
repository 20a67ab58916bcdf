//! From a path to open connections on a migrated file, or a sentence that says what to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold_core::{Error, ErrorKind};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection};

use super::config::{SqliteConfig, Synchronous};
use super::migrate;
use super::step::TURN;
use crate::error::{Fault, result_code, told};

/// How many times the switch to a write-ahead log is tried while others open the same new file.
const SWITCHES_MAX: usize = 20;

/// One connection that writes and some that only read.
pub(super) struct Pools {
    pub path: PathBuf,
    pub writer: SqlitePool,
    pub readers: SqlitePool,
}

/// Opens the file of `config` and brings its schema up to date.
pub(super) async fn open(config: &SqliteConfig) -> Result<Pools, Error> {
    let path = usable(&config.path)?;
    let options = options(config, &path);
    match open_at(config, options).await {
        Ok((writer, readers)) => Ok(Pools { path, writer, readers }),
        Err(fault) => Err(explained(fault, &path)),
    }
}

async fn open_at(
    config: &SqliteConfig,
    options: SqliteConnectOptions,
) -> Result<(SqlitePool, SqlitePool), Fault> {
    // Nobody waits in line longer than a write of another process may take, twice over: the
    // one before in the line may have waited as long.
    let patience = config.busy_timeout.saturating_mul(2).max(Duration::from_secs(1));
    let pool = |size| {
        SqlitePoolOptions::new()
            .max_connections(size)
            .acquire_timeout(patience)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            // After a full disk or a failed write SQLite has rolled back by itself, and the
            // driver, whose own rollback then finds nothing to undo, takes the transaction for
            // open for ever. Such a connection is closed, and the next call opens another. The
            // ping comes first because a dropped transaction has only queued its rollback.
            .after_release(|conn, _| {
                Box::pin(async move {
                    conn.ping().await?;
                    Ok(!conn.is_in_transaction())
                })
            })
    };
    let writer = pool(1).connect_with(options.clone()).await?;
    let mut conn = writer.acquire().await?;
    migrate::check(&mut conn).await?;
    log_ahead(&mut conn).await?;
    migrate::migrate(&mut conn).await?;
    // Whoever connects later must not bring back, empty, a file that somebody has removed.
    let again = options.create_if_missing(false);
    // What opens a file waits in one piece, and what writes to it in turns.
    writer.set_connect_options(again.clone().busy_timeout(TURN));
    conn.close().await?;
    drop(writer.acquire().await?);
    let reading = again.pragma("query_only", "on");
    let readers = pool(config.readers).connect_with(reading).await?;
    Ok((writer, readers))
}

fn options(config: &SqliteConfig, path: &Path) -> SqliteConnectOptions {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .busy_timeout(config.busy_timeout)
        .disable_statement_logging();
    match config.synchronous {
        // On macOS a plain sync leaves the data in the disk's cache; elsewhere these two
        // pragmas have no effect.
        Synchronous::Full => options
            .synchronous(SqliteSynchronous::Full)
            .pragma("fullfsync", "on")
            .pragma("checkpoint_fullfsync", "on"),
        Synchronous::Normal => options.synchronous(SqliteSynchronous::Normal),
    }
}

/// The absolute path, or what is wrong with it as far as the file system can tell. An absolute
/// path also keeps SQLite from taking a name such as `file:x` for a URL.
fn usable(path: &Path) -> Result<PathBuf, Error> {
    let shown = path.display();
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::invalid("a sqlite file needs a path").with_source(error))?;
    match absolute.to_str() {
        None => {
            return Err(Error::invalid(format!("the path {shown} is not UTF-8: choose another")));
        }
        // SQLite would take the name to end there.
        Some(text) if text.contains('\0') => {
            let what = format!("the path {path:?} has a NUL byte: choose another");
            return Err(Error::invalid(what));
        }
        Some(_) => {}
    }
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        let what = format!("the folder {} does not exist: make it first", folder.display());
        return Err(Error::invalid(what));
    }
    if absolute.is_dir() {
        return Err(Error::invalid(format!("{shown} is a folder: name a file in it")));
    }
    // Write-ahead log and its index lie beside the file, so the folder counts too.
    for place in [absolute.as_path(), folder] {
        if place.metadata().is_ok_and(|place| place.permissions().readonly()) {
            return Err(read_only(place));
        }
    }
    Ok(absolute)
}

fn read_only(place: &Path) -> Error {
    let what = format!("{} is read-only: make it writable for this process", place.display());
    Error::invalid(what)
}

/// Switches a new file to a write-ahead log, which readers and the writer do not block.
async fn log_ahead(conn: &mut SqliteConnection) -> Result<(), Fault> {
    for _ in 0..SWITCHES_MAX {
        let switched = sqlx::query_scalar::<_, String>("pragma journal_mode = wal");
        match switched.fetch_one(&mut *conn).await {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => break,
            // SQLite does not wait for its busy timeout here, when another process opens the
            // same new file; to begin a write does wait until that one is done.
            Err(error) if result_code(&error) == Some(5) => {
                conn.begin_with("begin immediate").await?.rollback().await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let what = "the file cannot have a write-ahead log here: keep it on a local disk";
    Err(Error::new(ErrorKind::Unsupported, what).into())
}

/// The fault in words that name the file and what to do.
fn explained(fault: Fault, path: &Path) -> Error {
    let shown = path.display();
    let code = match &fault {
        Fault::Store(error) => result_code(error),
        Fault::Told(_) => None,
    };
    match code {
        Some(8) => read_only(path),
        Some(14) => {
            Error::invalid(format!("{shown} cannot be opened: check the permissions of its folder"))
        }
        Some(26) => {
            Error::invalid(format!("{shown} is not a SQLite database: choose another file"))
        }
        _ => match fault {
            Fault::Told(error) => Error::new(error.kind(), format!("{shown}: {error}")),
            fault => told(&format!("connect to {shown}"), fault),
        },
    }
}

#[cfg(test)]
mod tests {
    use leasehold_core::{Backend, BackendExt, Configure, Delivery, NewTask};

    use super::super::SqliteBackend;
    use super::*;

    async fn pragma(pool: &SqlitePool, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(pool).await.expect("a number")
    }

    #[tokio::test]
    async fn a_handle_is_usable_again_after_a_full_disk() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = SqliteConfig::new(folder.path().join("tasks.db"));
        let store = SqliteBackend::connect(config).await.expect("it opens");
        store.configure(Configure::new("q")).await.expect("it is made");
        // SQLite answers as on a full disk once it needs a further page. The bound is the
        // connection's own and ends with it. These names need a page for each dozen of them, in
        // statements so simple that SQLite undoes the whole transaction.
        pragma(&store.writer, "pragma max_page_count = 1").await;
        let wide = (10..60)
            .fold(Configure::new("q"), |request, n| request.with_limit(format!("{n:0>200}"), 1));
        let error = store.configure(wide).await.expect_err("the disk is full");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        for id in ["a", "b", "c"] {
            let new = NewTask::named(id, "kind", "payload", Delivery::NotAfterLoss);
            let again = store.enqueue_one("q", new).await;
            assert!(again.is_ok(), "there is room again: {again:?}");
        }
    }

    /// What the driver does not see: SQLite has ended the transaction by itself.
    #[tokio::test]
    async fn a_transaction_that_sqlite_has_rolled_back_leaves_no_trace() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = SqliteConfig::new(folder.path().join("tasks.db"));
        let pools = open(&config).await.expect("it opens");
        for _ in 0..3 {
            let mut tx = pools.writer.begin_with("begin immediate").await.expect("it begins");
            let clash = sqlx::query("insert or rollback into fence (one, value) values (1, 0)");
            let error = clash.execute(&mut *tx).await.expect_err("the row is there");
            assert_eq!(result_code(&error), Some(19));
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_writer_that_connects_again_makes_no_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = SqliteConfig::new(folder.path().join("tasks.db"));
        let pools = open(&config).await.expect("it opens");
        std::fs::remove_file(&pools.path).expect("it is removed");
        pools.writer.acquire().await.expect("the one that is open").close().await.expect("closed");
        let error = pools.writer.acquire().await.expect_err("no file to open");
        assert_eq!(result_code(&error), Some(14), "{error}");
        assert!(!pools.path.exists());
    }

    #[tokio::test]
    async fn full_asks_for_a_full_sync_also_where_a_plain_one_is_not() {
        for (synchronous, expected) in [(Synchronous::Full, 1), (Synchronous::Normal, 0)] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let config = SqliteConfig::new(folder.path().join("tasks.db"));
            let pools = open(&config.with_synchronous(synchronous)).await.expect("it opens");
            for sql in ["pragma fullfsync", "pragma checkpoint_fullfsync"] {
                assert_eq!(pragma(&pools.writer, sql).await, expected, "{sql}");
            }
        }
    }
}
