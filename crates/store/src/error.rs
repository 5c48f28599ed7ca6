//! What can be wrong with a run directory.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("'{}' already holds a run: --resume goes on with it, or name another --out", .0.display())]
    Taken(PathBuf),
    #[error("'{}' is not empty and holds no run: name another --out", .0.display())]
    NotEmpty(PathBuf),
    #[error(
        "'{}' holds no run: there is no results.sqlite in it (of a matrix, name one of its folders, or make a \
         page of all with rqps report --index DIR)",
        .0.display()
    )]
    NoRun(PathBuf),
    #[error("another rqps is at work in '{}'", .0.display())]
    Busy(PathBuf),
    #[error(
        "'{}' is of schema version {found}, and this rqps reads version {expected}: take the rqps that \
         manifest.json names; the reports that are there are as they were",
        path.display()
    )]
    Version { path: PathBuf, found: String, expected: u32 },
    #[error("cannot {what} '{}': {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("'{}' is damaged: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("the results cannot be stored: {0}")]
    Sql(rusqlite::Error),
}

// Not as its source: what it says is said already.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::Sql(error)
    }
}
