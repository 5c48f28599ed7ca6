//! Where the SQL of the DBMSs differs.

use rqps_plan::{Contender, Dbms};
use rqps_wire::{Connection, Error, query_if_allowed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    Sqlite,
    /// MySQL and MariaDB with InnoDB.
    Innodb,
    /// MySQL and MariaDB with MyRocks.
    Myrocks,
}

impl From<&Contender> for Dialect {
    fn from(contender: &Contender) -> Self {
        match (contender.dbms, contender.engine.as_deref()) {
            (Dbms::Postgres, _) => Dialect::Postgres,
            (Dbms::Sqlite, _) => Dialect::Sqlite,
            (Dbms::Mysql | Dbms::Mariadb, Some("rocksdb")) => Dialect::Myrocks,
            (Dbms::Mysql | Dbms::Mariadb, _) => Dialect::Innodb,
        }
    }
}

impl Dialect {
    /// The placeholder of the `n`th parameter, counted from 1.
    pub fn placeholder(self, n: usize) -> String {
        match self {
            Dialect::Postgres => format!("${n}"),
            Dialect::Sqlite => format!("?{n}"),
            Dialect::Innodb | Dialect::Myrocks => "?".to_string(),
        }
    }

    /// Questions after the thread that answers a connection, as the kernel knows it. A DBMS knows one of them
    /// at most: MySQL from 5.7 on, MariaDB.
    fn thread_queries(self) -> &'static [&'static str] {
        match self {
            Dialect::Postgres => &["select pg_backend_pid()"],
            Dialect::Sqlite => &[],
            Dialect::Innodb | Dialect::Myrocks => &[
                "select thread_os_id from performance_schema.threads where processlist_id = connection_id()",
                "select tid from information_schema.processlist where id = connection_id()",
            ],
        }
    }

    /// The server's thread that answers a connection, where it tells.
    pub(crate) fn thread(self, connection: &mut dyn Connection) -> Result<Option<u32>, Error> {
        for query in self.thread_queries() {
            let rows = query_if_allowed(connection, query)?.unwrap_or_default();
            let told = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
            if told.is_some() {
                return Ok(told);
            }
        }
        Ok(None)
    }
}
