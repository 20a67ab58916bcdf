//! From a driver's error to one of core: [`told`], the only place that knows both.

use leasehold_core::{Error, ErrorKind};

/// What ends a verb early.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The driver or the store failed.
    Store(sqlx::Error),
    /// Core or the backend has said already what is wrong.
    Told(Error),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

/// A stored value that this build cannot read.
pub(crate) fn unreadable(what: &str) -> Fault {
    Fault::Told(Error::new(ErrorKind::Corrupt, format!("{what} cannot be read")))
}

/// The error of a row that this build cannot read, which concerns that row alone; any other
/// fault concerns the whole call.
pub(crate) fn unreadable_row(fault: Fault) -> Result<Error, Fault> {
    match fault {
        Fault::Told(error) => Ok(error),
        Fault::Store(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => {
            Ok(told("read a task", fault))
        }
        Fault::Store(_) => Err(fault),
    }
}

/// What the caller of `verb` is told about a fault.
pub(crate) fn told(verb: &str, fault: Fault) -> Error {
    match fault {
        Fault::Told(error) => error,
        Fault::Store(source) => {
            let (kind, why) = judge(&source);
            Error::new(kind, format!("{verb}: {why}")).with_source(source)
        }
    }
}

/// How to react, and why, in a few words; the driver's own words follow as the source.
fn judge(error: &sqlx::Error) -> (ErrorKind, &'static str) {
    match error {
        sqlx::Error::Database(_) => judge_code(result_code(error)),
        sqlx::Error::PoolTimedOut => {
            (ErrorKind::Unavailable, "every connection of this handle stayed in use")
        }
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::Io(_) => {
            (ErrorKind::Unavailable, "the connection is gone; the call may have been applied")
        }
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            (ErrorKind::Corrupt, "a stored value cannot be read")
        }
        _ => (ErrorKind::Internal, "the driver was used wrongly"),
    }
}

/// SQLite's result code; the low byte alone, as the rest only says more about it.
pub(crate) fn result_code(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(error) = error else { return None };
    error.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}

fn judge_code(code: Option<i32>) -> (ErrorKind, &'static str) {
    match code {
        Some(5 | 6) => (ErrorKind::Unavailable, "the file stayed locked by somebody else"),
        Some(7) => (ErrorKind::Unavailable, "there was no memory left"),
        Some(8) => (ErrorKind::Unavailable, "the file or its folder is read-only"),
        Some(9) => (ErrorKind::Unavailable, "the call was interrupted"),
        Some(10) => {
            (ErrorKind::Unavailable, "reading or writing failed; the call may have been applied")
        }
        Some(13) => (ErrorKind::Unavailable, "the disk is full"),
        Some(14) => (ErrorKind::Unavailable, "the file cannot be opened"),
        Some(15) => (ErrorKind::Unavailable, "others kept the write-ahead log from being opened"),
        Some(11) => (ErrorKind::Corrupt, "the file is damaged"),
        Some(26) => (ErrorKind::Corrupt, "the file is not a SQLite database"),
        _ => (ErrorKind::Internal, "the store refused a statement"),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::error::Error as StdError;
    use std::fmt;

    use sqlx::error::{DatabaseError, ErrorKind as Violation};

    use super::*;

    #[derive(Debug)]
    struct Coded(i32);

    impl fmt::Display for Coded {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "code {}", self.0)
        }
    }

    impl StdError for Coded {}

    impl DatabaseError for Coded {
        fn message(&self) -> &str {
            "coded"
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.to_string().into())
        }

        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> Violation {
            Violation::Other
        }
    }

    fn kind(error: sqlx::Error) -> ErrorKind {
        told("commit", Fault::Store(error)).kind()
    }

    #[test]
    fn each_result_code_has_a_kind() {
        let table = [
            (5, ErrorKind::Unavailable),    // busy
            (261, ErrorKind::Unavailable),  // busy, recovering
            (517, ErrorKind::Unavailable),  // busy, old snapshot
            (6, ErrorKind::Unavailable),    // locked
            (7, ErrorKind::Unavailable),    // out of memory
            (8, ErrorKind::Unavailable),    // read-only
            (9, ErrorKind::Unavailable),    // interrupted
            (10, ErrorKind::Unavailable),   // input or output
            (1034, ErrorKind::Unavailable), // sync of a file
            (13, ErrorKind::Unavailable),   // disk full
            (14, ErrorKind::Unavailable),   // cannot open
            (15, ErrorKind::Unavailable),   // protocol of the log's locks
            (11, ErrorKind::Corrupt),       // malformed
            (26, ErrorKind::Corrupt),       // no database
            (1, ErrorKind::Internal),       // SQL error
            (19, ErrorKind::Internal),      // constraint
            (2067, ErrorKind::Internal),    // unique constraint
            (20, ErrorKind::Internal),      // type mismatch
        ];
        for (code, expected) in table {
            assert_eq!(kind(sqlx::Error::Database(Box::new(Coded(code)))), expected, "{code}");
        }
    }

    #[test]
    fn each_error_of_the_driver_has_a_kind() {
        let io = || std::io::Error::other("gone");
        let decode = || -> Box<dyn StdError + Send + Sync> { "no text".into() };
        let table = [
            (sqlx::Error::PoolTimedOut, ErrorKind::Unavailable),
            (sqlx::Error::PoolClosed, ErrorKind::Unavailable),
            (sqlx::Error::WorkerCrashed, ErrorKind::Unavailable),
            (sqlx::Error::Io(io()), ErrorKind::Unavailable),
            (sqlx::Error::Decode(decode()), ErrorKind::Corrupt),
            (
                sqlx::Error::ColumnDecode { index: "terms".into(), source: decode() },
                ErrorKind::Corrupt,
            ),
            (sqlx::Error::RowNotFound, ErrorKind::Internal),
            (sqlx::Error::ColumnNotFound("x".into()), ErrorKind::Internal),
            (sqlx::Error::Protocol("odd".into()), ErrorKind::Internal),
        ];
        for (error, expected) in table {
            let text = error.to_string();
            assert_eq!(kind(error), expected, "{text}");
        }
    }

    #[test]
    fn what_was_told_stays_and_the_driver_is_the_source() {
        let error = told("renew", Fault::Told(Error::invalid("as said")));
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Invalid, "as said"));

        let error = told("renew", Fault::Store(sqlx::Error::PoolTimedOut));
        assert!(error.to_string().starts_with("renew: "), "{error}");
        assert!(error.source().is_some());
    }
}
