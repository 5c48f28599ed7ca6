//! The layout of a build, and how its programs are run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rqps_plan::Dbms;

use super::error::SourceError;
use super::installed::Installed;
use super::loader::INITDB;
use crate::registry::descriptor;

/// Where MySQL and MariaDB have their messages, character sets and scripts, below `basedir`.
const SHARES: [&str; 3] = ["share", "share/mysql", "share/mariadb"];
/// The places of their plugins.
const PLUGINS: [&str; 6] = [
    "lib/plugin",
    "lib64/plugin",
    "lib/mysql/plugin",
    "lib64/mysql/plugin",
    "lib/mariadb/plugin",
    "lib64/mariadb/plugin",
];

/// The start of the folder of MySQL's packages: `share/mysql-8.4`.
const SHARE: &[u8] = b"mysql-";
/// What is in each of them.
const MESSAGES: &str = "english/errmsg.sys";

impl Installed {
    /// The server's program, to be run with [`Installed::command`].
    pub fn server(&self) -> Result<PathBuf, SourceError> {
        server(self.dbms, &self.root)
    }

    /// How a program of the build is run: the program to start, and the arguments before its own.
    pub fn command(&self, program: &Path) -> (PathBuf, Vec<OsString>) {
        match &self.loader {
            Some(loader) => loader.command(&self.root, program),
            None => (program.to_path_buf(), Vec::new()),
        }
    }

    /// How a data directory of Postgres is created: the program to start, and the arguments before
    /// its own.
    pub fn initdb(&self) -> Result<(PathBuf, Vec<OsString>), SourceError> {
        let server = self.server()?;
        let initdb = self.root.join(INITDB).join("initdb");
        if !initdb.is_file() {
            return Ok(self.command(&server.with_file_name("initdb")));
        }
        // It assumes that it is relative to itself: `usr/share/postgresql/17` for
        // `usr/lib/postgresql/17/bin/postgres`, and beside `bin` elsewhere.
        let (program, mut args) = self.command(&initdb);
        let series = server.ancestors().nth(2).unwrap_or(&self.root);
        let of_series = series.ancestors().nth(3).unwrap_or(&self.root).join("share/postgresql");
        let beside = ["share", "share/postgresql", "share/pgsql"].map(|share| series.join(share));
        let mut shares = beside.into_iter().filter(|share| share.join("postgres.bki").is_file());
        let of_series = of_series.join(series.file_name().unwrap_or_default());
        args.push("-L".into());
        args.push(shares.next().unwrap_or(of_series).into());
        Ok((program, args))
    }

    /// The `basedir` of a server of MySQL or MariaDB.
    pub fn base(&self) -> Result<PathBuf, SourceError> {
        // The program is in `bin`, `sbin` or `libexec` of it.
        let server = self.server()?;
        Ok(server.ancestors().nth(2).unwrap_or(&self.root).to_path_buf())
    }

    /// The folder with the messages of MySQL or MariaDB in all languages, its character sets and
    /// its scripts; none if the build has no messages.
    pub fn share(&self) -> Result<Option<PathBuf>, SourceError> {
        let base = self.base()?;
        let names = fs::read_dir(base.join("share")).into_iter().flatten().flatten();
        let of_packages = names.map(|name| name.path()).filter(|path| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(SHARE))
        });
        let mut shares = SHARES.iter().map(|share| base.join(share)).chain(of_packages);
        Ok(shares.find(|share| share.join(MESSAGES).is_file()))
    }

    /// The folder with the plugins of MySQL or MariaDB, if the build has one.
    pub fn plugins(&self) -> Result<Option<PathBuf>, SourceError> {
        let base = self.base()?;
        Ok(PLUGINS.iter().map(|plugins| base.join(plugins)).find(|plugins| plugins.is_dir()))
    }
}

/// The server's program in a build's folder.
pub(super) fn server(dbms: Dbms, root: &Path) -> Result<PathBuf, SourceError> {
    if descriptor(dbms, None).version.is_of_a_library() && root.is_file() {
        return Ok(root.to_path_buf());
    }
    let programs = descriptor(dbms, None).programs;
    let mut servers = programs.iter().flat_map(|program| place(root, program));
    servers.find(|server| server.is_file()).ok_or_else(|| {
        let usual = programs
            .iter()
            .filter(|program| program.starts_with("bin/") || program.ends_with(".so"));
        let program = usual.copied().collect::<Vec<_>>().join(" or ");
        SourceError::NotABuild { path: root.to_path_buf(), program }
    })
}

/// The path of a program below a root, where a star is the end of a folder's name. None where it
/// matches several names, since the right one is unknown.
fn place(root: &Path, program: &str) -> Option<PathBuf> {
    let Some((above, below)) = program.split_once("*/") else { return Some(root.join(program)) };
    let (above, start) = above.rsplit_once('/').unwrap_or(("", above));
    let names = fs::read_dir(root.join(above)).into_iter().flatten().flatten();
    let names =
        names.filter(|name| name.file_name().as_encoded_bytes().starts_with(start.as_bytes()));
    let mut found = names.map(|name| name.path().join(below)).filter(|place| place.is_file());
    found.next().filter(|_| found.next().is_none())
}
