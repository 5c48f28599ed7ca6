//! The operation that the throughput of a step or test counts.

use rqps_plan::Counts;
use rqps_store::Operation;

/// The operation that a step's throughput counts.
pub fn counted_operation(counts: Counts) -> Operation {
    match counts {
        Counts::RowsInserted | Counts::RowsIndexed => Operation::Insert,
        Counts::Queries => Operation::Query,
        Counts::Statements | Counts::Transactions | Counts::RowsScanned => Operation::Transaction,
    }
}
