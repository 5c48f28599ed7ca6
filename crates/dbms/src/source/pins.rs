//! Hashes that fetched files must have: those that this rqps was released with, like those of
//! crates in a `Cargo.lock`, and those of files that were fetched on this machine before. Debian's
//! packages need none: apt compares them with a list signed by Debian, and suites change every few
//! weeks.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::catalog::Package;
use super::error::{SourceError, at};
use super::installed::Archive;
use super::packaged::Packaged;
use super::progress::{Progress, Tell};
use super::{digest, store};

/// A line for each version of a package: source, package, version, hash.
pub(super) const RELEASED: &str = include_str!("pins.txt");
/// Lines of the same form in the store, for versions that are not in the catalogue. The file stays
/// when builds are removed.
const SEEN: &str = ".hashes";

/// The known hash of a version before it is fetched.
pub(super) struct Known<'a> {
    package: &'a Package,
    version: &'a Packaged,
    /// The start of its line.
    key: String,
    released: Option<&'a str>,
    /// The lines in the store, and their folder.
    seen: String,
    builds: PathBuf,
}

impl<'a> Known<'a> {
    pub(super) fn of(
        released: &'a str,
        builds: &Path,
        package: &'a Package,
        version: &'a Packaged,
    ) -> Result<Known<'a>, SourceError> {
        let key = format!("{} {} {} ", version.source, package.name, version.name);
        let (_, seen) = read_seen(builds)?;
        let builds = builds.to_path_buf();
        let released = find(released, &key);
        Ok(Known { package, version, key, released, seen, builds })
    }

    /// Compares a file of this version with its known hash, or reports that none is known.
    pub(super) fn check(
        &self,
        file: &Path,
        accepts_new_hash: bool,
        tell: &mut Tell,
    ) -> Result<Archive, SourceError> {
        let archive = Archive::of(file)?;
        let what = format!("{} {}", self.package.name, self.version.name);
        let Some(expected) = self.released.or_else(|| find(&self.seen, &self.key)) else {
            let hash = format!("{}{}", digest::SHA256, archive.sha256);
            tell(Progress::Unpinned { what, hash })?;
            return Ok(archive);
        };
        let found = digest::like(expected, file)?;
        if found == expected || accepts_new_hash {
            return Ok(archive);
        }
        let whose = match self.released {
            Some(_) => "in the catalogue of this rqps",
            None => "when it was fetched here before",
        };
        let Packaged { version, source, .. } = self.version;
        let build = format!("{}@{source}-{version}", self.package.dbms);
        Err(SourceError::NewHash { what, whose, expected: expected.into(), found, build })
    }

    /// Stores the hash of the fetched file, unless the catalogue has one.
    pub(super) fn note(&self, archives: &[Archive]) -> Result<(), SourceError> {
        let ([archive, ..], None) = (archives, self.released) else { return Ok(()) };
        note_seen(&self.builds, &self.key, &format!("{}{}", digest::SHA256, archive.sha256))
    }
}

/// The hash in the store under a key, `source what version ` with the final space.
pub(super) fn seen(builds: &Path, key: &str) -> Result<Option<String>, SourceError> {
    let (_, lines) = read_seen(builds)?;
    Ok(find(&lines, key).map(str::to_string))
}

/// Stores a hash under a key, in place of another one.
pub(super) fn note_seen(builds: &Path, key: &str, hash: &str) -> Result<(), SourceError> {
    let (file, lines) = read_seen(builds)?;
    let others = lines.lines().filter(|line| !line.starts_with(key));
    let mut text = others.map(|line| format!("{line}\n")).collect::<String>();
    text += &format!("{key}{hash}\n");
    store::replace(&file, |mut file| file.write_all(text.as_bytes()))
}

fn read_seen(builds: &Path) -> Result<(PathBuf, String), SourceError> {
    let file = builds.join(SEEN);
    let seen = match std::fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(at(&file))?,
    };
    Ok((file, seen))
}

fn find<'a>(lines: &'a str, key: &str) -> Option<&'a str> {
    lines.lines().find_map(|line| line.strip_prefix(key))
}
