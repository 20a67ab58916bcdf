//! The command line.

use std::path::Path;

use lexopt::prelude::*;

use crate::trouble::Trouble;

pub const HELP: &str = "\
Plants six tasks that go wrong: by an error, a panic, a run over its time, a process that
dies, a payload that no retry can help. Two worker processes run them; whenever one dies a
new one is started. Prints what an operator sees of each task, repairs a dead letter, and
ends with a table of what the budgets show. Takes about 10 s, mostly to wait until
leases lapse.

usage: cargo run --example failures -- [--url URL]

  --url URL   keep the store: sqlite:PATH, a file without tasks of this example; default: a
              file in a temporary folder that goes away at the end
  --help      print this text

Exit code: 0 every task came to its end; 1 the store or a worker failed; 2 bad input;
130 Ctrl-C.
";

/// What the command line asks for.
pub enum Asked {
    Help,
    /// To be the operator, with this store or with one in a temporary folder.
    Story(Option<String>),
    /// To be a worker process on this store: the example starts itself like that.
    Worker(String),
}

/// Reads the arguments of this process.
pub fn read() -> Result<Asked, Trouble> {
    let (mut url, mut is_worker) = (None, false);
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next().map_err(see_help)? {
        match argument {
            Long("help") | Short('h') => return Ok(Asked::Help),
            Long("url") => {
                let value = parser.value().map_err(see_help)?;
                url = Some(value.string().map_err(see_help)?);
            }
            Value(word) if word == "worker" => is_worker = true,
            other => return Err(see_help(other.unexpected())),
        }
    }
    match (is_worker, url) {
        (false, url) => Ok(Asked::Story(url)),
        (true, Some(url)) => Ok(Asked::Worker(url)),
        (true, None) => Err(Trouble::Asked("a worker needs the --url of its store".to_owned())),
    }
}

/// The store in a temporary folder.
pub fn url_in(folder: &Path) -> Result<String, Trouble> {
    let path = folder.join("failures.db");
    let path = path
        .to_str()
        .ok_or_else(|| Trouble::Asked(format!("{path:?} is not UTF-8: name a store with --url")))?;
    // These two have a meaning of their own in a URL.
    Ok(format!("sqlite:{}", path.replace('%', "%25").replace('?', "%3F")))
}

fn see_help(error: lexopt::Error) -> Trouble {
    Trouble::Asked(format!("{error}; --help lists what there is"))
}
