//! Where the SQL of the DBMSs differs.

use rqps_plan::{Contender, Dbms};

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
}
