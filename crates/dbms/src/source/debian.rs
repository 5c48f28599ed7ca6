//! Builds in Debian packages of any suite or repository, which apt fetches without installing them:
//! they are unpacked with all dependencies including the C library, and run by its loader.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::apt::Apt;
use super::catalog::{MAJOR, OPTIONAL, Package, Registry};
use super::error::{SourceError, at};
use super::installed::{Archive, Fetched};
use super::loader::Loader;
use super::machine::Machine;
use super::progress::{Progress, Tell};
use super::unpack::{Part, Tarball};
use super::{deb, layout, needed};
use crate::descriptor::Installs;
use crate::registry::descriptor;

/// The versions of a package in apt's form. Its lists stay in `folder`.
pub(super) fn versions(
    package: &Package,
    machine: &Machine,
    folder: &Path,
    tell: &mut Tell,
) -> Result<Vec<String>, SourceError> {
    let (registry, source) = (&package.registry, package.registry.source());
    let apt =
        Apt { machine, folder, registry: Some(registry), progress: Progress::Looking { source } };
    apt.update(false, tell)?;
    let servers = servers(package, &apt, tell)?;
    if let (Registry::Named(repository), true) = (registry, servers.is_empty()) {
        let program = format!("{}: apt-cache", repository.name.as_str());
        let reason = format!("there is no {} for {}", server(package), apt.architecture());
        return Err(SourceError::Client { program, reason });
    }
    Ok(servers.into_iter().map(|(_, version)| version).collect())
}

/// The name of the package with the server.
fn server(package: &Package) -> &str {
    package.name.split(' ').next().unwrap_or(&package.name)
}

/// The packages with the server, each with a version.
fn servers(
    package: &Package,
    apt: &Apt,
    tell: &mut Tell,
) -> Result<Vec<(String, String)>, SourceError> {
    let pattern = server(package);
    let mut names = match pattern.split_once(MAJOR) {
        None => vec![pattern.to_string()],
        Some((start, _)) => apt.names(start, tell)?,
    };
    names.retain(|name| name == pattern || major(name, pattern).is_some());
    apt.versions(&names, tell)
}

/// The start of a version for a package's name.
fn major<'a>(name: &'a str, pattern: &str) -> Option<&'a str> {
    let (start, end) = pattern.split_once(MAJOR)?;
    let major = name.strip_prefix(start)?.strip_suffix(end)?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    major.split('.').all(is_number).then_some(major)
}

/// Downloads a version of a package with its dependencies into `folder` and unpacks it; apt
/// compares signatures and checksums. The keys pin them: a suite gets new versions with each point
/// release, whose hashes no release of rqps could know.
pub(super) fn fetch(
    (package, version): (&Package, &str),
    machine: &Machine,
    (lists, folder): (&Path, &Path),
    into: &Path,
    tell: &mut Tell,
) -> Result<Fetched, SourceError> {
    let (registry, source) = (&package.registry, package.registry.source());
    let progress = Progress::Looking { source };
    let mut apt = Apt { machine, folder: lists, registry: Some(registry), progress };
    let asked = asked_for(package, version, &apt, tell)?;
    let what = asked.first().map(|server| server.replace('=', " ")).unwrap_or_default();
    apt.progress = Progress::Fetching { what };
    if matches!(registry, Registry::Named(repository) if repository.base.is_some()) {
        apt.update(true, tell)?;
    }
    apt.download(&asked, folder, tell)?;
    let archives = unpack(&packages(folder)?, into, tell)?;
    let loader = loader(into)?;
    if descriptor(package.dbms, None).installed == Installs::ByVersion {
        loader.prepare_initdb(into, &layout::server(package.dbms, into)?)?;
    }
    Ok(Fetched { archives, loader: Some(loader) })
}

/// The packages requested from apt: each in the server's version if it exists, since the newest
/// one, which apt would take, may belong to another server.
fn asked_for(
    package: &Package,
    version: &str,
    apt: &Apt,
    tell: &mut Tell,
) -> Result<Vec<String>, SourceError> {
    let servers = servers(package, apt, tell)?;
    let of_version = servers.iter().find(|(_, listed)| listed == version);
    let major = of_version.and_then(|(name, _)| major(name, server(package))).unwrap_or_default();
    let names = package.name.replace(MAJOR, major);
    let asked: Vec<(&str, bool)> = names
        .split(' ')
        .map(|name| (name.trim_end_matches(OPTIONAL), name.ends_with(OPTIONAL)))
        .collect();
    let names: Vec<String> = asked.iter().map(|(name, _)| name.to_string()).collect();
    let listed = apt.versions(&names, tell)?;
    let of_name = |(name, is_optional): (&str, bool)| {
        let mut versions = listed.iter().filter(|(of, _)| of == name).map(|(_, version)| version);
        match (versions.clone().any(|listed| listed == version), versions.next()) {
            (true, _) => Some(format!("{name}={version}")),
            (false, None) if is_optional => None,
            (false, _) => Some(name.to_string()),
        }
    };
    Ok(asked.into_iter().filter_map(of_name).collect())
}

/// The packages in a folder, with their sizes, in a fixed order.
pub(super) fn packages(folder: &Path) -> Result<Vec<(PathBuf, u64)>, SourceError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let size = path.metadata().map_err(at(&path))?.len();
            files.push((path, size));
        }
    }
    files.sort();
    Ok(files)
}

/// Unpacks the parts of packages that a server needs, over each other as on a system.
pub(super) fn unpack(
    files: &[(PathBuf, u64)],
    into: &Path,
    tell: &mut Tell,
) -> Result<Vec<Archive>, SourceError> {
    let mut archives = Vec::new();
    let total = files.iter().map(|(_, size)| size).sum();
    let mut before = 0;
    for (file, size) in files {
        let archive = Archive::of(file)?;
        let data = deb::data(file, &archive.name)?;
        let part = Part { needed: &needed::of_debian, ..Part::ALL };
        let deb::Data { compression, bytes, size: packed } = data;
        Tarball { name: &archive.name, compression, bytes, size: packed, part }.unpack(
            into,
            &mut |progress| match progress {
                Progress::Unpacking { done, .. } => {
                    tell(Progress::Unpacking { done: before + done, total })
                }
                other => tell(other),
            },
        )?;
        before += size;
        archives.push(archive);
    }
    Ok(archives)
}

/// The folders with unpacked libraries, relative to the root.
pub(super) fn library_path(root: &Path) -> Vec<PathBuf> {
    // `lib` is a link to `usr/lib` on every Debian system, but not in every package.
    let mut library_path = Vec::new();
    for lib in ["lib", "usr/lib"] {
        // Named after the processor: `x86_64-linux-gnu`.
        let folders = fs::read_dir(root.join(lib)).into_iter().flatten().flatten();
        let names = folders.map(|folder| folder.file_name());
        let of_libraries = names.filter(|name| name.to_string_lossy().ends_with("-linux-gnu"));
        library_path.extend(of_libraries.map(|name| Path::new(lib).join(name)));
    }
    library_path
}

/// The loader among the unpacked libraries.
fn loader(root: &Path) -> Result<Loader, SourceError> {
    let library_path = library_path(root);
    for folder in &library_path {
        let files = fs::read_dir(root.join(folder)).map_err(at(root))?.flatten();
        let mut names = files.map(|file| file.file_name());
        let is_loader = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("ld-linux") && name.contains(".so.")
        };
        if let Some(name) = names.find(is_loader) {
            return Ok(Loader { program: Some(folder.join(name)), library_path });
        }
    }
    let reason = "it contains no dynamic loader".to_string();
    Err(SourceError::Archive { archive: "libc6".to_string(), reason })
}
