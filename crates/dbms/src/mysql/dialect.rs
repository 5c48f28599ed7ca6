//! The SQL of MySQL and MariaDB.

use rqps_wire::{Connection, Error, Row};

use crate::sql::{Backslash, Body, Forced, Indexes, Lexis, Partitions, Sql, Transactions};

const SQL: Sql = Sql {
    name: "mysql",
    lexis: Lexis {
        client: ("mysql", '\\'),
        nests_comments: false,
        has_hash_comments: true,
        runs_comments: true,
        backslash: Backslash::InLiterals,
        name_quotes: &[('`', '`')],
        has_dollar_quotes: false,
        has_question_marks: true,
        own_placeholders: &[],
        body: Body::Delimiter,
    },
    placeholder: |_| "?".to_string(),
    engine: None,
    float: "float",
    has_decimals: true,
    has_foreign_keys: true,
    timestamp: "datetime",
    cast_to_bigint: "signed",
    serial: "INTEGER NOT NULL AUTO_INCREMENT",
    bigserial: "bigint not null auto_increment primary key",
    continue_after: |table, _, key| format!("alter table {table} auto_increment = {}", key + 1),
    last_key,
    take_keys: None,
    forgets_given_keys: false,
    zero_is_next_key: true,
    partitions: Partitions::Clauses,
    indexes: Indexes::AllByAlter,
    drop_index,
    hint: forced,
    forced: Forced::ByName(forced),
    limits_deletes: true,
    exists: |table| {
        format!(
            "select table_name from information_schema.tables \
             where table_schema = database() and table_name = '{table}'"
        )
    },
    tables: "select concat('`', table_name, '`') from information_schema.tables \
             where table_schema = database() and table_type = 'BASE TABLE'",
    // Later releases use another format unless this one is requested, and old ones know no other.
    // Old releases explain only reads.
    explain: &["explain format=traditional", "explain"],
    plan_node,
    execution: None,
    query_plan: super::query_plan::query_plan,
    parallel: &[],
    transactions: Transactions::Text,
    read_only: (["START TRANSACTION READ ONLY", "ROLLBACK"], "25006"),
    is_clustered: true,
    has_one_writer: false,
    skip_binary_log: Some("set session sql_log_bin = 0"),
    // MySQL from 5.7 on, MariaDB.
    version: "select version()",
    thread_queries: &[
        "select thread_os_id from performance_schema.threads where processlist_id = connection_id()",
        "select tid from information_schema.processlist where id = connection_id()",
    ],
    statement_statistics: Some(super::statement_statistics::read),
    columns: super::statement_statistics::COLUMNS,
    search_path: None,
    table_reading: Some(&super::table_data::READING),
};

pub(crate) static INNODB_SQL: Sql = Sql { name: "innodb", engine: Some("innodb"), ..SQL };

pub(crate) static MYROCKS_SQL: Sql = Sql {
    name: "myrocks",
    engine: Some("rocksdb"),
    has_foreign_keys: false,
    indexes: Indexes::EachByAlter,
    ..SQL
};

fn forced(index: &str) -> String {
    format!(" force index ({index})")
}

/// What the next row's key would be, from the table's definition: recovery may skip some, and so
/// does a server whose inserts failed.
fn last_key(
    connection: &mut dyn Connection,
    table: &str,
    _column: &str,
) -> Result<Option<i64>, Error> {
    let rows = connection.query(&format!("show create table {table}"))?;
    let text = rows.into_iter().flatten().flatten().nth(1).unwrap_or_default();
    let (_, next) = text.split_once("AUTO_INCREMENT=").unwrap_or_default();
    let digits: String = next.chars().take_while(char::is_ascii_digit).collect();
    Ok(digits.parse().ok())
}

/// An index can only be dropped if it exists.
fn drop_index(connection: &mut dyn Connection, table: &str, index: &str) -> Result<(), Error> {
    let there = connection.query(&format!("show index from {table} where key_name = '{index}'"))?;
    if !there.is_empty() {
        connection.run(&format!("alter table {table} drop index {index}"))?;
    }
    Ok(())
}

/// The notes of a query plan that belong to its shape.
const NOTES: [&str; 3] = ["Using index", "Using temporary", "Using filesort"];

/// `sbtest1 range by PRIMARY` from a row of the query plan. It has 10 columns, and 12 from 5.7 on,
/// which added `partitions` and `filtered`.
fn plan_node(row: Row) -> Option<String> {
    let column = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let (table, kind, key, extra) = match row.len() {
        10 => (2, 3, 5, 9),
        12 => (2, 4, 6, 11),
        _ => return None,
    };
    let mut text = format!("{} {}", column(table), column(kind));
    if !column(key).is_empty() {
        text += &format!(" by {}", column(key));
    }
    let extra = column(extra);
    let notes = NOTES.iter().filter(|note| extra.split("; ").any(|found| found == **note));
    notes.for_each(|note| text += &format!(", {}", note.to_lowercase()));
    Some(text)
}
