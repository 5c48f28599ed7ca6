//! Why a check of the data fails.

use rqps_wire::Error;

/// Why a check failed: the expected and the actual data.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("{table}: {what} should be {expected}, but is {found}")]
    Differs { table: String, what: String, expected: String, found: String },
    #[error("{table}: the query plan for reading {index} does not use it")]
    IndexNotRead { table: String, index: String },
    #[error("cannot check the data: {0}")]
    Wire(#[from] Error),
}
