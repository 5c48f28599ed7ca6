//! The effect of an operation, as the DBMS counts it.

use std::ops::AddAssign;

/// The outcome of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Rows returned or changed.
    pub rows: u64,
    pub statements: Statements,
}

/// Statements by their outcome, as sysbench counts them: a read returns a result set, a write
/// changed a row, and all others (BEGIN, a DELETE that found nothing) are neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
}

impl Statements {
    pub fn total(self) -> u64 {
        self.reads + self.writes + self.others
    }
}

impl Effect {
    /// A statement that returned a result set, possibly an empty one.
    #[inline]
    pub fn read(rows: u64) -> Self {
        Effect { rows, statements: Statements { reads: 1, writes: 0, others: 0 } }
    }

    /// A statement that may change rows.
    #[inline]
    pub fn write(rows: u64) -> Self {
        let changed = u64::from(rows > 0);
        Effect { rows, statements: Statements { reads: 0, writes: changed, others: 1 - changed } }
    }

    /// A statement about the session or the schema.
    #[inline]
    pub fn other() -> Self {
        Effect { rows: 0, statements: Statements { reads: 0, writes: 0, others: 1 } }
    }
}

impl AddAssign for Effect {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.statements += other.statements;
    }
}

impl AddAssign for Statements {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
    }
}
