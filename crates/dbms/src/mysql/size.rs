//! The size of the benchmark's tables, by engine.

use std::path::Path;

use rqps_wire::{Connection, query_if_allowed, scalar};

use super::names::DATABASE;
use super::variables::{has_table, variable};
use crate::error::DbmsError;
use crate::files;

/// InnoDB's tablespaces with their sizes: since MySQL 5.7, in MariaDB, since MySQL 8.0. A table, or
/// a partition of one, is a file.
const TABLESPACES: [&str; 2] = ["INNODB_SYS_TABLESPACES", "INNODB_TABLESPACES"];

/// The table in which MyRocks lists its SST files.
const ROCKSDB: &str = "ROCKSDB_SST_PROPS";
/// The live SST files with any index of the database.
const SST_BYTES: &str = "select coalesce(sum(data_block_size + index_block_size), 0) \
     from information_schema.rocksdb_sst_props where sst_name in \
     (select f.sst_name from information_schema.rocksdb_index_file_map f \
      join information_schema.rocksdb_ddl d \
      on d.column_family = f.column_family and d.index_number = f.index_number \
      where d.table_schema = database())";
/// Data that a flush will write to SST files.
const MEMTABLE_BYTES: &str = "select coalesce(sum(value), 0) \
     from information_schema.rocksdb_cfstats \
     where stat_type = 'CUR_SIZE_ALL_MEM_TABLES' and cf_name in \
     (select cf from information_schema.rocksdb_ddl where table_schema = database())";

/// Bytes of the current database's tables with their indexes: for InnoDB the sizes of its files,
/// for MyRocks its live SST files and memtables. Where the server reports neither and its data
/// directory is not here, the server's estimate.
pub(super) fn of_tables(
    connection: &mut dyn Connection,
    data: Option<&Path>,
) -> Result<u64, DbmsError> {
    let mut bytes = None;
    if has_table(connection, ROCKSDB)? {
        let sum = number(connection, SST_BYTES)? + number(connection, MEMTABLE_BYTES)?;
        bytes = (sum > 0).then_some(sum);
    }
    for table in TABLESPACES {
        if bytes.is_none() && has_file_sizes(connection, table)? {
            let sql = format!(
                "select coalesce(sum(file_size), 0) from information_schema.{table} \
                 where name like concat(database(), '/%')"
            );
            // Nothing is found if the tables share one file, or use another engine.
            bytes = Some(number(connection, &sql)?).filter(|bytes| *bytes > 0);
        }
    }
    let files = || data.map(|data| files::bytes(data, &[&format!("{DATABASE}/*.ibd")]));
    match bytes.or_else(files).filter(|bytes| *bytes > 0) {
        Some(bytes) => Ok(bytes),
        None => estimated(connection),
    }
}

fn has_file_sizes(connection: &mut dyn Connection, table: &str) -> Result<bool, DbmsError> {
    let sql = format!(
        "select count(*) from information_schema.columns where column_name = 'FILE_SIZE' \
         and table_schema = 'information_schema' and table_name = '{table}'"
    );
    let readable = format!("select name from information_schema.{table} limit 1");
    // Reading it needs the PROCESS privilege.
    Ok(number(connection, &sql)? > 0 && query_if_allowed(connection, &readable)?.is_some())
}

fn estimated(connection: &mut dyn Connection) -> Result<u64, DbmsError> {
    // In 8.0, statistics of tables may be a day old without this.
    if variable(connection, "information_schema_stats_expiry")?.is_some() {
        connection.run("set session information_schema_stats_expiry = 0")?;
    }
    let sql = "select coalesce(sum(data_length + index_length), 0) \
               from information_schema.tables where table_schema = database()";
    number(connection, sql)
}

fn number(connection: &mut dyn Connection, sql: &str) -> Result<u64, DbmsError> {
    let value = scalar(connection, sql)?.and_then(|value| value.parse::<f64>().ok());
    Ok(value.unwrap_or(0.0) as u64)
}
