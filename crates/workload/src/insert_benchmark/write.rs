//! Inserts and the deletes that are paired with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use rqps_load::{Effect, Halt, Pair, Side, Work};
use rqps_wire::{Connection, Error, Interrupter, scalar};

use super::rows::{Rows, Sums};
use crate::Dialect;

/// What the clients know that they did to one table in one step. Each counter has one writer or few
/// writes, and is read after the step.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    inserted: CachePadded<[AtomicU64; 6]>,
    deleted: CachePadded<AtomicU64>,
}

impl Ledger {
    fn add_inserted(&self, sums: &Sums) {
        let Sums { rows, cash_registers, customers, products, prices, data_lengths } = *sums;
        let values = [rows, cash_registers, customers, products, prices, data_lengths];
        for (total, value) in self.inserted.iter().zip(values) {
            total.fetch_add(value, Ordering::Relaxed);
        }
    }

    pub(crate) fn inserted(&self) -> Sums {
        let [rows, cash_registers, customers, products, prices, data_lengths] =
            self.inserted.each_ref().map(|total| total.load(Ordering::Relaxed));
        Sums { rows, cash_registers, customers, products, prices, data_lengths }
    }

    pub(crate) fn deleted(&self) -> u64 {
        self.deleted.load(Ordering::Relaxed)
    }
}

/// Inserts random rows, a statement at a time.
pub(super) struct Inserter {
    pub(super) connection: Box<dyn Connection>,
    pub(super) rows: Rows,
    pub(super) rows_per_commit: u32,
    pub(super) ledger: Arc<Ledger>,
    /// Present when each insert is paired with a delete.
    pub(super) pair: Option<Arc<Pair>>,
    pub(super) sql: String,
    /// Of the statement that was made.
    pub(super) sums: Sums,
}

impl Work for Inserter {
    fn make(&mut self, halt: &Halt) -> Result<(), Error> {
        if let Some(pair) = &self.pair {
            pair.wait(Side::Insert, halt);
        }
        self.sums = self.rows.write_insert(self.rows_per_commit, &mut self.sql);
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let rows = self.connection.run(&self.sql)?;
        if rows != self.sums.rows {
            let message = format!("inserted {} rows, but the DBMS reports {rows}", self.sums.rows);
            return Err(Error::Protocol(message));
        }
        self.ledger.add_inserted(&self.sums);
        if let Some(pair) = &self.pair {
            pair.advance(Side::Insert);
        }
        Ok(Effect::write(rows))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

/// How deletes name their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeleteForm {
    /// 2024: the half-open key range from the bound on, which is read once per step.
    KeyRange,
    /// 2025: as many of the lowest keys from the bound on as were inserted. The bound is read again
    /// every 1001 rounds, since ids have gaps.
    LowestKeys,
}

const ROUNDS_BETWEEN_READS: u32 = 1001;

/// Deletes the oldest rows, as many as are inserted.
pub(super) struct Deleter {
    pub(super) connection: Box<dyn Connection>,
    pub(super) dialect: Dialect,
    pub(super) form: DeleteForm,
    pub(super) table: String,
    pub(super) rows_per_commit: u32,
    pub(super) ledger: Arc<Ledger>,
    pub(super) pair: Arc<Pair>,
    /// Lower bound of the remaining keys, as the deleter knows it; point queries read it.
    pub(super) bound: Arc<AtomicI64>,
    /// Rounds until the bound is read from the table; 0 before the first.
    pub(super) rounds_left: u32,
    pub(super) sql: String,
}

impl Deleter {
    fn move_bound(&mut self) -> Result<(), Error> {
        let read_again = self.form == DeleteForm::LowestKeys;
        let bound = if self.rounds_left == 0 {
            self.rounds_left = if read_again { ROUNDS_BETWEEN_READS } else { u32::MAX };
            let sql = format!("select min(transactionid) from {}", self.table);
            // An empty table has no smallest key; any bound finds nothing to delete in it.
            scalar(&mut *self.connection, &sql)?.and_then(|min| min.parse().ok()).unwrap_or(0)
        } else {
            self.bound.load(Ordering::Relaxed) + i64::from(self.rows_per_commit)
        };
        self.rounds_left -= u32::from(read_again);
        self.bound.store(bound, Ordering::Relaxed);
        Ok(())
    }

    fn statement(&self) -> String {
        let (bound, count) = (self.bound.load(Ordering::Relaxed), self.rows_per_commit);
        let ends = [bound, bound + i64::from(count)].map(|end| end.to_string());
        delete(self.form, self.dialect, &self.table, [&ends[0], &ends[1]], count)
    }
}

/// The statement that deletes the oldest rows: `count`, from one key to before another.
pub(super) fn delete(
    form: DeleteForm,
    dialect: Dialect,
    table: &str,
    [bound, end]: [&str; 2],
    count: u32,
) -> String {
    match (form, dialect.limits_deletes) {
        (DeleteForm::KeyRange, _) => {
            format!("delete from {table} where transactionid >= {bound} and transactionid < {end}")
        }
        (DeleteForm::LowestKeys, true) => format!(
            "delete from {table} where transactionid >= {bound} \
             order by transactionid asc limit {count}"
        ),
        (DeleteForm::LowestKeys, false) => format!(
            "delete from {table} where transactionid in (select transactionid from {table} \
             where transactionid >= {bound} order by transactionid asc limit {count})"
        ),
    }
}

impl Work for Deleter {
    fn make(&mut self, halt: &Halt) -> Result<(), Error> {
        self.pair.wait(Side::Delete, halt);
        self.move_bound()?;
        self.sql = self.statement();
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let rows = self.connection.run(&self.sql)?;
        self.ledger.deleted.fetch_add(rows, Ordering::Relaxed);
        self.pair.advance(Side::Delete);
        Ok(Effect::write(rows))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}
