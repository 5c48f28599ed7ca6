//! What the throughput of a step counts; its costs are divided by the same.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    RowsInserted,
    RowsIndexed,
    Queries,
    /// As sysbench counts: with BEGIN, COMMIT and statements that changed nothing.
    Statements,
    /// Whole ones, with those that roll back as they should.
    Transactions,
    /// By full scans, which return no rows.
    RowsScanned,
}

/// Name in files, unit of the throughput, and singular of what is counted.
const WORDS: [(Counts, &str, &str, &str); 6] = [
    (Counts::RowsInserted, "rows_inserted", "rows inserted per second", "row inserted"),
    (Counts::RowsIndexed, "rows_indexed", "rows indexed per second", "row indexed"),
    (Counts::Queries, "queries", "queries per second", "query"),
    (Counts::Statements, "statements", "statements per second", "statement"),
    (Counts::Transactions, "transactions", "transactions per second", "transaction"),
    (Counts::RowsScanned, "rows_scanned", "rows scanned per second", "row scanned"),
];

impl Counts {
    pub fn name(self) -> &'static str {
        self.words().1
    }

    pub fn unit(self) -> &'static str {
        self.words().2
    }

    pub fn operation(self) -> &'static str {
        self.words().3
    }

    pub fn from_name(name: &str) -> Option<Self> {
        WORDS.iter().find(|words| words.1 == name).map(|words| words.0)
    }

    fn words(self) -> &'static (Counts, &'static str, &'static str, &'static str) {
        WORDS.iter().find(|words| words.0 == self).expect("every kind has its words")
    }
}
