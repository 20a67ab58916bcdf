//! [`ServerError`]: why a server of a test is not as it was asked for.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a server of a test could not be found, started, reached or told something. Its text is
/// for people, and quotes the server's own log where that says more.
#[derive(Debug)]
pub struct ServerError {
    text: String,
    source: Option<io::Error>,
}

impl ServerError {
    /// An error with this text: lower case, without a full stop.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None }
    }

    /// An error of the system while doing `what`.
    #[must_use]
    pub fn io(what: impl fmt::Display, source: io::Error) -> Self {
        Self { text: format!("{what}: {source}"), source: Some(source) }
    }

    /// The same error with what a server wrote about it.
    pub(super) fn with_log(mut self, log: &str) -> Self {
        let lines: Vec<_> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(LOG_LINES_MAX)..];
        self.text = match last {
            [] => format!("{}; its log is empty", self.text),
            last => format!("{}; its log ends:\n{}", self.text, last.join("\n")),
        };
        self
    }
}

/// As much as a person reads, and more than any server says about why it does not start.
const LOG_LINES_MAX: usize = 30;

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for ServerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
