//! The kinds of operation that are counted and timed apart.

use serde::{Deserialize, Serialize};

/// What an operation does; a step can have workers of several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Insert,
    Delete,
    Query,
    /// What sysbench calls an event: one or more statements that belong together.
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
