//! Libraries that a prebuilt server needs and the system lacks: Debian's packages of them, from the
//! user's own apt for this system. They are unpacked beside the server, not installed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::Fetched;
use super::client::{APT_GET, DOWNLOAD};
use super::debian;
use super::error::{SourceError, at, client_failed};
use super::layout::Loader;
use super::machine::Machine;
use super::progress::{Progress, Tell};

/// The Debian packages with the libraries of prebuilt servers.
const LIBRARIES: &[(&str, &str)] = &[
    ("libaio.so.1", "libaio1"),
    ("libatomic.so.1", "libatomic1"),
    ("libcrypt.so.1", "libcrypt1"),
    ("libjemalloc.so.2", "libjemalloc2"),
    ("liblz4.so.1", "liblz4-1"),
    ("libncurses.so.5", "libncurses5"),
    ("libncurses.so.6", "libncurses6"),
    ("libnuma.so.1", "libnuma1"),
    ("libpcre2-8.so.0", "libpcre2-8-0"),
    ("libpmem.so.1", "libpmem1"),
    ("libsnappy.so.1", "libsnappy1v5"),
    ("libssl.so.1.1", "libssl1.1"),
    ("libssl.so.3", "libssl3"),
    ("libstdc++.so.6", "libstdc++6"),
    ("libsystemd.so.0", "libsystemd0"),
    ("libtinfo.so.5", "libtinfo5"),
    ("libtinfo.so.6", "libtinfo6"),
    ("liburing.so.2", "liburing2"),
    ("libwrap.so.0", "libwrap0"),
    ("libxml2.so.2", "libxml2"),
    ("libzstd.so.1", "libzstd1"),
];

/// The Debian package with a library.
pub(super) fn package(library: &str) -> Option<&'static str> {
    LIBRARIES.iter().find(|known| known.0 == library).map(|known| known.1)
}

/// What to do on a system that lacks the library of a package.
pub(super) fn how_to_install(package: Option<&str>) -> String {
    match package {
        Some(package) => format!("Install it, as with 'apt-get install {package}'"),
        None => "Install the package that contains it".to_string(),
    }
}

/// Unpacks a package beside the server, and makes the server find its libraries there. An error of
/// one source if apt does not have it, or if it is there already but did not help.
pub(super) fn add(
    fetched: &mut Fetched,
    package: &str,
    machine: &Machine,
    folder: &Path,
    into: &Path,
    tell: &mut Tell,
) -> Result<(), SourceError> {
    let failed = |reason: String| client_failed("apt-get download".to_string(), reason, folder);
    let folder = folder.join(package);
    if folder.exists() {
        return Err(failed(format!("{package} does not contain it")));
    }
    fs::create_dir(&folder).map_err(at(&folder))?;
    let fetching = Progress::Fetching { what: package.to_string() };
    let signed = "APT::Get::AllowUnauthenticated=false";
    let args = ["--option", signed, "download", package].map(OsString::from);
    let said = APT_GET.run(machine, &args, &folder, DOWNLOAD, &fetching, tell)?;
    if !said.status.success() {
        let reason = said.stderr.lines().find_map(|line| line.strip_prefix("E: "));
        return Err(failed(reason.map_or_else(|| said.status.to_string(), str::to_string)));
    }
    fetched.archives.extend(debian::unpack(&debian::packages(&folder)?, into, tell)?);
    fetched.loader = Some(Loader { program: None, library_path: debian::library_path(into) });
    Ok(())
}
