//! Where the SQL of the DBMSs differs, as data: a table for each in its folder.

use std::fmt;
use std::ops::Deref;

use rqps_wire::{Connection, Error, Row, query_if_allowed};

/// The SQL of a DBMS with one of its engines.
#[derive(Clone, Copy)]
pub struct Dialect(pub(crate) &'static Sql);

/// What one takes and others do not.
pub struct Sql {
    pub name: &'static str,
    /// The placeholder of the `n`th parameter, counted from 1.
    pub placeholder: fn(usize) -> String,
    /// Behind a table's columns, where the engine is to be named.
    pub engine: Option<&'static str>,
    /// The type of a number of 32 bits with a point.
    pub float: &'static str,
    /// The type of a date with a time.
    pub timestamp: &'static str,
    /// What a number of 64 bits is cast to.
    pub cast_to_bigint: &'static str,
    /// The type of a 32-bit key that numbers itself, and of one of 64 bits.
    pub serial: &'static str,
    pub bigserial: &'static str,
    /// The statement after which the next key that a table gives, in this column, is one more than
    /// the number, which is the largest there is.
    pub continue_after: fn(&str, &str, u64) -> String,
    /// The key that a table gave last, in this column, where it tells: that may be more than the
    /// largest there is, since keys that were taken and not used are lost.
    pub last_key: LastKey,
    /// The statement that has a new table take so many keys in advance for a session.
    pub take_keys: Option<fn(&str, &str, u32) -> String>,
    /// A table does not know of keys that come with rows, and may give them again.
    pub forgets_given_keys: bool,
    /// A key of 0 in an INSERT is the next one.
    pub zero_is_next_key: bool,
    pub partitions: Partitions,
    pub indexes: Indexes,
    /// Removes an index from a table, if it is there.
    pub drop_index: fn(&mut dyn Connection, &str, &str) -> Result<(), Error>,
    /// What stands behind a table so that a query reads an index of it, where queries are written
    /// so.
    pub hint: fn(&str) -> String,
    /// The same for a check, which must read it.
    pub forced: Forced,
    /// A DELETE takes ORDER BY and LIMIT.
    pub limits_deletes: bool,
    /// The question whether a table of a name exists, which has a row if so.
    pub exists: fn(&str) -> String,
    /// Ways of asking how a statement is carried out, the newest first: old releases know only old
    /// ones.
    pub explain: &'static [&'static str],
    /// What a row of the answer says of the plan itself.
    pub plan_node: fn(Row) -> Option<String>,
    pub transactions: Transactions,
    /// Rows lie in the order of their keys, so that several connections can fill one table.
    pub is_clustered: bool,
    /// Only one connection can write at a time.
    pub has_one_writer: bool,
    /// Keeps what a session loads out of the log for replicas.
    pub skip_binary_log: Option<&'static str>,
    /// Questions after the thread that answers a connection, as the kernel knows it. A DBMS knows
    /// one of them at most.
    pub thread_queries: &'static [&'static str],
}

/// Of a table and its column.
type LastKey = fn(&mut dyn Connection, &str, &str) -> Result<Option<i64>, Error>;

/// How a table is split by ranges of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// It cannot be.
    None,
    /// A partition is a table, made by a statement of its own.
    Tables,
    /// They are named in the statement that makes the table.
    Clauses,
}

/// How several indexes of a table are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// By `create index`.
    Each,
    /// By `alter table`, one at a time: all at once take too much memory.
    EachByAlter,
    /// By one `alter table`, which reads the table once.
    AllByAlter,
}

/// How a check has an index read and nothing else.
#[derive(Clone, Copy)]
pub enum Forced {
    /// By words behind the table's name.
    ByName(fn(&str) -> String),
    /// By settings of the session, after which the plan must show it.
    BySettings,
}

/// How a benchmark talks to it: as the published ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transactions {
    /// All as text.
    Text,
    /// Prepared, beginning with these: one that reads, and one that writes.
    Prepared { read: &'static str, write: &'static str },
}

impl Transactions {
    pub fn is_text(self) -> bool {
        self == Transactions::Text
    }
}

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
    pub const POSTGRES: Dialect = Dialect(&crate::postgres::SQL);
    pub const SQLITE: Dialect = Dialect(&crate::sqlite::SQL);
    /// MySQL and MariaDB with InnoDB.
    pub const INNODB: Dialect = Dialect(&crate::mysql::INNODB_SQL);
    /// MySQL and MariaDB with MyRocks.
    pub const MYROCKS: Dialect = Dialect(&crate::mysql::MYROCKS_SQL);

    /// The placeholder of the `n`th parameter, counted from 1.
    pub fn placeholder(self, n: usize) -> String {
        (self.0.placeholder)(n)
    }

    /// The server's thread that answers a connection, where it tells.
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
