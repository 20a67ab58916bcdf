//! The command line.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use etcetera::BaseStrategy;
use lexopt::prelude::*;

use crate::trouble::Trouble;

/// Most handlers of one process.
const WORKERS_MAX: usize = 500;

pub const HELP: &str = "\
Measures every file of a folder (SHA-256, bytes, lines, compressed size) by one durable
task a file. Kill it and start it again, or start it several times at once: no file is
forgotten, and no success is counted twice.

usage: cargo run --example quickstart -- [DIR] [--url URL] [--workers N] [--fresh]

  DIR           the folder; default: the git repository around the current folder, or the
                current folder where there is none. Hidden folders, symlinks and what git
                ignores are left out
  --url URL     the store: sqlite:PATH, redis://HOST in a build with --features redis, or
                memory: for this process only; default: a SQLite file in your cache folder
  --workers N   handlers that run at once in this process, 1 to 500; default: one a core
  --fresh       measure finished files again too, under the same task with its history; a
                task whose file is gone is removed. Without it a finished file is left
                alone for a day, even if it has changed
  --help        print this text

The table goes to stdout, and its last line is the count as the store has it. Everything
else goes to stderr: a bar on a terminal, else a line for each success: ok PATH.
Exit code: 0 done, also with dead letters; 1 the store failed; 2 bad input; 130 Ctrl-C.
";

/// A run that can be tried: the folder is there, the numbers are in range.
pub struct Args {
    /// Canonical, so that one folder has one queue.
    pub dir: PathBuf,
    pub url: String,
    pub workers: usize,
    pub fresh: bool,
}

impl Args {
    /// Reads the arguments of this process; none when they ask for help.
    pub fn read() -> Result<Option<Self>, Trouble> {
        let (mut dir, mut url, mut workers, mut fresh) = (None, None, None, false);
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next().map_err(see_help)? {
            match argument {
                Long("help") | Short('h') => return Ok(None),
                Long("url") => url = Some(text(parser.value().map_err(see_help)?)?),
                Long("workers") => workers = Some(number(parser.value().map_err(see_help)?)?),
                Long("fresh") => fresh = true,
                Value(value) if dir.is_none() => dir = Some(PathBuf::from(value)),
                Value(value) => {
                    let what = format!("one folder at a time, and {value:?} is a second one");
                    return Err(Trouble::asked(what));
                }
                other => return Err(see_help(other.unexpected())),
            }
        }
        Ok(Some(Self {
            dir: folder(dir.map_or_else(default_folder, Ok)?)?,
            url: url.map_or_else(default_url, Ok)?,
            workers: workers.unwrap_or_else(cores),
            fresh,
        }))
    }
}

fn see_help(error: lexopt::Error) -> Trouble {
    Trouble::asked(format!("{error}; --help lists what there is"))
}

fn text(value: OsString) -> Result<String, Trouble> {
    value.into_string().map_err(|_| Trouble::asked("the URL is not UTF-8".to_owned()))
}

fn number(value: OsString) -> Result<usize, Trouble> {
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.filter(|number| (1..=WORKERS_MAX).contains(number)).ok_or_else(|| {
        Trouble::asked(format!("--workers takes a number from 1 to {WORKERS_MAX}, not {value:?}"))
    })
}

fn folder(dir: PathBuf) -> Result<PathBuf, Trouble> {
    let canonical = fs::canonicalize(&dir).map_err(|error| {
        Trouble::asked(format!("the folder {dir:?} cannot be read ({error}): name another"))
    })?;
    if !canonical.is_dir() {
        return Err(Trouble::asked(format!("{dir:?} is not a folder: name the one it is in")));
    }
    Ok(canonical)
}

/// The repository that the user stands in: what `cargo run` was called in, not where the
/// example was built.
fn default_folder() -> Result<PathBuf, Trouble> {
    let here = env::current_dir().map_err(|error| {
        Trouble::asked(format!("there is no current folder ({error}): name a folder"))
    })?;
    let repository = here.ancestors().find(|folder| folder.join(".git").exists());
    Ok(repository.map(Path::to_owned).unwrap_or(here))
}

fn default_url() -> Result<String, Trouble> {
    let unusable = |why: String| Trouble::asked(format!("{why}: name a store with --url"));
    let base = etcetera::choose_base_strategy()
        .map_err(|error| unusable(format!("there is no cache folder ({error})")))?;
    let folder = base.cache_dir().join("leasehold");
    fs::create_dir_all(&folder)
        .map_err(|error| unusable(format!("{folder:?} cannot be made ({error})")))?;
    let path = folder.join("quickstart.db");
    let path = path.to_str().ok_or_else(|| unusable(format!("{path:?} is not UTF-8")))?;
    // These two have a meaning of their own in a URL.
    Ok(format!("sqlite:{}", path.replace('%', "%25").replace('?', "%3F")))
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX)
}
