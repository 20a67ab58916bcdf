//! What is set when the service starts.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;

pub const USAGE: &str = "\
usage: leasehold-axum-service [PORT] [FILE] [--documents DIR] [--grace SECONDS]

  PORT              on 127.0.0.1; 0, the default, takes a free one
  FILE              a SQLite file; default: the store of LEASEHOLD_URL, else reports.db
  --documents DIR   the folder that reports are about; default: the current folder
  --grace SECONDS   what handlers have left after SIGTERM or Ctrl-C; default: 20";

/// Most platforms wait 30 s before they kill a process. A handler that is cancelled after the
/// grace has 5 s more to end, a sixth of its lease, and its task is given back after that.
const GRACE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Settings {
    pub port: u16,
    pub url: String,
    pub documents: PathBuf,
    pub grace: Duration,
}

impl Settings {
    pub fn read() -> Result<Self, Box<dyn Error>> {
        let (mut port, mut file, mut documents, mut grace) = (None, None, None, None);
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("documents") => documents = Some(PathBuf::from(parser.value()?)),
                Long("grace") => grace = Some(Duration::from_secs(parser.value()?.parse()?)),
                Value(value) if port.is_none() => port = Some(value.parse()?),
                Value(value) if file.is_none() => file = Some(value),
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(Self {
            port: port.unwrap_or(0),
            url: match file {
                Some(file) => url_of(file)?,
                None => env::var("LEASEHOLD_URL").unwrap_or("sqlite:reports.db".to_owned()),
            },
            documents: documents.unwrap_or(".".into()),
            grace: grace.unwrap_or(GRACE),
        })
    }
}

fn url_of(file: OsString) -> Result<String, Box<dyn Error>> {
    let file = file.into_string().map_err(|file| format!("{file:?} is not UTF-8"))?;
    // These two have a meaning of their own in a URL.
    Ok(format!("sqlite:{}", file.replace('%', "%25").replace('?', "%3F")))
}
