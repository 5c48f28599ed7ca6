//! A folder by its source: the files of a user, or what rqps makes.

use rqps_dbms::Dialect;
use rqps_plan::{Dbms, SqlSource};

use super::faults::{FolderError, FolderFaults};
use super::files;
use super::folder::{FolderScope, SqlFolder, read, read_made};
use super::tpch;

/// Reads it for a DBMS.
pub(super) fn folder(
    source: &SqlSource,
    of: (Dbms, Dialect),
    reading: FolderScope,
) -> Result<SqlFolder, FolderFaults> {
    match source {
        SqlSource::Folder { path, .. } => read(path, of, reading),
        SqlSource::Tpch { scale } => read_made(tpch::made(*scale), of),
    }
}

/// An error if it is not what it was when the run began. What rqps makes does not change.
pub(super) fn check_unchanged(source: &SqlSource) -> Result<(), FolderError> {
    match source {
        SqlSource::Folder { path, files } => files::check_unchanged(path, files),
        SqlSource::Tpch { .. } => Ok(()),
    }
}
