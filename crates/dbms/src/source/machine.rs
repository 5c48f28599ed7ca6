//! The places on this computer in which builds are searched.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::{SourceError, at};
use super::pins;

/// The places on this computer; a value, so that tests can have others.
pub(super) struct Machine {
    pub(super) path: OsString,
    /// Where Debian keeps a folder per major version of Postgres.
    pub(super) postgres: PathBuf,
    /// The folders in which other packages and vendors install.
    pub(super) prefixes: Vec<PathBuf>,
    /// The keys of Debian's archive.
    pub(super) keyring: PathBuf,
    pub(super) arch: &'static str,
    /// Hashes of builds, as in [`pins::RELEASED`].
    pub(super) pins: &'static str,
    /// Whether a build may have another hash than the known one.
    pub(super) accepts_new_hash: bool,
}

impl Machine {
    pub(super) fn this() -> Machine {
        Machine {
            path: std::env::var_os("PATH").unwrap_or_default(),
            postgres: PathBuf::from("/usr/lib/postgresql"),
            prefixes: ["/usr", "/usr/local", "/usr/local/mysql"].map(PathBuf::from).to_vec(),
            keyring: PathBuf::from("/usr/share/keyrings/debian-archive-keyring.gpg"),
            arch: std::env::consts::ARCH,
            pins: pins::RELEASED,
            accepts_new_hash: false,
        }
    }
}

/// The user's own file or directory as an absolute path; `~/` is the home, since a shell does not
/// expand it in the middle of a word.
pub(super) fn own(path: &Path) -> Result<PathBuf, SourceError> {
    let home = std::env::home_dir();
    let path = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_path_buf(),
    };
    std::path::absolute(&path).map_err(at(&path))
}
