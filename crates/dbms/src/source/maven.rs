//! Builds in Maven artifacts: a jar or zip that contains the build, or a `.txz` with it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_plan::{Dbms, Source};
use rqps_system::program::Said;

use super::catalog::Package;
use super::client::{DOWNLOAD, LOOK_UP, MAVEN};
use super::error::{SourceError, at, client_failed};
use super::machine::Machine;
use super::progress::{Progress, Tell};
use super::unpack::{Compression, Part, Tarball, Zip};
use super::{needed, store, version};
use crate::registry::descriptor;

/// Names of all versions of an artifact.
///
/// No Maven command lists versions. But a project whose parent is a range of versions makes Maven
/// fetch the list from the user's repositories into the local repository, before it needs any
/// plugin. The range is empty, so Maven then gives up; a local repository only for this keeps the
/// list fresh and easy to find.
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
    let said = maven(machine, &["validate".into(), local], folder, LOOK_UP, &looking, tell)?;

    let lists = repository.join(group.replace('.', "/")).join(artifact);
    let mut versions = Vec::new();
    // A list for each repository of the user.
    for entry in fs::read_dir(&lists).into_iter().flatten() {
        let path = entry.map_err(at(&lists))?.path();
        if path.extension().is_some_and(|extension| extension == "xml") {
            versions.extend(listed(&store::read_text(&path)?));
        }
    }
    match versions.is_empty() {
        true => Err(failure("validate", &said, folder)),
        false => Ok(versions),
    }
}

/// Downloads a version into `folder`; Maven compares its checksum. `files` are the files of the
/// artifact with the build, each from a version on.
pub(super) fn download(
    package: &Package,
    files: &[(&str, &str)],
    version: &str,
    machine: &Machine,
    folder: &Path,
    tell: &mut Tell,
) -> Result<PathBuf, SourceError> {
    let name = format!("{}:{version}", package.name);
    let fetching = Progress::Fetching { what: name.clone() };
    let mut to = OsString::from("-DoutputDirectory=");
    to.push(folder);
    let since = |file: &&(&str, &str)| version::compare(file.0, version).is_le();
    let file = files.iter().rfind(since).map_or("jar", |file| file.1);
    let artifact = OsString::from(format!("-Dartifact={name}:{file}"));
    // -C: fail when the checksum does not match.
    let args = ["-C".into(), "dependency:copy".into(), artifact, to];
    let said = maven(machine, &args, folder, DOWNLOAD, &fetching, tell)?;
    if !said.status.success() {
        return Err(failure("dependency:copy", &said, folder));
    }
    let extension = file.split(':').next().unwrap_or(file);
    store::only_file(folder, extension)
}

/// Unpacks a file that contains the build, or an archive with it.
pub(super) fn unpack(
    dbms: Dbms,
    file: &Path,
    name: &str,
    into: &Path,
    tell: &mut Tell,
) -> Result<(), SourceError> {
    let mut zip = Zip::open(file, name)?;
    let inner = zip.members().find(|member| member.ends_with(".txz")).map(Cow::into_owned);
    if let Some(inner) = inner {
        let (bytes, size) = zip.member(&inner)?;
        let compression = Compression::Xz;
        return Tarball { name, compression, bytes, size, part: Part::ALL }.unpack(into, tell);
    }
    let Some(below) = folder_of_build(dbms, zip.members()) else {
        let reason = format!("it contains no {dbms}");
        return Err(SourceError::Archive { archive: name.to_string(), reason });
    };
    let descriptor = descriptor(dbms, None);
    let needed = |path: &Path| match descriptor.version.is_of_a_library() {
        true => needed::of_library(descriptor, path),
        false => needed::of_vendor(path),
    };
    zip.unpack(Part { below: &below, needed: &needed, ..Part::ALL }, into, tell)
}

/// The folder of an archive in or below which the server's program is.
fn folder_of_build<'a>(
    dbms: Dbms,
    mut members: impl Iterator<Item = Cow<'a, str>>,
) -> Option<String> {
    members.find_map(|member| {
        let below =
            descriptor(dbms, None).programs.iter().find_map(|end| member.strip_suffix(end))?;
        (below.is_empty() || below.ends_with('/')).then(|| below.to_string())
    })
}

fn coordinates(package: &Package) -> (&str, &str) {
    package.name.split_once(':').unwrap_or((&package.name, &package.name))
}

/// The versions in a `maven-metadata.xml`.
fn listed(xml: &str) -> impl Iterator<Item = String> {
    let items = xml.split("<version>").skip(1).filter_map(|rest| rest.split("</version>").next());
    items.map(|version| version.trim().to_string())
}

/// Maven runs for seconds, too short for good compilation of its code: with these options it needs
/// half of the CPU time.
const BRIEF: &str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n";

fn maven(
    machine: &Machine,
    args: &[OsString],
    folder: &Path,
    limit: Duration,
    progress: &Progress,
    tell: &mut Tell,
) -> Result<Said, SourceError> {
    // Maven takes options from the nearest folder above with this name. Other users may have
    // created one there, so rqps creates one here.
    let project = folder.join(".mvn");
    fs::create_dir_all(&project).map_err(at(&project))?;
    let options = project.join("jvm.config");
    fs::write(&options, BRIEF).map_err(at(&options))?;
    let args: Vec<OsString> =
        ["-B".into(), "-Dstyle.color=never".into()].iter().chain(args).cloned().collect();
    MAVEN.run(machine, &args, folder, limit, progress, tell)
}

/// Why Maven failed: a failed transfer, or else its first error.
fn failure(goal: &str, said: &Said, folder: &Path) -> SourceError {
    let warned = said.stdout.lines().find_map(|line| line.strip_prefix("[WARNING] Could not "));
    let warned = warned.map(|what| format!("could not {what}"));
    let error = || {
        let mut errors = said.stdout.lines().filter_map(|line| line.strip_prefix("[ERROR] "));
        let error = errors.find(|line| !line.trim().is_empty())?;
        let error = error.split(" -> [Help").next().unwrap_or(error);
        // The part before is only rqps's own request.
        Some(error.rsplit(" on project standalone-pom: ").next().unwrap_or(error).to_string())
    };
    let last_words = || said.stderr.lines().rfind(|line| !line.is_empty()).map(str::to_string);
    let reason = warned.or_else(error).or_else(last_words);
    let reason = reason.unwrap_or_else(|| said.status.to_string());
    client_failed(format!("mvn {goal}"), reason, folder)
}
