//! The SQL of SQLite.

use rqps_wire::{Connection, Error};

use crate::sql::{Backslash, Body, Forced, Indexes, Lexis, Partitions, Sql, Transactions};

pub(crate) static SQL: Sql = Sql {
    name: "sqlite",
    lexis: Lexis {
        client: ("sqlite3", '.'),
        nests_comments: false,
        has_hash_comments: false,
        runs_comments: false,
        backslash: Backslash::Nowhere,
        name_quotes: &[('`', '`'), ('[', ']')],
        has_dollar_quotes: false,
        has_question_marks: true,
        own_placeholders: &['@', '$'],
        body: Body::Trigger,
    },
    placeholder: |n| format!("?{n}"),
    engine: None,
    float: "real",
    has_decimals: false,
    // They are a part of the statement that creates the table, and checked on demand.
    has_foreign_keys: false,
    timestamp: "datetime",
    cast_to_bigint: "integer",
    serial: "INTEGER NOT NULL",
    bigserial: "integer not null primary key",
    // It assigns one more than the largest key anyway.
    continue_after: |table, column, _| format!("select max({column}) from {table}"),
    last_key: |_, _, _| Ok(None),
    take_keys: None,
    forgets_given_keys: false,
    zero_is_next_key: false,
    partitions: Partitions::None,
    indexes: Indexes::Each,
    drop_index,
    hint: |_| String::new(),
    forced: Forced::ByName(|index| format!(" indexed by {index}")),
    limits_deletes: false,
    exists: |table| format!("select name from sqlite_master where name = '{table}'"),
    tables: "select '\"' || name || '\"' from sqlite_master \
             where type = 'table' and name not like 'sqlite!_%' escape '!'",
    explain: &["explain query plan"],
    plan_node: |row| row.into_iter().flatten().next_back(),
    execution: None,
    query_plan: super::query_plan::query_plan,
    parallel: &[],
    // A transaction that begins with a read cannot write after another one has written.
    transactions: Transactions::Prepared { read: "BEGIN", write: "BEGIN IMMEDIATE" },
    read_only: (["PRAGMA query_only = 1", "PRAGMA query_only = 0"], "8"),
    is_clustered: false,
    has_one_writer: true,
    skip_binary_log: None,
    version: "select sqlite_version()",
    thread_queries: &[],
    statement_statistics: None,
    columns: "select m.name, c.name, c.type, c.pk from sqlite_master m \
              join pragma_table_info(m.name) c where m.type = 'table'",
    search_path: None,
    table_reading: None,
};

fn drop_index(connection: &mut dyn Connection, _table: &str, index: &str) -> Result<(), Error> {
    connection.run(&format!("drop index if exists {index}")).map(drop)
}
