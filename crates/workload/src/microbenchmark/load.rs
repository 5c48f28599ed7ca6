//! Loading the tables: rows in the order of their keys, a batch at a time.

use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Connection, Error, Interrupter};

use super::rows::{COLUMNS, Rows};
use super::schema::{continue_after, table_name};
use crate::dialect::Dialect;

/// Rows of a batch, which is one transaction: about four megabytes.
const BATCH: u64 = 20_000;

/// Loads tables one after the other; an operation is a batch.
pub(super) struct Loader {
    connection: Box<dyn Connection>,
    dialect: Dialect,
    rows: Rows,
    tables: Vec<u32>,
    /// The batch that was made: the place of its table, its first key, and one more than its last.
    table: usize,
    start: u64,
    end: u64,
    lines: Vec<u8>,
}

impl Loader {
    pub(super) fn new(
        connection: Box<dyn Connection>,
        dialect: Dialect,
        rows: Rows,
        tables: Vec<u32>,
    ) -> Self {
        let lines = Vec::new();
        Loader { connection, dialect, rows, tables, table: 0, start: 1, end: 1, lines }
    }

    /// Operations until all rows are loaded.
    pub(super) fn batches(&self) -> u64 {
        self.tables.len() as u64 * self.rows.count.div_ceil(BATCH)
    }
}

impl Work for Loader {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        if self.end > self.rows.count {
            self.table += 1;
            self.end = 1;
        }
        self.start = self.end;
        self.end = (self.start + BATCH).min(self.rows.count + 1);
        self.lines.clear();
        for id in self.start..self.end {
            self.rows.write_line(self.tables[self.table], id as i64, &mut self.lines);
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let table = self.tables[self.table];
        let loaded = load(&mut *self.connection, table, &self.lines, self.end - self.start)?;
        // Its sequence knows nothing of ids that are given; others look at the rows.
        if self.end > self.rows.count && self.dialect == Dialect::Postgres {
            self.connection.run(&continue_after(self.dialect, table, self.rows.count))?;
        }
        Ok(loaded)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.interrupter()
    }
}

/// Loads lines of `count` rows into a table.
pub(super) fn load(
    connection: &mut dyn Connection,
    table: u32,
    lines: &[u8],
    count: u64,
) -> Result<Effect, Error> {
    let rows = connection.load(&table_name(table), &COLUMNS, lines)?;
    if rows != count {
        let message = format!("loaded {count} rows and the DBMS says {rows}");
        return Err(Error::Protocol(message));
    }
    Ok(Effect::write(rows))
}
