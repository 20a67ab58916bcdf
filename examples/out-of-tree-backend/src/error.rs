//! What a fault of the store tells a caller to do; the one place that decides it.

use leasehold_core::{Error, ErrorKind};
use redb::Error as Fault;

/// The error of a whole call, which is undone.
pub(crate) fn told(fault: Fault) -> Error {
    use Fault::{Corrupted, DatabaseAlreadyOpen, DatabaseClosed, Io, PreviousIo};
    let kind = match &fault {
        // A full disk, a file that somebody else has open, a store to be opened anew.
        Io(_) | PreviousIo | DatabaseClosed | DatabaseAlreadyOpen => ErrorKind::Unavailable,
        Corrupted(_) => ErrorKind::Corrupt,
        _ => ErrorKind::Internal,
    };
    Error::new(kind, format!("the redb store failed: {fault}")).with_source(fault)
}

/// Stored bytes that this version should be able to read.
pub(crate) fn unreadable(what: &str) -> Fault {
    Fault::Corrupted(format!("{what} cannot be read"))
}

/// What cannot be read is found before an item's first write, and concerns that item alone;
/// any other fault undoes the call (LH-GEN-2).
pub(crate) fn reply<T>(item: Result<Result<T, Error>, Fault>) -> Result<Result<T, Error>, Fault> {
    match item {
        Err(fault @ Fault::Corrupted(_)) => Ok(Err(told(fault))),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_of_the_store_tells_what_to_do() {
        for (fault, kind) in [
            (Fault::Io(std::io::Error::other("no space")), ErrorKind::Unavailable),
            (Fault::PreviousIo, ErrorKind::Unavailable),
            (Fault::DatabaseAlreadyOpen, ErrorKind::Unavailable),
            (unreadable("a page"), ErrorKind::Corrupt),
            (Fault::TableDoesNotExist("HEAD".into()), ErrorKind::Internal),
        ] {
            assert_eq!(told(fault).kind(), kind);
        }
    }
}
