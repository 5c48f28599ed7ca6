//! Tarballs from Debian's source packages: as upstream released them, signed by Debian.

use std::fs;
use std::path::Path;

use rqps_plan::{Dbms, Source};

use super::recipe::Suite;
use super::supplied::Supplied;
use crate::source::apt::Apt;
use crate::source::error::{SourceError, at};
use crate::source::machine::Machine;
use crate::source::packaged;
use crate::source::packaged::Packaged;
use crate::source::progress::{Progress, Tell};

/// A package in a suite.
pub(super) struct Place<'a> {
    pub(super) dbms: Dbms,
    pub(super) suite: &'a Suite,
    pub(super) machine: &'a Machine,
}

impl Place<'_> {
    /// Downloads the tarball, which apt compares with the hash signed by Debian.
    pub(super) fn fetch(
        &self,
        wanted: &str,
        into: &Path,
        tell: &mut Tell,
    ) -> Result<Supplied, SourceError> {
        let Suite { suite, package, .. } = self.suite;
        let failed = |reason: String| SourceError::Client { program: "apt-get".into(), reason };
        let folder = into.join("apt");
        fs::create_dir(&folder).map_err(at(&folder))?;
        let progress = Progress::Fetching { what: format!("sources of {package} ({suite})") };
        let apt = Apt { machine: self.machine, folder: &folder, registry: None, progress };
        apt.update_sources(suite, tell)?;
        let names = apt.source_versions(package, tell)?;
        let parse = |name: &String| Packaged::parse(self.dbms, &Source::Debian, name);
        let packaged: Vec<Packaged> = names.iter().filter_map(parse).collect();
        let Some(chosen) = packaged::choose(&packaged, wanted) else {
            let has = packaged::newest_first(&packaged).join(", ");
            return Err(failed(format!("{suite} has {package} {has}, not {wanted}")));
        };
        apt.download_tarball(&format!("{package}={}", chosen.name), tell)?;
        let is_tarball = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let end = name.rsplit_once(".orig.tar.").map(|(_, end)| end);
            matches!(end, Some("gz" | "bz2" | "xz"))
        };
        let files = fs::read_dir(&folder).map_err(at(&folder))?.flatten();
        let file = files.map(|file| file.path()).find(|path| is_tarball(path));
        let file = file.ok_or_else(|| failed(format!("{package} has no upstream tarball")))?;
        let supplied = Supplied::at(file, Some(chosen.version.clone()))?;
        Ok(Supplied { is_verified: true, ..supplied })
    }
}
