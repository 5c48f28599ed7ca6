//! Where the SQL of the DBMSs differs.

use rqps_plan::Dbms;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    Sqlite,
}

impl From<Dbms> for Dialect {
    fn from(dbms: Dbms) -> Self {
        match dbms {
            Dbms::Postgres => Dialect::Postgres,
            Dbms::Sqlite => Dialect::Sqlite,
        }
    }
}

impl Dialect {
    /// The placeholder of the `n`th parameter, counted from 1.
    pub fn placeholder(self, n: usize) -> String {
        match self {
            Dialect::Postgres => format!("${n}"),
            Dialect::Sqlite => format!("?{n}"),
        }
    }
}
