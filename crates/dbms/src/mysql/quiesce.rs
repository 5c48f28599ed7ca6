//! Quiescing a server of MySQL or MariaDB: dirty pages, old row versions, the LSM tree.

use std::time::{Duration, Instant};

use rqps_wire::{Connection, scalar};

use super::variables::{has_table, variable};
use crate::error::DbmsError;

/// How long an engine may take to become idle.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// InnoDB is idle when at most this percentage of pages is dirty and fewer old row versions are
/// left.
const DIRTY_PERCENT: u64 = 1;
const HISTORY: u64 = 1_000;
/// The text of InnoDB for a purge without work.
const IDLE: &str = "running but idle";

/// Settings that make InnoDB write its dirty pages, in force during the wait only.
const WRITE_DIRTY: [(&str, &str); 3] = [
    ("innodb_max_dirty_pages_pct_lwm", "1"),
    ("innodb_max_dirty_pages_pct", "1"),
    ("innodb_idle_flush_pct", "100"),
];

/// Column families of MyRocks itself.
const SYSTEM_FAMILY: &str = "__system__";
/// Pending work of MyRocks: memtables to flush, compactions that are due or running.
const ROCKSDB_WORK: [(&str, &str); 3] = [
    (
        "ROCKSDB_CFSTATS",
        "select coalesce(sum(value), 0) from information_schema.rocksdb_cfstats \
         where stat_type in ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')",
    ),
    (
        "ROCKSDB_ACTIVE_COMPACTION_STATS",
        "select count(*) from information_schema.rocksdb_active_compaction_stats",
    ),
    (
        "ROCKSDB_LIVE_FILES_METADATA",
        "select count(*) from information_schema.rocksdb_live_files_metadata \
         where being_compacted <> 0",
    ),
];

/// Analyzes the tables and waits until the engines have caught up with earlier writes. Returns what
/// was still pending after [`PATIENCE`].
pub(super) fn calm(
    connection: &mut dyn Connection,
    tables: &[String],
) -> Result<Option<String>, DbmsError> {
    analyze(connection, tables)?;
    let mut left = Vec::new();
    if has_table(connection, "ROCKSDB_CFSTATS")? {
        left.extend(calm_rocksdb(connection)?);
    }
    left.extend(calm_innodb(connection)?);
    Ok((!left.is_empty()).then(|| format!("not idle after {PATIENCE:?}: {}", left.join("; "))))
}

pub(super) fn analyze(connection: &mut dyn Connection, tables: &[String]) -> Result<(), DbmsError> {
    for table in tables {
        connection.query(&format!("analyze table {table}"))?;
    }
    Ok(())
}

/// Polls until nothing is pending; returns what still is after [`PATIENCE`]. Checks for
/// cancellation itself, since a server that answers each poll is never silent.
fn wait(
    connection: &mut dyn Connection,
    mut left: impl FnMut(&mut dyn Connection) -> Result<Option<String>, DbmsError>,
) -> Result<Option<String>, DbmsError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = left(connection)?;
        if found.is_none() || Instant::now() > deadline {
            return Ok(found);
        }
        connection.check()?;
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Waits until hardly any page is dirty and purge has caught up.
fn calm_innodb(connection: &mut dyn Connection) -> Result<Option<String>, DbmsError> {
    let mut before = Vec::new();
    for (name, value) in WRITE_DIRTY {
        if let Some(old) = variable(connection, name)? {
            connection.run(&format!("set global {name} = {value}"))?;
            before.push((name, old));
        }
    }
    let mut history = None;
    let left = wait(connection, |connection| left_in_innodb(connection, &mut history));
    // In the other order, since the low-water mark must stay below the maximum.
    for (name, old) in before.iter().rev() {
        connection.run(&format!("set global {name} = {old}"))?;
    }
    left
}

/// `before` is the length of the history at the last poll.
fn left_in_innodb(
    connection: &mut dyn Connection,
    before: &mut Option<u64>,
) -> Result<Option<String>, DbmsError> {
    let total = status(connection, "Innodb_buffer_pool_pages_total")?.unwrap_or(0);
    let dirty = status(connection, "Innodb_buffer_pool_pages_dirty")?.unwrap_or(0);
    let sql = "select count from information_schema.innodb_metrics \
               where name = 'trx_rseg_history_len'";
    let history = scalar(connection, sql)?.and_then(|count| count.parse::<u64>().ok());
    let history = history.unwrap_or(0);
    let is_written = dirty * 100 <= total * DIRTY_PERCENT;
    // MySQL 5.6 keeps what it has purged in its history until there is much more of it.
    let is_purged =
        history < HISTORY || before.replace(history) == Some(history) && is_idle(connection)?;
    let calm = is_written && is_purged;
    Ok((!calm)
        .then(|| format!("{dirty} of {total} pages are dirty, history list length {history}")))
}

/// Whether purge has no work.
fn is_idle(connection: &mut dyn Connection) -> Result<bool, DbmsError> {
    let status = connection.query("show engine innodb status")?;
    Ok(status.into_iter().flatten().flatten().any(|text| text.contains(IDLE)))
}

/// Flushes the memtables, compacts the resulting files in every column family, and waits until no
/// compaction is due or running.
fn calm_rocksdb(connection: &mut dyn Connection) -> Result<Option<String>, DbmsError> {
    connection.run("set global rocksdb_force_flush_memtable_now = 1")?;
    if variable(connection, "rocksdb_compact_lzero_now")?.is_some() {
        connection.run("set global rocksdb_compact_lzero_now = 1")?;
    } else if variable(connection, "rocksdb_compact_cf")?.is_some() {
        // Without a way to compact level 0 alone, each family is compacted as a whole.
        let sql = "select distinct cf_name from information_schema.rocksdb_cf_options";
        let families = connection.query(sql)?.into_iter().flatten().flatten();
        for family in families.filter(|family| family != SYSTEM_FAMILY) {
            connection.run(&format!("set global rocksdb_compact_cf = '{family}'"))?;
        }
    }
    let mut work = Vec::new();
    for (table, sql) in ROCKSDB_WORK {
        if has_table(connection, table)? {
            work.push(sql);
        }
    }
    wait(connection, |connection| {
        let mut left = 0;
        for sql in &work {
            let count = scalar(connection, sql)?.and_then(|count| count.parse::<u64>().ok());
            left += count.unwrap_or(0);
        }
        Ok((left > 0).then(|| format!("{left} compactions or flushes of MyRocks are pending")))
    })
}

fn status(connection: &mut dyn Connection, name: &str) -> Result<Option<u64>, DbmsError> {
    let rows = connection.query(&format!("show global status like '{name}'"))?;
    let value = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
    Ok(value.and_then(|value| value.parse().ok()))
}
