//! sysbench's table, which all clients read.

use std::time::Duration;

use rqps_plan::{Count, Microbenchmark, Span};

/// Rows of `sbtest1`.
pub(crate) const ROWS: u64 = 100_000;

/// The seed of the rows and of random values.
pub(crate) const SEED: u64 = 1;

/// sysbench's tables, one with this number of rows.
pub(crate) fn plan(rows: u64) -> Microbenchmark {
    Microbenchmark {
        tables: 1,
        rows: Count(rows),
        clients: vec![1],
        read_time: Span(Duration::ZERO),
        write_time: Span(Duration::ZERO),
        tests: Vec::new(),
        fair_writes: false,
        pause: Span(Duration::ZERO),
        quiesce_after_each_write: false,
        check: false,
    }
}
