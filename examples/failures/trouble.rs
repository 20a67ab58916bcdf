//! Why the example ends before its last line, in one sentence for a person.

use std::fmt;
use std::process::ExitCode;

use leasehold::{Error, ErrorKind};

pub enum Trouble {
    /// What was asked for cannot be done: the sentence says what to change.
    Asked(String),
    /// The store or a worker process failed, or something took too long.
    Broken(String),
    /// Ctrl-C.
    Interrupted,
}

impl Trouble {
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Asked(_) => 2,
            Self::Broken(_) => 1,
            Self::Interrupted => 130,
        })
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Invalid | ErrorKind::Unsupported => Self::Asked(error.to_string()),
            ErrorKind::Unavailable | ErrorKind::Corrupt | ErrorKind::Internal => {
                Self::Broken(error.to_string())
            }
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(what) | Self::Broken(what) => f.write_str(what),
            Self::Interrupted => f.write_str("stopped in the middle of the story"),
        }
    }
}
