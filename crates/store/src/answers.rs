//! Stored answers of a comparison: whether each contender returns the rows that the baseline
//! returns, and by which query plans.
//!
//! Runs without such answers have no table for them, so that an older rqps reads both.

use std::fs;

use rqps_plan::{Contender, RowsVerdict};
use rqps_system::printable;
use rusqlite::{Connection, Row, params};

use crate::RunDirectory;
use crate::column::{count, known, some_text, text};
use crate::directory::file_name;
use crate::error::StoreError;
use crate::files::{file, own};
use crate::round::StatementRecord;
use crate::statements::statement_lists;

/// Where rows that differ are kept.
const FOLDER: &str = "answers";

/// What one arm answered to the sets of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerRecord {
    pub test: String,
    pub arm: String,
    pub verdict: RowsVerdict,
    /// It returned other rows, but as many, of a query that may leave open which ones.
    pub may_tie: bool,
    pub sets: u32,
    /// That it returned for all sets together.
    pub rows: u64,
    /// Of all that it answered, in hexadecimal digits.
    pub digest: String,
    /// What differs or failed, without values.
    pub detail: Option<String>,
    /// What a reader should know of the query's values; the baseline has it.
    pub note: Option<String>,
    /// The file in the run directory with the first rows that differ.
    pub file: Option<String>,
    /// For some of the sets, the statements with their query plans.
    pub plans: Vec<Vec<StatementRecord>>,
}

const TABLES: &str = "
-- What an arm answered to a query, before anything was measured.
create table if not exists answer (
    test text not null,
    arm text not null,
    verdict text not null,          -- same rows, different rows, …
    may_tie integer not null,       -- as many rows, of a query that may leave open which ones
    sets integer not null,
    rows integer not null,          -- of all sets
    digest text not null,           -- in hexadecimal digits
    detail text,                    -- what differs or failed
    note text,                      -- about the values, for the baseline
    file text,                      -- with the first rows that differ
    plans text not null,            -- as JSON: for some sets, statements as in measurement
    primary key (test, arm)
) without rowid;
";

impl RunDirectory {
    /// Stores the answers of all arms to a query together, in place of earlier ones: the rows that
    /// differ in files, which have values.
    pub fn save_answers(
        &mut self,
        records: &[(AnswerRecord, Option<String>)],
    ) -> Result<(), StoreError> {
        let mut files = Vec::new();
        for (record, differing) in records {
            let Some(differing) = differing else {
                files.push(None);
                continue;
            };
            let folder = own(self.path(), FOLDER)?;
            fs::create_dir_all(&folder).map_err(file("create", &folder))?;
            let names: Vec<String> = self.plan.contenders.iter().map(Contender::name).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let name = format!("{FOLDER}/{}-{}.txt", record.test, file_name(&record.arm, &names));
            // Rows are the text of a server, and people look at files in a terminal.
            self.write(&name, |out| out.write_all(printable(differing).as_bytes()))?;
            files.push(Some(name));
        }
        self.transact(|transaction| {
            transaction.execute_batch(TABLES)?;
            let mut insert = transaction.prepare(
                "insert or replace into answer values \
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?;
            for ((record, _), file) in records.iter().zip(&files) {
                let AnswerRecord { test, arm, verdict, may_tie, sets, digest, .. } = record;
                let plans = serde_json::to_string(&record.plans).expect("plans are plain data");
                insert.execute(params![
                    test,
                    arm,
                    verdict.name(),
                    may_tie,
                    sets,
                    record.rows as i64,
                    digest,
                    record.detail,
                    record.note,
                    file,
                    plans,
                ])?;
            }
            Ok(())
        })
    }

    /// The stored answers.
    pub fn answers(&self) -> Result<Vec<AnswerRecord>, StoreError> {
        answers(&self.connection).map_err(|error| self.unreadable(error))
    }
}

/// By test and arm.
pub(crate) fn answers(connection: &Connection) -> Result<Vec<AnswerRecord>, rusqlite::Error> {
    if !connection.table_exists(None, "answer")? {
        return Ok(Vec::new());
    }
    let mut select = connection.prepare("select * from answer order by test, arm")?;
    let records = select.query_map([], answer)?;
    records.collect()
}

fn answer(row: &Row<'_>) -> Result<AnswerRecord, rusqlite::Error> {
    Ok(AnswerRecord {
        test: text(row, "test")?,
        arm: text(row, "arm")?,
        verdict: known(row, "verdict", RowsVerdict::from_name)?,
        may_tie: row.get("may_tie")?,
        sets: row.get("sets")?,
        rows: count(row, "rows")?,
        digest: text(row, "digest")?,
        detail: some_text(row, "detail")?,
        note: some_text(row, "note")?,
        file: some_text(row, "file")?,
        plans: statement_lists(row, "plans")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_were_stored_and_an_older_run_has_none() {
        let connection = Connection::open_in_memory().unwrap();
        assert_eq!(answers(&connection).unwrap(), [], "no table");
        connection.execute_batch(TABLES).unwrap();
        let stored = [
            "insert into answer values \
             ('q', 'new', 'different rows', 1, 20, 7, 'ab', 'it', null, 'answers/q-new.txt', '[]')",
            "insert into answer values ('q', 'old', 'same rows', 0, 20, 8, 'cd', null, 'n', null, \
             '[[{\"text\": \"select 1\", \"times\": 1, \"plan\": \"Result\"}]]')",
        ];
        stored.iter().for_each(|sql| assert_eq!(connection.execute(sql, []).unwrap(), 1));
        let read = answers(&connection).unwrap();
        assert_eq!((read[0].verdict, read[0].may_tie), (RowsVerdict::Different, true));
        assert_eq!(read[0].file.as_deref(), Some("answers/q-new.txt"));
        assert_eq!((read[1].verdict, read[1].rows), (RowsVerdict::Same, 8));
        assert_eq!(read[1].plans[0][0].plan.as_deref(), Some("Result"));
        connection.execute("update answer set verdict = 'better rows'", []).unwrap();
        assert!(answers(&connection).is_err(), "a newer rqps may know it");
    }
}
