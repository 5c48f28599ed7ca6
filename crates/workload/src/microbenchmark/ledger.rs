//! What a client knows that it did to the tables.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// How much a table has gained, by one client or by all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) inserted: i64,
    pub(super) deleted: i64,
    /// In the sum over the column k; without deleted rows, whose values are not known.
    pub(super) k: i64,
}

/// The changes of one client, the only writer; read when the client has ended.
#[derive(Debug)]
pub(super) struct Ledger {
    tables: Box<[[AtomicI64; 3]]>,
    /// Rows that a client deleted and will put back, by table and key.
    pub(super) gone: Mutex<Vec<(u32, i64)>>,
}

impl Ledger {
    pub(super) fn new(tables: u32) -> Self {
        let tables = (0..tables).map(|_| Default::default()).collect();
        Ledger { tables, gone: Mutex::default() }
    }

    /// `table` counts from 1.
    pub(super) fn add(&self, table: u32, change: Change) {
        let values = [change.inserted, change.deleted, change.k];
        for (total, value) in self.tables[table as usize - 1].iter().zip(values) {
            total.store(total.load(Ordering::Relaxed) + value, Ordering::Relaxed);
        }
    }

    pub(super) fn change(&self, table: u32) -> Change {
        let totals = &self.tables[table as usize - 1];
        let [inserted, deleted, k] = totals.each_ref().map(|total| total.load(Ordering::Relaxed));
        Change { inserted, deleted, k }
    }
}

impl std::ops::AddAssign for Change {
    fn add_assign(&mut self, other: Self) {
        self.inserted += other.inserted;
        self.deleted += other.deleted;
        self.k += other.k;
    }
}
