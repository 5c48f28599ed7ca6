//! Libraries that a prebuilt server needs and the system lacks: Debian's packages of them, from the
//! user's own apt for this system. They are unpacked beside the server, not installed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::client::{APT_GET, DOWNLOAD};
use super::debian;
use super::error::{SourceError, at, client_failed};
use super::installed::Fetched;
use super::loader::Loader;
use super::machine::Machine;
use super::progress::{Progress, Tell};

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
