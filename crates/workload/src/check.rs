//! Why data are not as they should be.

use rqps_wire::Error;

/// Why a check failed: what was expected and what is there.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("{table}: {what} should be {expected} and is {found}")]
    Differs { table: String, what: String, expected: String, found: String },
    #[error("{table}: the plan for reading {index} does not use it")]
    IndexNotRead { table: String, index: String },
    #[error("the check could not be made: {0}")]
    Wire(#[from] Error),
}
