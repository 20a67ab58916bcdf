//! Why the process ends without its outcome, in one sentence for a person.

use std::fmt;

use leasehold::{Error, ErrorKind};

/// One sentence, and an exit code.
pub struct Trouble {
    pub code: u8,
    words: String,
}

impl Trouble {
    /// What was asked for cannot be done: the words say what to change.
    pub fn asked(words: impl Into<String>) -> Self {
        Self { code: 2, words: words.into() }
    }

    /// The store failed in the middle of the work; another start goes on from there.
    pub fn broken(words: impl Into<String>) -> Self {
        Self { code: 1, words: words.into() }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Unavailable | ErrorKind::Internal => {
                Self::broken(format!("{error}; nothing is lost, start it again to go on"))
            }
            _ => Self::asked(error.to_string()),
        }
    }
}

impl fmt::Display for Trouble {
    /// Always one line, whatever a driver's words are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
