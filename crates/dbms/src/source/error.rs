//! Errors between naming a build and having it, in words for the person who named it.

use std::io;
use std::path::{Path, PathBuf};

use rqps_plan::{Dbms, Source};
use rqps_system::{Cancelled, Changeable, NoUser};

use super::build::error::BuildError;
use super::checkout::error::CheckoutError;
use super::image::error::ImageError;
use super::paths::lasting;
use crate::home::HomeError;

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    NoUser(#[from] NoUser),
    #[error("{0} is part of rqps. There is no build to fetch")]
    BuiltIn(Dbms),
    #[error("'{0}' is a remote server. There is no build to fetch")]
    Running(String),
    #[error("'{}' has no {program}. Name the directory that contains bin/", path.display())]
    NotABuild { path: PathBuf, program: String },
    #[error("'{}' is {found}, not {wanted}. Use {found}@{}", path.display(), path.display())]
    OtherDbms { path: PathBuf, found: Dbms, wanted: Dbms },
    #[error("no {0} is installed on this system. Install it, or name a version to fetch")]
    NotInstalled(Dbms),
    #[error("{dbms} {version} is not installed on this system (installed: {found})")]
    NotThatInstalled { dbms: Dbms, version: String, found: String },
    #[error("{dbms} {version} is not available: {hint}")]
    UnknownVersion { dbms: Dbms, version: String, hint: String },
    #[error("cannot get {what}: {}", .reasons.join("; "))]
    Unavailable { what: String, reasons: Vec<String> },
    #[error(
        "no single source has {dbms} {versions}{}: builds of different packagers differ by more than \
         their release. Use other versions, or name the source of each to compare them anyway, as in \
         {alone}", nearest.iter().map(|it| format!("; {it}")).collect::<String>()
    )]
    NotAlike { dbms: Dbms, versions: String, nearest: Vec<String>, alone: String },
    #[error("no prebuilt {dbms} for {arch}. Use a build of your own, as in {dbms}@/opt/{dbms}")]
    NoPackage { dbms: Dbms, arch: &'static str },
    #[error("{source_name}: {program} is not on PATH (install it, as with {install})")]
    MissingClient { source_name: Source, program: &'static str, install: &'static str },
    #[error(
        "rqps does not run '{}': '{}' {}, so others could change what it does. Change its mode or owner, \
         or remove its folder from PATH", program.display(), found.place.display(), found.how
    )]
    ForeignClient { program: PathBuf, found: Changeable },
    #[error(
        "{program} did not end within {minutes} minutes. Check that its registry can be reached, then \
         try again"
    )]
    ClientTooLong { program: &'static str, minutes: u64 },
    #[error("{program} failed: {reason}")]
    Client { program: String, reason: String },
    #[error("{what} is listed, but its file '{file}' is missing: {answer}")]
    Gone { what: String, file: String, answer: String },
    #[error("no source is called '{name}': {hint}. Sources can be added in '{}'", file.display())]
    UnknownSource { name: String, hint: String, file: PathBuf },
    #[error("'{source_name}' has no {dbms} packages. Name them in '{}'", file.display())]
    NotServed { source_name: Source, dbms: Dbms, file: PathBuf },
    #[error("'{}', line {line}: {reason}", file.display())]
    Sources { file: PathBuf, line: usize, reason: String },
    #[error(
        "rqps does not use '{}': '{}' {}, so others could change what rqps runs. Change its mode or \
         owner", file.display(), found.place.display(), found.how
    )]
    ForeignSources { file: PathBuf, found: Changeable },
    #[error(
        "rqps does not load '{}': '{}' {}, so others could change what rqps runs. Change its mode or \
         owner", library.display(), found.place.display(), found.how
    )]
    ForeignLibrary { library: PathBuf, found: Changeable },
    #[error(
        "cannot load '{}' as SQLite: {reason}. Name a library, as in sqlite@/opt/lib/libsqlite3.so",
        library.display()
    )]
    NoLibrary { library: PathBuf, reason: String },
    #[error(
        "checksum of '{archive}' is wrong: the registry says {expected}, the file has {found}. \
         Try again; if it stays wrong, do not trust this registry"
    )]
    Checksum { archive: String, expected: String, found: String },
    #[error(
        "{what} has another hash than {whose}: {found} instead of {expected}. Do not use it unless you \
         know why; to accept it: 'rqps dbms fetch --accept-new-hash {build}'"
    )]
    NewHash { what: String, whose: &'static str, expected: String, found: String, build: String },
    #[error("archive '{archive}' cannot be unpacked: {reason}")]
    Archive { archive: String, reason: String },
    #[error("archive '{archive}' is refused: its member '{member}' {why}")]
    Hostile { archive: String, member: String, why: &'static str },
    #[error(
        "no space left for '{}'. Make room, or set RQPS_HOME to another disk",
        .0.display()
    )]
    DiskFull(PathBuf),
    #[error(
        "not enough space for a build in '{}': it needs {} MiB, and {} MiB are free. Make room, or set \
         RQPS_HOME to another disk", folder.display(), needed.div_ceil(1 << 20), free >> 20
    )]
    NoRoom { folder: PathBuf, needed: u64, free: u64 },
    #[error(
        "{program} found no space left, in its own cache or for '{}'. Make room, or set RQPS_HOME to \
         another disk", folder.display()
    )]
    ClientDiskFull { program: String, folder: PathBuf },
    #[error("'{}': {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("'{}' does not run: {reason}", program.display())]
    DoesNotRun { program: PathBuf, reason: String },
    #[error(
        "'{}' needs {library}, which this system does not have. {}",
        program.display(), how_to_install(*package)
    )]
    MissingLibrary { program: PathBuf, library: String, package: Option<&'static str> },
    #[error("cannot remove '{}': it is not in rqps's store. Only fetched builds can be removed", .0.display())]
    NotOurs(PathBuf),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl SourceError {
    /// Whether another source may still succeed: this one could not be asked or did not answer.
    pub(super) fn is_of_one_source(&self) -> bool {
        matches!(
            self,
            SourceError::MissingClient { .. }
                | SourceError::ClientTooLong { .. }
                | SourceError::Client { .. }
                | SourceError::Gone { .. }
        )
    }
}

/// Names the file or folder that an IO error is about; a full disk is an error of its own.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> SourceError + use<> {
    let path = path.to_path_buf();
    |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            SourceError::DiskFull(lasting(&path).to_path_buf())
        }
        _ => SourceError::File { path, error },
    }
}

/// A client that failed working for a folder, with the reason it gave.
pub(super) fn client_failed(program: String, reason: String, folder: &Path) -> SourceError {
    // The words of npm, the C library and apt.
    let full = ["ENOSPC", "No space left on device", "enough free space in"];
    match full.iter().any(|full| reason.contains(full)) {
        true => SourceError::ClientDiskFull { program, folder: lasting(folder).into() },
        false => SourceError::Client { program, reason },
    }
}

/// What to do on a system that lacks the library of a package.
fn how_to_install(package: Option<&str>) -> String {
    match package {
        Some(package) => format!("Install it, as with 'apt-get install {package}'"),
        None => "Install the package that contains it".to_string(),
    }
}
