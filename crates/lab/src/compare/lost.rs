//! The remote arms that went away.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The remote arms that went away, by name. Others go on without them; a later session tries again.
#[derive(Default)]
pub(crate) struct Lost(Mutex<BTreeSet<String>>);

impl Lost {
    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, name: &str) {
        self.names().insert(name.to_string());
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names().contains(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names().is_empty()
    }
}
