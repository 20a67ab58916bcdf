//! [`Edited`]: the scripts with another text of one file, so that a test can take a guard away.

use std::fmt;
use std::sync::Arc;

use crate::scripts::Scripts;

/// The scripts with another text of one file, for tests only; given to a store by
/// [`RedisConfig::with_edited`](crate::RedisConfig::with_edited). Clones share the texts.
#[derive(Clone)]
pub struct Edited(pub(crate) Arc<Scripts>);

impl Edited {
    /// The scripts with `text` in the place of the file `name`, a path below `lua` without its
    /// ending.
    ///
    /// # Panics
    /// When there is no such file: nothing would be edited.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        Self(Arc::new(Scripts::edited(name, text)))
    }
}

impl fmt::Debug for Edited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edited").finish_non_exhaustive()
    }
}
