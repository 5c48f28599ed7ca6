//! Builds in npm packages: a folder of the tarball is the build.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_plan::Source;
use serde::Deserialize;

use super::catalog::Package;
use super::client::{DOWNLOAD, LOOK_UP, NPM};
use super::error::{SourceError, at, client_failed};
use super::machine::Machine;
use super::progress::{Progress, Tell};
use super::unpack::{Compression, Part, Tarball, link_all};
use super::{digest, paths, store};

/// npm packages cannot hold symbolic links, so this file of the build lists them.
const LINKS: &str = "pg-symlinks.json";

/// Names of all versions of a package.
pub(super) fn versions(
    package: &Package,
    machine: &Machine,
    folder: &Path,
    tell: &mut Tell,
) -> Result<Vec<String>, SourceError> {
    /// npm prints a list of one element as that element.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Versions {
        One(String),
        Many(Vec<String>),
    }
    let looking = Progress::Looking { source: Source::Npm };
    let json = npm(machine, &["view", &package.name, "versions"], folder, LOOK_UP, &looking, tell)?;
    match parse(&json)? {
        Versions::One(version) => Ok(vec![version]),
        Versions::Many(versions) => Ok(versions),
    }
}

/// Downloads a version into `folder` and compares it with the registry's checksum.
pub(super) fn download(
    package: &Package,
    version: &str,
    machine: &Machine,
    folder: &Path,
    tell: &mut Tell,
) -> Result<PathBuf, SourceError> {
    let name = format!("{}@{version}", package.name);
    let fetching = Progress::Fetching { what: name.clone() };
    let view = ["view", &name, "dist.integrity"];
    let json = npm(machine, &view, folder, LOOK_UP, &fetching, tell)?;
    let integrity: String = parse(&json)?;
    let pack = ["pack", &name, "--ignore-scripts", "--pack-destination=."];
    npm(machine, &pack, folder, DOWNLOAD, &fetching, tell)?;
    let file = store::only_file(folder, "tgz")?;
    verify(&file, &integrity)?;
    Ok(file)
}

pub(super) fn unpack(
    file: &Path,
    name: &str,
    below: &str,
    into: &Path,
    tell: &mut Tell,
) -> Result<(), SourceError> {
    let bytes = File::open(file).map_err(at(file))?;
    let size = bytes.metadata().map_err(at(file))?.len();
    let part = Part { below, ..Part::ALL };
    let tarball = Tarball { name, compression: Compression::Gzip, bytes, size, part };
    tarball.unpack(into, tell)?;
    make_listed_links(name, into)
}

fn make_listed_links(archive: &str, root: &Path) -> Result<(), SourceError> {
    /// Paths relative to the parent of the build's folder.
    #[derive(Deserialize)]
    struct Link {
        source: PathBuf,
        target: PathBuf,
    }
    let list = root.join(LINKS);
    if !list.exists() {
        return Ok(());
    }
    let text = store::read_text(&list)?;
    let links: Vec<Link> = serde_json::from_str(&text).map_err(|error| SourceError::Archive {
        archive: archive.to_string(),
        reason: format!("its {LINKS} has an unexpected form: {error}"),
    })?;
    let below = |path: PathBuf| path.strip_prefix("native").map(Path::to_path_buf).unwrap_or(path);
    link_all(archive, root, links.into_iter().map(|link| (below(link.target), below(link.source))))
}

/// Compares a file with the `sha512-<base64>` of a registry.
fn verify(file: &Path, integrity: &str) -> Result<(), SourceError> {
    let found = digest::integrity(file)?;
    if integrity.split_whitespace().any(|expected| expected == found) {
        return Ok(());
    }
    let archive = paths::file_name(file);
    Err(SourceError::Checksum { archive, expected: integrity.to_string(), found })
}

/// Runs npm and returns its JSON output.
pub(super) fn npm(
    machine: &Machine,
    args: &[&str],
    folder: &Path,
    limit: Duration,
    progress: &Progress,
    tell: &mut Tell,
) -> Result<String, SourceError> {
    // npm takes settings from the nearest folder above that is a project, and from one further up
    // that has this one as its workspace. Other users may have created these, so rqps makes this
    // folder a project of its own.
    let project = folder.join("package.json");
    fs::write(&project, "{}").map_err(at(&project))?;
    // By default npm waits for more than a minute before it reports a missing network.
    let always = [
        "--json",
        "--no-workspaces",
        "--no-update-notifier",
        "--fetch-retry-mintimeout=500",
        "--fetch-retry-maxtimeout=2000",
    ];
    let args: Vec<OsString> = args.iter().chain(&always).map(OsString::from).collect();
    let said = NPM.run(machine, &args, folder, limit, progress, tell)?;
    if said.status.success() {
        return Ok(said.stdout);
    }
    let reason = reason(&said.stdout, &said.stderr).unwrap_or_else(|| said.status.to_string());
    Err(client_failed(format!("npm {}", args[0].display()), reason, folder))
}

/// Why npm failed: the summary in its JSON, or else the first error line.
fn reason(stdout: &str, stderr: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Failure {
        error: Summary,
    }
    #[derive(Deserialize)]
    struct Summary {
        summary: String,
    }
    if let Ok(failure) = serde_json::from_str::<Failure>(stdout) {
        return failure.error.summary.lines().next().map(str::to_string);
    }
    let errors = stderr.lines().filter_map(|line| line.strip_prefix("npm error "));
    errors.into_iter().find(|line| !line.starts_with("code ")).map(str::to_string)
}

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, SourceError> {
    serde_json::from_str(json).map_err(|error| SourceError::Client {
        program: "npm view".to_string(),
        reason: format!("its answer has an unexpected form: {error}"),
    })
}
