//! Where the tarball of a release comes from: the user's own, else a mirror of the user's, Debian's
//! source packages, or upstream's site, in this order.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use rqps_plan::Source;

use super::error::BuildError;
use super::recipe::Recipe;
use super::supplied::Supplied;
use super::{debian_source, failures};
use crate::home::Home;
use crate::source::client::{Client, DOWNLOAD};
use crate::source::error::{SourceError, at, client_failed};
use crate::source::machine::Machine;
use crate::source::progress::{Progress, Tell};
use crate::source::{store, version};

/// A folder or URL with tarballs in the layout of upstream's site.
const SOURCES: &str = "RQPS_SOURCES";
/// How long curl tries to reach a host.
const CONNECT: Duration = Duration::from_secs(20);

const CURL: Client = Client {
    source: Source::Src,
    program: "curl",
    install: "'apt-get install curl'",
    environment: &["CURL_*"],
};

/// The folder of kept tarballs, for further builds.
fn kept_in(home: &Home) -> Result<PathBuf, SourceError> {
    Ok(home.source()?.join("tarballs"))
}

/// A copy of the kept tarball with a hash, if there is one.
pub(super) fn recall(
    home: &Home,
    sha256: &str,
    version: &str,
    into: &Path,
) -> Result<Option<Supplied>, SourceError> {
    let folder = kept_in(home)?.join(sha256);
    let Some(Ok(file)) = fs::read_dir(&folder).ok().and_then(|mut files| files.next()) else {
        return Ok(None);
    };
    let supplied = copied(&file.path(), into, Some(version.to_string()))?;
    if supplied.sha256 == sha256 {
        return Ok(Some(supplied));
    }
    // Truncated by a power cut, or changed: it is fetched again, under the same name.
    fs::remove_file(&supplied.file).map_err(at(&supplied.file))?;
    Ok(None)
}

/// Keeps a tarball for further builds.
pub(super) fn keep(home: &Home, supplied: &Supplied) -> Result<(), SourceError> {
    let folder = kept_in(home)?.join(&supplied.sha256);
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let path = folder.join(&supplied.name);
    fs::rename(&supplied.file, &path).map_err(at(&path))
}

/// Removes all kept tarballs.
pub(super) fn forget(home: &Home) -> Result<(), SourceError> {
    failures::remove(&kept_in(home)?)
}

/// The places to search, in this order.
enum Place {
    /// The value of [`SOURCES`].
    Sources,
    Debian,
    Upstream,
}

/// All places of a recipe's tarballs.
pub(super) struct Places<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) machine: &'a Machine,
    /// The only folder of tarballs, if the user named one for this build.
    pub(super) folder: Option<&'a Path>,
    /// The value of [`SOURCES`].
    pub(super) sources: Option<OsString>,
}

impl Places<'_> {
    pub(super) fn sources_from_env() -> Option<OsString> {
        std::env::var_os(SOURCES).filter(|sources| !sources.is_empty())
    }

    /// Fetches the tarball of a version, or of the newest one that starts with it, into a folder.
    pub(super) fn fetch(
        &self,
        wanted: &str,
        into: &Path,
        tell: &mut Tell,
    ) -> Result<Supplied, SourceError> {
        let mut reasons = Vec::new();
        if let Some(folder) = self.folder {
            match self.in_folder(folder, wanted, into)? {
                Some(found) => return Ok(found),
                None => reasons.push(self.not_in(folder, wanted)),
            }
        } else {
            for place in [Place::Sources, Place::Debian, Place::Upstream] {
                let found = match place {
                    Place::Sources => self.in_sources(wanted, into, &mut reasons, tell),
                    Place::Debian => self.in_debian(wanted, into, &mut reasons, tell),
                    Place::Upstream => self.at_upstream(wanted, into, &mut reasons, tell),
                };
                match found {
                    Ok(Some(found)) => return Ok(found),
                    Ok(None) => {}
                    Err(error) if error.is_of_one_source() => reasons.push(error.to_string()),
                    Err(error) => return Err(error),
                }
            }
        }
        let what = format!("{} {wanted}", self.recipe.dbms);
        Err(BuildError::NoTarball { what, reasons }.into())
    }

    fn in_sources(
        &self,
        wanted: &str,
        into: &Path,
        reasons: &mut Vec<String>,
        tell: &mut Tell,
    ) -> Result<Option<Supplied>, SourceError> {
        let Some(sources) = &self.sources else {
            reasons.push(format!("{SOURCES} is not set"));
            return Ok(None);
        };
        let is_url = |text: &&str| text.starts_with("http://") || text.starts_with("https://");
        if let Some(url) = sources.to_str().filter(is_url) {
            return self.on_site(url, wanted, into, tell).map(Some);
        }
        let folder = Path::new(sources);
        if !folder.is_dir() {
            return Err(BuildError::Sources(sources.to_string_lossy().into_owned()).into());
        }
        let found = self.in_folder(folder, wanted, into)?;
        if found.is_none() {
            reasons.push(self.not_in(folder, wanted));
        }
        Ok(found)
    }

    fn not_in(&self, folder: &Path, wanted: &str) -> String {
        let name = self.recipe.tarball.names(wanted).next().unwrap_or_default();
        format!("'{}' has no {name}", folder.display())
    }

    /// From a folder, flat or in the layout of upstream's site.
    fn in_folder(
        &self,
        root: &Path,
        wanted: &str,
        into: &Path,
    ) -> Result<Option<Supplied>, SourceError> {
        let tarball = &self.recipe.tarball;
        let of_layout = root.join(&tarball.folder).parent().map(Path::to_path_buf);
        let below = of_layout.iter().flat_map(|folder| folders(folder));
        let mut newest: Option<(String, PathBuf)> = None;
        for folder in [root.to_path_buf()].into_iter().chain(below) {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let Some(found) = tarball.version(&name) else { continue };
                let best = newest.as_ref().map(|(best, _)| best.as_str());
                let is_better = best.is_none_or(|best| version::compare(found, best).is_gt());
                if version::is(found, wanted) && is_better && entry.path().is_file() {
                    newest = Some((found.to_string(), entry.path()));
                }
            }
        }
        let Some((found, path)) = newest else { return Ok(None) };
        let mut supplied = copied(&path, into, Some(found.clone()))?;
        let sum = root.join(tarball.checksum(&found, &supplied.name));
        let mut beside = path.into_os_string();
        beside.push(".sha256");
        if let Some(list) = [sum, beside.into()].iter().find(|list| list.is_file()) {
            supplied.verify(&store::read_text(list)?, &list.to_string_lossy())?;
        }
        Ok(Some(supplied))
    }

    fn in_debian(
        &self,
        wanted: &str,
        into: &Path,
        reasons: &mut Vec<String>,
        tell: &mut Tell,
    ) -> Result<Option<Supplied>, SourceError> {
        let suites = self.recipe.debian.iter();
        let mut suites = suites.filter(|suite| {
            version::is(wanted, &suite.versions) || version::is(&suite.versions, wanted)
        });
        let Some(suite) = suites.next() else {
            let known = self.recipe.debian.iter().map(|suite| suite.versions.as_str());
            let known = known.collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none" } else { &known };
            reasons.push(format!("debian has sources of {known}"));
            return Ok(None);
        };
        let place = debian_source::Place { dbms: self.recipe.dbms, suite, machine: self.machine };
        place.fetch(wanted, into, tell).map(Some)
    }

    fn at_upstream(
        &self,
        wanted: &str,
        into: &Path,
        reasons: &mut Vec<String>,
        tell: &mut Tell,
    ) -> Result<Option<Supplied>, SourceError> {
        match &self.recipe.tarball.site {
            Some(site) => self.on_site(site, wanted, into, tell).map(Some),
            None => {
                reasons.push("upstream publishes no SHA-256 beside its tarballs".to_string());
                Ok(None)
            }
        }
    }

    /// From a site with upstream's layout, which publishes the SHA-256 of each tarball.
    fn on_site(
        &self,
        site: &str,
        wanted: &str,
        into: &Path,
        tell: &mut Tell,
    ) -> Result<Supplied, SourceError> {
        let tarball = &self.recipe.tarball;
        let folder = tarball.folder(wanted);
        let mut failed = None;
        for name in tarball.names(wanted) {
            let sum = tarball.checksum(wanted, &name);
            let list = self.download(site, &sum, &into.join("checksums"), tell);
            let list = match list.and_then(|list| store::read_text(&list)) {
                Ok(list) => list,
                // The error for the first name is reported, since the next is that of older
                // releases.
                Err(error) if error.is_of_one_source() => {
                    failed.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let file = self.download(site, &format!("{folder}/{name}"), &into.join(&name), tell)?;
            let mut supplied = Supplied::at(file, Some(wanted.to_string()))?;
            supplied.verify(&list, &sum)?;
            return Ok(supplied);
        }
        Err(failed.unwrap_or_else(|| {
            BuildError::NoTarball {
                what: format!("{} {wanted}", self.recipe.dbms),
                reasons: Vec::new(),
            }
            .into()
        }))
    }

    fn download(
        &self,
        site: &str,
        path: &str,
        to: &Path,
        tell: &mut Tell,
    ) -> Result<PathBuf, SourceError> {
        let name = path.rsplit('/').next().unwrap_or(path).to_string();
        // A request with https is not redirected to http.
        let protocol = if site.starts_with("https:") { "=https" } else { "=http,https" };
        let mut args: Vec<OsString> = [
            "--fail",
            // A version is never a pattern.
            "--globoff",
            "--silent",
            "--show-error",
            "--location",
            "--max-redirs",
            "5",
            "--max-filesize",
            "2G",
            "--proto",
            protocol,
            "--proto-redir",
            protocol,
            "--connect-timeout",
        ]
        .map(OsString::from)
        .to_vec();
        args.push(CONNECT.as_secs().to_string().into());
        args.extend(["--output".into(), to.into()]);
        args.extend(["--url".into(), format!("{}/{path}", site.trim_end_matches('/')).into()]);
        let folder = to.parent().unwrap_or(Path::new("/"));
        let fetching = Progress::Fetching { what: name.clone() };
        let said = CURL.run(self.machine, &args, folder, DOWNLOAD, &fetching, tell)?;
        if said.status.success() {
            return Ok(to.to_path_buf());
        }
        let told = said.stderr.lines().find_map(|line| line.strip_prefix("curl: "));
        let reason = told.map_or_else(|| said.status.to_string(), str::to_string);
        Err(client_failed(format!("curl of {name}"), reason, folder))
    }
}

/// A copy that no other user can change while it is read repeatedly.
pub(super) fn copied(
    path: &Path,
    into: &Path,
    version: Option<String>,
) -> Result<Supplied, SourceError> {
    let copy = into.join(path.file_name().unwrap_or(OsStr::new("tarball")));
    let mut from = fs::File::open(path).map_err(at(path))?;
    let mut to = fs::File::create_new(&copy).map_err(at(&copy))?;
    io::copy(&mut from, &mut to).map_err(at(&copy))?;
    Supplied::at(copy, version)
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}
