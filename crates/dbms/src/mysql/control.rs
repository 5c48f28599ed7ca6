//! Control work that is the same for every MySQL or MariaDB server, whoever started it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rqps_wire::{Connection, Target, scalar};

use super::{DATABASE, GUEST_DATABASE};
use crate::Quiesce;
use crate::control::Control;
use crate::error::DbmsError;

/// Settings that say where a server is, or what changes by itself, rather than how it works.
const PLACES: [&str; 22] = [
    "basedir",
    "character_sets_dir",
    "datadir",
    "general_log_file",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_executed",
    "hostname",
    "innodb_data_home_dir",
    "lc_messages_dir",
    "log_bin_basename",
    "log_bin_index",
    "pid_file",
    "plugin_dir",
    "port",
    "relay_log_basename",
    "relay_log_index",
    "server_uid",
    "server_uuid",
    "slow_query_log_file",
    "socket",
];

/// How long the engine may take to get idle.
const CALM_PATIENCE: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// InnoDB is idle when so few pages in a hundred are dirty and so few old row versions are left.
const CALM_DIRTY_PERCENT: u64 = 1;
const CALM_HISTORY: u64 = 1_000;
/// The table by which rqps knows its database.
const MARK: &str = "made_by_rqps";

/// Settings that make InnoDB write its dirty pages, for as long as it is waited for.
const WRITE_DIRTY: [(&str, &str); 3] = [
    ("innodb_max_dirty_pages_pct_lwm", "1"),
    ("innodb_max_dirty_pages_pct", "1"),
    ("innodb_idle_flush_pct", "100"),
];

/// Control work of MySQL and MariaDB.
pub(super) struct MysqlControl;

impl Control for MysqlControl {
    fn version(&self, target: &Target) -> Result<String, DbmsError> {
        let mut connection = target.connect()?;
        Ok(scalar(&mut *connection, "select version()")?.unwrap_or_default())
    }

    fn settings(&self, target: &Target) -> Result<BTreeMap<String, String>, DbmsError> {
        let mut connection = target.connect()?;
        let rows = connection.query("show global variables")?;
        let pair = |row: Vec<Option<String>>| {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            let (name, value) = (fields.next()?, fields.next()?);
            (!PLACES.contains(&name.as_str())).then_some((name, value))
        };
        Ok(rows.into_iter().filter_map(pair).collect())
    }

    fn database_bytes(&self, target: &Target) -> Result<u64, DbmsError> {
        let mut connection = target.connect()?;
        // What 8.0 tells of tables is a day old unless it is asked not to be.
        if variable(&mut *connection, "information_schema_stats_expiry")?.is_some() {
            connection.run("set session information_schema_stats_expiry = 0")?;
        }
        let sql = "select coalesce(sum(data_length + index_length), 0) \
                   from information_schema.tables where table_schema = database()";
        let size = scalar(&mut *connection, sql)?;
        Ok(size.and_then(|bytes| bytes.parse::<f64>().ok()).unwrap_or(0.0) as u64)
    }

    fn database_path(&self, _target: &Target, data: &Path) -> Result<PathBuf, DbmsError> {
        // MyRocks keeps all databases in one place.
        let rocksdb = data.join("#rocksdb");
        Ok(if rocksdb.is_dir() { rocksdb } else { data.join(DATABASE) })
    }

    fn quiesce(&self, target: &Target, what: Quiesce, tables: &[String]) -> Result<(), DbmsError> {
        // There is no counterpart of a plain vacuum: purge runs all the time.
        if what == Quiesce::Vacuum {
            return Ok(());
        }
        let mut connection = target.connect()?;
        for table in tables {
            connection.query(&format!("analyze table {table}"))?;
        }
        if scalar(&mut *connection, "show global status like 'rocksdb_block_cache_miss'")?.is_some()
        {
            calm_rocksdb(&mut *connection)?;
        }
        calm_innodb(&mut *connection)
    }

    fn settle(&self, target: &Target) -> Result<(), DbmsError> {
        target.connect()?.run("flush engine logs")?;
        Ok(())
    }
}

/// A global variable, where the server has it.
fn variable(connection: &mut dyn Connection, name: &str) -> Result<Option<String>, DbmsError> {
    let rows = connection.query(&format!("show global variables like '{name}'"))?;
    Ok(rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten()))
}

fn status(connection: &mut dyn Connection, name: &str) -> Result<Option<u64>, DbmsError> {
    let rows = connection.query(&format!("show global status like '{name}'"))?;
    let value = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
    Ok(value.and_then(|value| value.parse().ok()))
}

/// Waits until hardly any page is dirty and purge has caught up.
fn calm_innodb(connection: &mut dyn Connection) -> Result<(), DbmsError> {
    let mut before = Vec::new();
    for (name, value) in WRITE_DIRTY {
        if let Some(old) = variable(connection, name)? {
            connection.run(&format!("set global {name} = {value}"))?;
            before.push((name, old));
        }
    }
    let deadline = Instant::now() + CALM_PATIENCE;
    while !innodb_is_calm(connection)? && Instant::now() < deadline {
        std::thread::sleep(LOOK_AGAIN);
    }
    // In the other order, since the low-water mark must stay below the maximum.
    for (name, old) in before.iter().rev() {
        connection.run(&format!("set global {name} = {old}"))?;
    }
    Ok(())
}

fn innodb_is_calm(connection: &mut dyn Connection) -> Result<bool, DbmsError> {
    let total = status(connection, "Innodb_buffer_pool_pages_total")?.unwrap_or(0);
    let dirty = status(connection, "Innodb_buffer_pool_pages_dirty")?.unwrap_or(0);
    let sql = "select count from information_schema.innodb_metrics \
               where name = 'trx_rseg_history_len'";
    let history = scalar(connection, sql)?.and_then(|count| count.parse::<u64>().ok());
    Ok(dirty * 100 <= total * CALM_DIRTY_PERCENT && history.unwrap_or(0) < CALM_HISTORY)
}

/// Flushes the memtables, compacts level 0 and waits until no compaction is left.
fn calm_rocksdb(connection: &mut dyn Connection) -> Result<(), DbmsError> {
    connection.run("set global rocksdb_force_flush_memtable_now = 1")?;
    if variable(connection, "rocksdb_compact_cf")?.is_some() {
        connection.run("set global rocksdb_compact_cf = 'default'")?;
    }
    let sql = "select count(*) from information_schema.tables \
               where table_name = 'ROCKSDB_ACTIVE_COMPACTION_STATS'";
    let can_tell = scalar(connection, sql)?.is_some_and(|count| count != "0");
    let deadline = Instant::now() + CALM_PATIENCE;
    while can_tell && Instant::now() < deadline {
        let sql = "select count(*) from information_schema.rocksdb_active_compaction_stats";
        if scalar(connection, sql)?.is_none_or(|count| count == "0") {
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// Makes the benchmark's database in a server of rqps's own.
pub(super) fn create_database(target: &Target) -> Result<(), DbmsError> {
    target.connect()?.run(&format!("create database if not exists {DATABASE}"))?;
    Ok(())
}

/// Creates a database in somebody else's server, or finds the one that an earlier rqps created.
pub(super) fn claim_database(target: &Target) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    let sql = format!(
        "select count(*) from information_schema.schemata where schema_name = '{GUEST_DATABASE}'"
    );
    if scalar(&mut *connection, &sql)?.is_some_and(|count| count != "0") {
        let sql = format!(
            "select count(*) from information_schema.tables \
             where table_schema = '{GUEST_DATABASE}' and table_name = '{MARK}'"
        );
        return match scalar(&mut *connection, &sql)?.as_deref() {
            Some("1") => Ok(()),
            _ => Err(DbmsError::ForeignPlace),
        };
    }
    connection.run(&format!("create database {GUEST_DATABASE}"))?;
    connection.run(&format!("create table {GUEST_DATABASE}.{MARK} (nothing int)"))?;
    Ok(())
}

pub(super) fn drop_database(target: &Target) -> Result<(), DbmsError> {
    target.connect()?.run(&format!("drop database if exists {GUEST_DATABASE}"))?;
    Ok(())
}
