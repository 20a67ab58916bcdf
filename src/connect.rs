//! From a URL to a store: [`connect()`].

use std::sync::Arc;

use leasehold_core::{Backend, Error, ErrorKind, MemoryBackend};

/// What a URL may begin with, for errors.
const KNOWN: &str = "memory:, sqlite:PATH and redis://HOST";

/// Opens the store that `url` names, and makes it ready for use.
///
/// | URL | store |
/// |---|---|
/// | `memory:` | a new store in this process, gone with its last handle |
/// | `sqlite:PATH` | the SQLite file at PATH, made if it is missing; its folder must exist |
/// | `redis://[USER:PASSWORD@]HOST[:PORT][/DB]` | one Redis or Valkey server |
/// | `redis-sentinel://[USER:PASSWORD@]HOST[:PORT],.../MASTER[/DB]` | the server that these Sentinels call MASTER |
/// | `redis-cluster://[USER:PASSWORD@]HOST[:PORT],...` | the cluster to which these nodes belong |
///
/// `valkey` may stand for `redis`; `rediss` and `valkeys` connect by TLS, with the feature `tls`.
/// In a user, a password and a value `% / ? # @ : & ,` are written by their percent codes.
///
/// PATH is relative to the current folder or absolute; `sqlite://PATH` means the same. In it
/// `%` and `?` are written `%25` and `%3F`; any other byte may be written by its percent code.
///
/// | store | parameter | value | means |
/// |---|---|---|---|
/// | SQLite | `synchronous` | `full` (default) | an effect that was confirmed survives a loss of power |
/// | SQLite | `synchronous` | `normal` | it survives the end of the process, but a loss of power may undo the newest |
/// | Redis | `namespace` | 1 to 64 bytes, default `lh` | the first part of every key |
/// | Redis | `timeout_ms` | 1 to 86400000, default 5000 | the deadline of a call, after which it is Unavailable |
/// | Redis | `sentinel_user`, `sentinel_password` | text | the login at the Sentinels, if they want one |
///
/// An error never repeats what could be a password: of any URL but SQLite's it shows at most
/// the scheme.
///
/// # Errors
/// Invalid when the URL cannot be read, or names a store that cannot be used as it is;
/// Unsupported when this build has no such store or the backend speaks another version of the
/// contract (LH-GEN-10); else what the store's own start answers, such as Unavailable.
///
/// # Cancel safety
/// A dropped future leaves at most an empty store behind, which the next call opens.
///
/// # Examples
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let store = leasehold::connect("memory:").await?;
/// assert_eq!(store.capabilities().name, "memory");
///
/// let error = leasehold::connect("postgres://ada:secret@localhost/tasks").await.err();
/// assert!(error.is_some_and(|error| !error.to_string().contains("secret")));
/// # Ok::<(), leasehold::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn connect(url: &str) -> Result<Arc<dyn Backend>, Error> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(Error::invalid(format!(
            "a store is named by a URL that begins with its scheme; known are {KNOWN}"
        )));
    };
    let store: Arc<dyn Backend> = match scheme.to_ascii_lowercase().as_str() {
        "memory" => memory(rest)?,
        "sqlite" => sqlite(rest).await?,
        "postgres" | "postgresql" => return Err(planned("PostgreSQL")),
        "mysql" | "mariadb" => return Err(planned("MySQL and MariaDB")),
        scheme if is_redis(scheme) => redis(url).await?,
        _ => return Err(unknown(scheme)),
    };
    store.capabilities().check_contract()?;
    Ok(store)
}

fn memory(rest: &str) -> Result<Arc<dyn Backend>, Error> {
    if !matches!(rest, "" | "//") {
        return Err(Error::invalid("memory: takes nothing after it"));
    }
    Ok(Arc::new(MemoryBackend::new()))
}

#[cfg(feature = "sqlite")]
async fn sqlite(rest: &str) -> Result<Arc<dyn Backend>, Error> {
    let config = sqlite_config(rest)?;
    Ok(Arc::new(leasehold_sql::SqliteBackend::connect(config).await?))
}

#[cfg(feature = "sqlite")]
fn sqlite_config(rest: &str) -> Result<leasehold_sql::SqliteConfig, Error> {
    use leasehold_sql::{SqliteConfig, Synchronous};

    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let mut config = SqliteConfig::new(sqlite_path(path)?);
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        // An unknown parameter is named and its value is not: it may be a secret.
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        config = match (name, value) {
            ("synchronous", "full") => config.with_synchronous(Synchronous::Full),
            ("synchronous", "normal") => config.with_synchronous(Synchronous::Normal),
            ("synchronous", _) => {
                return Err(Error::invalid("the parameter synchronous is full or normal"));
            }
            (name, _) => {
                return Err(Error::invalid(format!(
                    "a sqlite URL has no parameter {name:?}; known is synchronous=full|normal"
                )));
            }
        };
    }
    Ok(config)
}

#[cfg(feature = "sqlite")]
fn sqlite_path(path: &str) -> Result<std::path::PathBuf, Error> {
    let path = match path.strip_prefix("//") {
        // What stands where other URLs have their user could be a password.
        Some(path) if path.split('/').next().is_some_and(|part| part.contains('@')) => {
            return Err(Error::invalid(
                "a sqlite URL has no user and no host: write sqlite:PATH, with @ as %40",
            ));
        }
        Some(path) => path,
        None => path,
    };
    let path = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| Error::invalid("the path of a sqlite URL is not UTF-8"))?;
    match path.as_ref() {
        "" => Err(Error::invalid("a sqlite URL names its file: sqlite:PATH")),
        ":memory:" => Err(Error::invalid(
            "a SQLite database in memory is not offered: write memory: for a store in memory",
        )),
        path => Ok(path.into()),
    }
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_: &str) -> Result<Arc<dyn Backend>, Error> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "this build has no SQLite store: enable the feature sqlite of the crate leasehold",
    ))
}

/// Whether the scheme is one of Redis and Valkey: alone, or as `redis-sentinel` and the like.
fn is_redis(scheme: &str) -> bool {
    let (server, form) = scheme.split_once('-').unwrap_or((scheme, ""));
    matches!(server, "redis" | "rediss" | "valkey" | "valkeys")
        && matches!(form, "" | "sentinel" | "cluster")
}

#[cfg(feature = "redis")]
async fn redis(url: &str) -> Result<Arc<dyn Backend>, Error> {
    let config = leasehold_redis::RedisConfig::from_url(url)?;
    Ok(Arc::new(leasehold_redis::RedisBackend::connect(config).await?))
}

#[cfg(not(feature = "redis"))]
async fn redis(_: &str) -> Result<Arc<dyn Backend>, Error> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "this build has no Redis store: enable the feature redis of the crate leasehold",
    ))
}

fn planned(store: &str) -> Error {
    let what = format!("{store} is planned and not built yet: use sqlite: or memory:");
    Error::new(ErrorKind::Unsupported, what)
}

fn unknown(scheme: &str) -> Error {
    // What is no scheme at all may be the beginning of anything, so it is not shown.
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if scheme.is_empty() || scheme.len() > 20 || !scheme.chars().all(is_scheme) {
        return Error::invalid(format!(
            "a store is named by a URL that begins with its scheme; known are {KNOWN}"
        ));
    }
    Error::invalid(format!("there is no store for {scheme}: URLs; known are {KNOWN}"))
}
