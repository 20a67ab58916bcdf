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
    };
    let writer = pool(1).connect_with(options.clone()).await?;
    let mut conn = writer.acquire().await?;
    migrate::check(&mut conn).await?;
    log_ahead(&mut conn).await?;
    migrate::migrate(&mut conn).await?;
    drop(conn);
    let reading = options.pragma("query_only", "on");
    let readers = pool(config.readers).connect_with(reading).await?;
    Ok((writer, readers))
}

fn options(config: &SqliteConfig, path: &Path) -> SqliteConnectOptions {
    let synchronous = match config.synchronous {
        Synchronous::Full => SqliteSynchronous::Full,
        Synchronous::Normal => SqliteSynchronous::Normal,
    };
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .synchronous(synchronous)
        .busy_timeout(config.busy_timeout)
        .disable_statement_logging()
}

/// The absolute path, or what is wrong with it as far as the file system can tell. An absolute
/// path also keeps SQLite from taking a name such as `file:x` for a URL.
fn usable(path: &Path) -> Result<PathBuf, Error> {
    let shown = path.display();
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::invalid("a sqlite file needs a path").with_source(error))?;
    if absolute.to_str().is_none() {
        return Err(Error::invalid(format!("the path {shown} is not UTF-8: choose another")));
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
