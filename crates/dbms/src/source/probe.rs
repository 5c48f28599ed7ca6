//! What a server's program tells about itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use goblin::elf::Elf;
use memchr::memmem;
use rqps_plan::{Dbms, Source};

use super::catalog::server_programs;
use super::error::{SourceError, at};
use super::progress::{Progress, Tell};
use super::{Fetched, Installed, client, digest, libraries};

/// Describes the build in a folder, by running its server with `--version` and reading it.
pub(super) fn describe(
    dbms: Dbms,
    source: Option<Source>,
    root: &Path,
    fetched: Fetched,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    let server = server(dbms, root)?;
    let Fetched { archives, loader } = fetched;
    let command = match &loader {
        Some(loader) => loader.command(root, &server),
        None => (server.clone(), Vec::new()),
    };
    let version = match version(dbms, &server, command, tell) {
        Err(SourceError::OtherDbms { found, wanted, .. }) => {
            return Err(SourceError::OtherDbms { path: root.to_path_buf(), found, wanted });
        }
        version => version?,
    };
    let bytes = fs::read(&server).map_err(at(&server))?;
    let elf = Elf::parse(&bytes).ok();
    let libc = match loader.as_ref().and_then(|loader| loader.program.as_ref()) {
        Some(program) => own_libc(&root.join(program), tell)?,
        None => elf.as_ref().and_then(libc),
    };
    Ok(Installed {
        dbms,
        version,
        source,
        root: root.to_path_buf(),
        archives,
        server_sha256: digest::sha256(&server)?,
        libc,
        compiler: compiler(&bytes, elf.as_ref()),
        loader,
    })
}

/// The server's program in a build's folder.
pub(super) fn server(dbms: Dbms, root: &Path) -> Result<PathBuf, SourceError> {
    let programs = server_programs(dbms);
    if programs.is_empty() {
        return Err(SourceError::BuiltIn(dbms));
    }
    let mut servers = programs.iter().map(|program| root.join(program));
    servers.find(|server| server.is_file()).ok_or_else(|| {
        let usual = programs.iter().filter(|program| program.starts_with("bin/"));
        let program = usual.copied().collect::<Vec<_>>().join(" or ");
        SourceError::NotABuild { path: root.to_path_buf(), program }
    })
}

/// Asks the server for its version, with the command that runs it: the first word that starts with
/// a digit.
pub(super) fn version(
    dbms: Dbms,
    server: &Path,
    command: (PathBuf, Vec<OsString>),
    tell: &mut Tell,
) -> Result<String, SourceError> {
    let failed = |reason: String| SourceError::DoesNotRun { program: server.to_path_buf(), reason };
    let mysql = matches!(dbms, Dbms::Mysql | Dbms::Mariadb);
    let (program, mut args) = command;
    // Settings in /etc are for another build, which may know more of them.
    args.extend(mysql.then(|| "--no-defaults".into()));
    args.push("--version".into());
    let asking = Progress::Asking { server: server.to_path_buf() };
    let said = match client::run(&program, &args, Path::new("/"), &asking, tell) {
        Err(SourceError::File { error, .. }) => return Err(failed(error.to_string())),
        said => said?,
    };
    if !said.status.success() {
        if let Some(library) = missing_library(&said.stderr) {
            let (program, library) = (server.to_path_buf(), library.to_string());
            let package = libraries::package(&library);
            return Err(SourceError::MissingLibrary { program, library, package });
        }
        let reason = said.stderr.lines().find(|line| !line.trim().is_empty());
        return Err(failed(reason.map_or_else(|| said.status.to_string(), str::to_string)));
    }
    // It may call itself by its path, with whatever is in that.
    let told = said.stdout.replace(&*server.to_string_lossy(), "");
    let mut words = told.split_whitespace();
    let version = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let version = version.ok_or_else(|| failed("it does not tell its version".to_string()))?;
    if !mysql {
        return Ok(version.to_string());
    }
    let found = if told.contains("MariaDB") { Dbms::Mariadb } else { Dbms::Mysql };
    if found != dbms {
        let path = server.to_path_buf();
        return Err(SourceError::OtherDbms { path, found, wanted: dbms });
    }
    // Behind the dash stands who packaged it: `11.8.6-MariaDB-0+deb13u1`.
    Ok(version.split('-').next().unwrap_or(version).to_string())
}

/// The library that the dynamic loader did not find.
fn missing_library(stderr: &str) -> Option<&str> {
    let (_, rest) = stderr.split_once("error while loading shared libraries: ")?;
    // Only this ending tells of a library that is absent rather than broken.
    let (library, why) = rest.split_once(':')?;
    why.contains("No such file or directory").then_some(library)
}

/// The C library that comes with a build, by its loader's word: `ld.so (Debian GLIBC 2.41-12)
/// stable release version 2.41.`
fn own_libc(loader: &Path, tell: &mut Tell) -> Result<Option<String>, SourceError> {
    let asking = Progress::Asking { server: loader.to_path_buf() };
    let said = client::run(loader, &["--version".into()], Path::new("/"), &asking, tell)?;
    let line = said.stdout.lines().next().unwrap_or_default();
    let version = line.rsplit(' ').next().map(|word| word.trim_end_matches('.'));
    let version = version.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    Ok(version.map(|version| format!("its own glibc {version}")))
}

/// The C library that the program asks for, with the oldest version of glibc that will do.
fn libc(elf: &Elf) -> Option<String> {
    if elf.interpreter.is_some_and(|loader| loader.contains("ld-musl")) {
        return Some("musl".to_string());
    }
    let needed = elf.verneed.iter().flat_map(|section| section.iter());
    let names = needed.flat_map(|file| file.iter().collect::<Vec<_>>());
    let names = names.filter_map(|version| elf.dynstrtab.get_at(version.vna_name));
    let versions = names.filter_map(|name| name.strip_prefix("GLIBC_"));
    let newest = versions.max_by(|a, b| super::version::compare(a, b))?;
    Some(format!("glibc {newest}"))
}

/// The compiler as Postgres itself tells it (`SELECT version()`), or else as the compiler noted it
/// in the program, which Debian removes.
fn compiler(bytes: &[u8], elf: Option<&Elf>) -> Option<String> {
    const TOLD: &[u8] = b", compiled by ";
    if let Some(start) = memmem::find(bytes, TOLD) {
        let text = first_string(&bytes[start + TOLD.len()..]);
        return Some(text.trim_end_matches(", 64-bit").to_string());
    }
    let elf = elf?;
    let is_comment = |name| elf.shdr_strtab.get_at(name) == Some(".comment");
    let section = elf.section_headers.iter().find(|header| is_comment(header.sh_name))?;
    Some(first_string(bytes.get(section.file_range()?)?)).filter(|text| !text.is_empty())
}

/// Up to the zero byte that ends a string in C, and behind empty strings.
fn first_string(bytes: &[u8]) -> String {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let bytes = &bytes[start..];
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
