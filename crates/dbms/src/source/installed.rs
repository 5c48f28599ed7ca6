//! A build that can be started, and the files that it was unpacked from.

use std::path::{Path, PathBuf};

use rqps_plan::{Dbms, Flags, Source};
use serde::{Deserialize, Serialize};

use super::built::Built;
use super::digest::sha256;
use super::error::SourceError;
use super::loader::Loader;
use super::paths::file_name;

/// A build that can be started, with its known facts: builds of different packagers differ by more
/// than their version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    pub dbms: Dbms,
    /// As its server reports it: `17.6`, or `19devel` for a user's own build.
    pub version: String,
    /// Its source; none for the user's own directory.
    pub source: Option<Source>,
    /// The directory of the build. Its contents may be below a `usr` in it: see
    /// [`Installed::base`].
    pub root: PathBuf,
    /// The archives that it was unpacked from; none unless rqps fetched it. An image has its name
    /// and the hash of its configuration, which has those of its layers.
    pub archives: Vec<Archive>,
    pub server_sha256: String,
    /// The C library that the server needs: `musl`, or glibc with the oldest sufficient version,
    /// such as `glibc 2.25`; or the one in the build, such as `its own glibc 2.41`.
    pub libc: Option<String>,
    /// `gcc (Debian 12.2.0-14+deb12u1) 12.2.0`
    pub compiler: Option<String>,
    /// How it was compiled; none only in the description of a build that an older rqps fetched,
    /// until it is next read.
    #[serde(default)]
    pub flags: Option<Flags>,
    /// How it finds its own libraries; none if it has none.
    #[serde(default)]
    pub loader: Option<Loader>,
    /// How rqps built it; none if rqps did not.
    #[serde(default)]
    pub built: Option<Built>,
}

/// The files that a source's client has fetched, and how to run them.
#[derive(Clone, Default)]
pub(super) struct Fetched {
    pub(super) archives: Vec<Archive>,
    pub(super) loader: Option<Loader>,
}

/// A fetched file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    pub name: String,
    pub sha256: String,
}

impl Archive {
    pub(super) fn of(file: &Path) -> Result<Archive, SourceError> {
        Ok(Archive { name: file_name(file), sha256: sha256(file)? })
    }
}

/// The versions that can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// Newest first, each once: `17.6`.
    pub versions: Vec<String>,
    /// Why sources could not be asked, a line each.
    pub unasked: Vec<String>,
}
