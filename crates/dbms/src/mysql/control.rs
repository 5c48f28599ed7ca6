//! Control work of MySQL and MariaDB over a connection, for own and remote servers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rqps_wire::{Connection, Error, Login, Target, query_if_allowed, scalar};

use super::meter::meter;
use super::names::DATABASE;
use super::quiesce::{analyze, calm};
use super::reported::is_reported;
use super::size;
use super::variables::variable;
use crate::Quiesce;
use crate::control::Control;
use crate::error::DbmsError;
use crate::in_force::InForce;
use crate::meter::EngineMeter;

/// The names of variables with compiled-in values: for MySQL since 8.0, and for MariaDB. Earlier
/// MySQLs have neither table.
const DEFAULTS: [&str; 2] = [
    "select lower(variable_name) from performance_schema.variables_info \
     where variable_source = 'COMPILED'",
    "select lower(variable_name) from information_schema.system_variables \
     where global_value_origin in ('COMPILE-TIME', 'AUTO')",
];

/// The statements that remove all binary logs, from the newest spelling to the oldest.
const DROP_BINLOGS: [&str; 2] = ["reset binary logs and gtids", "reset master"];
/// The SQLSTATE of a statement that the server does not know.
const UNKNOWN_STATEMENT: &str = "42000";

/// Control work of MySQL and MariaDB. A remote server keeps its settings, and may deny what needs
/// rights that rqps lacks there.
pub(super) enum MysqlControl {
    Own,
    Guest,
}

/// Why a remote server is not quiesced.
const NOT_OURS: &str = "it needs settings that rqps does not change on a remote server";

impl Control for MysqlControl {
    fn version(&self, target: &Target) -> Result<String, DbmsError> {
        let mut connection = target.connect()?;
        Ok(scalar(&mut *connection, "select version()")?.unwrap_or_default())
    }

    fn settings(&self, target: &Target) -> Result<InForce, DbmsError> {
        let mut connection = target.connect()?;
        let mut settings = variables(&mut *connection, "show global variables")?;
        settings.retain(|name, value| is_reported(name, value));
        let global = settings.clone();
        // What a session sets is in force for its statements only.
        for (name, value) in variables(&mut *connection, "show session variables")? {
            settings.entry(name).and_modify(|it| *it = value);
        }
        let mut answers = DEFAULTS.iter().map(|sql| query_if_allowed(&mut *connection, sql));
        let names = answers.find_map(Result::transpose).transpose()?.unwrap_or_default();
        let names = names.into_iter().filter_map(|row| row.into_iter().next()?);
        let is_global =
            |name: &String| settings.get(name).is_some_and(|value| global.get(name) == Some(value));
        let defaults = names.filter(is_global).collect();
        Ok(InForce { values: settings, defaults })
    }

    fn database_bytes(&self, target: &Target, data: Option<&Path>) -> Result<u64, DbmsError> {
        size::of_tables(&mut *target.connect()?, data)
    }

    fn database_path(&self, _target: &Target, data: &Path) -> Result<PathBuf, DbmsError> {
        // MyRocks keeps all databases in one place.
        let rocksdb = data.join("#rocksdb");
        Ok(if rocksdb.is_dir() { rocksdb } else { data.join(DATABASE) })
    }

    /// Redo, undo and binary logs, and MyRocks's write-ahead log.
    fn logs(&self) -> &'static [&'static str] {
        &["binlog.*", "ib_logfile*", "#innodb_redo", "undo*", "#rocksdb/*.log"]
    }

    fn meter(&self, target: &Target) -> Result<EngineMeter, DbmsError> {
        meter(target)
    }

    fn drop_logs(&self, target: &Target) -> Result<(), DbmsError> {
        let mut connection = target.connect()?;
        if variable(&mut *connection, "log_bin")?.as_deref() != Some("ON") {
            return Ok(());
        }
        let mut result = Ok(0);
        for statement in DROP_BINLOGS {
            result = connection.run(statement);
            match &result {
                Err(Error::Server { code, .. }) if code.contains(UNKNOWN_STATEMENT) => {}
                _ => break,
            }
        }
        result?;
        Ok(())
    }

    fn quiesce(
        &self,
        target: &Target,
        what: Quiesce,
        tables: &[String],
    ) -> Result<Option<String>, DbmsError> {
        // There is no counterpart of a plain vacuum: purge runs all the time.
        match (what, self) {
            (Quiesce::Vacuum, _) => Ok(None),
            (Quiesce::Full, MysqlControl::Own) => calm(&mut *target.connect()?, tables),
            (Quiesce::Full, MysqlControl::Guest) => {
                analyze(&mut *target.connect()?, tables)?;
                Ok(Some(NOT_OURS.to_string()))
            }
        }
    }

    fn settle(&self, target: &Target) -> Result<(), DbmsError> {
        target.connect()?.run("flush engine logs")?;
        Ok(())
    }
}

/// The values of variables by their names.
fn variables(
    connection: &mut dyn Connection,
    sql: &str,
) -> Result<BTreeMap<String, String>, DbmsError> {
    let pair = |row: Vec<Option<String>>| {
        let mut fields = row.into_iter().map(Option::unwrap_or_default);
        Some((fields.next()?, fields.next()?))
    };
    Ok(connection.query(sql)?.into_iter().filter_map(pair).collect())
}

/// Creates the benchmark's database in a server of rqps's own.
pub(super) fn create_database(target: &Target) -> Result<(), DbmsError> {
    target.connect()?.run(&format!("create database if not exists {DATABASE}"))?;
    Ok(())
}

/// The target of a login.
pub(super) fn target(login: Login) -> Target {
    Target::Mysql(login)
}
