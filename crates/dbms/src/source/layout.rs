//! Where things are in a build, and how its programs are run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::at;
use super::{Installed, SourceError, probe};

/// In the root of a Postgres that is run by its own loader: a copy of `initdb`, beside a script
/// that goes by the name of the server. `initdb` starts the `postgres` that lies in its own folder,
/// which without that loader does not run. The server's program stays as and where it was.
const INITDB: &str = "rqps.initdb";

/// Where MySQL and MariaDB have their messages, character sets and scripts, below the base.
const SHARES: [&str; 3] = ["share", "share/mysql", "share/mariadb"];
/// Where they have their plugins.
const PLUGINS: [&str; 6] = [
    "lib/plugin",
    "lib64/plugin",
    "lib/mysql/plugin",
    "lib64/mysql/plugin",
    "lib/mariadb/plugin",
    "lib64/mariadb/plugin",
];

/// The loader's option.
const LIBRARY_PATH: &str = "--library-path";

/// How a build finds the libraries that it comes with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loader {
    /// The dynamic loader of a build with its own C library, relative to the build's root as the
    /// folders below are; none where it is run by the system's.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// The folders with the libraries.
    pub library_path: Vec<PathBuf>,
}

impl Loader {
    /// Folders are told by the way from the program (ld.so(8): $ORIGIN), since what leads to the
    /// build may have `:` and `;` in it, between which the loader takes paths apart.
    pub(super) fn command(&self, root: &Path, program: &Path) -> (PathBuf, Vec<OsString>) {
        let folders = self.folders(program.strip_prefix(root).unwrap_or(program));
        match &self.program {
            Some(loader) => (root.join(loader), vec![LIBRARY_PATH.into(), folders, program.into()]),
            // `env` becomes the program: it is the same process, under its own name.
            None => {
                let mut variable = OsString::from("LD_LIBRARY_PATH=");
                variable.push(folders);
                (PathBuf::from("/usr/bin/env"), vec![variable, program.into()])
            }
        }
    }

    /// The folders as a program is told them that lies here below the root.
    fn folders(&self, program: &Path) -> OsString {
        let origin = Path::new("$ORIGIN").join(up(program));
        let folders = self.library_path.iter().map(|folder| origin.join(folder).into_os_string());
        folders.collect::<Vec<_>>().join(":".as_ref())
    }

    /// Makes what `initdb` needs, of an unpacked Postgres with its own C library.
    pub(super) fn prepare_initdb(&self, root: &Path, server: &Path) -> Result<(), SourceError> {
        let (Some(loader), Ok(server)) = (&self.program, server.strip_prefix(root)) else {
            return Ok(());
        };
        let (folder, bin) = (root.join(INITDB), root.join(server).with_file_name("initdb"));
        fs::create_dir(&folder).map_err(at(&folder))?;
        fs::copy(&bin, folder.join("initdb")).map_err(at(&bin))?;
        // By the way from itself, since the store may be moved.
        let words = [loader.as_os_str(), &self.folders(server), server.as_os_str()];
        let [loader, folders, server] = words.map(OsStr::to_string_lossy);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/:$".contains(c);
        if !(loader.chars().chain(folders.chars()).chain(server.chars())).all(is_plain) {
            let reason = "a shell would not take the names in it as they are".to_string();
            return Err(SourceError::Archive { archive: server.into_owned(), reason });
        }
        let script = format!(
            "#!/bin/sh\nroot=${{0%/*}}/..\n\
             exec \"$root/{loader}\" {LIBRARY_PATH} '{folders}' \"$root/{server}\" \"$@\"\n"
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

/// The way from the folder of a file to that which its path begins in.
fn up(path: &Path) -> PathBuf {
    path.parent().into_iter().flat_map(Path::components).map(|_| "..").collect()
}

impl Installed {
    /// The server's program, to be run as [`Installed::command`] tells.
    pub fn server(&self) -> Result<PathBuf, SourceError> {
        probe::server(self.dbms, &self.root)
    }

    /// How a program of the build is run: what to start, and the arguments before its own.
    pub fn command(&self, program: &Path) -> (PathBuf, Vec<OsString>) {
        match &self.loader {
            Some(loader) => loader.command(&self.root, program),
            None => (program.to_path_buf(), Vec::new()),
        }
    }

    /// How a data directory of Postgres is made: what to start, and the arguments before its own.
    pub fn initdb(&self) -> Result<(PathBuf, Vec<OsString>), SourceError> {
        let server = self.server()?;
        let initdb = self.root.join(INITDB).join("initdb");
        if !initdb.is_file() {
            return Ok(self.command(&server.with_file_name("initdb")));
        }
        // `usr/share/postgresql/17` for `usr/lib/postgresql/17/bin/postgres`, which it takes for
        // relative to itself.
        let (program, mut args) = self.command(&initdb);
        let series = server.ancestors().nth(2).unwrap_or(&self.root);
        let share = series.ancestors().nth(3).unwrap_or(&self.root).join("share/postgresql");
        args.push("-L".into());
        args.push(share.join(series.file_name().unwrap_or_default()).into());
        Ok((program, args))
    }

    /// The directory that a server of MySQL or MariaDB calls its base.
    pub fn base(&self) -> Result<PathBuf, SourceError> {
        // The program is in `bin`, `sbin` or `libexec` of it.
        let server = self.server()?;
        Ok(server.ancestors().nth(2).unwrap_or(&self.root).to_path_buf())
    }

    /// The folder with the messages of MySQL or MariaDB in all languages, its character sets and
    /// its scripts; none if the build has no messages.
    pub fn share(&self) -> Result<Option<PathBuf>, SourceError> {
        let base = self.base()?;
        let mut shares = SHARES.iter().map(|share| base.join(share));
        Ok(shares.find(|share| share.join("english/errmsg.sys").is_file()))
    }

    /// The folder with the plugins of MySQL or MariaDB, if the build has one.
    pub fn plugins(&self) -> Result<Option<PathBuf>, SourceError> {
        let base = self.base()?;
        Ok(PLUGINS.iter().map(|plugins| base.join(plugins)).find(|plugins| plugins.is_dir()))
    }
}
