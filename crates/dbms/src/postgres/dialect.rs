//! The SQL of Postgres.

use rqps_wire::{Connection, Error, Row, scalar};

use crate::sql::{
    Backslash, Body, Forced, Indexes, Lexis, Partitions, PreparedExecution, SearchPath, Sql,
    Transactions,
};

pub(crate) static SQL: Sql = Sql {
    name: "postgres",
    lexis: Lexis {
        client: ("psql", '\\'),
        nests_comments: true,
        has_hash_comments: false,
        runs_comments: false,
        backslash: Backslash::InE,
        name_quotes: &[],
        has_dollar_quotes: true,
        has_question_marks: false,
        own_placeholders: &[],
        body: Body::Atomic,
    },
    placeholder: |n| format!("${n}"),
    engine: None,
    float: "real",
    has_decimals: true,
    has_foreign_keys: true,
    timestamp: "timestamp without time zone",
    cast_to_bigint: "bigint",
    serial: "SERIAL",
    bigserial: "bigserial not null primary key",
    continue_after: |table, column, key| {
        format!("select pg_catalog.setval('{table}_{column}_seq', {key})")
    },
    last_key,
    take_keys: Some(|table, column, keys| {
        format!("alter sequence {table}_{column}_seq cache {keys}")
    }),
    forgets_given_keys: true,
    zero_is_next_key: false,
    partitions: Partitions::Tables,
    indexes: Indexes::Each,
    drop_index,
    hint: |_| String::new(),
    forced: Forced::BySettings,
    limits_deletes: false,
    exists: |table| format!("select pg_catalog.to_regclass('{table}')::pg_catalog.text"),
    // On a remote server all schemas but rqps's own, in which its sessions are, belong to others.
    tables: "select pg_catalog.format('%I.%I', schemaname, tablename) from pg_catalog.pg_tables \
             where schemaname not in ('pg_catalog', 'information_schema') and \
             (schemaname = pg_catalog.current_schema() \
              or coalesce(pg_catalog.current_schema(), '') !~ '^rqps(_[0-9]+)?$')",
    // From 10 on it reports the planning time.
    explain: &["explain (costs off, summary on)", "explain (costs off)"],
    plan_node,
    execution: Some(PreparedExecution {
        explained: super::executed_plan::execution,
        is_generic: super::executed_plan::is_generic,
    }),
    query_plan: super::query_plan::query_plan,
    parallel: &["Gather", "Gather Merge"],
    transactions: Transactions::Prepared { read: "BEGIN", write: "BEGIN" },
    read_only: (["BEGIN READ ONLY", "ROLLBACK"], "25006"),
    is_clustered: false,
    has_one_writer: false,
    skip_binary_log: None,
    version: "select pg_catalog.version()",
    thread_queries: &["select pg_catalog.pg_backend_pid()"],
    statement_statistics: Some(super::statement_statistics::read),
    columns: super::statement_statistics::COLUMNS,
    search_path: Some(SearchPath {
        query: "select pg_catalog.current_setting('search_path')",
        set: |path| {
            let path = path.replace('\'', "''");
            format!("select pg_catalog.set_config('search_path', '{path}', false)")
        },
    }),
    table_reading: Some(&super::table_data::READING),
};

/// Sessions lose the ids that they reserved from the sequence but did not use, and so does
/// recovery.
fn last_key(
    connection: &mut dyn Connection,
    table: &str,
    column: &str,
) -> Result<Option<i64>, Error> {
    let sql = format!("select last_value from {table}_{column}_seq");
    let last = scalar(connection, &sql)?.and_then(|last| last.parse().ok());
    last.map(Some).ok_or_else(|| Error::Protocol(format!("a number was expected from: {sql}")))
}

fn drop_index(connection: &mut dyn Connection, _table: &str, index: &str) -> Result<(), Error> {
    connection.run(&format!("drop index if exists {index}")).map(drop)
}

/// `Index Scan using sbtest1_pkey on sbtest1` from a line of the query plan; none for a line with
/// details of the node above it.
fn plan_node(row: Row) -> Option<String> {
    let line = row.into_iter().flatten().next()?;
    let text = line.trim_start();
    let text = text.strip_prefix("->").unwrap_or(text).trim();
    (!text.contains(':')).then(|| text.to_string())
}
