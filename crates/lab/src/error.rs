//! Why a run, or a contender's part in it, ends early.

use rqps_dbms::DbmsError;
use rqps_load::{Cancelled, Failure};
use rqps_plan::CacheError;
use rqps_store::StoreError;
use rqps_workload::{CheckError, WorkloadError};

use crate::compare::StoredBaseError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Dbms(DbmsError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("{0}")]
    Wire(#[source] rqps_wire::Error),
    #[error("the data are wrong: {0}")]
    Check(#[source] CheckError),
    #[error(transparent)]
    Workload(WorkloadError),
    #[error("there is no test '{0}' in this comparison")]
    NoTest(String),
    #[error(
        "{needed} connections are needed and max_connections is {allowed}: use fewer clients, or \
         set it with ?max_connections={needed}"
    )]
    Connections { needed: u64, allowed: u64 },
    #[error(
        "its data directory '{0}' is gone, so the run cannot go on: start it again in another --out"
    )]
    DataGone(String),
    #[error(
        "rounds start their servers anew, so a comparison needs builds that rqps starts itself, not a \
         server that is running already"
    )]
    ForeignServer,
    #[error(transparent)]
    StoredBase(#[from] StoredBaseError),
    #[error("CPUs cannot be chosen: {0}")]
    Placement(std::io::Error),
    #[error(transparent)]
    Group(#[from] rqps_observe::GroupError),
    #[error(transparent)]
    Lock(#[from] rqps_observe::LockError),
    #[error(transparent)]
    Profile(#[from] rqps_observe::ProfileError),
    /// Whose data could not be loaded, or whose server does not start.
    #[error("{contender}: {error}")]
    Contender { contender: String, error: Box<LabError> },
    /// A contestant met an error while it took turns with the others.
    #[error("{error}")]
    Driven { slot: usize, error: Box<LabError> },
    #[error(
        "the servers of {base} and {contender} need about {needed} MB together, and {most} MB of this \
         machine's memory are available for them: give them smaller caches or smaller tables, or have \
         one server up at a time with --method runs"
    )]
    Memory { base: String, contender: String, needed: u64, most: u64 },
    /// A step's error with what the server's log says to it.
    #[error("{step}: {reason}")]
    Step { step: String, reason: String },
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// Says whose it is, unless it is nobody's.
    pub(crate) fn of(self, contender: &str) -> Self {
        match self {
            LabError::Interrupted | LabError::Store(_) => self,
            error => {
                LabError::Contender { contender: contender.to_string(), error: Box::new(error) }
            }
        }
    }

    /// Without the name of the step or contender, for those who have said whose it is.
    pub(crate) fn reason(&self) -> String {
        match self {
            LabError::Step { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }

    /// Whether a connection ended, so that the server's log has the cause.
    pub(crate) fn is_disconnect(&self) -> bool {
        match self {
            LabError::Driven { error, .. } | LabError::Contender { error, .. } => {
                error.is_disconnect()
            }
            LabError::Wire(error)
            | LabError::Dbms(DbmsError::Wire(error))
            | LabError::Check(CheckError::Wire(error)) => error.is_disconnect(),
            _ => false,
        }
    }
}

impl From<Cancelled> for LabError {
    fn from(_: Cancelled) -> Self {
        LabError::Interrupted
    }
}

impl From<rqps_wire::Error> for LabError {
    fn from(error: rqps_wire::Error) -> Self {
        match error {
            rqps_wire::Error::Interrupted(_) => LabError::Interrupted,
            other => LabError::Wire(other),
        }
    }
}

impl From<DbmsError> for LabError {
    fn from(error: DbmsError) -> Self {
        match error {
            DbmsError::Cancelled(_) | DbmsError::Wire(rqps_wire::Error::Interrupted(_)) => {
                LabError::Interrupted
            }
            other => LabError::Dbms(other),
        }
    }
}

impl From<CheckError> for LabError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Wire(rqps_wire::Error::Interrupted(_)) => LabError::Interrupted,
            other => LabError::Check(other),
        }
    }
}

impl From<WorkloadError> for LabError {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Wire(error) => error.into(),
            other => LabError::Workload(other),
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

#[cfg(test)]
mod tests {
    use rqps_wire::Error;

    use super::*;

    #[test]
    fn what_was_interrupted_has_not_failed() {
        for error in [
            LabError::from(Error::Interrupted(Cancelled)),
            DbmsError::from(Error::Interrupted(Cancelled)).into(),
            CheckError::from(Error::Interrupted(Cancelled)).into(),
            WorkloadError::from(Error::Interrupted(Cancelled)).into(),
        ] {
            assert!(matches!(error, LabError::Interrupted), "{error}");
        }
        assert!(LabError::from(Error::Closed).is_disconnect());
    }
}
