//! Creates a data directory: by the server's `--initialize-insecure` where it exists, otherwise by
//! its bootstrap mode, which reads the scripts of the build.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Mysql;
use crate::Place;
use crate::error::DbmsError;
use crate::process::{self, Runs};
use crate::theirs;

/// The scripts that create the system tables, in order; each with its names in different versions.
const SCRIPTS: [&[&str]; 4] = [
    &["mariadb_system_tables.sql", "mysql_system_tables.sql"],
    &["mariadb_performance_tables.sql", "mysql_performance_tables.sql"],
    &["mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"],
    &["fill_help_tables.sql"],
];

/// Settings that are fixed when a data directory is created, in all versions or in some.
const KEPT: [&str; 7] = [
    "innodb_data_file_path",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
];

impl Mysql {
    pub(super) fn create(&self, place: &Place) -> Result<(), DbmsError> {
        place.make_data(&self.installed, self.user, &self.told(), |fresh| {
            match self.options.knows("initialize_insecure") {
                true => self.initialize(fresh, &place.log),
                false => self.bootstrap(fresh, &place.log),
            }
        })
    }

    /// The arguments of every way to create a data directory, except for its place.
    fn told(&self) -> Vec<String> {
        let kept = self.settings.iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
        let kept = kept.map(|(name, value)| format!("--{name}={value}"));
        self.options.common().into_iter().chain(kept).collect()
    }

    fn making(&self, data: &Path, log: &Path) -> Result<Command, DbmsError> {
        let mut command = self.options.server(Runs::of(&self.installed, self.user, data));
        process::log_to(&mut command, log)?;
        command.arg("--no-defaults").args(directories(data)).args(self.told());
        Ok(command)
    }

    fn initialize(&self, data: &Path, log: &Path) -> Result<(), DbmsError> {
        let mut command = self.making(data, log)?;
        command.arg("--initialize-insecure");
        process::run(&mut command, self.dbms().name(), log)
    }

    fn bootstrap(&self, data: &Path, log: &Path) -> Result<(), DbmsError> {
        let system = data.join("mysql");
        theirs::work_in(data, || fs::create_dir(&system))
            .map_err(DbmsError::file("create", &system))?;
        let mut sql = "use mysql;\n".to_string();
        for names in SCRIPTS {
            match self.options.script(names)? {
                Some(text) => sql += &text,
                // Older versions have fewer scripts, but all have their system tables.
                None if names == SCRIPTS[0] => {
                    let reason = format!("the build has no {}", names[1]);
                    return Err(DbmsError::Start { what: self.dbms().name(), reason });
                }
                None => {}
            }
        }
        let mut command = self.making(data, log)?;
        command.arg("--bootstrap");
        command.stdin(Stdio::piped());
        let failed = |what: &str, error: std::io::Error| DbmsError::Start {
            what: self.dbms().name(),
            reason: format!("cannot {what} its process: {error}"),
        };
        let since = process::length(log);
        let mut child = command.spawn().map_err(|error| failed("start", error))?;
        if let Some(mut input) = child.stdin.take() {
            // A server that gives up closes its input; its log has the reason.
            let _ = input.write_all(sql.as_bytes());
        }
        let status = child.wait().map_err(|error| failed("await", error))?;
        match status.success() {
            true => Ok(()),
            false => Err(DbmsError::Start {
                what: self.dbms().name(),
                reason: format!("{status}\n{}", process::tail(log, since)),
            }),
        }
    }
}

/// Temporary files are beside the data: a starting server removes those of all other servers with
/// the same folder for them.
fn directories(data: &Path) -> [String; 2] {
    ["datadir", "tmpdir"].map(|name| format!("--{name}={}", data.display()))
}
