//! The SQL of each DBMS: a table in its folder, and a constant here.

use std::fmt;
use std::ops::Deref;

use rqps_wire::{Connection, Error, query_if_allowed};

use crate::sql::{Sql, Transactions};
use crate::statement_statistics::{CatalogColumn, catalog_columns};

/// The SQL of a DBMS with one of its engines.
#[derive(Clone, Copy)]
pub struct Dialect(pub(crate) &'static Sql);

impl Deref for Dialect {
    type Target = Sql;

    fn deref(&self) -> &Sql {
        self.0
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Dialect) -> bool {
        self.name == other.name
    }
}

impl Dialect {
    pub const POSTGRES: Dialect = Dialect(&crate::postgres::dialect::SQL);
    pub const SQLITE: Dialect = Dialect(&crate::sqlite::dialect::SQL);
    /// MySQL and MariaDB with InnoDB.
    pub const INNODB: Dialect = Dialect(&crate::mysql::dialect::INNODB_SQL);
    /// MySQL and MariaDB with MyRocks.
    pub const MYROCKS: Dialect = Dialect(&crate::mysql::dialect::MYROCKS_SQL);

    /// The placeholder of the `n`th parameter, counted from 1.
    pub fn placeholder(self, n: usize) -> String {
        (self.0.placeholder)(n)
    }

    /// The statement that begins a transaction.
    pub fn begin(self, writes: bool) -> &'static str {
        match self.transactions {
            Transactions::Text => "BEGIN",
            Transactions::Prepared { write, .. } if writes => write,
            Transactions::Prepared { read, .. } => read,
        }
    }

    /// The columns of all tables in the database of a connection.
    pub fn catalog_columns(
        self,
        connection: &mut dyn Connection,
    ) -> Result<Vec<CatalogColumn>, Error> {
        catalog_columns(connection, self.columns)
    }

    /// The server's thread that serves a connection, where it reports it.
    pub fn thread(self, connection: &mut dyn Connection) -> Result<Option<u32>, Error> {
        for query in self.thread_queries {
            let rows = query_if_allowed(connection, query)?.unwrap_or_default();
            let told = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
            if told.is_some() {
                return Ok(told);
            }
        }
        Ok(None)
    }
}
