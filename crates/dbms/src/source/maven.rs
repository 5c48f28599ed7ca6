//! Builds in Maven artifacts: a jar that holds one `.txz`, which is the build.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;

use rqps_plan::Source;
use zip::ZipArchive;

use super::Archive;
use super::catalog::Package;
use super::client::{self, Said};
use super::error::{SourceError, at, client_failed};
use super::machine::Machine;
use super::progress::{Progress, Tell};
use super::store;
use super::unpack::{Compression, Tarball};

/// Names of all versions of an artifact.
///
/// No Maven command lists versions. But a project whose parent is a range of versions makes Maven
/// fetch the list, from whatever repositories the user has set, into the local repository, before
/// it needs any plugin. The range is empty, so Maven then gives up; a local repository just for
/// this keeps the list fresh and easy to find.
pub(super) fn versions(
    package: &Package,
    machine: &Machine,
    folder: &Path,
    tell: &mut Tell,
) -> Result<Vec<String>, SourceError> {
    let (group, artifact) = coordinates(package);
    let project = format!(
        "<project><modelVersion>4.0.0</modelVersion><artifactId>versions</artifactId><parent>\
         <groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
         <version>(,0.0.0.1)</version><relativePath/></parent></project>"
    );
    let pom = folder.join("pom.xml");
    fs::write(&pom, project).map_err(at(&pom))?;
    let repository = folder.join("repository");
    let looking = Progress::Looking { source: Source::Maven };
    let mut local = OsString::from("-Dmaven.repo.local=");
    local.push(&repository);
    let said = maven(machine, &["validate".into(), local], folder, &looking, tell)?;

    let lists = repository.join(group.replace('.', "/")).join(artifact);
    let mut versions = Vec::new();
    // A list per repository that the user has set.
    for entry in fs::read_dir(&lists).into_iter().flatten() {
        let path = entry.map_err(at(&lists))?.path();
        if path.extension().is_some_and(|extension| extension == "xml") {
            versions.extend(listed(&fs::read_to_string(&path).map_err(at(&path))?));
        }
    }
    match versions.is_empty() {
        true => Err(failure("validate", &said, folder)),
        false => Ok(versions),
    }
}

/// Downloads a version into `folder`, its checksum compared by Maven, and unpacks it.
pub(super) fn fetch(
    package: &Package,
    version: &str,
    machine: &Machine,
    folder: &Path,
    into: &Path,
    tell: &mut Tell,
) -> Result<Archive, SourceError> {
    let name = format!("{}:{version}", package.name);
    let fetching = Progress::Fetching { what: name.clone() };
    let mut to = OsString::from("-DoutputDirectory=");
    to.push(folder);
    let artifact = OsString::from(format!("-Dartifact={name}:jar"));
    // -C: fail when the checksum does not match.
    let args = ["-C".into(), "dependency:copy".into(), artifact, to];
    let said = maven(machine, &args, folder, &fetching, tell)?;
    if !said.status.success() {
        return Err(failure("dependency:copy", &said, folder));
    }
    let jar = store::only_file(folder, "jar")?;
    let archive = Archive::of(&jar)?;
    unpack(&jar, &archive.name, into, tell)?;
    Ok(archive)
}

fn unpack(jar: &Path, name: &str, into: &Path, tell: &mut Tell) -> Result<(), SourceError> {
    let unreadable = |reason: String| SourceError::Archive { archive: name.to_string(), reason };
    let file = File::open(jar).map_err(at(jar))?;
    let mut zip = ZipArchive::new(file).map_err(|error| unreadable(error.to_string()))?;
    let inner = zip.file_names().flatten().find(|name| name.ends_with(".txz"));
    let inner = inner.ok_or_else(|| unreadable("there is no .txz in it".to_string()))?.into_owned();
    let bytes = zip.by_name(&inner).map_err(|error| unreadable(error.to_string()))?;
    let size = bytes.size();
    Tarball { name, compression: Compression::Xz, bytes, size, below: "" }.unpack(into, tell)
}

fn coordinates(package: &Package) -> (&str, &str) {
    package.name.split_once(':').unwrap_or((package.name, package.name))
}

/// The versions in a `maven-metadata.xml`.
fn listed(xml: &str) -> impl Iterator<Item = String> {
    let items = xml.split("<version>").skip(1).filter_map(|rest| rest.split("</version>").next());
    items.map(|version| version.trim().to_string())
}

fn maven(
    machine: &Machine,
    args: &[OsString],
    folder: &Path,
    progress: &Progress,
    tell: &mut Tell,
) -> Result<Said, SourceError> {
    let program = machine.client(Source::Maven, "mvn", "'apt-get install maven'")?;
    let args: Vec<OsString> =
        ["-B".into(), "-Dstyle.color=never".into()].iter().chain(args).cloned().collect();
    client::run(&program, &args, folder, progress, tell)
}

/// Why Maven failed: what it could not transfer, or else its first error.
fn failure(goal: &str, said: &Said, folder: &Path) -> SourceError {
    let warned = said.stdout.lines().find_map(|line| line.strip_prefix("[WARNING] Could not "));
    let warned = warned.map(|what| format!("could not {what}"));
    let error = || {
        let mut errors = said.stdout.lines().filter_map(|line| line.strip_prefix("[ERROR] "));
        let error = errors.find(|line| !line.trim().is_empty())?;
        let error = error.split(" -> [Help").next().unwrap_or(error);
        // In front stands only what rqps asked Maven to do.
        Some(error.rsplit(" on project standalone-pom: ").next().unwrap_or(error).to_string())
    };
    let last_words = || said.stderr.lines().rfind(|line| !line.is_empty()).map(str::to_string);
    let reason = warned.or_else(error).or_else(last_words);
    let reason = reason.unwrap_or_else(|| said.status.to_string());
    client_failed(format!("mvn {goal}"), reason, folder)
}
