//! The order in which places are searched for a build.

use std::path::Path;

use rqps_plan::{Build, Dbms, Source, suggestion};
use rqps_system::private_folder;
use tempfile::TempDir;

use super::catalog::{Package, Registry};
use super::error::{SourceError, at};
use super::installed::{Available, Fetched, Installed};
use super::lists::List;
use super::machine::{Machine, own};
use super::packaged::Packaged;
use super::pins::Known;
use super::progress::{Progress, Tell};
use super::store::Changing;
use super::{
    build, debian, image, libraries, maven, named, npm, packaged, probe, store, system, version,
};
use crate::home::Home;
use crate::registry::descriptor;

/// The versions of a package in a source.
pub(super) struct Listed {
    pub(super) packaged: Vec<Packaged>,
    /// The folder of its client, with files that it need not fetch again.
    folder: TempDir,
}

impl Machine {
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
                return build::obtain(self, home, dbms, version, tell);
            }
            Build::Image(image) => return image::obtain(self, home, dbms, image, tell),
            Build::Version { .. }
            | Build::Any
            | Build::System
            | Build::Path(_)
            | Build::Server { .. } => {}
        }
        let changing = Changing::begin(home, tell)?;
        // The rqps that was changing the store until now may have fetched the same.
        if let Some(present) = self.present(home, dbms, build, tell)? {
            return Ok(present);
        }
        match build {
            Build::Version { source, version } => {
                self.fetch_version(&changing, dbms, source.as_ref(), version, tell)
            }
            _ => self.fetch_newest(&changing, dbms, tell),
        }
    }

    /// A build that is available without asking a registry; none if it must be fetched or searched.
    pub(super) fn present(
        &self,
        home: &Home,
        dbms: Dbms,
        build: &Build,
        tell: &mut Tell,
    ) -> Result<Option<Installed>, SourceError> {
        if dbms.is_bundled() && *build == Build::Any {
            return Err(SourceError::BuiltIn(dbms));
        }
        match build {
            Build::Server { url } => Err(SourceError::Running(url.clone())),
            Build::Path(path) => {
                probe::describe(dbms, None, &own(path)?, Fetched::default(), tell).map(Some)
            }
            Build::Image(image) => image::present(self, home, dbms, image, tell),
            Build::System => self.of_system(dbms, None, tell).map(Some),
            Build::Version { source: Some(Source::System), version } => {
                self.of_system(dbms, Some(version), tell).map(Some)
            }
            Build::Version { source: Some(Source::Src), version } => {
                build::find(home, dbms, version)
            }
            Build::Version { source, version } => {
                if source.is_none() {
                    let built = build::find(home, dbms, version)?;
                    if let Some(built) = built.filter(|built| built.version == *version) {
                        return Ok(Some(built));
                    }
                    let of_system = unless_absent(self.of_system(dbms, Some(version), tell))?;
                    if let Some(installed) = of_system {
                        return Ok(Some(installed));
                    }
                }
                for source in self.sources(home, dbms, source.as_ref())? {
                    if let Some(stored) = store::find(home, dbms, version, &source)? {
                        return Ok(Some(stored));
                    }
                }
                let packages = self.packages_with(home, dbms, source.as_ref(), version)?;
                for of_source in of_one_source(&packages) {
                    let mut known = Vec::new();
                    for package in of_source {
                        let Some(listed) = List::of(home, package)?.fresh() else {
                            return Ok(None);
                        };
                        known.extend(listed);
                    }
                    if let Some(chosen) = packaged::choose(&known, version) {
                        return store::find(home, dbms, &chosen.version, &chosen.source);
                    }
                }
                Ok(None)
            }
            Build::Any => {
                if let Some(installed) = unless_absent(self.of_system(dbms, None, tell))? {
                    return Ok(Some(installed));
                }
                let is_plain =
                    |it: &Installed| it.built.as_ref().is_none_or(|it| it.variant.is_none());
                // An image is used where it is named.
                let is_image = |it: &Installed| it.source == Some(Source::Image);
                let mut stored = store::builds(home)?.into_iter().filter(|it| !is_image(it));
                Ok(stored.find(|installed| installed.dbms == dbms && is_plain(installed)))
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

    pub(super) fn available(
        &self,
        home: &Home,
        dbms: Dbms,
        refresh: bool,
        tell: &mut Tell,
    ) -> Result<Available, SourceError> {
        let mut known = Vec::new();
        let mut unasked = Vec::new();
        let packages = self.packages(home, dbms, None)?;
        for package in &packages {
            let listed = match refresh {
                true => self.noted_now(home, package, tell),
                false => self.noted_versions(home, package, tell),
            };
            match listed {
                Ok(listed) => known.extend(listed),
                Err(error) if error.is_of_one_source() => note(&mut unasked, &error),
                Err(error) => return Err(error),
            }
        }
        match known.is_empty() {
            true => Err(self.not_to_be_had(&packages, dbms, None, &known, unasked)),
            false => Ok(Available { versions: packaged::newest_first(&known), unasked }),
        }
    }

    /// The versions that a source lists, oldest first.
    pub(super) fn all_listed(
        &self,
        home: &Home,
        dbms: Dbms,
        source: &Source,
        tell: &mut Tell,
    ) -> Result<Vec<String>, SourceError> {
        let mut known = Vec::new();
        for package in &self.packages(home, dbms, Some(source))? {
            known.extend(self.noted_versions(home, package, tell)?);
        }
        let mut versions = packaged::newest_first(&known);
        versions.reverse();
        Ok(versions)
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

    /// The packages with builds of a DBMS, of all sources or of one, in the order of attempts.
    pub(super) fn packages(
        &self,
        home: &Home,
        dbms: Dbms,
        source: Option<&Source>,
    ) -> Result<Vec<Package>, SourceError> {
        let in_catalog = catalogued(dbms, self.arch, source).cloned();
        if !matches!(source, None | Some(Source::Named(_))) {
            return Ok(in_catalog.collect());
        }
        let named = named::packages(home)?;
        let is_of_source =
            |package: &&Package| source.is_none_or(|source| *source == package.registry.source());
        let of_source: Vec<&Package> = named.iter().filter(is_of_source).collect();
        // What the user has named is what runs there.
        let mut packages: Vec<Package> =
            of_source.iter().filter(|p| p.dbms == dbms).copied().cloned().collect();
        packages.extend(in_catalog);
        match source {
            Some(source) if of_source.is_empty() => {
                let sources = named.iter().map(|package| package.registry.source());
                let built_in = Source::BUILT_IN.into_iter().filter(|it| *it != Source::Image);
                let mut names: Vec<String> = built_in.chain(sources).map(String::from).collect();
                names.dedup();
                let name = source.to_string();
                let hint = suggestion(&name, names.iter().map(String::as_str));
                Err(SourceError::UnknownSource { name, hint, file: named::file(home) })
            }
            Some(source) if packages.is_empty() => {
                let (source_name, file) = (source.clone(), named::file(home));
                Err(SourceError::NotServed { source_name, dbms, file })
            }
            _ => Ok(packages),
        }
    }

    /// The sources that may have a build of a DBMS in the store, each once.
    fn sources(
        &self,
        home: &Home,
        dbms: Dbms,
        source: Option<&Source>,
    ) -> Result<Vec<Source>, SourceError> {
        if let Some(source) = source {
            return Ok(vec![source.clone()]);
        }
        let packages = self.packages(home, dbms, None)?;
        let mut sources: Vec<Source> =
            packages.iter().map(|package| package.registry.source()).collect();
        sources.dedup();
        Ok(sources)
    }

    /// The packages that can have a version; all of the DBMS if none can, to list what exists
    /// instead.
    fn packages_with(
        &self,
        home: &Home,
        dbms: Dbms,
        source: Option<&Source>,
        wanted: &str,
    ) -> Result<Vec<Package>, SourceError> {
        let mut packages = self.packages(home, dbms, source)?;
        if packages.iter().any(|package| package.may_have(wanted)) {
            packages.retain(|package| package.may_have(wanted));
        }
        Ok(packages)
    }

    /// Fetches a version, or the newest one that starts with it, from the first source that has
    /// one.
    fn fetch_version(
        &self,
        changing: &Changing<'_>,
        dbms: Dbms,
        source: Option<&Source>,
        wanted: &str,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let packages = self.packages_with(changing.home(), dbms, source, wanted)?;
        let mut known: Vec<Packaged> = Vec::new();
        let mut reasons = Vec::new();
        for of_source in of_one_source(&packages) {
            let fetched =
                self.fetch_from(changing, of_source, wanted, &mut known, &mut reasons, tell);
            match fetched {
                Ok(Some(installed)) => return Ok(installed),
                Ok(None) => {}
                Err(error) if error.is_of_one_source() => note(&mut reasons, &error),
                Err(error) => return Err(error),
            }
        }
        let stored = store::builds(changing.home())?.into_iter().find(|build| {
            let of = build.source.as_ref();
            let is_of_source = match source {
                Some(source) => of == Some(source),
                None => of != Some(&Source::Image),
            };
            build.dbms == dbms && is_of_source && version::is(&build.version, wanted)
        });
        let none = || self.not_to_be_had(&packages, dbms, Some(wanted), &known, reasons);
        stored.filter(|_| known.is_empty()).ok_or_else(none)
    }

    /// Fetches a version, or the newest one that starts with it, from packages of one source. Adds
    /// their lists, and why some could not be asked.
    fn fetch_from(
        &self,
        changing: &Changing<'_>,
        packages: &[Package],
        wanted: &str,
        known: &mut Vec<Packaged>,
        reasons: &mut Vec<String>,
        tell: &mut Tell,
    ) -> Result<Option<Installed>, SourceError> {
        let mut lists: Vec<(&Package, Listed)> = Vec::new();
        for package in packages {
            let list = List::of(changing.home(), package)?;
            let listed = match self.versions(package, tell) {
                Ok(listed) => listed,
                Err(error) if error.is_of_one_source() => {
                    note(reasons, &error);
                    // The lists of others are valid for as long.
                    list.note(&[])?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            list.note(&listed.packaged)?;
            known.extend(listed.packaged.iter().cloned());
            match packaged::exact(&listed.packaged, wanted) {
                Some(exact) => {
                    return self.fetch(changing, package, exact, &listed, tell).map(Some);
                }
                None => lists.push((package, listed)),
            }
        }
        let is_one = |packaged: &Packaged| version::is(&packaged.version, wanted);
        self.fetch_newest_of(changing, &lists, is_one, reasons, tell)
    }

    /// Fetches the newest version of the first source that answers.
    fn fetch_newest(
        &self,
        changing: &Changing<'_>,
        dbms: Dbms,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let packages = self.packages(changing.home(), dbms, None)?;
        let mut reasons = Vec::new();
        for package in &packages {
            let fetched = self.versions(package, tell).and_then(|listed| {
                self.fetch_newest_of(changing, &[(package, listed)], |_| true, &mut reasons, tell)
            });
            match fetched {
                Ok(Some(installed)) => return Ok(installed),
                Ok(None) => {}
                Err(error) if error.is_of_one_source() => note(&mut reasons, &error),
                Err(error) => return Err(error),
            }
        }
        Err(self.not_to_be_had(&packages, dbms, None, &[], reasons))
    }

    /// Fetches the newest matching version of a list. If its files are missing, this is reported,
    /// and the next one is tried.
    fn fetch_newest_of(
        &self,
        changing: &Changing<'_>,
        lists: &[(&Package, Listed)],
        fits: impl Fn(&Packaged) -> bool,
        reasons: &mut Vec<String>,
        tell: &mut Tell,
    ) -> Result<Option<Installed>, SourceError> {
        let all = lists.iter().flat_map(|(_, listed)| &listed.packaged);
        let mut left: Vec<Packaged> = all.filter(|packaged| fits(packaged)).cloned().collect();
        while let Some(newest) = packaged::newest(&left).cloned() {
            let has_it = |(_, listed): &&(&Package, Listed)| listed.packaged.contains(&newest);
            let Some((package, listed)) = lists.iter().find(has_it) else { break };
            match self.fetch(changing, package, &newest, listed, tell) {
                Err(error @ SourceError::Gone { .. }) => {
                    note(reasons, &error);
                    left.retain(|packaged| *packaged != newest);
                    if packaged::newest(&left).is_some() {
                        tell(Progress::PassedOver { why: error.to_string() })?;
                    }
                }
                fetched => return fetched.map(Some),
            }
        }
        Ok(None)
    }

    fn fetch(
        &self,
        changing: &Changing<'_>,
        package: &Package,
        chosen: &Packaged,
        listed: &Listed,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let (dbms, source) = (package.dbms, package.registry.source());
        // The newest version that a source lists may be here.
        if let Some(stored) = store::find(changing.home(), dbms, &chosen.version, &source)? {
            return Ok(stored);
        }
        let (downloads, build) = (changing.downloads()?, changing.build()?);
        let (name, folder, into) = (&chosen.name, downloads.path(), build.path());
        let known = Known::of(self.pins, changing.builds(), package, chosen)?;
        let fetched = match &package.registry {
            Registry::Npm { below } => {
                let file = npm::download(package, name, self, folder, tell)?;
                let archive = known.check(&file, self.accepts_new_hash, tell)?;
                npm::unpack(&file, &archive.name, below, into, tell)?;
                Fetched { archives: vec![archive], loader: None }
            }
            Registry::Maven { files } => {
                let file = maven::download(package, files, name, self, folder, tell)?;
                let archive = known.check(&file, self.accepts_new_hash, tell)?;
                maven::unpack(dbms, &file, &archive.name, into, tell)?;
                Fetched { archives: vec![archive], loader: None }
            }
            Registry::Debian { .. } | Registry::Named(_) => {
                let folders = (listed.folder.path(), folder);
                debian::fetch((package, name), self, folders, into, tell)?
            }
        };
        let installed = self.describe((dbms, &source), fetched, folder, into, tell)?;
        if installed.version != chosen.version {
            let archives = installed.archives.into_iter().map(|archive| archive.name);
            let archive = archives.collect::<Vec<_>>().join(" ");
            let reason = format!("its server reports version {}", installed.version);
            return Err(SourceError::Archive { archive, reason });
        }
        if !package.registry.is_signed() {
            known.note(&installed.archives)?;
        }
        changing.finish(build, installed, &source)
    }

    /// Describes a build that has just been unpacked, and adds libraries that it needs and the
    /// system lacks.
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
            // With its own C library it cannot use the system's libraries.
            if fetched.loader.as_ref().is_some_and(|loader| loader.program.is_some()) {
                return described;
            }
            match libraries::add(&mut fetched, package, self, folder, into, tell) {
                Ok(()) => {}
                // The user can still install the missing library.
                Err(error) if error.is_of_one_source() => return described,
                Err(error) => return Err(error),
            }
        }
    }

    /// The versions of a package, listed by its source within the last day.
    pub(super) fn noted_versions(
        &self,
        home: &Home,
        package: &Package,
        tell: &mut Tell,
    ) -> Result<Vec<Packaged>, SourceError> {
        match List::of(home, package)?.fresh() {
            Some(noted) if !noted.is_empty() => Ok(noted),
            _ => self.noted_now(home, package, tell),
        }
    }

    /// The versions of a package, listed by its source now, and noted for a day.
    fn noted_now(
        &self,
        home: &Home,
        package: &Package,
        tell: &mut Tell,
    ) -> Result<Vec<Packaged>, SourceError> {
        let listed = self.versions(package, tell)?;
        List::of(home, package)?.note(&listed.packaged)?;
        Ok(listed.packaged)
    }

    /// The versions of a package, listed by its source now.
    fn versions(&self, package: &Package, tell: &mut Tell) -> Result<Listed, SourceError> {
        let source = package.registry.source();
        tell(Progress::Looking { source: source.clone() })?;
        let folder = private_folder().map_err(at(&std::env::temp_dir()))?;
        let names = match &package.registry {
            Registry::Npm { .. } => npm::versions(package, self, folder.path(), tell)?,
            Registry::Maven { .. } => maven::versions(package, self, folder.path(), tell)?,
            Registry::Debian { .. } | Registry::Named(_) => {
                debian::versions(package, self, folder.path(), tell)?
            }
        };
        let parsed = names.iter().filter_map(|name| Packaged::parse(package.dbms, &source, name));
        Ok(Listed { packaged: parsed.collect(), folder })
    }

    fn not_to_be_had(
        &self,
        packages: &[Package],
        dbms: Dbms,
        wanted: Option<&str>,
        known: &[Packaged],
        mut reasons: Vec<String>,
    ) -> SourceError {
        if packages.is_empty() && catalogued(dbms, self.arch, None).next().is_none() {
            return SourceError::NoPackage { dbms, arch: self.arch };
        }
        match wanted {
            Some(wanted) if !known.is_empty() && packaged::choose(known, wanted).is_none() => {
                let known = packaged::newest_first(known);
                let hint = suggestion(wanted, version::alternatives(wanted, &known));
                let version = wanted.to_string();
                if reasons.is_empty() {
                    return SourceError::UnknownVersion { dbms, version, hint };
                }
                // A source that did not answer may have it.
                reasons.push(format!("the other sources do not have it: {hint}"));
                SourceError::Unavailable { what: format!("{dbms} {version}"), reasons }
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

/// The packages, source by source.
fn of_one_source(packages: &[Package]) -> impl Iterator<Item = &[Package]> {
    packages.chunk_by(|a, b| a.registry.source() == b.registry.source())
}

/// A reason of several packages, such as a missing client, is reported once.
fn note(reasons: &mut Vec<String>, error: &SourceError) {
    let reason = error.to_string();
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}

/// A missing build of the system is not an error while there are other places to search.
fn unless_absent(found: Result<Installed, SourceError>) -> Result<Option<Installed>, SourceError> {
    match found {
        Ok(installed) => Ok(Some(installed)),
        Err(SourceError::NotInstalled(_) | SourceError::NotThatInstalled { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The packages with builds of a DBMS, of all sources or of one.
pub(super) fn catalogued(
    dbms: Dbms,
    arch: &str,
    source: Option<&Source>,
) -> impl Iterator<Item = &'static Package> {
    descriptor(dbms, None).packages.iter().filter(move |package| {
        package.archs.contains(&arch)
            && source.is_none_or(|source| *source == package.registry.source())
    })
}
