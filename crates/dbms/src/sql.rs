//! Where the SQL of the DBMSs differs, as data: a table for each in its folder.

use rqps_plan::QueryPlan;
use rqps_wire::{Connection, Error, Row, Type};

use crate::statement_statistics::StatisticsReader;
use crate::table_data::TableReading;

/// By the text with placeholders, their types and values as SQL.
type ExecutionOf =
    fn(&mut dyn Connection, &str, &[Type], &[String]) -> Result<Option<String>, Error>;

/// How a prepared statement is explained as clients execute it.
#[derive(Clone, Copy)]
pub struct PreparedExecution {
    /// Prepares a statement, and returns what is explained in place of its text; none where it
    /// cannot be prepared.
    pub explained: ExecutionOf,
    /// Whether its plan is one for all values.
    pub is_generic: fn(&mut dyn Connection) -> Result<bool, Error>,
}

/// Schemas that a session looks for names in, and that a script may change.
#[derive(Clone, Copy)]
pub struct SearchPath {
    pub query: &'static str,
    /// Sets what the query has told.
    pub set: fn(&str) -> String,
}

/// What one DBMS accepts and others do not.
pub struct Sql {
    pub name: &'static str,
    pub lexis: Lexis,
    /// The placeholder of the `n`th parameter, counted from 1.
    pub placeholder: fn(usize) -> String,
    /// The engine to name after a table's columns, where one must be named.
    pub engine: Option<&'static str>,
    /// The type of a number of 32 bits with a point.
    pub float: &'static str,
    /// The type `decimal(12, 2)` is exact, and arithmetic on it is.
    pub has_decimals: bool,
    /// Foreign keys can be added to a table, and are checked.
    pub has_foreign_keys: bool,
    /// The type of a date with a time.
    pub timestamp: &'static str,
    /// The type name in a cast to a number of 64 bits.
    pub cast_to_bigint: &'static str,
    /// The type of an automatically numbered key of 32 bits, and of one of 64 bits.
    pub serial: &'static str,
    pub bigserial: &'static str,
    /// The statement that makes the next key of a table, in this column, one more than the number,
    /// which is its largest key.
    pub continue_after: fn(&str, &str, u64) -> String,
    /// The last key that a table assigned in this column, where it reports that. It may exceed the
    /// largest existing key, since unused keys are lost.
    pub last_key: LastKey,
    /// The statement that makes a new table reserve this many keys in advance for a session.
    pub take_keys: Option<fn(&str, &str, u32) -> String>,
    /// A table does not track keys that come with rows, and may assign them again.
    pub forgets_given_keys: bool,
    /// A key of 0 in an INSERT is the next one.
    pub zero_is_next_key: bool,
    pub partitions: Partitions,
    pub indexes: Indexes,
    /// Removes an index from a table, if it is there.
    pub drop_index: fn(&mut dyn Connection, &str, &str) -> Result<(), Error>,
    /// The text after a table that makes a query read an index of it, where queries can contain it.
    pub hint: fn(&str) -> String,
    /// The same for a check, which must read the index.
    pub forced: Forced,
    /// A DELETE accepts ORDER BY and LIMIT.
    pub limits_deletes: bool,
    /// The query whether a table of a name exists, which returns a row if so.
    pub exists: fn(&str) -> String,
    /// The query for the names of all tables of a user's own, as SQL takes them.
    pub tables: &'static str,
    /// Ways to explain a statement to people, the newest first: old releases know only old ones.
    pub explain: &'static [&'static str],
    /// The part of a result row that belongs to the query plan.
    pub plan_node: fn(Row) -> Option<String>,
    /// None where an execution has the plan of the text with its values.
    pub execution: Option<PreparedExecution>,
    /// The query plan of a statement as a tree; none where its form is not known.
    pub query_plan: fn(&mut dyn Connection, &str) -> Result<Option<QueryPlan>, Error>,
    /// The operators of such a tree whose inputs several processes work on.
    pub parallel: &'static [&'static str],
    pub transactions: Transactions,
    /// Statements around others that must not write, and the code of the error if one of them
    /// does, or a part of it.
    pub read_only: ([&'static str; 2], &'static str),
    /// Rows are stored in key order, so that several connections can fill one table.
    pub is_clustered: bool,
    /// Only one connection can write at a time.
    pub has_one_writer: bool,
    /// Keeps a session's load out of the log for replicas.
    pub skip_binary_log: Option<&'static str>,
    /// The query for the server's own words about its version.
    pub version: &'static str,
    /// Queries for the kernel's id of the thread that serves a connection. A DBMS knows at most one
    /// of them.
    pub thread_queries: &'static [&'static str],
    /// Reads what the server has counted of statements; none where it counts nothing.
    pub statement_statistics: Option<StatisticsReader>,
    /// The query for the columns of all tables: see [`Dialect::catalog_columns`].
    pub columns: &'static str,
    /// Where a session looks for names without a schema; none where it has one place only.
    pub search_path: Option<SearchPath>,
    /// How the rows of all tables are read; none where no server has them.
    pub table_reading: Option<&'static TableReading>,
}

/// How a text is split into statements, and what of it is no SQL but a literal, a comment or a
/// name. Quotes within quotes are doubled in all DBMSs.
#[derive(Clone, Copy, Debug)]
pub struct Lexis {
    /// The program that runs scripts, and the first character of its own commands, which are no
    /// SQL.
    pub client: (&'static str, char),
    /// `/* /* */ */` is one comment.
    pub nests_comments: bool,
    /// `#` begins a comment, and `--` only before a blank.
    pub has_hash_comments: bool,
    /// `/*!50000 … */` is SQL.
    pub runs_comments: bool,
    pub backslash: Backslash,
    /// Quotes of names beside `"`: opening and closing.
    pub name_quotes: &'static [(char, char)],
    /// `$$…$$` and `$tag$…$tag$` are literals, and `a[1:n]` is a slice.
    pub has_dollar_quotes: bool,
    /// `?` is a placeholder; otherwise it is an operator.
    pub has_question_marks: bool,
    /// First characters of the DBMS's own named placeholders beside `:`.
    pub own_placeholders: &'static [char],
    pub body: Body,
}

/// Where a backslash escapes a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backslash {
    Nowhere,
    /// In `E'…'`.
    InE,
    /// In all literals.
    InLiterals,
}

/// How a semicolon can stand within a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// In parentheses, and in the `BEGIN ATOMIC … END` of a function.
    Atomic,
    /// After the line `DELIMITER //`, which the client program reads.
    Delimiter,
    /// In a trigger, up to `; END;`.
    Trigger,
}

/// Of a table and its column.
type LastKey = fn(&mut dyn Connection, &str, &str) -> Result<Option<i64>, Error>;

/// How a table is split by ranges of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// Not supported.
    None,
    /// A partition is a table, made by a statement of its own.
    Tables,
    /// They are named in the statement that creates the table.
    Clauses,
}

/// How several indexes of a table are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// By `create index`.
    Each,
    /// By `alter table`, one at a time: all at once need too much memory.
    EachByAlter,
    /// By one `alter table`, which reads the table once.
    AllByAlter,
}

/// How a check makes the DBMS read an index and nothing else.
#[derive(Clone, Copy)]
pub enum Forced {
    /// By words after the table's name.
    ByName(fn(&str) -> String),
    /// By settings of the session, after which the query plan must show it.
    BySettings,
}

/// How a benchmark sends statements: as the published ones do.
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
