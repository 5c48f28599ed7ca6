//! Loading the tables: rows in the order of their keys, a batch at a time.

use std::ops::Range;

use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Connection, Error, Interrupter};

use super::rows::{COLUMNS, Rows};
use super::schema::{continue_after, table_name};
use crate::Dialect;

/// Rows of a batch, which is one transaction: about four megabytes.
const BATCH: u64 = 20_000;

/// Consecutive keys of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) table: u32,
    pub(super) keys: Range<u64>,
}

/// Divides the rows of all tables among connections: the same number to each, and the rows of a
/// connection are consecutive. If there are fewer rows than connections, some get none.
pub(super) fn deal(tables: u32, rows: u64, connections: u64) -> Vec<Vec<Stretch>> {
    let all = u64::from(tables) * rows;
    let share = |connection: u64| {
        let (start, end) = (all * connection / connections, all * (connection + 1) / connections);
        let stretch = |table: u32| {
            // Rows of the tables before this one.
            let before = u64::from(table - 1) * rows;
            let place = |row: u64| row.clamp(before, before + rows) - before + 1;
            Stretch { table, keys: place(start)..place(end) }
        };
        (1..=tables).map(stretch).filter(|stretch| !stretch.keys.is_empty()).collect()
    };
    (0..connections).map(share).filter(|share: &Vec<Stretch>| !share.is_empty()).collect()
}

/// Loads stretches one after another; an operation is a batch.
pub(super) struct Loader {
    connection: Box<dyn Connection>,
    dialect: Dialect,
    rows: Rows,
    stretches: Vec<Stretch>,
    /// The batch that was made: the place of its stretch, and its keys.
    stretch: usize,
    batch: Range<u64>,
    lines: Vec<u8>,
}

impl Loader {
    /// A loader of at least one stretch.
    pub(super) fn new(
        connection: Box<dyn Connection>,
        dialect: Dialect,
        rows: Rows,
        stretches: Vec<Stretch>,
    ) -> Self {
        let first = stretches[0].keys.start;
        let (batch, lines) = (first..first, Vec::new());
        Loader { connection, dialect, rows, stretches, stretch: 0, batch, lines }
    }

    /// Operations until all rows are loaded.
    pub(super) fn batches(&self) -> u64 {
        let count = |stretch: &Stretch| (stretch.keys.end - stretch.keys.start).div_ceil(BATCH);
        self.stretches.iter().map(count).sum()
    }
}

impl Work for Loader {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        let mut start = self.batch.end;
        if start == self.stretches[self.stretch].keys.end {
            self.stretch += 1;
            start = self.stretches[self.stretch].keys.start;
        }
        let Stretch { table, keys } = &self.stretches[self.stretch];
        self.batch = start..(start + BATCH).min(keys.end);
        self.lines.clear();
        for id in self.batch.clone() {
            self.rows.write_line(*table, id as i64, &mut self.lines);
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let table = self.stretches[self.stretch].table;
        let count = self.batch.end - self.batch.start;
        let loaded = load(&mut *self.connection, table, &self.lines, count)?;
        if self.batch.end > self.rows.count && self.dialect.forgets_given_keys {
            self.connection.run(&continue_after(self.dialect, table, self.rows.count))?;
        }
        Ok(loaded)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
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
        let message = format!("loaded {count} rows, but the DBMS reports {rows}");
        return Err(Error::Protocol(message));
    }
    Ok(Effect::write(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares as text: tables with their first and last keys.
    fn dealt(tables: u32, rows: u64, connections: u64) -> Vec<String> {
        let text =
            |Stretch { table, keys }: &Stretch| format!("{table}: {}-{}", keys.start, keys.end - 1);
        let share = |share: &Vec<Stretch>| share.iter().map(text).collect::<Vec<_>>().join(", ");
        deal(tables, rows, connections).iter().map(share).collect()
    }

    #[test]
    fn connections_have_as_many_rows_each_and_every_row_is_dealt_once() {
        assert_eq!(dealt(1, 1001, 2), ["1: 1-500", "1: 501-1001"]);
        assert_eq!(dealt(2, 1000, 2), ["1: 1-1000", "2: 1-1000"]);
        assert_eq!(dealt(3, 1000, 2), ["1: 1-1000, 2: 1-500", "2: 501-1000, 3: 1-1000"]);
        assert_eq!(dealt(2, 1000, 1), ["1: 1-1000, 2: 1-1000"]);
        assert_eq!(dealt(1, 2, 3), ["1: 1-1", "1: 2-2"]);
    }
}
