//! [`Edited`]: one script file with another text, so that a test can take its guards away.

use std::sync::{PoisonError, RwLock};

/// The file that is edited now, by its name and with its text.
static EDITED: RwLock<Option<(&'static str, &'static str)>> = RwLock::new(None);

/// As long as it lives, every store of this process runs one script file in an edited text. For
/// tests only, and only for one that has its process to itself.
#[derive(Debug)]
#[must_use = "the script is as it was written once this is dropped"]
pub struct Edited(());

impl Edited {
    /// Puts `text` in the place of the file `name`, a path below `lua` without its ending. The
    /// text stays in memory until the process ends.
    ///
    /// # Panics
    /// When another file is edited: two faults at once would hide each other.
    pub fn begin(name: &str, text: &str) -> Self {
        let mut edited = EDITED.write().unwrap_or_else(PoisonError::into_inner);
        assert!(edited.is_none(), "one file is edited at a time");
        *edited = Some((name.to_owned().leak(), text.to_owned().leak()));
        Self(())
    }
}

impl Drop for Edited {
    fn drop(&mut self) {
        *EDITED.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Whether a file is edited now.
pub(crate) fn is_any() -> bool {
    EDITED.read().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// The text that the file `name` has now.
pub(crate) fn text(name: &str, written: &'static str) -> &'static str {
    match *EDITED.read().unwrap_or_else(PoisonError::into_inner) {
        Some((edited, text)) if edited == name => text,
        _ => written,
    }
}
