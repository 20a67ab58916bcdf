//! [`Failure`]: what a handler answers when it did not succeed.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use leasehold_core::Retry;

/// Why a run did not succeed, and whether it is tried again.
///
/// Every error becomes one by `?`: the error's own words, then those of its sources. It is
/// then retried as the task's policy says. [`FailureExt`] says otherwise at the `?`.
///
/// ```
/// use std::time::Duration;
/// use leasehold_worker::{Failure, FailureExt};
///
/// fn size(text: &str) -> Result<u64, Failure> {
///     if text == "later" {
///         return Err(Failure::new("not measured yet").retry_after(Duration::from_secs(60)));
///     }
///     // No retry makes a number of what is none.
///     let size = text.parse().fatal()?;
///     Ok(size)
/// }
/// assert_eq!(size("17").unwrap(), 17);
/// assert!(size("many").unwrap_err().is_fatal());
/// ```
///
/// The words enter the task's history and the log: keep secrets out of them.
pub struct Failure {
    message: String,
    retry: Retry,
}

impl Failure {
    /// A failure in these words, retried by the task's policy.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry: Retry::ByPolicy }
    }

    /// The same, but never retried: the task is buried as Rejected, its budget untouched
    /// (LH-RETRY-3).
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.retry = Retry::Never;
        self
    }

    /// The same, retried after this delay instead of the policy's, within the same budget.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry = Retry::After(delay);
        self
    }

    /// Whether the task is not tried again.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.retry == Retry::Never
    }

    /// What went wrong, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.retry == Retry::ByPolicy
    }

    pub(crate) fn into_parts(self) -> (String, Retry) {
        (self.message, self.retry)
    }
}

// `Failure` is no `Error` itself, or it could not be made from every error.
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            let words = error.to_string();
            // Some errors repeat their source's words in their own.
            if !message.ends_with(&words) {
                message.push_str(": ");
                message.push_str(&words);
            }
            source = error.source();
        }
        Self::new(message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({:?})", self.message, self.retry)
    }
}

/// What follows an error, said at the `?`.
pub trait FailureExt<T> {
    /// The error is never retried ([`Failure::fatal`]).
    ///
    /// # Errors
    /// The error, if it is one.
    fn fatal(self) -> Result<T, Failure>;

    /// The error is retried after this delay ([`Failure::retry_after`]).
    ///
    /// # Errors
    /// The error, if it is one.
    fn retry_after(self, delay: Duration) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> FailureExt<T> for Result<T, E> {
    fn fatal(self) -> Result<T, Failure> {
        self.map_err(|error| error.into().fatal())
    }

    fn retry_after(self, delay: Duration) -> Result<T, Failure> {
        self.map_err(|error| error.into().retry_after(delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Error, ErrorKind};

    #[test]
    fn an_error_is_told_with_its_sources_once() {
        let deep = std::io::Error::other("disk full");
        let error = Error::new(ErrorKind::Unavailable, "no answer").with_source(deep);
        assert_eq!(Failure::from(error).message(), "no answer: disk full");
        let same = Error::new(ErrorKind::Unavailable, "no answer: eof").with_source("eof");
        assert_eq!(Failure::from(same).message(), "no answer: eof");
    }

    #[test]
    fn words_and_boxed_errors_are_errors_too() {
        fn fails(boxed: bool) -> Result<(), Failure> {
            if boxed {
                let error: Box<dyn std::error::Error + Send + Sync> = "boxed".into();
                Err(error)?;
            }
            Err("words")?
        }
        assert_eq!(fails(true).expect_err("it fails").message(), "boxed");
        assert_eq!(fails(false).expect_err("it fails").message(), "words");
    }

    #[test]
    fn the_last_word_about_a_retry_counts() {
        let failure: Result<(), _> = Err(Failure::new("x").fatal());
        let later = failure.retry_after(Duration::from_secs(1)).expect_err("it fails");
        assert_eq!(later.into_parts().1, Retry::After(Duration::from_secs(1)));
    }
}
