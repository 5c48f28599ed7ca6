//! Where things are in a build, and how its programs are run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Installed, SourceError, probe};

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

/// How a build finds the libraries that it comes with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loader {
    /// The dynamic loader of a build with its own C library, relative to the build's root as the folders
    /// below are; none where it is run by the system's.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// The folders with the libraries.
    pub library_path: Vec<PathBuf>,
}

impl Loader {
    /// Folders are told by the way from the program (ld.so(8): $ORIGIN), since what leads to the build may
    /// have `:` and `;` in it, between which the loader takes paths apart.
    pub(super) fn command(&self, root: &Path, program: &Path) -> (PathBuf, Vec<OsString>) {
        let inside = program.strip_prefix(root).unwrap_or(program).parent();
        let up = inside.into_iter().flat_map(Path::components).map(|_| "..");
        let origin = Path::new("$ORIGIN").join(up.collect::<PathBuf>());
        let folders = self.library_path.iter().map(|folder| origin.join(folder).into_os_string());
        let folders = folders.collect::<Vec<_>>().join(":".as_ref());
        match &self.program {
            Some(loader) => {
                (root.join(loader), vec!["--library-path".into(), folders, program.into()])
            }
            // `env` becomes the program: it is the same process, under its own name.
            None => {
                let mut variable = OsString::from("LD_LIBRARY_PATH=");
                variable.push(folders);
                (PathBuf::from("/usr/bin/env"), vec![variable, program.into()])
            }
        }
    }
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
