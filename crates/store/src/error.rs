//! Errors of a run directory.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("'{}' already contains a run. Use --resume, or another --out", .0.display())]
    Taken(PathBuf),
    #[error("'{}' is not empty and contains no run. Use another --out", .0.display())]
    NotEmpty(PathBuf),
    #[error(
        "cannot write to '{}': {source}: '{}'. Use another place",
        path.display(), there.display()
    )]
    Unwritable { path: PathBuf, there: PathBuf, source: io::Error },
    #[error(
        "'{}' contains no run: it has no results.sqlite. For a matrix, name one of its folders, or use \
         rqps report --index DIR",
        .0.display()
    )]
    NoRun(PathBuf),
    #[error(
        "the run in '{}' has the id of the one in '{}', which owns the data. Resume that one, or start \
         another",
        path.display(), other.display()
    )]
    SameId { path: PathBuf, other: PathBuf },
    #[error("an option or a file of the workload has control characters. Remove them")]
    Unprintable,
    #[error("another rqps is using '{}'. Wait until it ends", .0.display())]
    Busy(PathBuf),
    #[error(
        "'{}' has schema {found}; this rqps reads schema {expected}. Its reports are unchanged; use the \
         rqps that manifest.json names, or measure again",
        path.display()
    )]
    Version { path: PathBuf, found: u32, expected: u32 },
    #[error("cannot {what} '{}': {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "cannot write '{}': {reason} ({free} free on the disk mounted at '{}'). Make room there, then \
         continue with --resume",
        path.display(), disk.display()
    )]
    Full { path: PathBuf, disk: PathBuf, free: String, reason: String },
    #[error("'{}' is damaged: {reason}. {}", path.display(), left(path))]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "'{}' is a symbolic link, which rqps does not follow in a run directory. Copy the run with \
         cp -rL",
        .0.display()
    )]
    Link(PathBuf),
    #[error("'{}' is named as a file of the run in '{}', but is not in it", named.display(), root.display())]
    Outside { named: PathBuf, root: PathBuf },
    #[error("cannot store the results: {0}")]
    Sql(rusqlite::Error),
}

/// What to do without a file.
fn left(path: &Path) -> &'static str {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("plan.toml") => {
            "The measurements in results.sqlite beside it are complete; restore a copy of the plan"
        }
        Some("manifest.json") => {
            "The measurements in results.sqlite beside it are complete; restore a copy of the manifest"
        }
        Some(name) if name.ends_with(".folded.gz") => {
            "The verdicts do not need it; restore a copy, or read the existing reports"
        }
        _ => {
            "Restore a copy; without one, read the existing reports, or measure again with rqps run \
             and plan.toml"
        }
    }
}

impl StoreError {
    pub(crate) fn damaged(path: PathBuf, reason: impl Display) -> Self {
        // A parser may say more than a line.
        let reason = reason.to_string();
        let lines: Vec<&str> =
            reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        StoreError::Damaged { path, reason: lines.join(" ") }
    }

    /// An error of a file. A full disk is an error of its own.
    pub(crate) fn file(what: &'static str, path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::full(path, source.to_string())
            }
            _ => StoreError::File { what, path, source },
        }
    }

    /// An error that occurred while the results were written.
    pub(crate) fn in_results(self, results: &Path) -> Self {
        match self {
            StoreError::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                StoreError::full(results.to_path_buf(), error.to_string())
            }
            other => other,
        }
    }

    fn full(path: PathBuf, reason: String) -> Self {
        let (disk, free) = disk_of(&path);
        StoreError::Full { path, disk, free, reason }
    }
}

// Not as its source, since the message contains it already.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::Sql(error)
    }
}

/// Where the file system of a file begins, and how much room this user has in it.
fn disk_of(path: &Path) -> (PathBuf, String) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let folder = folder.unwrap_or_else(|_| PathBuf::from("/"));
    let device = |path: &Path| rustix::fs::stat(path).ok().map(|found| found.st_dev);
    let is_same = |above: &&Path| device(above) == device(&folder);
    let disk = folder.ancestors().take_while(is_same).last().unwrap_or(&folder).to_path_buf();
    let free = match rustix::fs::statvfs(&folder) {
        Ok(found) => format!("{} KB", found.f_bavail.saturating_mul(found.f_frsize) / 1024),
        Err(_) => "an unknown number of bytes".to_string(),
    };
    (disk, free)
}
