//! The command-line options of a server, from the server itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rqps_system::{User, program};

use crate::error::DbmsError;
use crate::home::Home;
use crate::process::{self, Runs};
use crate::source::installed::Installed;

use super::names::ROCKSDB;

/// The file of MyRocks, where it is a plugin.
const ROCKSDB_PLUGIN: &str = "ha_rocksdb.so";
/// A setting of every MyRocks.
const ROCKSDB_SETTING: &str = "rocksdb_block_cache_size";
/// How long a server may take to print its options.
const TELLING: Duration = Duration::from_secs(60);
/// Builds that have MyRocks.
const WITH_ROCKSDB: &str =
    "Use Debian's MariaDB, as in mariadb@debian-10.11/rocksdb or mariadb@debian-11.8/rocksdb";

/// The options of one build, and how its server is run.
pub(super) struct Options {
    program: PathBuf,
    /// Arguments before all others, which the program needs to run at all.
    leading: Vec<OsString>,
    /// The places of the server's own files.
    places: Vec<String>,
    share: Option<PathBuf>,
    /// The plugin to load for the engine.
    plugin: Option<&'static str>,
    known: Vec<String>,
}

impl Options {
    pub(super) fn ask(
        home: &Home,
        installed: &Installed,
        engine: &str,
        user: Option<User>,
    ) -> Result<Self, DbmsError> {
        let (program, leading) = installed.command(&installed.server()?);
        let share = installed.share()?;
        let base = format!("--basedir={}", installed.base()?.display());
        // In packages, it is a directory that only their installation creates.
        let mut places = vec![base, "--secure-file-priv=".to_string()];
        // Allows the fastest way to load tables; the client decides what it sends.
        places.push("--local-infile=1".to_string());
        let plugins = installed.plugins()?;
        // In some builds of MySQL, MyRocks is built in.
        let has = |plugin: &str| plugins.as_ref().is_some_and(|dir| dir.join(plugin).is_file());
        let plugin = Some(ROCKSDB_PLUGIN).filter(|plugin| engine == ROCKSDB && has(plugin));
        let folders = [("lc-messages-dir", share.clone()), ("plugin-dir", plugins)];
        for (option, folder) in folders {
            places.extend(folder.map(|folder| format!("--{option}={}", folder.display())));
        }
        let mut options = Options { program, leading, places, share, plugin, known: Vec::new() };
        let start = |reason: String| DbmsError::Start { what: installed.dbms.name(), reason };
        let folder = home.empty()?;
        let mut command = options.server(Runs::of(installed, user, &folder));
        command.arg("--no-defaults").args(options.common());
        // Some versions read the default data directory even for this.
        command.arg(format!("--datadir={}", folder.display())).args(["--verbose", "--help"]);
        let said = program::run(&mut command, TELLING, &mut || Ok(()));
        let said = said.map_err(|error| start(error.to_string()))?;
        options.known = names(&said.stdout);
        if options.known.is_empty() {
            return Err(start(said.stderr.lines().last().unwrap_or("no output").to_string()));
        }
        if engine == ROCKSDB && !options.knows(ROCKSDB_SETTING) {
            return Err(DbmsError::NoMyRocks {
                dbms: installed.dbms,
                version: installed.version.clone(),
                root: installed.root.clone(),
                hint: WITH_ROCKSDB,
            });
        }
        Ok(options)
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        let plain = name.strip_prefix("skip_").unwrap_or(name);
        [name, plain]
            .iter()
            .any(|name| self.known.binary_search_by(|known| known.as_str().cmp(name)).is_ok())
    }

    /// What the server lists, sorted.
    pub(super) fn names(&self) -> &[String] {
        &self.known
    }

    /// Arguments that every run of the server needs: the places of its files, and the engine.
    pub(super) fn common(&self) -> Vec<String> {
        let mut arguments = self.places.clone();
        arguments.extend(self.plugin.map(|plugin| format!("--plugin-load-add={plugin}")));
        arguments
    }

    /// A command that runs the server, without its arguments.
    pub(super) fn server(&self, runs: Runs<'_>) -> Command {
        let mut command = process::command(&self.program, runs);
        command.args(&self.leading);
        command
    }

    /// The text of the first of these files among the build's scripts.
    pub(super) fn script(&self, names: &[&str]) -> Result<Option<String>, DbmsError> {
        let folder = self.share.as_deref().unwrap_or(Path::new("/nonexistent"));
        let mut paths = names.iter().map(|name| folder.join(name));
        let Some(path) = paths.find(|path| path.is_file()) else { return Ok(None) };
        let bytes = fs::read(&path).map_err(DbmsError::file("read", &path))?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Names in the output of `--verbose --help`: options as `--name[=#]`, in groups of spellings, and
/// a table of variables at the end. Sorted, with underscores.
fn names(help: &str) -> Vec<String> {
    let plain = |name: &str| name.replace('-', "_").to_lowercase();
    let mut known: Vec<String> = Vec::new();
    for line in help.lines() {
        let option = line.trim_start();
        let option = match option.split_once(", ") {
            Some((short, long)) if short.starts_with('-') => long,
            _ => option,
        };
        if let Some(name) = option.strip_prefix("--") {
            let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
            known.push(plain(&name[..end.unwrap_or(name.len())]));
        }
    }
    let table = help.lines().skip_while(|line| !line.starts_with("-----")).skip(1);
    let rows = table.take_while(|line| !line.trim().is_empty());
    known.extend(rows.filter_map(|line| line.split_whitespace().next()).map(plain));
    known.retain(|name| !name.is_empty());
    known.sort_unstable();
    known.dedup();
    known
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_are_read_from_options_and_from_the_table() {
        let help = "Usage: mysqld\n  -b, --basedir=path    Path to it\n  --sync-binlog=#  Synchronously\n\
                    \x20                     --not at the start\n\nVariables\n--------- ------\n\
                    abort-slave-event-count  0\ninnodb-page-size 16384\n\nTo see what values\n";
        let found = names(help);
        for name in ["basedir", "sync_binlog", "abort_slave_event_count", "innodb_page_size"] {
            assert!(found.contains(&name.to_string()), "{name} in {found:?}");
        }
        assert!(!found.contains(&"to".to_string()));
    }
}
