//! Why a run, or a contender's part in it, ends early.

use rqps_dbms::DbmsError;
use rqps_load::Failure;
use rqps_plan::CacheError;
use rqps_store::StoreError;
use rqps_workload::insert_benchmark::CheckError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Dbms(DbmsError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("{0}")]
    Wire(#[from] rqps_wire::Error),
    #[error("the data are wrong: {0}")]
    Check(#[from] CheckError),
    #[error(
        "its data directory '{0}' is gone, so the run cannot go on: start it again in another --out"
    )]
    DataGone(String),
    /// A step's error with what the server's log says to it.
    #[error("{step}: {reason}")]
    Step { step: String, reason: String },
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// Whether a connection ended, so that the server's log has the cause.
    pub(crate) fn is_disconnect(&self) -> bool {
        match self {
            LabError::Wire(error)
            | LabError::Dbms(DbmsError::Wire(error))
            | LabError::Check(CheckError::Wire(error)) => error.is_disconnect(),
            _ => false,
        }
    }
}

impl From<DbmsError> for LabError {
    fn from(error: DbmsError) -> Self {
        match error {
            DbmsError::Cancelled => LabError::Interrupted,
            other => LabError::Dbms(other),
        }
    }
}

impl From<Failure> for LabError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Cancelled => LabError::Interrupted,
            Failure::Worker { error, .. } => LabError::Wire(error),
        }
    }
}
