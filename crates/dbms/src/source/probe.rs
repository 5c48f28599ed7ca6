//! What a server's program tells about itself.

use std::fs;
use std::path::{Path, PathBuf};

use goblin::elf::Elf;
use memchr::memmem;
use rqps_plan::{Dbms, Source};

use super::catalog::server_program;
use super::error::{SourceError, at};
use super::progress::{Progress, Tell};
use super::{Archive, Installed, client, digest};

/// Describes the build in a folder, by running its server with `--version` and reading it.
pub(super) fn describe(
    dbms: Dbms,
    source: Option<Source>,
    root: &Path,
    archives: Vec<Archive>,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    let server = server(dbms, root)?;
    let version = version(&server, tell)?;
    let bytes = fs::read(&server).map_err(at(&server))?;
    let elf = Elf::parse(&bytes).ok();
    Ok(Installed {
        dbms,
        version,
        source,
        root: root.to_path_buf(),
        archives,
        server_sha256: digest::sha256(&server)?,
        libc: elf.as_ref().and_then(libc),
        compiler: compiler(&bytes, elf.as_ref()),
    })
}

/// The server's program in a build's folder.
pub(super) fn server(dbms: Dbms, root: &Path) -> Result<PathBuf, SourceError> {
    let program = server_program(dbms).ok_or(SourceError::BuiltIn(dbms))?;
    let server = root.join(program);
    match server.is_file() {
        true => Ok(server),
        false => Err(SourceError::NotABuild { path: root.to_path_buf(), program }),
    }
}

/// Asks the server for its version: the first word that starts with a digit.
pub(super) fn version(server: &Path, tell: &mut Tell) -> Result<String, SourceError> {
    let failed = |reason: String| SourceError::DoesNotRun { program: server.to_path_buf(), reason };
    let asking = Progress::Asking { server: server.to_path_buf() };
    let said = match client::run(server, &["--version".into()], Path::new("/"), &asking, tell) {
        Err(SourceError::File { error, .. }) => return Err(failed(error.to_string())),
        said => said?,
    };
    if !said.status.success() {
        let reason = said.stderr.lines().find(|line| !line.trim().is_empty());
        return Err(failed(reason.map_or_else(|| said.status.to_string(), str::to_string)));
    }
    let words = said.stdout.split_whitespace();
    let version = words.into_iter().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    version.map(str::to_string).ok_or_else(|| failed("it does not tell its version".to_string()))
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

/// Up to the zero byte that ends a string in C.
fn first_string(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
