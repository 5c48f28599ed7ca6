//! How the rows of a database of MySQL or MariaDB are read in one snapshot.

use rqps_wire::{Connection, Error, query_if_allowed};

use crate::table_data::{NameQuoting, TableReading};

pub(crate) static READING: TableReading = TableReading {
    begin: &[
        "set session lock_wait_timeout = 10",
        "set session transaction isolation level repeatable read",
        "start transaction with consistent snapshot, read only",
    ],
    end: "rollback",
    tables: TABLES,
    columns: COLUMNS,
    foreign_keys: FOREIGN_KEYS,
    names,
    sampled: |key, share| {
        format!(
            "cast(conv(substr(md5(concat_ws('|', {})), 1, 8), 16, 10) as unsigned) % 1000000 < \
             {share}",
            key.join(", ")
        )
    },
};

/// A snapshot has only what transactions change.
const TABLES: &str = "\
    select t.table_name, concat('`', replace(t.table_name, '`', '``'), '`'), t.table_name, \
    t.data_length, if(coalesce(e.transactions, 'NO') = 'YES', null, concat('its engine ', \
    coalesce(t.engine, 'NULL'), ' has no transactions: its rows are not those of the snapshot')) \
    from information_schema.tables t left join information_schema.engines e on e.engine = t.engine \
    where t.table_schema = database() and t.table_type = 'BASE TABLE' order by t.table_name";

/// Generated columns are computed again where the rows are loaded.
const COLUMNS: &str = "\
    select c.table_name, concat('`', replace(c.column_name, '`', '``'), '`'), c.column_name, \
    concat('cast(`', replace(c.column_name, '`', '``'), '` as char)'), \
    (select s.seq_in_index from information_schema.statistics s \
    where s.table_schema = c.table_schema and s.table_name = c.table_name \
    and s.column_name = c.column_name and s.index_name = 'PRIMARY'), \
    if(c.data_type regexp 'binary|blob|^bit$|geom|point|linestring|polygon|vector', \
    c.data_type, null) \
    from information_schema.columns c where c.table_schema = database() \
    and c.extra not regexp '(VIRTUAL|STORED) GENERATED|PERSISTENT' \
    order by c.table_name, c.ordinal_position";

const FOREIGN_KEYS: &str = "\
    select concat(table_name, '.', constraint_name), constraint_name, table_name, \
    referenced_table_name, concat('`', replace(column_name, '`', '``'), '`'), \
    concat('`', replace(referenced_column_name, '`', '``'), '`') \
    from information_schema.key_column_usage \
    where table_schema = database() and referenced_table_schema = database() \
    order by table_name, constraint_name, ordinal_position";

/// MySQL tells which of its words are reserved. MariaDB has all words in one list, and old releases
/// tell none.
fn names(connection: &mut dyn Connection) -> Result<NameQuoting, Error> {
    const WORDS: [&str; 2] = [
        "select word from information_schema.keywords where reserved = 1",
        "select word from information_schema.keywords",
    ];
    for query in WORDS {
        if let Some(rows) = query_if_allowed(connection, query)? {
            let words = rows.into_iter().flatten().flatten().collect();
            return Ok(NameQuoting::Backticks(Some(words)));
        }
    }
    Ok(NameQuoting::Backticks(None))
}
