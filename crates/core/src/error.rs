//! [`Error`] and [`ErrorKind`]: what went wrong, by what the caller should do about it.

use std::error::Error as StdError;
use std::fmt;

use crate::task::TaskRef;

type Source = Box<dyn StdError + Send + Sync + 'static>;

/// How a caller should react to an [`Error`]. Exhaustive: a new kind changes what callers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The store did not answer, or refused for now. The call was applied once or not at
    /// all (LH-GEN-4): repeat it.
    Unavailable,
    /// The call breaks a rule that the caller can check: fix the call. Nothing changed.
    Invalid,
    /// Stored data cannot be read: look at the data. Nothing changed.
    Corrupt,
    /// The backend does not have this feature (LH-GEN-9). Nothing changed.
    Unsupported,
    /// A fault in Leasehold or in the backend: please report it.
    Internal,
}

/// A failed call. A lost race is never an error but a value of the verb's reply (LH-GEN-8).
pub struct Error {
    kind: ErrorKind,
    what: String,
    task: Option<TaskRef>,
    source: Option<Source>,
}

impl Error {
    /// An error of `kind`; `what` says in lower case, with ids, which operation failed and why.
    #[must_use]
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), task: None, source: None }
    }

    /// An [`ErrorKind::Invalid`] error.
    #[must_use]
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, what)
    }

    /// The same error about one task.
    #[must_use]
    pub fn with_task(mut self, task: &TaskRef) -> Self {
        self.task = Some(task.clone());
        self
    }

    /// The same error with the error that caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// How to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The task that the error is about, if it is about one.
    #[must_use]
    pub fn task(&self) -> Option<&TaskRef> {
        self.task.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(task) = &self.task {
            write!(f, " (task {task})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
