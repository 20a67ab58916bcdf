//! [`Command`]: what the program is asked for.

use std::path::PathBuf;
use std::str::FromStr;

use lexopt::prelude::*;

use crate::Fault;
use crate::party::{Backlog, Name, Part, Step};
use crate::plan::Work;

/// The two things that this program does.
pub enum Command {
    /// Runs comparisons, and reports them.
    Compare(Wanted),
    /// One part of a run, in a process of its own.
    Part(Part),
}

/// Which comparisons to run, and against which servers.
pub struct Wanted {
    /// The backend to look at.
    pub backend: String,
    /// The works to do; all if empty.
    pub works: Vec<Work>,
    /// Fewer tasks, for a first look.
    pub quick: bool,
    /// Where to write the figures.
    pub json: Option<PathBuf>,
    /// Where to write the table.
    pub table: Option<PathBuf>,
    /// A server that is emptied before each run.
    pub empty: String,
    /// A server that keeps its backlog.
    pub loaded: String,
}

/// Reads the command line.
pub fn parse() -> Result<Command, Fault> {
    let mut parser = lexopt::Parser::from_env();
    match parser.next()? {
        Some(Value(word)) if word == "part" => Ok(Command::Part(part(parser)?)),
        Some(Value(word)) if word == "compare" => Ok(Command::Compare(wanted(parser)?)),
        _ => Err("the first word is compare or part; bench/run is the way in".into()),
    }
}

fn wanted(mut parser: lexopt::Parser) -> Result<Wanted, Fault> {
    let mut wanted = Wanted {
        backend: "redis".to_owned(),
        works: Vec::new(),
        quick: false,
        json: None,
        table: None,
        empty: String::new(),
        loaded: String::new(),
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("backend") => wanted.backend = parser.value()?.string()?,
            Long("work") => wanted.works.push(word(&mut parser)?),
            Long("quick") => wanted.quick = true,
            Long("json") => wanted.json = Some(parser.value()?.into()),
            Long("table") => wanted.table = Some(parser.value()?.into()),
            Long("empty") => wanted.empty = parser.value()?.string()?,
            Long("loaded") => wanted.loaded = parser.value()?.string()?,
            other => return Err(other.unexpected().into()),
        }
    }
    if wanted.backend != "redis" {
        return Err(format!("no backend {:?} here; known is redis", wanted.backend).into());
    }
    if wanted.empty.is_empty() || wanted.loaded.is_empty() {
        return Err("--empty URL and --loaded URL name two servers of bench/run's own".into());
    }
    Ok(wanted)
}

fn part(mut parser: lexopt::Parser) -> Result<Part, Fault> {
    let (mut party, mut step, mut url) = (Name::Ours, Step::Fill(Backlog::Ready), String::new());
    let mut count = 0;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("party") => party = word(&mut parser)?,
            Long("step") => step = word(&mut parser)?,
            Long("url") => url = parser.value()?.string()?,
            Long("count") => count = parser.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Part { party, step, url, count })
}

fn word<T: FromStr<Err = Fault>>(parser: &mut lexopt::Parser) -> Result<T, Fault> {
    parser.value()?.string()?.parse()
}
