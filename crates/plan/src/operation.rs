//! The kinds of operations, which are counted and timed separately.

use serde::{Deserialize, Serialize};

/// What an operation does; a step can have workers of several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Insert,
    Delete,
    Query,
    /// An event of sysbench: one or more statements that belong together.
    Transaction,
}

impl Operation {
    pub const ALL: [Operation; 4] =
        [Operation::Insert, Operation::Delete, Operation::Query, Operation::Transaction];

    pub fn name(self) -> &'static str {
        match self {
            Operation::Insert => "insert",
            Operation::Delete => "delete",
            Operation::Query => "query",
            Operation::Transaction => "transaction",
        }
    }
}
