//! Why the process ends without its outcome, in one sentence for a person.

use std::fmt;
use std::process::ExitCode;

use leasehold::{Error, ErrorKind};

/// One sentence, and an exit code.
pub enum Failure {
    /// What was asked for cannot be done: the sentence says what to change.
    Asked(String),
    /// The store failed in the middle of the work; another start goes on from there.
    Broken(String),
}

impl Failure {
    /// 2 for what the caller can change, 1 for the rest.
    pub fn code(&self) -> ExitCode {
        match self {
            Self::Asked(_) => ExitCode::from(2),
            Self::Broken(_) => ExitCode::from(1),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Corrupt => {
                Self::Asked(error.to_string())
            }
            ErrorKind::Unavailable | ErrorKind::Internal => {
                Self::Broken(format!("{error}; nothing is lost, start it again to go on"))
            }
        }
    }
}

impl fmt::Display for Failure {
    /// Always one line, whatever a driver's words are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Asked(what) | Self::Broken(what)) = self;
        let words: Vec<_> = what.split_whitespace().collect();
        f.write_str(&words.join(" "))
    }
}
