//! Facts that a server's program reports about itself.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use goblin::elf::Elf;
use memchr::memmem;
use rqps_plan::{Dbms, Flags, Source};
use rqps_system::program::{self, RunError, Said, Surroundings};
use rqps_system::{User, others_can_change};
use rustix::process::Signal;

use super::error::{SourceError, at};
use super::flags::{self, Looked};
use super::installed::{Fetched, Installed};
use super::layout::server;
use super::progress::{Progress, Tell};
use super::{digest, known_libraries, loader};
use crate::descriptor::TellsVersion;
use crate::registry::descriptor;

/// How long a program may take to report its version: the first read from a slow disk takes
/// seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

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
    let told = match told_version(dbms, &server, command, tell) {
        Err(SourceError::OtherDbms { found, wanted, .. }) => {
            return Err(SourceError::OtherDbms { path: root.to_path_buf(), found, wanted });
        }
        told => told?,
    };
    let version = unpackaged(dbms, &told).to_string();
    let bytes = fs::read(&server).map_err(at(&server))?;
    let elf = Elf::parse(&bytes).ok();
    let libc = match loader.as_ref().and_then(|loader| loader.program.as_ref()) {
        Some(program) => own_libc(&root.join(program), tell)?,
        None => elf.as_ref().and_then(libc),
    };
    let compiler = compiler(&bytes, elf.as_ref());
    let looked = Looked {
        dbms,
        version: &version,
        told: &told,
        server: &server,
        bytes: &bytes,
        elf: elf.as_ref(),
        compiler: compiler.as_deref(),
    };
    let flags = flags::read(&looked);
    Ok(Installed {
        dbms,
        version,
        source,
        root: root.to_path_buf(),
        archives,
        server_sha256: digest::sha256(&server)?,
        libc,
        // A program's comment begins with that of the C library's start files.
        compiler: flags.compiler.clone(),
        flags: Some(flags),
        loader,
        built: None,
    })
}

/// How an already described build was compiled. Nothing is run.
pub(super) fn flags(installed: &Installed) -> Result<Flags, SourceError> {
    let server = server(installed.dbms, &installed.root)?;
    let bytes = fs::read(&server).map_err(at(&server))?;
    let elf = Elf::parse(&bytes).ok();
    Ok(flags::read(&Looked {
        dbms: installed.dbms,
        version: &installed.version,
        told: &installed.version,
        server: &server,
        bytes: &bytes,
        elf: elf.as_ref(),
        compiler: installed.compiler.as_deref(),
    }))
}

/// Asks the server for its version, with the command to run it.
pub(super) fn version(
    dbms: Dbms,
    server: &Path,
    command: (PathBuf, Vec<OsString>),
    tell: &mut Tell,
) -> Result<String, SourceError> {
    let told = told_version(dbms, server, command, tell)?;
    Ok(unpackaged(dbms, &told).to_string())
}

/// Without what the packager added: `11.8.6-MariaDB-0+deb13u1`.
fn unpackaged(dbms: Dbms, told: &str) -> &str {
    match descriptor(dbms, None).version {
        TellsVersion::Run { ends_at: Some(end), .. } => told.split(end).next().unwrap_or(told),
        _ => told,
    }
}

/// The first word of the server's answer that starts with a digit.
fn told_version(
    dbms: Dbms,
    server: &Path,
    command: (PathBuf, Vec<OsString>),
    tell: &mut Tell,
) -> Result<String, SourceError> {
    let failed = |reason: String| SourceError::DoesNotRun { program: server.to_path_buf(), reason };
    let (program, mut args) = command;
    let mut arguments: &[&str] = &[];
    let mut is_it: fn(&str) -> bool = |_| true;
    let (program, args) = match descriptor(dbms, None).version {
        TellsVersion::Run { arguments: of_server, is_it: is_that, .. } => {
            (arguments, is_it) = (of_server, is_that);
            args.extend(arguments.iter().map(OsString::from));
            args.push("--version".into());
            (program, args)
        }
        TellsVersion::Loaded(version) => return version(vouched(server)?),
        TellsVersion::Hosted(command) => command(server).map_err(at(server))?,
    };
    let asking = Progress::Asking { server: server.to_path_buf() };
    let said = match ask(&program, &args, PATIENCE, asking, tell) {
        // Not the loader that runs it.
        Err(SourceError::DoesNotRun { reason, .. }) => return Err(failed(reason)),
        said => said?,
    };
    if !said.status.success() {
        if let Some(library) = missing_library(&said.stderr) {
            let (program, library) = (server.to_path_buf(), library.to_string());
            let package = known_libraries::package(&library);
            return Err(SourceError::MissingLibrary { program, library, package });
        }
        let reason = said.stderr.lines().find(|line| !line.trim().is_empty());
        let reason = reason.map(|line| line.strip_prefix("error: ").unwrap_or(line).to_string());
        return Err(failed(reason.unwrap_or_else(|| said.status.to_string())));
    }
    // It may print its own path, which can contain anything.
    let told = said.stdout.replace(&*server.to_string_lossy(), "");
    let mut words = told.split_whitespace();
    let version = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let version = version.ok_or_else(|| failed("it does not report its version".to_string()))?;
    if is_it(&told) {
        return Ok(version.to_string());
    }
    // Of the DBMSs with this program name, the one that the answer belongs to.
    let says = |other: &Dbms| match descriptor(*other, None).version {
        TellsVersion::Run { arguments: of_other, is_it, .. } => {
            of_other == arguments && is_it(&told)
        }
        TellsVersion::Loaded(_) | TellsVersion::Hosted(_) => false,
    };
    let found = Dbms::ALL.into_iter().find(says).unwrap_or(dbms);
    Err(SourceError::OtherDbms { path: server.to_path_buf(), found, wanted: dbms })
}

/// A library that may be loaded, so that its code becomes part of rqps: one that no other user can
/// change.
pub(crate) fn vouched(path: &Path) -> Result<&Path, SourceError> {
    match others_can_change(path) {
        Some(found) => Err(SourceError::ForeignLibrary { library: path.to_path_buf(), found }),
        None => Ok(path),
    }
}

/// Has a process load a library, and tell of it.
pub(crate) fn ask_library(
    program: &Path,
    arguments: &[OsString],
    library: &Path,
    tell: &mut Tell,
) -> Result<Said, SourceError> {
    let asking = Progress::Asking { server: library.to_path_buf() };
    ask(program, arguments, PATIENCE, asking, tell)
}

/// Runs a program of a build to its end. It is not trusted, so it gets no more rights than a
/// server, no environment, an empty folder that it cannot write to, and little time.
pub(super) fn ask(
    program: &Path,
    args: &[OsString],
    limit: Duration,
    progress: Progress,
    tell: &mut Tell,
) -> Result<Said, SourceError> {
    tell(progress.clone())?;
    let user = User::of_servers()?;
    let temporary = std::env::temp_dir();
    let mode = fs::Permissions::from_mode;
    let folder = tempfile::Builder::new().prefix("rqps-").permissions(mode(0o700)).tempdir();
    let folder = folder.map_err(at(&temporary))?;
    // That user must be able to enter it, with any umask.
    fs::set_permissions(folder.path(), mode(0o755)).map_err(at(&temporary))?;
    let around =
        Surroundings { folder: folder.path(), user, environment: &[], at_end: Some(Signal::KILL) };
    let mut command = program::command(program, &around);
    let said = program::run(command.args(args), limit, &mut || tell(progress.clone()));
    said.map_err(|error| {
        let reason = match (error, user) {
            (RunError::Cancelled(wish), _) => return wish.into(),
            (RunError::Start(error), Some(User { uid, .. }))
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                format!(
                    "{error}: it runs as the user of servers, with uid {uid}. Let that user read it \
                     and enter all folders above it, or name another user in RQPS_USER"
                )
            }
            (RunError::TooLong(limit), _) => {
                format!("it did not end within {} s. Build or fetch it again", limit.as_secs())
            }
            (error @ RunError::Start(_), _) => error.to_string(),
        };
        SourceError::DoesNotRun { program: program.to_path_buf(), reason }
    })
}

/// The library that the dynamic loader did not find.
fn missing_library(stderr: &str) -> Option<&str> {
    let (_, rest) = stderr.split_once("error while loading shared libraries: ")?;
    // Only this ending means a missing rather than a broken library.
    let (library, why) = rest.split_once(':')?;
    why.contains("No such file or directory").then_some(library)
}

/// The C library in a build, by its loader: `ld.so (Debian GLIBC 2.41-12) stable release version
/// 2.41.` Before 2.33 the loader reported nothing, but had the name `ld-2.31.so`. That of musl
/// reports `Version 1.2.5` with its usage.
fn own_libc(loader: &Path, tell: &mut Tell) -> Result<Option<String>, SourceError> {
    let asking = Progress::Asking { server: loader.to_path_buf() };
    let said = ask(loader, &["--version".into()], PATIENCE, asking, tell)?;
    if loader::is_of_musl(loader) {
        let version = said.stderr.lines().find_map(|line| line.strip_prefix("Version "));
        return Ok(version.map(|version| format!("its own musl {version}")));
    }
    let line = said.stdout.lines().next().unwrap_or_default();
    let told = line.rsplit(' ').next().map(|word| word.trim_end_matches('.'));
    let file = loader.canonicalize().map_err(at(loader))?;
    let name = file.file_name().and_then(|name| name.to_str());
    let named = name.and_then(|name| name.strip_prefix("ld-")?.strip_suffix(".so"));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let version = told.filter(is_version).or(named.filter(is_version));
    Ok(version.map(|version| format!("its own glibc {version}")))
}

/// The C library that the program needs, with the oldest sufficient version of glibc.
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

/// The compiler by Postgres itself (`SELECT version()`), or else by the compiler's note in the
/// program, which Debian removes.
fn compiler(bytes: &[u8], elf: Option<&Elf>) -> Option<String> {
    const TOLD: &[u8] = b", compiled by ";
    if let Some(start) = memmem::find(bytes, TOLD) {
        let text = first_string(&bytes[start + TOLD.len()..]);
        return Some(text.trim_end_matches(", 64-bit").to_string());
    }
    let elf = elf?;
    let is_comment = |name| elf.shdr_strtab.get_at(name) == Some(".comment");
    let section = elf.section_headers.iter().find(|header| is_comment(header.sh_name))?;
    let notes = bytes.get(section.file_range()?)?;
    // A library has the notes of all compilers of its parts: most of it is the newest one's.
    let newest = elf.is_lib && elf.interpreter.is_none();
    let compiler = if newest { newest_compiler(notes) } else { Some(first_string(notes)) };
    compiler.filter(|text| !text.is_empty())
}

/// `GCC: (GNU) 7.3.1 20180303`: of several, that of the highest version.
fn newest_compiler(notes: &[u8]) -> Option<String> {
    let notes = notes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let compilers =
        notes.filter(|note| note.starts_with("GCC: ") || note.contains("clang version"));
    let versioned = compilers.filter_map(|note| {
        let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let version = note.split_whitespace().find(is_version)?.to_string();
        Some((version, note.into_owned()))
    });
    versioned.max_by(|one, other| super::version::compare(&one.0, &other.0)).map(|found| found.1)
}

/// The first non-empty string, up to its zero byte.
fn first_string(bytes: &[u8]) -> String {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let bytes = &bytes[start..];
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {

    use super::*;

    fn sh(script: &str, limit: Duration) -> Result<Said, SourceError> {
        let args = ["-c".into(), script.into()];
        let go_on = &mut |_| Ok(());
        ask(Path::new("/bin/sh"), &args, limit, Progress::Waiting, go_on)
    }

    #[test]
    fn of_the_compilers_of_a_library_the_newest_is_named() {
        let newest = |notes: &str| newest_compiler(notes.as_bytes());
        let old = "GCC: (GNU) 4.4.7 20120313 (Red Hat 4.4.7-23)";
        let new = "GCC: (GNU) 13.2.1 20240316 (Red Hat 13.2.1-7)";
        for notes in [format!("{old}\0{new}\0$Id$\0"), format!("{new}\0\0{old}\0")] {
            assert_eq!(newest(&notes).as_deref(), Some(new));
        }
        assert_eq!(newest("$Id$\0Copyright (c) 2006\0"), None);
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let error = sh("sleep 600", Duration::from_millis(50)).unwrap_err();
        let expected = "'/bin/sh' does not run: it did not end within 0 s. Build or fetch it again";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn of_the_compilers_of_a_library_the_newest_made_most_of_it() {
        let notes = b"GCC: (GNU) 4.4.7 20120313\0GCC: (GNU) 13.3.1 (x)\0$Id$\0GCC: (GNU) 7.3.1\0";
        assert_eq!(newest_compiler(notes).as_deref(), Some("GCC: (GNU) 13.3.1 (x)"));
        assert_eq!(newest_compiler(b"$Id$\0").as_deref(), None);
    }

    #[test]
    fn it_has_the_rights_of_a_server_and_a_folder_that_is_empty() {
        let said = sh("id -u; ls -A; env | cut -d= -f1 | grep -c CARGO; : > x", PATIENCE).unwrap();
        let Some(user) = User::of_servers().unwrap() else { return };
        assert_eq!(said.stdout, format!("{}\n0\n", user.uid));
        assert!(!said.status.success(), "it can write there");
    }
}
