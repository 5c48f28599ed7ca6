//! What a MySQL or MariaDB server is asked over a connection, whoever started it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rqps_wire::{Connection, Error, Target, query_if_allowed, scalar};

use super::meter::meter;
use super::quiesce::{analyze, calm};
use super::{DATABASE, GUEST_DATABASE, size};
use crate::Quiesce;
use crate::control::Control;
use crate::error::DbmsError;
use crate::in_force::InForce;
use crate::meter::EngineMeter;

/// Settings that say where a server is, or what changes by itself, rather than how it works.
const PLACES: [&str; 17] = [
    "character_sets_dir",
    "general_log_file",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_executed",
    "hostname",
    "innodb_data_home_dir",
    "lc_messages_dir",
    "pid_file",
    "plugin_dir",
    "port",
    "server_uid",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
];
/// What is in one of these directories is a place, too, and so are they.
const ROOTS: [&str; 3] = ["basedir", "datadir", "tmpdir"];

/// The names of variables that nobody has set: by MySQL since 8.0, and by MariaDB. Earlier MySQLs have
/// neither table.
const DEFAULTS: [&str; 2] = [
    "select lower(variable_name) from performance_schema.variables_info \
     where variable_source = 'COMPILED'",
    "select lower(variable_name) from information_schema.system_variables \
     where global_value_origin in ('COMPILE-TIME', 'AUTO')",
];

/// The table by which rqps knows its database.
const MARK: &str = "made_by_rqps";

/// The statements that remove all binary logs, from the newest spelling to the oldest.
const DROP_BINLOGS: [&str; 2] = ["reset binary logs and gtids", "reset master"];
/// The SQLSTATE of a statement that the server does not know.
const UNKNOWN_STATEMENT: &str = "42000";

/// Control work of MySQL and MariaDB, by whose server it is: of somebody else's no setting is changed, and it
/// may refuse what needs rights that a guest does not have.
pub(super) enum MysqlControl {
    Own,
    Guest,
}

/// Why a server of somebody else's is not brought to rest.
const NOT_OURS: &str =
    "it needs settings that rqps does not change on a server that it has not started";

impl Control for MysqlControl {
    fn version(&self, target: &Target) -> Result<String, DbmsError> {
        let mut connection = target.connect()?;
        Ok(scalar(&mut *connection, "select version()")?.unwrap_or_default())
    }

    fn settings(&self, target: &Target) -> Result<InForce, DbmsError> {
        let mut connection = target.connect()?;
        let rows = connection.query("show global variables")?;
        let pair = |row: Vec<Option<String>>| {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            Some((fields.next()?, fields.next()?))
        };
        let mut settings: BTreeMap<String, String> = rows.into_iter().filter_map(pair).collect();
        let roots = ROOTS.map(|name| settings.get(name).cloned().unwrap_or_default());
        let is_place = |name: &str, value: &str| {
            let is_in = |root: &String| !root.is_empty() && value.starts_with(root);
            PLACES.contains(&name) || ROOTS.contains(&name) || roots.iter().any(is_in)
        };
        settings.retain(|name, value| !is_place(name, value));
        let mut answers = DEFAULTS.iter().map(|sql| query_if_allowed(&mut *connection, sql));
        let names = answers.find_map(Result::transpose).transpose()?.unwrap_or_default();
        let names = names.into_iter().filter_map(|row| row.into_iter().next()?);
        let defaults = names.filter(|name| settings.contains_key(name)).collect();
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
        let (mut connection, flush) = (target.connect()?, "flush engine logs");
        match self {
            MysqlControl::Own => connection.run(flush).map(drop)?,
            MysqlControl::Guest => query_if_allowed(&mut *connection, flush).map(drop)?,
        }
        Ok(())
    }
}

/// A global variable, where the server has it.
pub(super) fn variable(
    connection: &mut dyn Connection,
    name: &str,
) -> Result<Option<String>, DbmsError> {
    let rows = connection.query(&format!("show global variables like '{name}'"))?;
    Ok(rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten()))
}

/// Whether the server's `information_schema` has a table.
pub(super) fn has_table(connection: &mut dyn Connection, name: &str) -> Result<bool, DbmsError> {
    let sql = format!(
        "select count(*) from information_schema.tables \
         where table_schema = 'information_schema' and table_name = '{name}'"
    );
    Ok(scalar(connection, &sql)?.is_some_and(|count| count != "0"))
}

/// Makes the benchmark's database in a server of rqps's own.
pub(super) fn create_database(target: &Target) -> Result<(), DbmsError> {
    target.connect()?.run(&format!("create database if not exists {DATABASE}"))?;
    Ok(())
}

/// Creates a database in somebody else's server, or finds the one that an earlier rqps created. MySQL
/// cannot create and mark one at once, so an empty one is taken for its own.
pub(super) fn claim_database(target: &Target) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    let sql = format!(
        "select count(*) from information_schema.schemata where schema_name = '{GUEST_DATABASE}'"
    );
    if scalar(&mut *connection, &sql)?.is_some_and(|count| count != "0") {
        let sql = format!(
            "select case when sum(table_name = '{MARK}') then 'marked' when count(*) then 'foreign' end \
             from information_schema.tables where table_schema = '{GUEST_DATABASE}'"
        );
        match scalar(&mut *connection, &sql)?.as_deref() {
            Some("marked") => return Ok(()),
            Some(_) => return Err(DbmsError::ForeignPlace),
            None => {}
        }
    }
    connection.run(&format!("create database if not exists {GUEST_DATABASE}"))?;
    connection.run(&format!("create table {GUEST_DATABASE}.{MARK} (nothing int)"))?;
    Ok(())
}

pub(super) fn drop_database(target: &Target) -> Result<(), DbmsError> {
    target.connect()?.run(&format!("drop database if exists {GUEST_DATABASE}"))?;
    Ok(())
}
