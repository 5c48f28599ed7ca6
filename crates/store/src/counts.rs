//! Stored instructions of a comparison: how many an operation takes in each function of a
//! contender's server.
//!
//! Runs without such counts have no tables for them, so that an older rqps reads both.

use rusqlite::{Connection, Row, params};

use crate::RunDirectory;
use crate::column::{count, seconds, some_text, text};

/// The instructions of a test in one contender's server, or why they were not counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountRecord {
    pub test: String,
    pub contender: String,
    /// RFC 3339.
    pub started: String,
    pub seconds: f64,
    /// How many were counted in each of the two servers.
    pub operations: u64,
    /// Why there are no counts.
    pub why: Option<String>,
    /// Functions that executed any.
    pub functions: Vec<FunctionCount>,
}

/// Instructions of a function itself, in user space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionCount {
    pub name: String,
    pub library: String,
    /// Of its source, if the build has it.
    pub file: Option<String>,
    /// Per operation, in both repetitions.
    pub instructions: [f64; 2],
}

const TABLES: &str = "
-- A contender's server under callgrind, after the verdicts.
create table if not exists count (
    test text not null,
    contender text not null,
    started text not null,          -- RFC 3339
    seconds real not null,
    operations integer not null,
    why text,                       -- there are none; null if there are
    primary key (test, contender)
) without rowid;
-- Instructions per operation of a function itself, in both repetitions.
create table if not exists function_count (
    test text not null,
    contender text not null,
    place integer not null,         -- from 0; the largest first
    function text not null,
    library text not null,
    file text,
    first real not null,
    second real not null,
    primary key (test, contender, place)
) without rowid;
";

impl RunDirectory {
    /// Stores the counts of a test and contender, in place of earlier ones.
    pub fn save_count(&mut self, record: &CountRecord) -> Result<(), crate::StoreError> {
        self.transact(|transaction| {
            transaction.execute_batch(TABLES)?;
            let CountRecord { test, contender, started, seconds, why, .. } = record;
            transaction.execute(
                "insert or replace into count values (?1, ?2, ?3, ?4, ?5, ?6)",
                params![test, contender, started, seconds, record.operations as i64, why],
            )?;
            transaction.execute(
                "delete from function_count where test = ?1 and contender = ?2",
                params![test, contender],
            )?;
            let mut insert = transaction
                .prepare("insert into function_count values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
            for (place, function) in (0_i64..).zip(&record.functions) {
                let FunctionCount { name, library, file, instructions: [first, second] } = function;
                insert
                    .execute(params![test, contender, place, name, library, file, first, second])?;
            }
            Ok(())
        })
    }

    /// The stored counts.
    pub fn counts(&self) -> Result<Vec<CountRecord>, crate::StoreError> {
        counts(&self.connection).map_err(|error| self.unreadable(error))
    }
}

/// By test and contender.
pub(crate) fn counts(connection: &Connection) -> Result<Vec<CountRecord>, rusqlite::Error> {
    if !connection.table_exists(None, "count")? {
        return Ok(Vec::new());
    }
    let mut select = connection.prepare("select * from count order by test, contender")?;
    let records = select.query_map([], |row| {
        Ok(CountRecord {
            test: text(row, "test")?,
            contender: text(row, "contender")?,
            started: text(row, "started")?,
            seconds: seconds(row, "seconds")?,
            operations: count(row, "operations")?,
            why: some_text(row, "why")?,
            functions: Vec::new(),
        })
    })?;
    let mut records: Vec<CountRecord> = records.collect::<Result<_, _>>()?;
    let sql = "select * from function_count where test = ?1 and contender = ?2 order by place";
    let mut select = connection.prepare(sql)?;
    for record in &mut records {
        let functions = select.query_map([&record.test, &record.contender], function)?;
        record.functions = functions.collect::<Result<_, _>>()?;
    }
    Ok(records)
}

fn function(row: &Row<'_>) -> Result<FunctionCount, rusqlite::Error> {
    let instructions = [row.get("first")?, row.get("second")?];
    Ok(FunctionCount {
        name: text(row, "function")?,
        library: text(row, "library")?,
        file: some_text(row, "file")?,
        instructions: finite(instructions)?,
    })
}

/// More than a processor executes in a year.
const MOST: f64 = 1e18;

fn finite(instructions: [f64; 2]) -> Result<[f64; 2], rusqlite::Error> {
    match instructions.iter().all(|count| count.abs() <= MOST) {
        true => Ok(instructions),
        false => Err(crate::column::garbled("a count of instructions is out of range")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_they_were_stored_and_an_older_run_has_none() {
        let connection = Connection::open_in_memory().unwrap();
        assert_eq!(counts(&connection).unwrap(), [], "no table");
        connection.execute_batch(TABLES).unwrap();
        let stored = [
            "insert into count values ('scan', 'new', '2026-11-27T11:00:00Z', 3.5, 20, null)",
            "insert into count values ('scan', 'old', '2026-11-27T11:00:00Z', 0.5, 0, 'it fell')",
            "insert into function_count values ('scan', 'new', 1, 'g', 'libc.so.6', null, 2, 3)",
            "insert into function_count values ('scan', 'new', 0, 'f', 'postgres', 'f.c', 9.5, 10)",
        ];
        stored.iter().for_each(|sql| assert_eq!(connection.execute(sql, []).unwrap(), 1));
        let read = counts(&connection).unwrap();
        let names: Vec<&str> = read[0].functions.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names, read[0].operations), (vec!["f", "g"], 20));
        assert_eq!(read[0].functions[0].instructions, [9.5, 10.0]);
        assert_eq!(read[0].functions[0].file.as_deref(), Some("f.c"));
        assert_eq!(read[1].why.as_deref(), Some("it fell"));
        connection.execute("update function_count set first = 1e30", []).unwrap();
        assert!(counts(&connection).is_err(), "no server executes that many");
    }
}
