//! Deletes that do the same work, however many there were before.
//!
//! As published, deleted rows are not put back: a faster server soon looks for deleted rows, which
//! is less work, and so appears faster still. Here every delete finds its row. A client deletes
//! from keys of its own, and from time to time puts back all rows that a table lacks. That is not
//! part of the time of an operation; it is part of the time in which operations are counted, and
//! the same for all contenders: one row loaded for each row deleted. In between, a table lacks a
//! share of its rows that is too small to matter.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard, PoisonError};

use rand::RngExt;
use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Connection, Error, ErrorClass, Interrupter, Row, Statement, Value, scalar};

use super::IDS_AT_ONCE;
use super::client::prepare;
use super::ledger::{Change, Ledger};
use super::load::load;
use super::rows::Rows;
use super::schema::table_name;
use super::statement::DELETE;
use crate::Dialect;
use crate::random::Random;

/// The most rows of a client that may be missing.
const MOST_GONE: i64 = 100;
/// Nor may more than one in this many of its rows be missing.
const PART_GONE: i64 = 10;

pub(super) struct Deleter {
    connection: Box<dyn Connection>,
    statements: Vec<Statement>,
    rows: Rows,
    random: Random,
    /// The `keys` keys of the client are `first`, `first + step`, and so on.
    first: i64,
    step: i64,
    keys: i64,
    ledger: Arc<Ledger>,
    /// Table and key of the operation.
    next: (u32, i64),
}

impl Deleter {
    /// `client` counts from 1 to `clients`, which is at most the number of rows of a table.
    pub(super) fn new(
        mut connection: Box<dyn Connection>,
        dialect: Dialect,
        (client, clients): (u32, u32),
        tables: u32,
        rows: Rows,
        random: Random,
        ledger: Arc<Ledger>,
    ) -> Result<Self, Error> {
        let statements = prepare(&mut *connection, dialect, 1, &DELETE, tables)?;
        let (first, step) = (i64::from(client), i64::from(clients));
        let keys = (rows.count as i64 - first) / step + 1;
        let next = (1, first);
        Ok(Deleter { connection, statements, rows, random, first, step, keys, ledger, next })
    }

    fn most_gone(&self) -> usize {
        let all = self.keys * self.statements.len() as i64;
        (all / PART_GONE).clamp(1, MOST_GONE) as usize
    }
}

impl Work for Deleter {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        let mut gone = gone(&self.ledger);
        if gone.len() >= self.most_gone() {
            put_back(&mut *self.connection, &self.rows, &mut gone, &self.ledger)?;
        }
        loop {
            let table = self.random.random_range(1..=self.statements.len() as u32);
            let key = self.first + self.step * self.random.random_range(0..self.keys);
            self.next = (table, key);
            if !gone.contains(&self.next) {
                return Ok(());
            }
        }
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let (table, key) = self.next;
        let statement = self.statements[table as usize - 1];
        let rows = self.connection.execute(statement, &[Value::Int(key)])?;
        if rows > 0 {
            gone(&self.ledger).push(self.next);
            self.ledger.add(table, Change { deleted: rows as i64, ..Change::default() });
        }
        Ok(Effect::write(rows))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

/// Rows that a client has yet to put back.
pub(super) fn gone(ledger: &Ledger) -> MutexGuard<'_, Vec<(u32, i64)>> {
    ledger.gone.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loaded keys that a table no longer has.
pub(super) fn missing(
    connection: &mut dyn Connection,
    table: u32,
    rows: &Rows,
) -> Result<Vec<(u32, i64)>, Error> {
    let (name, last) = (table_name(table), rows.count as i64);
    let mut missing = Vec::new();
    for first in (1..=last).step_by(IDS_AT_ONCE as usize) {
        let keys = first..=last.min(first + IDS_AT_ONCE - 1);
        let there = format!("from {name} where id between {} and {}", keys.start(), keys.end());
        let count = scalar(connection, &format!("select count(*) {there}"))?;
        if count.and_then(|count| count.parse().ok()) == Some(keys.end() - keys.start() + 1) {
            continue;
        }
        let there = connection.query(&format!("select id {there}"))?;
        let id = |row: &Row| row.first()?.as_deref()?.parse().ok();
        let there: HashSet<i64> = there.iter().filter_map(id).collect();
        missing.extend(keys.filter(|key| !there.contains(key)).map(|key| (table, key)));
    }
    Ok(missing)
}

/// Puts rows back as they were loaded, table by table.
pub(super) fn put_back(
    connection: &mut dyn Connection,
    rows: &Rows,
    gone: &mut Vec<(u32, i64)>,
    ledger: &Ledger,
) -> Result<(), Error> {
    gone.sort_unstable();
    let mut lines = Vec::new();
    while let Some(&(table, _)) = gone.last() {
        let start = gone.partition_point(|(other, _)| *other < table);
        lines.clear();
        for (_, key) in &gone[start..] {
            rows.write_line(table, *key, &mut lines);
        }
        let count = gone.len() - start;
        loop {
            match load(connection, table, &lines, count as u64) {
                Err(error) if error.class() == ErrorClass::Retry => {}
                result => {
                    result?;
                    break;
                }
            }
        }
        gone.truncate(start);
        ledger.add(table, Change { inserted: count as i64, ..Change::default() });
    }
    Ok(())
}
