//! Libraries of SQLite.

use std::path::Path;

use rqps_wire::SqliteLibrary;

use crate::source::error::SourceError;

/// Loads a library of SQLite.
pub(super) fn load(path: &Path) -> Result<SqliteLibrary, SourceError> {
    SqliteLibrary::load(path).map_err(|error| SourceError::NoLibrary {
        library: path.to_path_buf(),
        reason: error.to_string(),
    })
}
