//! The dynamic loader of a build, and the folders with its libraries.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{SourceError, at};

/// In the root of a Postgres with its own loader: a copy of `initdb`, beside a script with the name
/// of the server. `initdb` starts the `postgres` in its own folder, which does not run without that
/// loader. The server's program itself is unchanged.
pub(super) const INITDB: &str = "rqps.initdb";

/// The loader's option.
const LIBRARY_PATH: &str = "--library-path";

/// How a build finds its own libraries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loader {
    /// The dynamic loader of a build with its own C library, relative to the build's root like the
    /// folders below; none where the system's loader runs it.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// The folders with the libraries.
    pub library_path: Vec<PathBuf>,
}

/// Whether a dynamic loader is that of musl.
pub(super) fn is_of_musl(loader: &Path) -> bool {
    loader.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ld-musl"))
}

impl Loader {
    /// Folders are relative to the program (ld.so(8): $ORIGIN), since the path of the build may
    /// contain `:` and `;`, at which the loader splits paths. The loader of musl has no such word.
    pub(super) fn command(&self, root: &Path, program: &Path) -> (PathBuf, Vec<OsString>) {
        let folders = self.folders(program.strip_prefix(root).unwrap_or(program), root);
        match &self.program {
            Some(loader) => (root.join(loader), vec![LIBRARY_PATH.into(), folders, program.into()]),
            // `env` becomes the program: the process stays the same, under its own name.
            None => {
                let mut variable = OsString::from("LD_LIBRARY_PATH=");
                variable.push(folders);
                (PathBuf::from("/usr/bin/env"), vec![variable, program.into()])
            }
        }
    }

    /// The folders for a program at this place below the root.
    fn folders(&self, program: &Path, root: &Path) -> OsString {
        let origin = match &self.program {
            Some(loader) if is_of_musl(loader) => root.to_path_buf(),
            _ => Path::new("$ORIGIN").join(up(program)),
        };
        let folders = self.library_path.iter().map(|folder| origin.join(folder).into_os_string());
        folders.collect::<Vec<_>>().join(":".as_ref())
    }

    /// Prepares `initdb` of an unpacked Postgres with its own C library.
    pub(super) fn prepare_initdb(&self, root: &Path, server: &Path) -> Result<(), SourceError> {
        let (Some(loader), Ok(server)) = (&self.program, server.strip_prefix(root)) else {
            return Ok(());
        };
        let (folder, bin) = (root.join(INITDB), root.join(server).with_file_name("initdb"));
        fs::create_dir(&folder).map_err(at(&folder))?;
        fs::copy(&bin, folder.join("initdb")).map_err(at(&bin))?;
        // Relative to itself, since the store may be moved.
        let quote = if is_of_musl(loader) { '"' } else { '\'' };
        let folders = self.folders(server, Path::new("$root"));
        let words = [loader.as_os_str(), &folders, server.as_os_str()];
        let [loader, folders, server] = words.map(OsStr::to_string_lossy);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/:$".contains(c);
        if !(loader.chars().chain(folders.chars()).chain(server.chars())).all(is_plain) {
            let reason = "names in it have characters that are special to a shell".to_string();
            return Err(SourceError::Archive { archive: server.into_owned(), reason });
        }
        let script = format!(
            "#!/bin/sh\nroot=${{0%/*}}/..\n\
             exec \"$root/{loader}\" {LIBRARY_PATH} {quote}{folders}{quote} \"$root/{server}\" \"$@\"\n"
        );
        let postgres = folder.join("postgres");
        fs::write(&postgres, script).map_err(at(&postgres))?;
        for path in [&folder, &postgres] {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, mode).map_err(at(path))?;
        }
        Ok(())
    }
}

/// The relative path from the folder of a file up to the start of its path.
fn up(path: &Path) -> PathBuf {
    path.parent().into_iter().flat_map(Path::components).map(|_| "..").collect()
}
