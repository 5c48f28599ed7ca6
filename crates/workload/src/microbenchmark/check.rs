//! Checks the data: after the load, compares every table with the rows that it should have, and
//! after a test that writes with what the clients know that they did; and its index with the table.

use rqps_dbms::Forced;
use rqps_wire::{Connection, Error, Row};

use super::ledger::{Change, Ledger};
use super::rows::{Rows, Sums, checksum_sql};
use super::schema::{index_name, table_name};
use super::statement::Does;
use super::suite::Test;
use crate::Dialect;
use crate::check::CheckError;
use crate::index_only;

/// A table before a test; and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    rows: i64,
    /// 0 in an empty table.
    min: i64,
    max: i64,
    k: i64,
}

/// One table and how to read it.
pub(super) struct Examiner<'a> {
    pub(super) connection: &'a mut dyn Connection,
    pub(super) dialect: Dialect,
    pub(super) table: u32,
}

impl Examiner<'_> {
    pub(super) fn state(&mut self) -> Result<State, Error> {
        let sql = format!(
            "select count(*), coalesce(min(id), 0), coalesce(max(id), 0), coalesce(sum(k), 0) \
             from {}",
            table_name(self.table)
        );
        let [rows, min, max, k] = self.numbers(&sql)?;
        Ok(State { rows, min, max, k })
    }

    /// Compares a table with the rows that were loaded.
    pub(super) fn loaded(&mut self, rows: &Rows) -> Result<(), CheckError> {
        let Sums { rows, k, checksum } = rows.sums(self.table);
        let rows = rows as i64;
        let expected = State { rows, min: 1, max: rows, k };
        let found = self.state()?;
        self.expect("state", expected, found)?;
        let sql = format!(
            "select {} from {}",
            checksum_sql(self.dialect.cast_to_bigint),
            table_name(self.table)
        );
        let [found] = self.numbers(&sql)?;
        self.expect("checksum", checksum, found)?;
        self.index(expected)
    }

    /// Compares a table with its state before a test and what the clients did to it since.
    pub(super) fn after(
        &mut self,
        test: &Test,
        before: State,
        ledgers: &[std::sync::Arc<Ledger>],
    ) -> Result<(), CheckError> {
        let mut change = Change::default();
        for ledger in ledgers {
            change += ledger.change(self.table);
        }
        let after = self.state()?;
        self.expect("row count", before.rows + change.inserted - change.deleted, after.rows)?;
        let (inserts, deletes) = (test.event.does(Does::Insert), test.event.does(Does::Delete));
        // All deleted rows were put back with the same keys, or none was deleted or inserted.
        if change.inserted == change.deleted {
            let ends = (before.min, before.max);
            self.expect("smallest and largest key", ends, (after.min, after.max))?;
        } else if inserts && !deletes {
            // Ids have gaps.
            let least = before.max + change.inserted;
            if after.max < least {
                let least = format!("at least {least}");
                self.expect("largest key", least, after.max.to_string())?;
            }
        }
        // The k of deleted rows was not read.
        if !deletes && change.deleted == 0 {
            self.expect("sum of k", before.k + change.k, after.k)?;
        }
        self.index(after)
    }

    /// Reads the index from end to end, and nothing but the index.
    fn index(&mut self, table: State) -> Result<(), CheckError> {
        let (name, index) = (table_name(self.table), index_name(self.table));
        let forced = match self.dialect.forced {
            Forced::ByName(forced) => forced(&index),
            Forced::BySettings => String::new(),
        };
        let sql = format!("select count(*), coalesce(sum(k), 0) from {name}{forced}");
        let what = format!("rows and sum of k in {index}");
        let rows = match self.dialect.forced {
            Forced::BySettings => index_only::rows(self.connection, &sql, &[index])?
                .map_err(|index| CheckError::IndexNotRead { table: name, index })?,
            Forced::ByName(_) => self.connection.query(&sql)?,
        };
        self.expect(&what, [table.rows, table.k], numbers(&sql, rows)?)
    }

    fn numbers<const N: usize>(&mut self, sql: &str) -> Result<[i64; N], Error> {
        let rows = self.connection.query(sql)?;
        numbers(sql, rows)
    }

    fn expect<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        expected: T,
        found: T,
    ) -> Result<(), CheckError> {
        if expected == found {
            return Ok(());
        }
        Err(CheckError::Differs {
            table: table_name(self.table),
            what: what.to_string(),
            expected: format!("{expected:?}"),
            found: format!("{found:?}"),
        })
    }
}

/// A row of integers.
fn numbers<const N: usize>(sql: &str, rows: Vec<Row>) -> Result<[i64; N], Error> {
    let odd = || Error::Protocol(format!("expected {N} numbers from: {sql}"));
    let row = rows.into_iter().next().ok_or_else(odd)?;
    let parse = |field: &Option<String>| field.as_deref().and_then(|text| text.parse().ok());
    let numbers: Option<Vec<i64>> = row.iter().map(parse).collect();
    numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(odd)
}
