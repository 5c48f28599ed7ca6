//! Runs the scripts of a folder, and loads its data.

use rqps_dbms::{Backslash, Dialect, Lexis};
use rqps_system::printable;
use rqps_wire::{Connection, Error, scalar};

use super::csv::Record;
use super::folder::SqlFolder;
use super::loaded::{LoadedFile, RowsFile, size};
use super::parameter::ValueType;
use super::script::SqlScript;
use crate::task::WorkloadError;

/// Rows of an INSERT at most, and bytes of its values, but for those of the last row.
const BATCH: usize = 500;
const BATCH_BYTES: u64 = 1 << 20;

/// Characters of a statement that an error shows.
const SHOWN: usize = 300;

/// A statement of a folder that the DBMS refused.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}: {source}, in: {}", printable(file), printable(statement))]
pub struct RefusedStatement {
    file: String,
    line: u32,
    /// Its beginning, in one line.
    statement: String,
    source: Error,
}

/// Whether the load goes on after a statement that was refused, which is an error otherwise.
pub(super) type OnRefused<'r> = dyn FnMut(RefusedStatement) -> Result<(), RefusedStatement> + 'r;

/// Creates the schema, loads the data and creates the indexes.
pub(super) fn fill(
    connection: &mut dyn Connection,
    folder: &SqlFolder,
    dialect: Dialect,
    on_refused: &mut OnRefused<'_>,
) -> Result<(), WorkloadError> {
    if let Some(schema) = &folder.schema {
        run(connection, schema, dialect, on_refused)?;
    }
    for load in &folder.loads {
        match load {
            LoadedFile::Sql(script) => run(connection, script, dialect, on_refused)?,
            LoadedFile::Rows(file) => load_rows(connection, file, dialect.lexis, on_refused)?,
        }
    }
    if let Some(rows) = &folder.rows {
        (rows.load)(rows.scale, connection)?;
    }
    match &folder.indexes {
        Some(indexes) => run(connection, indexes, dialect, on_refused),
        None => Ok(()),
    }
}

/// Inserts the rows of a file while it is read.
fn load_rows(
    connection: &mut dyn Connection,
    file: &RowsFile,
    lexis: Lexis,
    on_refused: &mut OnRefused<'_>,
) -> Result<(), WorkloadError> {
    connection.run("BEGIN")?;
    let mut rows = file.rows()?;
    loop {
        let (mut batch, mut bytes): (Vec<(u32, Record)>, u64) = Default::default();
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(row) = rows.next() else { break };
            let row = row.map_err(|wrong| file.wrong(wrong))?;
            bytes += size(&row.1);
            batch.push(row);
        }
        let Some((line, _)) = batch.first() else { break };
        let sql = insert(&file.table, &rows.names, &batch, lexis);
        let done = connection.run(&sql).map(drop);
        note(done, |source| refused(&file.file, *line, &sql, source), on_refused)?;
    }
    connection.run("COMMIT")?;
    Ok(())
}

fn run(
    connection: &mut dyn Connection,
    script: &SqlScript,
    dialect: Dialect,
    on_refused: &mut OnRefused<'_>,
) -> Result<(), WorkloadError> {
    // A dump empties the path, which files after it are not written for.
    let path = match dialect.search_path {
        Some(path) => scalar(connection, path.query)?.map(|before| (path.set)(&before)),
        None => None,
    };
    script.each::<WorkloadError>(dialect.lexis, &mut |statement, rows| {
        let done = match rows {
            Some(rows) => connection.copy_in(statement.text, rows),
            None => connection.run(statement.text),
        };
        let refused = |source| refused(&script.file, statement.line, statement.text, source);
        note(done.map(drop), refused, on_refused)
    })?;
    if let Some(restored) = path {
        connection.run(&restored)?;
    }
    Ok(())
}

/// Only what a server refuses can be left out: nothing follows a lost connection.
fn note(
    done: Result<(), Error>,
    refused: impl FnOnce(Error) -> RefusedStatement,
    on_refused: &mut OnRefused<'_>,
) -> Result<(), WorkloadError> {
    match done {
        Ok(()) => Ok(()),
        Err(error) if error.is_disconnect() => Err(refused(error).into()),
        Err(error) => Ok(on_refused(refused(error))?),
    }
}

fn refused(file: &str, line: u32, statement: &str, source: Error) -> RefusedStatement {
    let words = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let statement = words.chars().take(SHOWN).collect();
    RefusedStatement { file: file.to_string(), line, statement, source }
}

fn insert(table: &str, names: &[String], rows: &[(u32, Record)], lexis: Lexis) -> String {
    let values = rows.iter().map(|(_, row)| {
        let fields = row.iter().map(|field| literal(field.as_deref(), ValueType::Text, lexis));
        format!("({})", fields.collect::<Vec<_>>().join(", "))
    });
    let values = values.collect::<Vec<_>>().join(", ");
    format!("insert into {table} ({}) values {values}", names.join(", "))
}

/// A value in SQL.
pub(super) fn literal(value: Option<&str>, kind: ValueType, lexis: Lexis) -> String {
    let Some(value) = value else { return "NULL".to_string() };
    if kind.is_number() {
        return value.to_string();
    }
    let doubled = value.replace('\'', "''");
    match lexis.backslash {
        Backslash::InLiterals => format!("'{}'", doubled.replace('\\', "\\\\")),
        Backslash::InE | Backslash::Nowhere => format!("'{doubled}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_quoted_by_the_rules_of_the_dbms() {
        let text = Some("it's \\");
        let quoted = |dialect: Dialect| literal(text, ValueType::Text, dialect.lexis);
        assert_eq!(quoted(Dialect::POSTGRES), r"'it''s \'");
        assert_eq!(quoted(Dialect::INNODB), r"'it''s \\'");
        assert_eq!(literal(None, ValueType::Int, Dialect::SQLITE.lexis), "NULL");
        assert_eq!(literal(Some("-7"), ValueType::Bigint, Dialect::SQLITE.lexis), "-7");
    }
}
