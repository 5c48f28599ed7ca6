//! Tables and indexes, exactly as published, with counterparts for SQLite.

use rqps_wire::{Connection, Error, scalar};

use super::rows::DATA_VERSION;
use crate::Dialect;

/// The table that tells which tables rqps created, and of what. Written when they are complete.
pub(super) const MARK: &str = "sbtest_made_by_rqps";

/// Counted from 1.
pub(super) fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

pub(super) fn index_name(table: u32) -> String {
    format!("k_{table}")
}

pub(super) fn create_table(dialect: Dialect, table: u32) -> String {
    let engine = dialect.engine.map(|engine| format!(" ENGINE = {engine}")).unwrap_or_default();
    format!(
        "CREATE TABLE {} (id {}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)){engine}",
        table_name(table),
        dialect.serial
    )
}

pub(super) fn create_index(table: u32) -> String {
    format!("CREATE INDEX {} ON {}(k)", index_name(table), table_name(table))
}

/// A statement after which the server's next id is one more than `id`, the largest in the table.
pub(super) fn continue_after(dialect: Dialect, table: u32, id: u64) -> String {
    (dialect.continue_after)(&table_name(table), "id", id)
}

/// The parameters of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) tables: u32,
    pub(super) rows: u64,
    pub(super) seed: u64,
}

impl Mark {
    pub(super) fn write(&self, connection: &mut dyn Connection) -> Result<(), Error> {
        Mark::remove(connection)?;
        // Seeds use all 64 bits, which no integer type of SQL does; and a mark has one row, which
        // replicated servers want to have a key.
        connection.run(&format!(
            "create table {MARK} (version integer primary key, tables_made integer not null, \
             rows_each bigint not null, seed varchar(20) not null)"
        ))?;
        let Mark { tables, rows, seed } = self;
        let values = format!("{DATA_VERSION}, {tables}, {rows}, '{seed}'");
        connection.run(&format!("insert into {MARK} values ({values})"))?;
        Ok(())
    }

    pub(super) fn remove(connection: &mut dyn Connection) -> Result<(), Error> {
        connection.run(&format!("drop table if exists {MARK}")).map(drop)
    }

    /// The mark, if there is one that this version understands.
    pub(super) fn read(
        connection: &mut dyn Connection,
        dialect: Dialect,
    ) -> Result<Option<Mark>, Error> {
        if !exists(connection, dialect, MARK)? {
            return Ok(None);
        }
        let sql = format!(
            "select tables_made, rows_each, seed from {MARK} where version = {DATA_VERSION}"
        );
        let rows = connection.query(&sql)?;
        let Some([Some(tables), Some(rows), Some(seed)]) = rows.first().map(Vec::as_slice) else {
            return Ok(None);
        };
        let mark = (tables.parse(), rows.parse(), seed.parse());
        let (Ok(tables), Ok(rows), Ok(seed)) = mark else { return Ok(None) };
        Ok(Some(Mark { tables, rows, seed }))
    }
}

/// Whether there is a table of a name.
pub(super) fn exists(
    connection: &mut dyn Connection,
    dialect: Dialect,
    table: &str,
) -> Result<bool, Error> {
    Ok(scalar(connection, &(dialect.exists)(table))?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_a_primary_key_as_some_servers_demand() {
        for dialect in [Dialect::POSTGRES, Dialect::SQLITE, Dialect::INNODB, Dialect::MYROCKS] {
            assert!(create_table(dialect, 1).contains("PRIMARY KEY"), "{dialect:?}");
        }
    }

    #[test]
    fn tables_are_the_published_ones() {
        let columns = "k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
                       pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))";
        let postgres = format!("CREATE TABLE sbtest2 (id SERIAL, {columns}");
        assert_eq!(create_table(Dialect::POSTGRES, 2), postgres);
        let mysql = format!("CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, {columns}");
        assert_eq!(create_table(Dialect::INNODB, 1), format!("{mysql} ENGINE = innodb"));
        assert_eq!(create_table(Dialect::MYROCKS, 1), format!("{mysql} ENGINE = rocksdb"));
        assert_eq!(create_index(3), "CREATE INDEX k_3 ON sbtest3(k)");
    }
}
