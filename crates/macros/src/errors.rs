//! All that is wrong with an input, so that it is told at once.

use syn::{Error, Result};

/// The errors so far.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value, or nothing when it was an error, which is kept.
    pub(crate) fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// The value, or all errors.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T> {
        match self.0 {
            Some(error) => Err(error),
            None => Ok(value.expect("a value is missing only where an error was added")),
        }
    }
}
